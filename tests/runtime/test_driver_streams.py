"""Streams, events and other libraries' arrays, on a driver in host memory."""

from __future__ import annotations

import gc
import struct
from typing import Any

import numpy as np
import pytest

from kdsl.backend import Launch
from kdsl.lang.types import F32, PointerType
from kdsl.runtime.config import LaunchConfig
from kdsl.runtime.driver import CudaDriver
from kdsl.runtime.launch import Launcher
from kdsl.runtime.memory import zeros
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
    assert fake_driver.called("cuStreamIsCapturing") == ["cuLaunchKernel"]
    fake_driver.capturing.clear()
    run(array)  # the fill is not forgotten
    assert "cuEventQuery" in fake_driver.called()


def test_what_other_streams_used_is_written_after_them(gpu: CudaDriver, fake_driver: Any) -> None:
    array = zeros(4, backend=gpu)
    run = Launcher("vadd", (("a", P(F32)),), gpu, function(gpu)).bind(LaunchConfig(1, 32, stream=0x7F0000001000))
    for write in (
        lambda: array.fill(1),
        lambda: array.copy_from(np.ones(4, np.float32)),
        lambda: array.copy_from(array),
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
