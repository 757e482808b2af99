"""Faults of kernels on a real GPU, each in a process of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.gpu
ROOT = Path(__file__).parents[2]
HEAD = b".version 6.3\n.target sm_75\n.address_size 64\n"
PRELUDE = f"""
import sys; sys.path.insert(0, {str(ROOT)!r})
from kdsl.backend import *
from kdsl.lang.types import *
from kdsl.lang.types import PointerType, I32, I64, F32, U64
from kdsl.runtime.config import LaunchConfig
from kdsl.runtime.driver import CudaDriver
from kdsl.runtime.launch import Launcher
from kdsl.runtime.array_making import zeros
gpu = CudaDriver()
def run(image, name, parameters, *args):
    Launcher(name, parameters, gpu, gpu.function(gpu.load(image), name)).bind(LaunchConfig(1, 32))(*args)
"""


def in_a_process(script: str) -> str:
    """What a script prints, in a process of its own: a fault ends the use of the GPU in the process that makes it."""
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + script], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


FAULTY = """
image = {head!r} + b'''.visible .entry faulty(.param .u64 x) {{ .reg .b64 %d; .reg .b32 %r; {body} ret; }}'''
run(image, "faulty", (("x", U64),), {argument})
for use in (gpu.synchronize, gpu.synchronize, lambda: zeros(3, backend=gpu)):
    try:
        use()
    except DeviceError as error:
        print(type(error).__name__, error.kernel, error)
"""
LOAD = "ld.param.u64 %d, [x]; ld.global.u32 %r, [%d]; st.global.u32 [%d], %r;"


@pytest.mark.parametrize(
    ("body", "argument", "kind", "text"),
    [
        (LOAD, 0xDEAD00000000, "IllegalAddressError", "accessed memory outside of every allocation"),
        (LOAD, 0, "IllegalAddressError", "accessed memory outside of every allocation"),
        ("trap;", 0, "LaunchFailedError", "trapped"),
    ],
)
def test_faults(body: str, argument: int, kind: str, text: str) -> None:
    lines = in_a_process(FAULTY.format(head=HEAD, body=body, argument=argument)).splitlines()
    assert len(lines) == 3
    assert lines[0].startswith(f"{kind} faulty kernel `faulty` (grid (1, 1, 1), block (32, 1, 1)) {text}")
    assert all("cannot be used any more in this process, since kernel `faulty`" in line for line in lines[1:])


def test_misaligned_access() -> None:
    script = FAULTY.format(head=HEAD, body=LOAD, argument="a.address + 2").replace(
        "image =", "a = zeros(8, backend=gpu)\nimage ="
    )
    assert in_a_process(script).startswith("MisalignedAddressError faulty kernel `faulty`")


SYNC = """
import os; os.environ["KDSL_SYNC"] = "1"
import kdsl
kdsl.set_device("cuda")
image = {head!r} + b'''
.visible .entry fine(.param .u64 x) {{ ret; }}
.visible .entry faulty(.param .u64 x) {{ .reg .b64 %d; ld.param.u64 %d, [x]; st.global.u32 [%d], 1; ret; }}'''
m = kdsl.load_module(image)
fine, faulty = (m.kernel(name, [kdsl.u64]) for name in ("fine", "faulty"))
print(kdsl.current_device().state)
fine[1, 32](0)
try:
    faulty[1, 32](0xDEAD00000000)
except kdsl.errors.IllegalAddressError as error:
    print(error.kernel, error.code, len(error.launches), kdsl.current_device().state)
try:
    fine[1, 32](0)
except kdsl.errors.ContextLostError as later:
    print(type(later.fault).__name__, later.fault is kdsl.current_device().fault)
"""


def test_each_launch_is_waited_for() -> None:
    lines = in_a_process(SYNC.format(head=HEAD)).splitlines()
    assert lines == ["ready", "faulty 700 1 lost", "IllegalAddressError True"]


REFUSED = """
import kdsl
kdsl.set_device("cuda")
many = "".join(f"ld.global.u32 %q{{i}}, [%d+{{4 * i}}];" for i in range(250)) + "bar.sync 0;"
many += "".join(f"st.global.u32 [%d+{{4 * i}}], %q{{249 - i}};" for i in range(250))
image = {head!r} + f'''
.shared .align 8 .b8 s[40000];
.visible .entry registers(.param .u64 x) {{{{ .reg .b64 %d; .reg .b32 %q<300>; ld.param.u64 %d, [x]; {{many}} ret; }}}}
.visible .entry memory(.param .u64 x) {{{{ .reg .b64 %d; ld.param.u64 %d, [x]; st.shared.u64 [s], %d; ret; }}}}'''.encode()
m = kdsl.load_module(image)
a = kdsl.zeros(1024)
for name, configuration in (("registers", (1, 1024)), ("memory", (1, 32, None, 200000))):
    try:
        m.kernel(name, [kdsl.u64])[configuration](a.address)
    except kdsl.LaunchConfigError as error:
        print(type(error).__name__, error)
print(a.to_host().sum(), kdsl.current_device().state)
"""


def test_what_a_block_cannot_have() -> None:
    registers, memory, rest = in_a_process(REFUSED.format(head=HEAD)).splitlines()
    assert registers.startswith("LaunchOutOfResourcesError `registers` (grid (1, 1, 1), block (1024, 1, 1)) was not")
    assert re.search(r"1024 threads of \d+ registers need \d+, and a block has 65536; use blocks of at most", registers)
    assert "40000 bytes of static and 200000 of dynamic shared memory are more than the" in memory
    assert rest == "0.0 ready"


def test_use_after_fork() -> None:
    script = """
