"""Streams, events and other libraries' arrays, on a driver in host memory."""

from __future__ import annotations

import gc
import struct
import weakref
from typing import Any

import numpy as np
import pytest

from kdsl.backend import DeviceError, Launch
from kdsl.lang.types import F32, PointerType
from kdsl.runtime import driver_streams
from kdsl.runtime.array_making import zeros
from kdsl.runtime.config import LaunchConfig
from kdsl.runtime.driver import CudaDriver
from kdsl.runtime.launch import Launcher
from kdsl.runtime.stream import Event, Stream

from .fake_driver import function

P = PointerType
LAUNCH = Launch((4, 1, 1), (256, 1, 1))


def test_streams_and_events(gpu: CudaDriver, fake_driver: Any) -> None:
    stream = Stream(gpu, priority=-1)
    start = stream.record()
    run = Launcher("vadd", (), gpu, function(gpu)).bind(LaunchConfig(1, 32, stream=stream))
    run()
    assert fake_driver.launched[0][-1] == stream.handle and stream.__cuda_stream__() == (0, stream.handle)
    end = stream.record()
    assert start.elapsed_ms(end) == 1.5 and stream.done
    fake_driver.codes["cuEventQuery"] = [600]
    assert not end.done
    Stream(gpu).wait(end)
    stream.synchronize()
    names = fake_driver.called()
    assert "cuStreamWaitEvent" in names and "cuStreamSynchronize" in names
    with pytest.raises(ValueError, match="timing=False"):
        quiet = Event(gpu, timing=False)
        quiet.record()
        start.elapsed_ms(quiet)
    del run, stream, start, end, quiet
    gc.collect()
    names = fake_driver.called()
    assert names.count("cuEventDestroy") == 3 and names.count("cuStreamDestroy") == 1


def test_work_on_foreign_streams_waits_for_fills_and_holds_memory(gpu: CudaDriver, fake_driver: Any) -> None:
    array = zeros(4, backend=gpu)
    run = Launcher("vadd", (("a", P(F32)),), gpu, function(gpu)).bind(LaunchConfig(1, 32, stream=0x7F0000001000))
    fake_driver.called()
    fake_driver.codes["cuEventQuery"] = [600]
    run(array)
    ordered = ["cuEventRecord", "cuEventQuery", "cuStreamWaitEvent"]
    assert fake_driver.called("cuStreamIsCapturing", "cuEventCreate") == [*ordered, "cuLaunchKernel", "cuEventRecord"]
    run(array)  # the fill has ended meanwhile
    assert fake_driver.called("cuStreamIsCapturing") == ["cuEventQuery", "cuLaunchKernel", "cuEventRecord"]
    run(array)
    assert fake_driver.called("cuStreamIsCapturing") == ["cuLaunchKernel", "cuEventRecord"]
    del array
    gc.collect()
    assert fake_driver.called() == ["cuStreamWaitEvent", "cuMemFreeAsync"]


def test_a_captured_stream_is_left_alone(gpu: CudaDriver, fake_driver: Any) -> None:
    array = zeros(4, backend=gpu)
    run = Launcher("vadd", (("a", P(F32)),), gpu, function(gpu)).bind(LaunchConfig(1, 32, stream=0x7F0000001000))
    fake_driver.capturing.add(0x7F0000001000)
    fake_driver.called()
    run(array)
    assert fake_driver.called("cuStreamIsCapturing", "cuEventCreate") == ["cuLaunchKernel"]
    fake_driver.capturing.clear()
    run(array)  # the fill is not forgotten
    assert "cuEventQuery" in fake_driver.called()


def test_what_other_streams_used_is_written_after_them(gpu: CudaDriver, fake_driver: Any) -> None:
    array, other = zeros(4, backend=gpu), zeros(4, backend=gpu)
    run = Launcher("vadd", (("a", P(F32)),), gpu, function(gpu)).bind(LaunchConfig(1, 32, stream=0x7F0000001000))
    for write in (
        lambda: array.fill(1),
        lambda: array.copy_from(np.ones(4, np.float32)),
        lambda: array.copy_from(other),
    ):
        run(array)
        fake_driver.called()
        write()
        assert fake_driver.called()[0] == "cuStreamWaitEvent"


class Foreign:
    """An array of another CUDA library."""

    def __init__(self, address: int, stream: int | None = None, **more: Any) -> None:
        self.__cuda_array_interface__ = {
            "shape": (4,), "typestr": "<f4", "data": (address, False), "version": 3, "strides": None, "stream": stream,
            **more, }  # fmt: skip


def test_foreign_arrays_go_on_their_stream(gpu: CudaDriver, fake_driver: Any) -> None:
    seen = []
    fake_driver.kernels["vadd"] = seen.append
    launcher = Launcher("vadd", (("a", P(F32)), ("b", P(F32))), gpu, function(gpu))
    run = launcher.bind(LaunchConfig(1, 32))
    run(Foreign(4096), Foreign(8192, stream=1))
    assert fake_driver.launched[-1][-1] == 0 and seen == [struct.pack("<QQ", 4096, 8192)]
    run(Foreign(4096, stream=0x7000000), Foreign(8192))
    assert fake_driver.launched[-1][-1] == 0x7000000
    fake_driver.called()
    run(Foreign(4096, stream=0x7000000), Foreign(8192, stream=0x8000000))
    assert "cuStreamWaitEvent" in fake_driver.called() and fake_driver.launched[-1][-1] == 0x7000000
    own = Stream(gpu)
    launcher.bind(LaunchConfig(1, 32, stream=own))(Foreign(4096, stream=0x7000000), Foreign(8192))
    assert "cuStreamWaitEvent" in fake_driver.called() and fake_driver.launched[-1][-1] == own.handle


