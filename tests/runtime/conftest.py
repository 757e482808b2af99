"""A device in host memory, for tests of the runtime alone: kernels are Python functions on its bytes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kdsl.backend import DeviceError, DeviceLimits, Launch
from kdsl.emulator.streams import EmulatedStreams
from kdsl.runtime.driver import CudaDriver
from kdsl.runtime.launch import Launcher

from .fake_driver import FakeDriver
from .fast_ways import Slow

Kernel = Callable[["MemoryBackend", Launch, bytes], None]


class MemoryBackend(EmulatedStreams):
    """A Backend whose memory is NumPy byte arrays. ``calls`` records what was asked of it, in order."""

    def __init__(self, name: str = "emulator") -> None:
        super().__init__()
        self.name = name
        self.ordinal = 0
        self.target = "sm_90"
        self.limits = DeviceLimits()
        self.memory: dict[int, np.ndarray[Any, Any]] = {}
        self.calls: list[str] = []
        self.launches: list[tuple[Any, Launch, bytes]] = []
        self.capacity = 1 << 30
        self.pending: DeviceError | None = None

    def alloc(self, size: int) -> int:
        self.calls.append("alloc")
        if size > self.capacity:
            raise MemoryError(f"asked for {size} bytes")
        block = np.full(size + 256, 0xAA, np.uint8)
        address = -(-block.ctypes.data // 256) * 256
        self.memory[address] = block
        return address

    def free(self, address: int) -> None:
        self.calls.append("free")
        del self.memory[address]

    def at(self, address: int, size: int) -> memoryview:
        for base, block in self.memory.items():
            if base <= address and address + size <= base + block.size - 256:
                return memoryview((ctypes.c_ubyte * size).from_address(address)).cast("B")
        raise AssertionError(f"0x{address:x} is no device memory")

    def write(self, address: int, source: memoryview) -> None:
        self.calls.append("write")
        assert source.format == "B" and source.ndim == 1
        self.at(address, source.nbytes)[:] = source

    def read(self, address: int, destination: memoryview) -> None:
        self.calls.append("read")
        self.synchronize()
        destination[:] = self.at(address, destination.nbytes)

    def copy(self, destination: int, source: int, size: int) -> None:
        self.calls.append("copy")
        self.at(destination, size)[:] = bytes(self.at(source, size))

    def copy_strided(
        self,
        destination: int,
        destination_strides: tuple[int, ...],
        source: int,
        source_strides: tuple[int, ...],
        shape: tuple[int, ...],
        itemsize: int,
    ) -> None:
        self.calls.append("copy")
        for index in np.ndindex(shape):
            to = destination + sum(i * stride for i, stride in zip(index, destination_strides, strict=True))
            of = source + sum(i * stride for i, stride in zip(index, source_strides, strict=True))
            self.at(to, itemsize)[:] = bytes(self.at(of, itemsize))

    def fill(self, address: int, value: int, size: int, width: int = 1) -> None:
        self.calls.append("fill")
        assert address % width == size % width == 0
        self.at(address, size)[:] = value.to_bytes(width, "little") * (size // width)

    def load(self, image: bytes) -> Any:
        raise AssertionError("kernels are Python functions here, and no module holds them")

    def function(self, module: Any, name: str) -> Any:
        raise AssertionError("kernels are Python functions here, and no module holds them")

    def launch(self, function: Kernel | None, launch: Launch, parameters: bytearray | bytes) -> None:
        self.calls.append("launch")
        self.launches.append((function, launch, bytes(parameters)))
        if function is not None:
            function(self, launch, bytes(parameters))

    def synchronize(self) -> None:
        if self.pending is not None:
            raise self.pending

    def array(self, address: int, dtype: Any, count: int) -> np.ndarray[Any, Any]:
        """Device memory as a NumPy array that shares it, for kernels."""
        return np.frombuffer(self.at(address, np.dtype(dtype).itemsize * count), dtype)


@pytest.fixture
def backend() -> MemoryBackend:
    return MemoryBackend()


@pytest.fixture
def make_backend() -> type[MemoryBackend]:
    return MemoryBackend


@pytest.fixture
def fake_driver() -> Any:
    """A stand-in for `cuda.bindings.driver`, with cuda-python's own types."""
    real = pytest.importorskip("cuda.bindings.driver", reason="cuda-python is not installed")
    fake = FakeDriver(real)
    yield fake
    if fake.raised:
        raise fake.raised[0]


@pytest.fixture
def gpu(fake_driver: Any) -> CudaDriver:
    """The stand-in as a device, with the kernels ``vadd`` and ``other``, which do nothing."""
    fake_driver.kernels = {"vadd": lambda parameters: None, "other": lambda parameters: None}
    return CudaDriver(api=fake_driver)


@pytest.fixture
def only_fast(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Make the checked way an error from now on."""

    def check(*_: Any) -> None:
        raise Slow

    return lambda: monkeypatch.setattr(Launcher, "checked_arguments", check)


@pytest.fixture(autouse=True)
def on_the_emulator() -> None:
    """These tests bring devices of their own: the current device, and the compiler behind it, stay out of them."""
