"""The emulator's counterpart of host memory that a GPU reaches: its device memory is the host's own, so that all of it
is used in place. Copies are over when they are enqueued.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kdsl.captures import ALLOCATING, StreamCaptureError
from kdsl.emulator.graphs import EmulatedGraphs
from kdsl.emulator.memory import Array, GlobalMemory
from kdsl.locks import Lock


class EmulatedHostMemory(EmulatedGraphs):
    """Pinned, mapped and managed memory, and how much memory there is."""

    memory: GlobalMemory
    _busy: Lock

    def free(self, address: int) -> None:
        """What `kdsl.backend.Backend` says of it."""
        raise NotImplementedError

    def alloc_host(self, size: int, kind: str) -> tuple[int, int]:
        self.check("allocating memory", ALLOCATING)
        made = self.memory.allocate(size, f"the {kind} array")
        return made.buffer.ctypes.data, made.address

    def free_host(self, host: int, device: int, size: int, kind: str) -> None:
        self.free(device)

    def write_in(self, stream: int, address: int, source: memoryview, owner: Any) -> None:
        to = self.memory.span(address, source.nbytes, "copy to the device")
        self._copy_in(stream, to, np.frombuffer(source, np.uint8), (address,), owner)

    def read_in(self, stream: int, address: int, destination: memoryview, owner: Any) -> None:
        of = self.memory.span(address, destination.nbytes, "copy to the host")
        self._copy_in(stream, np.frombuffer(destination, np.uint8), of, (address,), owner)

    def copy_in(self, stream: int, destination: int, source: int, size: int) -> None:
        to, of = (self.memory.span(address, size, "copy") for address in (destination, source))
        self._copy_in(stream, to, of, (destination, source), None)

    def _copy_in(self, stream: int, to: Array, of: Array, addresses: tuple[int, ...], owner: Any) -> None:
        self._check_stream(stream)

        def copy() -> None:
            with self._busy:
                to[:] = of

        if not self.record_in(stream, "copy", copy, addresses, owner):
            copy()

    def prefetch(self, address: int, size: int, to_host: bool, stream: int) -> None:
        """There is one memory only: nothing moves."""
        self._check_stream(stream)
        if self.capture_of(stream) is not None:
            raise StreamCaptureError("moving managed memory inside of a capture: do it before, or after the graph")
        self.memory.span(address, size, "prefetch")

    def advise(self, address: int, size: int, advice: str) -> None:
        """Advice changes no result, and here nothing at all."""
        self.memory.span(address, size, "advice")

    # How much there is. No pool keeps what was freed.

    release_threshold = 0

    def memory_info(self) -> tuple[int, int, int, int]:
        used = self.memory.used
        return max(self.memory.limit - used, 0), self.memory.limit, used, used

    def trim_memory(self, keep: int) -> None:
        """Nothing is kept."""
