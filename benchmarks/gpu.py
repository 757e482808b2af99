"""The little of the CUDA driver that timing needs: memory, modules, launches, events.

Why not kdsl's own runtime? Both kernels of a comparison have to come to the device the same way, without our launcher.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from cuda.bindings import driver
from numpy.typing import NDArray

FLUSH_BYTES = 256 << 20  # several times an H200's L2
Argument = tuple[int | float, Any]
"""A value and its ctypes type."""


def check(result: tuple[Any, ...]) -> Any:
    """The values of a driver call, or its error as a RuntimeError."""
    error, *values = result
    if error != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"CUDA driver: {error.name}")
    return values[0] if len(values) == 1 else tuple(values)


def unavailable() -> str | None:
    """Why there is no GPU to measure on; None if there is one."""
    try:
        error = driver.cuInit(0)[0]
    except RuntimeError as missing:  # cuda-bindings' word for a machine without the driver's library
        return str(missing)
    if error != driver.CUresult.CUDA_SUCCESS:
        return str(error.name)
    return None if check(driver.cuDeviceGetCount()) else "the driver finds no device"


@dataclass(frozen=True)
class Function:
    """A kernel on the device. The module is kept because unloading it would take the kernel along."""

    handle: Any
    module: Any

    def launch(self, grid: Sequence[int], block: Sequence[int], arguments: Sequence[Argument]) -> None:
        values, types = zip(*arguments, strict=True)
        check(driver.cuLaunchKernel(self.handle, *grid, *block, 0, 0, (values, types), 0))

    def registers(self) -> int:
        """Registers of a thread, as ptxas allotted them."""
        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NUM_REGS
        return int(check(driver.cuFuncGetAttribute(attribute, self.handle)))


class Device(Protocol):
    """What a workload needs of a device: its memory."""

    @property
    def multiprocessors(self) -> int: ...
    def alloc(self, size: int) -> int: ...
    def write(self, address: int, host: NDArray[Any]) -> None: ...
    def read(self, address: int, host: NDArray[Any]) -> None: ...
    def clear(self, address: int, size: int) -> None: ...
    def synchronize(self) -> None: ...


class Entry(Protocol):
    """A kernel that can be launched."""

    def launch(self, grid: Sequence[int], block: Sequence[int], arguments: Sequence[Argument]) -> None: ...


class Gpu:
    """Device 0 through its primary context, which is current in this thread from here on."""

    def __init__(self) -> None:
        reason = unavailable()
        if reason:
            raise RuntimeError(f"no GPU: {reason}")
        self.device = check(driver.cuDeviceGet(0))
        check(driver.cuCtxSetCurrent(check(driver.cuDevicePrimaryCtxRetain(self.device))))
        self._flush = check(driver.cuMemAlloc(FLUSH_BYTES))
        self._start = check(driver.cuEventCreate(0))
        self._end = check(driver.cuEventCreate(0))

    @property
    def name(self) -> str:
        return bytes(check(driver.cuDeviceGetName(128, self.device))).split(b"\0")[0].decode()

    @property
    def architecture(self) -> str:
        attribute = driver.CUdevice_attribute
        major = check(driver.cuDeviceGetAttribute(attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, self.device))
        minor = check(driver.cuDeviceGetAttribute(attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, self.device))
        return f"sm_{major}{minor}"

    @property
    def multiprocessors(self) -> int:
        attribute = driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
        return int(check(driver.cuDeviceGetAttribute(attribute, self.device)))

    def alloc(self, size: int) -> int:
        return int(check(driver.cuMemAlloc(size)))

    def write(self, address: int, host: NDArray[Any]) -> None:
        check(driver.cuMemcpyHtoD(address, host.ctypes.data, host.nbytes))

    def read(self, address: int, host: NDArray[Any]) -> None:
        check(driver.cuMemcpyDtoH(host.ctypes.data, address, host.nbytes))

    def clear(self, address: int, size: int) -> None:
        check(driver.cuMemsetD8(address, 0, size))

    def function(self, image: bytes, name: str) -> Function:
        """A kernel of a cubin or of PTX."""
        buffer = np.frombuffer(image + b"\0", np.uint8)  # PTX has to end with a NUL
        module = check(driver.cuModuleLoadData(buffer.ctypes.data))
        return Function(check(driver.cuModuleGetFunction(module, name.encode())), module)

    def synchronize(self) -> None:
        check(driver.cuCtxSynchronize())

    def microseconds(self, launch: Callable[[], None], launches: int, cleared: Sequence[tuple[int, int]] = ()) -> float:
        """Device time of one of ``launches`` launches in a row, from a flushed L2 and with ``cleared`` (addresses and
        sizes) at 0."""
        for address, size in cleared:
            check(driver.cuMemsetD8Async(address, 0, size, 0))
        check(driver.cuMemsetD8Async(self._flush, 1, FLUSH_BYTES, 0))
        check(driver.cuEventRecord(self._start, 0))
        for _ in range(launches):
            launch()
        check(driver.cuEventRecord(self._end, 0))
        check(driver.cuEventSynchronize(self._end))
        return float(check(driver.cuEventElapsedTime(self._start, self._end))) * 1e3 / launches


def pointer(address: int) -> Argument:
    return address, ctypes.c_void_p


def i32(value: int) -> Argument:
    return value, ctypes.c_int


def f32(value: float) -> Argument:
    return value, ctypes.c_float
