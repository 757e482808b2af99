"""As much of `cuda.bindings.driver` as a loader calls, on the emulator: to run what `kdsl build` writes without a GPU."""

from __future__ import annotations

import ctypes
import re
from typing import Any

from kdsl.backend import Launch
from kdsl.emulator import Emulator

SIZES = {"b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "b32": 4, "u32": 4, "f32": 4, "b64": 8, "u64": 8, "f64": 8}


class EmulatedDriver:
    """It loads PTX. ``calls`` are the functions called."""

    def __init__(self) -> None:
        self.emulator = Emulator()
        self.calls: list[str] = []
        self.context = 0
        self.ptx = ""

    def __getattr__(self, name: str) -> Any:
        function = getattr(type(self), f"_{name}")

        def call(*arguments: Any) -> tuple[Any, ...]:
            self.calls.append(name)
            return (0, *(function(self, *arguments) or ()))

        return call

    def _cuInit(self, flags: int) -> None: ...

    def _cuCtxGetCurrent(self) -> Any:
        return (self.context,)

    def _cuCtxSetCurrent(self, context: int) -> None:
        self.context = context

    def _cuDeviceGet(self, ordinal: int) -> Any:
        return (ordinal,)

    def _cuDevicePrimaryCtxRetain(self, device: int) -> Any:
        return (7,)

    def _cuModuleLoadData(self, image: bytes) -> Any:
        self.ptx = image.decode()
        return (self.emulator.load(image),)

    def _cuModuleGetFunction(self, module: Any, name: bytes) -> Any:
        return (self.emulator.function(module, name.decode()),)

    def _cuModuleGetGlobal(self, module: Any, name: bytes) -> Any:
        return self.emulator.variable(module, name.decode())

    def _cuMemAlloc(self, size: int) -> Any:
        return (self.emulator.alloc(size),)

    def _cuMemFree(self, address: int) -> None:
        self.emulator.free(address)

    def _cuMemcpyHtoD(self, address: int, host: int, size: int) -> None:
        self.emulator.write(address, memoryview((ctypes.c_ubyte * size).from_address(host)).cast("B"))

    def _cuMemcpyDtoH(self, host: int, address: int, size: int) -> None:
        self.emulator.read(address, memoryview((ctypes.c_ubyte * size).from_address(host)).cast("B"))

    def _cuCtxSynchronize(self) -> None: ...

    def _cuStreamSynchronize(self, stream: int) -> None: ...

    def _cuLaunchKernel(self, function: Any, *more: Any) -> None:
        grid, block, (shared, stream, pointers, extra) = more[:3], more[3:6], more[6:]
        assert extra == 0
        buffer = bytearray()
        for index, (size, align) in enumerate(self._parameters(function.name)):
            buffer += bytes(-len(buffer) % align)
            address = ctypes.c_void_p.from_address(pointers + 8 * index).value
            assert address is not None
            buffer += ctypes.string_at(address, size)
        self.emulator.launch(function, Launch(grid, block, shared, stream), bytes(buffer))

    def _parameters(self, entry: str) -> list[tuple[int, int]]:
        """Size and alignment of each parameter, from the PTX itself."""
        declared = re.search(rf"\.entry {entry}\((.*?)\)", self.ptx, re.DOTALL)
        assert declared is not None
        found = []
        for line in filter(None, map(str.strip, declared[1].split("\n"))):
            array = re.search(r"\.align (\d+) \.b8 \S+\[(\d+)\]", line)
            if array:
                found.append((int(array[2]), int(array[1])))
            else:
                scalar = re.search(r"\.param \.(\w+)", line)
                assert scalar is not None, line
                found.append((SIZES[scalar[1]], SIZES[scalar[1]]))
        return found
