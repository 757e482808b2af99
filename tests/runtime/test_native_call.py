"""The built-in function that launches: its instructions are what LLVM makes of their text, and it calls as ctypes does."""

from __future__ import annotations

import ctypes
import gc
import platform
import re
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from kdsl.runtime import native_call as module
from kdsl.runtime.driver import CudaDriver
from kdsl.runtime.driver_entry import launch_function
from kdsl.runtime.native_call import BEFORE, LISTING, machine_code, native_call

Called = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
here = native_call(1, "f") is not None
needs_native = pytest.mark.skipif(not here, reason="there is no native call on this machine")


def test_there_is_one_where_ci_runs() -> None:
    assert here or sys.platform != "linux" or platform.machine() != "x86_64"


def test_the_instructions_are_what_llvm_makes_of_their_text() -> None:
    if platform.machine() != "x86_64":
        pytest.skip("LLVM assembles for the machine that it runs on")
    llvm = pytest.importorskip("llvmlite.binding")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    triple = "x86_64-unknown-linux-gnu"
    target = llvm.Target.from_triple(triple)
    text = [".intel_syntax noprefix", *(assembler for _, assembler in LISTING), ".p2align 4, 0", "table:", ".quad 0"]
    assembly = "".join(f'module asm "{line}"\n' for line in text)
    parsed = llvm.parse_assembly(f'target triple = "{triple}"\n{assembly}')
    made = target.create_target_machine().emit_object(parsed)
    assert machine_code() + bytes(8) in made
    for code, _ in LISTING:
        assert re.fullmatch(r"([0-9a-f]{2})+(\.{8})?", code)


def test_the_table_is_where_the_instructions_look() -> None:
    code = machine_code()
    assert len(code) % 16 == 0
    assert len(BEFORE) == 2  # so that the driver's function is at 16


def both() -> list[Any]:
    return [pytest.param("native", marks=needs_native), "ctypes"]


def launching(how: str, function: Callable[..., int], monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """What calls ``function`` as the driver's, and what has to be kept."""
    if how == "ctypes":
        monkeypatch.setattr("kdsl.runtime.driver_entry.native_call", lambda address, name: None)
    called = Called(function)

    class Api:
        @staticmethod
        def cuGetProcAddress(*_: Any) -> tuple[int, int, int]:
            return 0, ctypes.cast(called, ctypes.c_void_p).value or 0, 0

    return launch_function(Api), called


@pytest.mark.parametrize("how", both())
def test_addresses_go_in_and_the_code_comes_out(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Any, ...]] = []

    def function(*given: Any) -> int:
        seen.append(given)
        return len(seen) if len(seen) < 3 else -5

    launch, _kept = launching(how, function, monkeypatch)
    assert [launch(1, 2, 3), launch(2**64 - 1, 2**63, 0), launch(0x7FFF12345678, 1 << 40, 7)] == [1, 2, -5]
    assert seen == [(1, 2, None, 3), (2**64 - 1, 2**63, None, None), (0x7FFF12345678, 1 << 40, None, 7)]


@pytest.mark.parametrize("how", both())
def test_other_threads_run_while_it_is_called(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sleeping = ctypes.CDLL(None).usleep
    launch, _kept = launching(how, lambda *_: 0, monkeypatch)
    if how == "native":
        # Sleeps by its first argument, without the GIL.
        sleep: Any = native_call(ctypes.cast(sleeping, ctypes.c_void_p).value or 0, "usleep")
    else:
        sleep = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(
            ctypes.cast(sleeping, ctypes.c_void_p).value or 0
        )
    assert launch(0, 0, 0) == 0
    thread = threading.Thread(target=sleep, args=(300_000, 0, 0))
    start = time.perf_counter()
    thread.start()
    counted = 0
    while thread.is_alive():
        counted += 1
        time.sleep(0.001)
    assert time.perf_counter() - start > 0.25
    assert counted > 20


@needs_native
def test_nothing_is_leaked() -> None:
    called = Called(lambda *_: 12345)
    made = native_call(ctypes.cast(called, ctypes.c_void_p).value or 0, "f")
    assert made is not None
    arguments = (1 << 40, 1 << 41, 1 << 42)
    counts = [sys.getrefcount(argument) for argument in arguments]
    for _ in range(1000):
        assert made(*arguments) == 12345
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(10_000):
        made(*arguments)
    assert sys.getallocatedblocks() - before < 100
    assert [sys.getrefcount(argument) for argument in arguments] == counts


@needs_native
def test_it_outlives_all_else_and_goes_with_the_garbage() -> None:
    """Its definition is read when it is deallocated: it must not go first, in whatever order a cycle is taken apart."""
    called = Called(lambda *_: 3)
    for _ in range(200):
        cycle: list[Any] = [native_call(ctypes.cast(called, ctypes.c_void_p).value or 0, "f")]
        cycle += [cycle, cycle[0].__self__, {"call": cycle[0]}]
        assert cycle[0](1, 2, 3) == 3
        del cycle
        gc.collect(0)
    kept = native_call(ctypes.cast(called, ctypes.c_void_p).value or 0, "f")
    gc.collect()
    assert kept(1, 2, 3) == 3


def test_where_memory_cannot_be_made_executable_ctypes_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing:
        @staticmethod
        def mprotect(*_: Any) -> int:
            return -1

    monkeypatch.setattr(module.ctypes, "CDLL", lambda name: Refusing)
    assert native_call(1, "f") is None


@pytest.mark.parametrize("attribute", ["machine", "platform"])
def test_on_other_machines_ctypes_calls(attribute: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if attribute == "machine":
        monkeypatch.setattr(module.platform, "machine", lambda: "aarch64")
    else:
        monkeypatch.setattr(module.sys, "platform", "win32")
    assert native_call(1, "f") is None


@needs_native
def test_a_device_launches_by_it(gpu: CudaDriver) -> None:
    assert type(gpu._calls.native) is type(len)
    assert gpu._calls.launch.__name__ == "cuLaunchKernelEx"
