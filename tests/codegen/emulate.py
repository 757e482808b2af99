"""Runs emitted PTX on the emulator or a GPU, with NumPy arrays as memory."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from kdsl.backend import Backend, Launch
from kdsl.emulator import Emulator

Array = np.ndarray[Any, np.dtype[Any]]


class Device:
    """One module of PTX, loaded once."""

    def __init__(self, ptx: str, backend: Backend | None = None) -> None:
        self.backend = backend or Emulator()
        self.module = self.backend.load(ptx.encode())

    def run(self, kernel: str, arguments: Sequence[Array | bytes], threads: int, blocks: int = 1) -> None:
        """Launch; arrays are copied to the device and back, bytes are scalars already packed to their size."""
        backend = self.backend
        buffer, arrays = bytearray(), []
        for argument in arguments:
            packed = argument
            if isinstance(argument, np.ndarray):
                address = backend.alloc(max(argument.nbytes, 1))
                backend.write(address, memoryview(argument.view(np.uint8).reshape(-1)))
                arrays.append((address, argument))
                packed = struct.pack("<Q", address)
            assert isinstance(packed, bytes)
            buffer += bytes(-len(buffer) % len(packed)) + packed
        launch = Launch((blocks, 1, 1), (threads, 1, 1))
        backend.launch(backend.function(self.module, kernel), launch, bytes(buffer))
        backend.synchronize()
        for address, array in arrays:
            backend.read(address, memoryview(array.view(np.uint8).reshape(-1)))
            backend.free(address)
