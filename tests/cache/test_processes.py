"""Many processes and threads at one kernel, and processes that die while they write."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

import kdsl
from kdsl import Ptr, f32, kernel, thread_idx
from kdsl.compiler import Kernel
from tests.cache.programs import VADD, Program, Sessions, run

VERIFIED = VADD + 'print("verified")\n'
DIES = """
import os, signal, sys
import kdsl
from kdsl.codegen import nvptx  # what takes time is imported once
from kdsl import kernel, Ptr, f32, thread_idx

@kernel
def tripled(a: Ptr[f32]):
    a[thread_idx.x] = a[thread_idx.x] * 3.0

def in_child(work):
    child = os.fork()
    if not child:
        work()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def dying(number):
    written, real = 0, os.write
    def write(file, data):
        nonlocal written
        written += 1
        if written == number:
            real(file, bytes(data)[: len(data) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        return real(file, data)
    os.write = write
    kdsl.compile(tripled, target="sm_90")

def living():
    assert "mul.rn.f32" in kdsl.compile(tripled, target="sm_90").ptx

os.environ["KDSL_CACHE"] = "0"
living()
del os.environ["KDSL_CACHE"]
for number in range(1, 100):
    os.environ["KDSL_CACHE_DIR"] = f"{sys.argv[1]}/{number}"
    code = in_child(lambda: dying(number))
    assert code in (0, -9), code
    assert in_child(living) == 0
    assert in_child(living) == 0
    hits = os.stat(f"{sys.argv[1]}/{number}/counts/hits").st_size
    assert hits >= 1, hits
    if code == 0:
        break
print(number)
"""


@pytest.mark.timeout(280)
def test_fifty_processes_start_cold_and_one_compiles(tmp_path: Path) -> None:
    program = Program(tmp_path, VERIFIED)
    outcomes = [program.outcome(process) for process in [program.start() for _ in range(50)]]
    assert {outcome.said for outcome in outcomes} == {"verified"}
    assert (outcomes[-1].hits, outcomes[-1].misses) == (49, 1)


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_killed_at_every_write(tmp_path: Path) -> None:
    program = Program(tmp_path, DIES)
    command = [sys.executable, str(program.file), str(tmp_path)]
    done = subprocess.run(command, env=program.environment(), capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 5  # so often is something written


@kernel
def tripled(a: Ptr[f32]):
    a[thread_idx.x] = a[thread_idx.x] * 3.0


def test_many_threads_compile_once(sessions: Sessions) -> None:
    ready = threading.Barrier(16)
    found: list[str] = []

    def work() -> None:
        # Each has a kernel of its own, as if it had been unpickled.
        own = Kernel(tripled.function, tripled.options)
        ready.wait()
        found.append(kdsl.compile(own, target="sm_90").ptx)

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 16
    assert len(set(found)) == 1
    assert (sessions.count("hits"), sessions.count("misses")) == (15, 1)


def test_python_without_asserts_has_an_entry_of_its_own_and_the_same_kernel(tmp_path: Path) -> None:
    text = VERIFIED.replace("        c[i]", '        assert i >= 0, "negative"\n        c[i]')
    program = Program(tmp_path, text)
    run(program)
    assert run(program, "-O").said == "verified"
    first, second = [path.read_text().partition("\n//kdsl:")[0] for path in (program.cache / "files").glob("*.ptx")]
    assert first == second
    assert "trap;" in first


def test_a_dead_tail_that_python_drops_is_looked_at(tmp_path: Path) -> None:
    text = VERIFIED.replace("        c[i] = a[i] + b[i]\n", "        c[i] = a[i] + b[i]\n    assert 3 > 1\n")
    program = Program(tmp_path, text)
    assert run(program, "-O").said == "verified"
    program.write(text.replace("assert 3 > 1", "assert i > -1, 'no'"))
    assert run(program, "-O").misses == 2
    program.write(text.replace("    assert 3 > 1\n", "    return\n    c[i] = undefined\n"))
    process = program.start("-O")
    assert "`undefined` is not defined" in process.communicate(timeout=120)[1]
