"""What the start of a program costs: which modules decorating a function imports, and when CUDA is begun with."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kdsl.current
from kdsl.cache.kept import is_probably_kept
from kdsl.device_choice import Devices
from kdsl.runtime import driver_start
from kdsl.starting import start_for

PROGRAM = """
import sys, threading
import numpy as np
before = set(sys.modules)
from kdsl import Ptr, f32, grid, i32, kernel
import kdsl.current

@kernel(fmad=False)
def double(x: Ptr[f32], n: i32) -> None:
    i = grid(1)
    if i < n:
        x[i] = x[i] * 2.0

configured = double[4, 32]
loaded = {name for name in set(sys.modules) - before if name.startswith("kdsl")}
print(len(loaded))
heavy = ("kdsl.cache", "kdsl.frontend", "kdsl.codegen", "kdsl.emulator", "kdsl.runtime.launcher", "kdsl.runtime.memory",
         "kdsl.runtime.driver", "kdsl.parameters", "kdsl.specialization", "kdsl.homes")
print(sorted(name for name in loaded if name in heavy))
print(sorted(name for name in sys.modules if name.startswith(("cuda", "llvmlite", "ml_dtypes"))))
print(threading.active_count(), kdsl.current.DEVICES._has_begun)
x = np.ones(100, np.float32)
configured(x, 100)
print(float(x.sum()), kdsl.current.DEVICES._has_begun)
"""


def lines(tmp_path: Path, **environment: str) -> list[str]:
    (tmp_path / "program.py").write_text(PROGRAM)
    root = str(Path(__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        env={"PATH": "", "PYTHONPATH": root, "KDSL_CACHE_DIR": str(tmp_path / "cache"), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_decorating_imports_little_and_begins_nothing(tmp_path: Path) -> None:
    count, heavy, foreign, begun, result = lines(tmp_path, KDSL_DEVICE="emulator")
    assert int(count) <= 45
    assert heavy == foreign == "[]"
    assert begun == "1 False"
    # The emulator needs no driver.
    assert result == "200.0 False"


def test_the_first_launch_begins_with_a_gpu_where_one_may_be(tmp_path: Path) -> None:
    *_, begun, result = lines(tmp_path)
    assert begun == "1 False"
    assert result == "200.0 True"


def test_the_driver_is_started_in_c_beside(tmp_path: Path) -> None:
    """A stand-in for the driver's library: which functions the thread calls, with what, and when it stops."""
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs gcc")
    source = tmp_path / "driver.c"
    source.write_text(
        "static int calls, failing, device_of; static void *made, *allocated;\n"
        "void fail_at(int n) { failing = n; calls = 0; made = 0; }\n"
        "static int result(void) { return ++calls == failing ? 100 : 0; }\n"
        "int cuInit(unsigned flags) { return flags ? 1 : result(); }\n"
        "int cuDeviceGet(int *device, int ordinal) { *device = 70 + ordinal; return result(); }\n"
        "int cuDevicePrimaryCtxRetain(void **context, int device) { *context = made = (void *)(long)device; return result(); }\n"
        "int cuCtxSetCurrent(void *context) { return context == made ? result() : 1; }\n"
        "int cuMemAllocAsync(void **address, unsigned long size, void *stream)"
        " { allocated = *address = (void *)(size + 8); return stream ? 1 : result(); }\n"
        "int cuMemFreeAsync(void *address, void *stream)"
        " { if (address == allocated) allocated = 0; return stream ? 1 : result(); }\n"
        "int called(void) { return calls; }\nlong retained(void) { return (long)made; }\nlong left(void) { return (long)allocated; }\n"
    )
    library = str(tmp_path / "driver.so")
    subprocess.run([compiler, "-shared", "-fPIC", str(source), "-o", library], check=True)
    driver = ctypes.CDLL(library)
    steps = ((0, 0, 6, 73), (1, 100, 1, 0), (2, 100, 2, 0), (3, 100, 3, 73), (4, 100, 4, 73), (5, 100, 5, 73))
    for failing, code, called, retained in steps:
        driver.fail_at(failing)
        called_then: list[int] = []
        assert driver_start.start(3, library, lambda: called_then.append(driver.called())) == code
        assert called_then == [1]
        assert (driver.called(), driver.retained()) == (called, retained)
        assert failing or not driver.left()
    assert driver_start.start(0, str(tmp_path / "missing.so"), lambda: pytest.fail("nothing is initialized")) == -1


def function_in(path: Path, written: float) -> Any:
    """A function of a file that was changed at a time."""
    path.write_text("def f(): ...\n")
    os.utime(path, (written, written))
    names: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    return names["f"]


@pytest.fixture
def kept_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Keep something in a cache at a time."""
    monkeypatch.setenv("KDSL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("KDSL_CACHE", raising=False)

    def keep(when: float) -> None:
        (tmp_path / "cache/files").mkdir(parents=True, exist_ok=True)
        os.utime(tmp_path / "cache/files", (when, when))

    return keep


def test_what_is_probably_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept_at: Any) -> None:
    f = function_in(tmp_path / "kernels.py", 1000.0)
    assert not is_probably_kept(f)  # there is no cache
    kept_at(2000.0)
    assert is_probably_kept(f)
    kept_at(999.0)
    assert not is_probably_kept(f)
    kept_at(2000.0)
    (tmp_path / "kernels.py").unlink()
    assert not is_probably_kept(f)
    f = function_in(tmp_path / "kernels.py", 1000.0)
    monkeypatch.setenv("KDSL_CACHE", "0")
    assert not is_probably_kept(f)
    monkeypatch.setenv("KDSL_CACHE", "perhaps")
    assert not is_probably_kept(f)


@pytest.mark.parametrize(("written", "waits"), [(1000.0, 1), (3000.0, 0)])
def test_only_a_kernel_that_is_kept_waits_for_the_driver(
    written: float, waits: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept_at: Any
) -> None:
    class Begun:
        waited = 0

        def wait(self) -> None:
            self.waited += 1

    begun = Begun()
    ordinals: list[int] = []
    monkeypatch.delenv("KDSL_DEVICE", raising=False)
    monkeypatch.setattr(kdsl.current, "DEVICES", Devices())
    monkeypatch.setattr(driver_start, "begin", lambda ordinal: (ordinals.append(ordinal), begun)[1])
    kept_at(2000.0)
    f = function_in(tmp_path / "kernels.py", written)
    start_for(f)
    start_for(f)  # nothing is begun with twice, nor waited for
    assert (ordinals, begun.waited) == ([0], waits)


def test_nothing_waits_for_a_driver_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_start, "LIBRARY", "no such library")
    assert driver_start.begin(0).wait(30)