import os
a = zeros(4, backend=gpu)
child = os.fork()
if not child:
    for use in (gpu.synchronize, a.to_host, lambda: zeros(3, backend=gpu)):
        try:
            use()
        except RuntimeError as error:
            print(type(error).__name__, "spawn" in str(error), flush=True)
    found, why = CudaDriver.available()
    print(found, "spawn" in why, flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(a.to_host().sum())
"""
    lines = in_a_process(script).splitlines()
    assert lines[:3] == ["ForkedProcessError True"] * 3 and lines[4] == "0.0"
    assert lines[3].startswith("False")


DEBUG = """
import numpy as np
import kdsl
from pathlib import Path
kdsl.set_device("cuda")
file = Path(sys.argv[1]) / "checked.py"
file.write_text('''from kdsl import *
@kernel(debug=True)
def indexed(a: Array[f32, 1], d: i32):
    a[thread_idx.x + 3] = 1.0
@kernel(debug=True)
def divided(a: Array[i32, 1], d: i32):
    a[thread_idx.x] = 7 // d
@kernel(debug=True)
def converted(a: Array[i32, 1], d: i32):
    a[thread_idx.x] = i8(d)
@kernel
def asserted(a: Array[i32, 1], d: i32):
    assert d < 10, f"{d=:>5} {0.5 * d:.2e} {len(a)}"
    a[thread_idx.x] = d
''')
from kdsl.files import load_file
checked = load_file(file)
k = getattr(checked, sys.argv[2])
a = kdsl.zeros(32, kdsl.f32 if k.name == "indexed" else kdsl.i32)
k[1, 8](a, 1)
print(a.to_host().sum())
k[2, 32](a, int(sys.argv[3]))
for use in (kdsl.synchronize, kdsl.synchronize):
    try:
        use()
    except kdsl.DeviceError as error:
        print(type(error).__name__, error.kernel, error.line, error)
"""


@pytest.mark.parametrize(
    ("kernel", "argument", "kind", "line", "text"),
    [
        ("indexed", 1, "MemoryFault", 4, r"index (32|33|34) is outside of axis 0 of `a`, whose extent is 32"),
        ("divided", 0, "CheckError", 7, r"integer division by zero: 7 // 0"),
        ("converted", 300, "CheckError", 10, r"300 does not fit i8, which makes it 44"),
        ("asserted", 300, "DeviceAssertionError", 13, r"assertion failed in asserted: d=  300 1\.50e\+02 32"),
    ],
)
def test_failed_checks(tmp_path: Path, kernel: str, argument: int, kind: str, line: int, text: str) -> None:
    command = [sys.executable, "-c", PRELUDE + DEBUG, str(tmp_path), kernel, str(argument)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    total, first, second = done.stdout.splitlines()
    assert float(total) == {"indexed": 8, "divided": 56, "converted": 8, "asserted": 8}[kernel]
    said = rf"checked\.py:{line}: kernel {kernel}: {text} \(block \([01], 0, 0\), thread \(\d+, 0, 0\)\)"
    assert re.fullmatch(rf"{kind} {kernel} {line} {said}\. The GPU cannot be used any more in this process", first)
    assert re.fullmatch(
        rf"ContextLostError \w+ None the GPU cannot be used any more in this process, since {said}", second
    )


AWAITED = """
import asyncio
import time
import kdsl
kdsl.set_device("cuda")
image = {head!r} + b'''.visible .entry faulty(.param .u64 x, .param .u32 turns) {{
    .reg .b64 %d; .reg .b32 %r; .reg .pred %p;
    ld.param.u64 %d, [x]; ld.param.u32 %r, [turns];
    again: nanosleep.u32 1000000; sub.u32 %r, %r, 1; setp.ne.u32 %p, %r, 0; @%p bra again;
    st.global.u32 [%d], 1; ret; }}'''
faulty = kdsl.load_module(image).kernel("faulty", [kdsl.u64, kdsl.u32])
turns = 0
async def count():
    global turns
    while True:
        turns += 1
        await asyncio.sleep(0.001)
async def run():
    stream, counting = kdsl.Stream(), asyncio.create_task(count())
    with stream:
        faulty[1, 1](0xDEAD00000000, {turns})
    event = stream.record()
    if {turns} < 100:
        time.sleep(0.3)
    for awaited in (stream if {stream} else event, stream, event):
        try:
            await awaited
        except kdsl.DeviceError as error:
            print(type(error).__name__, error.kernel, kdsl.current_device().state, turns > 5)
    counting.cancel()
asyncio.run(run())
"""


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("turns", [20, 200])
def test_a_fault_is_raised_at_the_await(turns: int, stream: bool) -> None:
    """Whether the kernel, which first sleeps for so many milliseconds, fails before the await or during it."""
    lines = in_a_process(AWAITED.format(head=HEAD, turns=turns, stream=stream)).splitlines()
    first, *later = (line.rsplit(" ", 1) for line in lines)
    assert first[0] == "IllegalAddressError faulty lost"
    assert [said for said, _ in later] == ["ContextLostError faulty lost"] * 2
    assert turns == 20 or first[1] == "True"