def test_arrays_go_to_other_libraries(gpu: CudaDriver) -> None:
    interface = zeros((2, 3), np.int16, backend=gpu).__cuda_array_interface__
    assert interface["typestr"] == "<i2" and interface["stream"] == 1


def test_the_drivers_flags_and_priorities(gpu: CudaDriver, fake_driver: Any) -> None:
    Stream(gpu, -9, blocking=False)
    assert ("cuStreamCreateWithPriority", 1, -5) in fake_driver.calls
    Event(gpu, timing=False, blocking_sync=True)
    assert ("cuEventCreate", 3) in fake_driver.calls
    foreign = Stream._of(0x7F0000001000, gpu)
    assert (foreign.priority, foreign.blocking, foreign.handle) == (0, True, 0x7F0000001000)
    fake_driver.called()
    del foreign
    gc.collect()
    assert fake_driver.called() == []


def test_streams_not_ordered_with_the_default_one_are_as_foreign_ones(gpu: CudaDriver, fake_driver: Any) -> None:
    array = zeros(4, backend=gpu)
    stream = Stream(gpu, blocking=False)
    run = Launcher("vadd", (("a", P(F32)),), gpu, function(gpu)).bind(LaunchConfig(1, 32, stream=stream))
    fake_driver.called()
    fake_driver.codes["cuEventQuery"] = [600]
    run(array)
    ordered = ["cuEventRecord", "cuEventQuery", "cuStreamWaitEvent"]
    assert fake_driver.called("cuStreamIsCapturing", "cuEventCreate") == [*ordered, "cuLaunchKernel", "cuEventRecord"]
    del array
    gc.collect()
    assert fake_driver.called() == ["cuStreamWaitEvent", "cuMemFreeAsync"]


@pytest.mark.parametrize("extended", [False, True])
def test_launches_without_a_stream_go_to_the_current_one(gpu: CudaDriver, fake_driver: Any, extended: bool) -> None:
    array = zeros(4, backend=gpu)
    streams: list[int] = []

    def ran(parameters: bytes) -> None:
        name, *arguments = fake_driver.calls[-1]
        streams.append(int(arguments[0].hStream if extended else arguments[8]))

    fake_driver.kernels["vadd"] = ran
    launcher = Launcher("vadd", (("a", P(F32)),), gpu, function(gpu))
    run = launcher.bind(LaunchConfig(1, 32, programmatic_dependent_launch=extended))
    named = launcher.bind(LaunchConfig(1, 32, stream=1, programmatic_dependent_launch=extended))
    with Stream(gpu, blocking=False) as stream:
        fake_driver.called()
        fake_driver.codes["cuEventQuery"] = [600]
        run(array)
        launched = "cuLaunchKernelEx" if extended else "cuLaunchKernel"
        ordered = ["cuEventRecord", "cuEventQuery", "cuStreamWaitEvent"]
        assert fake_driver.called("cuStreamIsCapturing", "cuEventCreate") == [*ordered, launched, "cuEventRecord"]
        named(array)
    run(array)
    assert streams == [stream.handle, 1, 0]


def test_a_callback_that_is_refused_is_forgotten(gpu: CudaDriver, fake_driver: Any) -> None:
    stream = Stream(gpu)
    seen: list[int] = []
    fake_driver.codes["cuLaunchHostFunc"] = [801]
    with pytest.raises(DeviceError, match="cuLaunchHostFunc failed: CUDA_ERROR_NOT_SUPPORTED"):
        stream.add_callback(seen.append, 1)
    stream.add_callback(seen.append, 2)
    assert seen == [2] and not gpu._callbacks


def test_old_bindings_wait_without_the_gil(gpu: CudaDriver, fake_driver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_streams, "releases_gil", lambda: False)
    stream = Stream(gpu)
    fake_driver.codes["cuStreamQuery"] = [600, 600]
    fake_driver.called()
    stream.synchronize()
    assert fake_driver.called() == ["cuStreamQuery"] * 3
    with pytest.raises(DeviceError, match="callbacks need cuda-python 12.9.1"):
        stream.add_callback(print)


def test_a_callback_does_not_call_the_driver(gpu: CudaDriver, fake_driver: Any) -> None:
    stream = Stream(gpu)
    held = [zeros(4, backend=gpu), Event(gpu), Stream(gpu)]
    fake_driver.called()
    stream.add_callback(held.clear)
    assert not held and fake_driver.called("cuGetProcAddress") == ["cuLaunchHostFunc"]
    stream.add_callback(gpu.synchronize)
    # What the first one dropped is given back by the next call of another thread.
    assert sorted(fake_driver.called()) == ["cuEventDestroy", "cuLaunchHostFunc", "cuMemFreeAsync", "cuStreamDestroy"]
    with pytest.raises(DeviceError, match="must not use the device"):
        gpu.synchronize()


def test_pending_callbacks_are_waited_for_at_exit(gpu: CudaDriver, fake_driver: Any) -> None:
    reference = weakref.ref(gpu)
    stream = Stream(gpu)
    stream.add_callback(print)
    fake_driver.called()
    driver_streams._finish(reference)
    assert fake_driver.called() == []  # it has been called
    with stream.capture() as graph:
        stream.add_callback({}.__getitem__, 1)
    graph.instantiate().launch()
    fake_driver.called()
    with pytest.raises(KeyError):
        driver_streams._finish(reference)
    assert fake_driver.called() == ["cuCtxSynchronize"]
