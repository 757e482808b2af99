"""What repeated launches must not do: allocate what stays, wait for the device, or mix up the parameters of threads."""

from __future__ import annotations

import ctypes
import struct
import sys
import threading
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from kdsl.lang.types import F32, I32, PointerType
from kdsl.runtime.array_making import zeros
from kdsl.runtime.config import LaunchConfig
from kdsl.runtime.driver import CudaDriver
from kdsl.runtime.driver_entry import launch_function
from kdsl.runtime.launch import Launcher
from kdsl.runtime.parameters import ParameterBuffer
from kdsl.runtime.prepared import prepare

from .fake_driver import function

P = PointerType
VADD = (("a", P(F32)), ("b", P(F32)), ("c", P(F32)), ("n", I32))
LAUNCHES = 100_000


def parameters(extra: int) -> bytes:
    """What the driver reads."""
    words = (ctypes.c_uint64 * 5).from_address(extra)
    return ctypes.string_at(words[1], ctypes.c_size_t.from_address(words[3]).value)


def launching_by(gpu: CudaDriver, launched: Callable[[int], None]) -> Any:
    """Let the device's launches call ``launched`` with their parameters' address, by the way that the driver's go; keep
    what is returned.
    """

    def enter(config: int, handle: int, unused: None, extra: int) -> int:
        launched(extra)
        return 0

    called = ctypes.CFUNCTYPE(ctypes.c_int, *(ctypes.c_void_p,) * 4)(enter)

    class Api:
        @staticmethod
        def cuGetProcAddress(*_: Any) -> tuple[int, int, int]:
            return 0, ctypes.cast(called, ctypes.c_void_p).value or 0, 0

    gpu._calls.launch = launch_function(Api)
    return called


@pytest.fixture(params=["native", "ctypes"])
def how(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "ctypes":
        monkeypatch.setattr("kdsl.runtime.driver_entry.native_call", lambda address, name: None)
    return str(request.param)


@pytest.mark.parametrize("form", ["bound", "by name", "prepared"])
def test_launches_allocate_nothing_that_stays(gpu: CudaDriver, how: str, form: str) -> None:
    _kept = launching_by(gpu, lambda extra: None)
    launcher = Launcher("vadd", VADD, gpu, function(gpu))
    a, b, c = (zeros(64, backend=gpu) for _ in range(3))
    run = launcher.bind(LaunchConfig(4, 256))
    prepared = prepare(launcher, LaunchConfig(4, 256), {"a": a, "b": b, "c": c, "n": 64})

    def launch(count: int) -> None:
        for n in range(count):
            if form == "prepared":
                prepared()
            elif form == "bound":
                run(a, b, c, n)
            else:
                run(a=a, b=b, n=n, c=c)

    launch(1000)
    tracemalloc.start()
    launch(1000)
    before, blocks = tracemalloc.get_traced_memory()[0], sys.getallocatedblocks()
    # Under tracemalloc a launch takes ten times as long.
    launch(LAUNCHES if (form, how) == ("bound", "native") else LAUNCHES // 10)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 2000
    assert sys.getallocatedblocks() - blocks < 200
    assert len(gpu._calls.recent) <= 64


def test_launches_ask_nothing_else_of_the_driver(gpu: CudaDriver, fake_driver: Any) -> None:
    launcher = Launcher("vadd", VADD, gpu, function(gpu))
    other = Launcher("other", VADD, gpu, function(gpu, "other"))
    a, b, c = (zeros(64, backend=gpu) for _ in range(3))
    runs = [made.bind(LaunchConfig(4, block)) for made in (launcher, other) for block in (64, 128)]
    runs.append(prepare(launcher, LaunchConfig(4, 256), {"a": a, "b": b, "c": c, "n": 64}).with_arguments)
    for run in runs[:-1]:
        run(a, b, c, 64)
    fake_driver.calls.clear()
    for n in range(200):
        for run in runs[:-1]:
            run(a, b, c, n)
        runs[-1](n=n)()
    assert fake_driver.called() == ["cuLaunchKernel"] * 1000


def test_threads_do_not_mix_up_their_parameters(gpu: CudaDriver, how: str) -> None:
    """Also of one bound launch and one prepared launch, which all of them share."""
    seen: list[bytes] = []
    _kept = launching_by(gpu, lambda extra: seen.append(parameters(extra)))
    launcher = Launcher("vadd", VADD, gpu, function(gpu))
    run = launcher.bind(LaunchConfig(4, 256))
    arrays = [zeros(64, backend=gpu) for _ in range(8)]
    shared = prepare(launcher, LaunchConfig(1, 1), {"a": arrays[0], "b": arrays[0], "c": arrays[0], "n": -1})
    failures: list[BaseException] = []

    def launch(index: int) -> None:
        array = arrays[index]
        own = shared.with_arguments(a=array, b=array, c=array, n=index)
        try:
            for _ in range(300):
                run(array, array, array, index)
                own()
                shared()
        except BaseException as error:
            failures.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=launch, args=(index,)) for index in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not failures
    expected = [struct.pack("<QQQi", *[array.address] * 3, index) for index, array in enumerate(arrays)] * 600
    expected += [struct.pack("<QQQi", *[arrays[0].address] * 3, -1)] * 2400
    assert sorted(seen) == sorted(expected)
    assert len(launcher._idle) <= 64


def test_a_kernel_without_parameters(gpu: CudaDriver, how: str) -> None:
    seen: list[int | None] = []
    _kept = launching_by(gpu, seen.append)
    launcher = Launcher("vadd", (), gpu, function(gpu))
    launcher.bind(LaunchConfig(1, 1))()
    prepare(launcher, LaunchConfig(1, 1), {})()
    assert seen == [None, None]
    assert ParameterBuffer(0).extra == 0
