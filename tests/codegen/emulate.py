"""Runs emitted PTX on the emulator, with NumPy arrays as memory."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from kdsl.backend import Launch
from kdsl.emulator import Emulator

Array = np.ndarray[Any, np.dtype[Any]]


class Device:
    """One module of PTX, loaded once."""

    def __init__(self, ptx: str, target: str = "sm_90") -> None:
        self.emulator = Emulator(target=target)
        self.module = self.emulator.load(ptx.encode())

    def run(self, kernel: str, arguments: Sequence[Array | bytes], threads: int, blocks: int = 1) -> None:
        """Launch; arrays are copied to the device and back, bytes are scalars already packed to their size."""
        emulator = self.emulator
        buffer, arrays = bytearray(), []
        for argument in arguments:
            packed = argument
            if isinstance(argument, np.ndarray):
                address = emulator.alloc(max(argument.nbytes, 1))
                emulator.write(address, memoryview(argument.view(np.uint8).reshape(-1)))
                arrays.append((address, argument))
                packed = struct.pack("<Q", address)
            assert isinstance(packed, bytes)
            buffer += bytes(-len(buffer) % len(packed)) + packed
        launch = Launch((blocks, 1, 1), (threads, 1, 1))
        emulator.launch(emulator.function(self.module, kernel), launch, bytes(buffer))
        emulator.synchronize()
        for address, array in arrays:
            emulator.read(address, memoryview(array.view(np.uint8).reshape(-1)))
            emulator.free(address)
