"""Pinned, mapped and managed memory, and copies in streams, on a driver in host memory: what it is asked."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

from kdsl.backend import DeviceError
from kdsl.lang.types import F32, PointerType
from kdsl.runtime import dlpack_export, driver_host_memory, host_memory
from kdsl.runtime.array_making import zeros
from kdsl.runtime.config import LaunchConfig
from kdsl.runtime.driver import CudaDriver
from kdsl.runtime.host_memory import device_address, memory_of
from kdsl.runtime.launch import Launcher
from kdsl.runtime.stream import Stream

from .fake_driver import function


def empty(gpu: CudaDriver, kind: Any, count: int = 4) -> Any:
    return host_memory.empty(count, F32, kind=kind, backend=gpu)


def test_pinned_memory_is_given_back_at_once(gpu: CudaDriver, fake_driver: Any) -> None:
    array = empty(gpu, "pinned")
    assert fake_driver.called()[-2:] == ["cuMemHostAlloc", "cuMemHostGetDevicePointer"]
    del array
    gc.collect()
    assert fake_driver.called() == ["cuMemFreeHost"] and not fake_driver.memory


@pytest.mark.parametrize(("kind", "freed"), [("mapped", "cuMemFreeHost"), ("managed", "cuMemFree")])
def test_what_kernels_use_in_place_is_given_back_when_they_have_ended(
    gpu: CudaDriver, fake_driver: Any, kind: str, freed: str
) -> None:
    seen: list[bytes] = []
    fake_driver.kernels["vadd"] = seen.append
    array = empty(gpu, kind)
    memory = memory_of(array)
    assert memory is not None
    run = Launcher("vadd", (("a", PointerType(F32)),), gpu, function(gpu)).bind(LaunchConfig(1, 32))
    fake_driver.called()
    run(array[1:])
    assert fake_driver.called() == ["cuLaunchKernel"]
    assert int.from_bytes(seen[0], "little") == device_address(array, memory) + 4
    del array, memory
    gc.collect()
    assert fake_driver.called() == []
    gpu.synchronize()
    assert fake_driver.called() == ["cuCtxSynchronize", freed] and not fake_driver.memory


def test_what_waits_for_the_device_does_not_grow(
    gpu: CudaDriver, fake_driver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver_host_memory, "MOST_WAITING", 100)
    for _ in range(20):
        empty(gpu, "mapped", 10)
    gc.collect()
    assert "cuCtxSynchronize" in fake_driver.called() and len(fake_driver.memory) < 5


def test_memory_that_was_lent_is_given_back_when_everything_has_ended(gpu: CudaDriver, fake_driver: Any) -> None:
    array = zeros(10, backend=gpu)
    assert array.__cuda_array_interface__["data"][0] == array.address
    fake_driver.called()
    del array
    gc.collect()
    assert fake_driver.called() == [] and len(fake_driver.memory) == 1
    gpu.synchronize()
    assert fake_driver.called() == ["cuCtxSynchronize", "cuMemFreeAsync"] and not fake_driver.memory


def test_lent_memory_does_not_grow(gpu: CudaDriver, fake_driver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_host_memory, "MOST_WAITING", 100)
    for _ in range(20):
        dlpack_export.lend(zeros(10, backend=gpu))
    gc.collect()
    assert "cuCtxSynchronize" in fake_driver.called() and len(fake_driver.memory) < 5


@pytest.mark.parametrize("kind", ["pinned", "mapped", "managed"])
def test_out_of_host_memory_after_another_try(gpu: CudaDriver, fake_driver: Any, kind: str) -> None:
    name = "cuMemAllocManaged" if kind == "managed" else "cuMemHostAlloc"
    fake_driver.codes[name] = [2]
    assert empty(gpu, kind).shape == (4,)
    assert "cuCtxSynchronize" in fake_driver.called()
    fake_driver.codes[name] = [2, 2]
    with pytest.raises(MemoryError, match="16 bytes .*asked for"):
        empty(gpu, kind)
    fake_driver.codes[name] = [801]
    with pytest.raises(DeviceError, match=f"16 bytes of {kind} memory"):
        empty(gpu, kind)


def test_managed_memory_that_the_host_cannot_touch_is_refused(gpu: CudaDriver, fake_driver: Any) -> None:
    fake_driver.attributes["CONCURRENT_MANAGED_ACCESS"] = 0
    with pytest.raises(DeviceError, match=r"use kdsl\.mapped_empty"):
        empty(gpu, "managed")


def test_copies_in_streams_hold_pinned_memory_and_wait_for_the_rest(gpu: CudaDriver, fake_driver: Any) -> None:
    pinned, plain, array, stream = empty(gpu, "pinned"), np.ones(4, np.float32), zeros(4, backend=gpu), Stream(gpu)
    quiet = {"cuStreamIsCapturing", "cuEventCreate", "cuEventRecord", "cuEventQuery", "cuEventDestroy"}
    fake_driver.codes["cuEventQuery"] = [600] * 5
    fake_driver.called()
    array.copy_from(pinned, stream=stream)
    assert fake_driver.called(*quiet) == ["cuMemcpyHtoDAsync"]
    array.to_host(pinned, stream=stream)
    assert fake_driver.called(*quiet) == ["cuMemcpyDtoHAsync"]
    array.copy_from(plain, stream=stream)
    assert fake_driver.called(*quiet)[:2] == ["cuMemcpyHtoDAsync", "cuStreamSynchronize"]
    array.to_host(stream=stream)
    assert fake_driver.called(*quiet)[:2] == ["cuMemcpyDtoHAsync", "cuStreamSynchronize"]
    fake_driver.codes["cuEventQuery"] = [600] * 9
    array.copy_from(pinned, stream=stream)
    fake_driver.called()
    del pinned
    gc.collect()
    assert fake_driver.called() == []  # in flight
    fake_driver.codes["cuEventQuery"] = []
    gpu.synchronize()
    assert "cuMemFreeHost" in fake_driver.called()


def test_copies_in_streams_that_are_not_ordered_wait_for_fills(gpu: CudaDriver, fake_driver: Any) -> None:
    pinned, array = empty(gpu, "pinned"), zeros(4, backend=gpu)
    stream = Stream(gpu, blocking=False)
    fake_driver.codes["cuEventQuery"] = [600]
    fake_driver.called()
    array.copy_from(pinned, stream=stream)
    names = fake_driver.called()
    assert names.index("cuStreamWaitEvent") < names.index("cuMemcpyHtoDAsync")
    del array
    gc.collect()
    assert fake_driver.called() == ["cuStreamWaitEvent", "cuMemFreeAsync"]


def test_prefetch_and_advice(gpu: CudaDriver, fake_driver: Any) -> None:
    array, stream = empty(gpu, "managed"), Stream(gpu)
    fake_driver.called()
    host_memory.prefetch(array[1:], "host", stream)
    host_memory.prefetch(array, "device", None)
    host_memory.advise(array, "unset_prefer_host")
    first, second, third = [call for call in fake_driver.calls if "Get" not in call[0]]
    address = array.ctypes.data
    assert first[1:3] == (address + 4, 12) and first[3].type.name == "CU_MEM_LOCATION_TYPE_HOST"
    assert int(first[5]) == stream.handle and int(second[5]) == 0
    assert second[3].type.name == "CU_MEM_LOCATION_TYPE_DEVICE" and second[3].id == 0
    assert third[3].name == "CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION"
    assert third[4].type.name == "CU_MEM_LOCATION_TYPE_HOST"


def test_the_pool(gpu: CudaDriver, fake_driver: Any) -> None:
    array = zeros(256, backend=gpu)
    assert gpu.memory_info() == (1 << 20, 1 << 32, array.nbytes, 1 << 21)
    fake_driver.called()
    gpu.trim_memory(5)
    gpu.release_threshold = 1 << 28
    assert gpu.release_threshold == 1 << 28
    assert fake_driver.called() == ["cuMemPoolTrimTo", "cuMemPoolSetAttribute", "cuMemPoolGetAttribute"]
    fake_driver.attributes["MEMORY_POOLS_SUPPORTED"] = 0
    plain = CudaDriver(api=fake_driver)
    plain.trim_memory(0)
    plain.release_threshold = 1
    assert plain.memory_info()[2:] == (0, 0)
