"""Device memory: one window of 2^40 addresses for each allocation, and what every kind of storage offers to loads and
stores.

The high bits of an address are its allocation, so that bounds are one compare and no 32-bit index reaches a neighbour.
"""

from __future__ import annotations

import os
from collections import deque
from typing import Any

import numpy as np
import numpy.typing as npt

from kdsl.backend import DeviceError, IllegalAddressError, MemoryFault, MisalignedAddressError, gibibytes
from kdsl.locks import Lock

Array = npt.NDArray[Any]

WINDOW_BITS = 40
WINDOW_START = 1 << 36
"""Where in its window an allocation begins: a negative index stays in the window too."""

SHARED_WINDOW = 1
LOCAL_WINDOW = 2
FUNCTION_WINDOW = 3
FIRST_WINDOW = 16
ORDINAL_BITS = 18
"""A window's bits above these are the number of the emulator whose memory it is."""
MOST_EMULATORS = 1 << (63 - WINDOW_BITS - ORDINAL_BITS)
REGION_BITS = 20
"""Shared variables stand so far apart."""
RANK_SHIFT = 27
"""Above these bits a shared address says in which block of the cluster it is."""
MOST_REGIONS = (1 << (RANK_SHIFT - REGION_BITS)) - 1
CONSTANT_BITS = 20
MOST_CONSTANTS = 1 << (32 - CONSTANT_BITS)
MOST_FREED = 4096
"""How many allocations are remembered after they are freed, so that a use of one is called by its name."""


WITHOUT_SYSCONF = 1 << 36
"""Bytes that an emulator has where the system does not tell how much memory there is."""


class LaneFault(Exception):
    """Something that one lane did: ``position`` counts lanes of the fragment that ran the instruction, or ``lane``
    says which."""

    def __init__(self, kind: type[DeviceError], message: str, position: int, lane: int | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.position = position
        self.lane = lane


class Storage:
    """Bytes, seen as arrays of any scalar type. Its own are aligned to 256, so every view starts aligned; NumPy copes
    with others.
    """

    __slots__ = ("buffer", "size", "views")

    def __init__(self, size: int, memory: Array | None = None) -> None:
        self.views: dict[str, Array] = {}
        if memory is not None:
            self.size = size
            self.buffer: Array = memory
            return
        raw = np.zeros(size + 256 + 16, np.uint8)
        skip = -raw.ctypes.data % 256
        self.size = size
        self.buffer = raw[skip : skip + size]

    def view(self, kind: str) -> Array:
        """All whole elements of NumPy type ``kind``."""
        found = self.views.get(kind)
        if found is None:
            width = np.dtype(kind).itemsize
            found = self.views[kind] = self.buffer[: self.size - self.size % width].view(kind)
        return found


class Allocation(Storage):
    """One allocation of global or constant memory, or a kernel's parameters."""

    __slots__ = ("address", "base", "name", "writable")

    def __init__(self, address: int, size: int, name: str, writable: bool, memory: Array | None = None) -> None:
        super().__init__(size, memory)
        self.address = address
        self.base = np.uint64(address)
        self.name = name
        self.writable = writable


class Reaching(dict[int, Allocation]):
    """A device's allocations, and those of the devices whose memory its kernels may use too."""

    def __init__(self, own: dict[int, Allocation], peers: list[GlobalMemory]) -> None:
        super().__init__(own)
        self.peers = peers

    def get(self, window: int, default: Any = None) -> Any:
        found = super().get(window)
        if found is not None:
            return found
        there = (dict.get(peer.allocations, window) for peer in self.peers)
        return next((allocation for allocation in there if allocation is not None), default)


class GlobalMemory:
    """All allocations of a device, by window. Any thread may allocate and free, and a finalizer inside of either."""

    def __init__(self, ordinal: int = 0, limit: int | None = None) -> None:
        self.limit = host_bytes() if limit is None else limit
        self.used = 0
        self.allocations: dict[int, Allocation] = {}
        self.freed: dict[int, int] = {}
        """Sizes of the newest freed allocations, by window, the oldest first."""
        self._windows = iter(range((ordinal << ORDINAL_BITS) + FIRST_WINDOW, (ordinal + 1) << ORDINAL_BITS))
        self._reusable: deque[int] = deque()
        """Windows that were freed so long ago that `freed` has forgotten them."""
        # Reentrant: Python may collect garbage, and so free arrays, while this thread allocates.
        self._lock = Lock()
        self.constant_bases: Array = np.zeros(MOST_CONSTANTS, np.uint64)
        """What the 32-bit address of a constant lacks of its whole one, by its bits above ``CONSTANT_BITS``."""

    def allocate(self, size: int, name: str, writable: bool = True) -> Allocation:
        if size < 0:
            raise ValueError(f"an allocation cannot have {size} bytes")
        with self._lock:
            if size > self.limit - self.used:
                raise out_of_memory(size, self.used, self.limit)
            window = self._window()
            allocation = Allocation((window << WINDOW_BITS) + WINDOW_START, size, name, writable)
            self.allocations[window] = allocation
            self.used += size
        return allocation

    def _window(self) -> int:
        """One that no allocation has, nor had lately."""
        if self._reusable:
            return self._reusable.popleft()
        window = next(self._windows, None)
        if window is None:
            raise MemoryError("the emulator has no address windows left: 262128 allocations are alive")
        return window

    def adopt(self, memory: Array, name: str) -> Allocation:
        """Bytes of the host, shared; its addresses are as well aligned as they are there."""
        with self._lock:
            window = self._window()
            address = (window << WINDOW_BITS) + WINDOW_START + memory.__array_interface__["data"][0] % 256
            allocation = Allocation(address, memory.size, name, memory.flags.writeable, memory)
            self.allocations[window] = allocation
            self.used += memory.size
        return allocation

    def allocate_constant(self, size: int, name: str) -> Allocation:
        """Constant memory. Its addresses come in 32 bits too: in the low half, variables stand a megabyte apart."""
        with self._lock:
            free = np.flatnonzero(self.constant_bases[1:] == 0)
            if size > 1 << CONSTANT_BITS or not free.shape[0]:
                raise MemoryError(f"the emulator has no room for the constant {name} of {size} bytes")
            which = int(free[0]) + 1
            window = self._window()
            whole = (window << WINDOW_BITS) + WINDOW_START
            allocation = Allocation(whole + (which << CONSTANT_BITS), size, name, writable=False)
            self.allocations[window] = allocation
            self.used += size
            self.constant_bases[which] = whole
        return allocation

    def whole_constant(self, address: Array) -> Array:
        """Whole addresses of constants, of which some may have lost their high half."""
        which = address.astype(np.uint32) >> np.uint32(CONSTANT_BITS)
        wide = address.astype(np.uint64)
        return np.where(wide >> np.uint64(32) == 0, self.constant_bases[which] + wide, wide)

    def free(self, address: int) -> None:
        window = address >> WINDOW_BITS
        with self._lock:
            allocation = dict.get(self.allocations, window)
            if allocation is None or allocation.address != address:
                raise DeviceError(f"free of {address:#x}, which is not the start of a live allocation")
            del self.allocations[window]
            self.used -= allocation.size
            self.constant_bases[self.constant_bases == (window << WINDOW_BITS) + WINDOW_START] = 0
            self.freed[window] = allocation.size
            if len(self.freed) > MOST_FREED:
                oldest = next(iter(self.freed))
                del self.freed[oldest]
                self._reusable.append(oldest)

    def reach(self, peer: GlobalMemory) -> None:
        """Let kernels here use the memory of another device."""
        with self._lock:
            peers = self.allocations.peers if isinstance(self.allocations, Reaching) else []
            if peer not in peers:
                self.allocations = Reaching(self.allocations, [*peers, peer])

    def span(self, address: int, size: int, what: str) -> Array:
        """The bytes of a host's copy; IllegalAddressError if they are not inside of one allocation."""
        if size == 0:
            return np.zeros(0, np.uint8)
        allocation = self.allocations.get(address >> WINDOW_BITS)
        if allocation is None:
            raise IllegalAddressError(f"{what} of {size} bytes at {address:#x}: {self.why_missing(address)}")
        offset = address - allocation.address
        if offset < 0 or offset + size > allocation.size:
            raise IllegalAddressError(f"{what} of {size} bytes at {address:#x}: {outside(allocation, offset, size)}")
        return allocation.buffer[offset : offset + size]

    def strided(self, address: int, strides: tuple[int, ...], shape: tuple[int, ...], itemsize: int) -> Array:
        """The elements of a host's strided copy, each as opaque bytes; MemoryFault if they are not inside of one
        allocation.
        """
        ends = [(extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)]
        low, high = sum(end for end in ends if end < 0), sum(end for end in ends if end > 0)
        size = high - low + itemsize if 0 not in shape else 0
        first = self.span(address + low, size, "copy")[-low : itemsize - low].view(f"V{itemsize}")
        return np.lib.stride_tricks.as_strided(first, shape, strides)

    def why_missing(self, address: int) -> str:
        window = address >> WINDOW_BITS
        if window in self.freed:
            return f"use after free of an allocation of {self.freed[window]} bytes"
        if address < 1 << 20:
            return "null pointer"
        return "no allocation has this address"

    def locate(self, address: Array, size: int, write: bool) -> tuple[Storage, Array]:
        """The one allocation of all ``address`` and the byte offsets; LaneFault for the first lane that has none.

        Raises Mixed when lanes use several allocations and all are right.
        """
        allocation = self.allocations.get(int(address[0]) >> WINDOW_BITS)
        if allocation is not None and (allocation.writable or not write):
            offset = address - allocation.base
            last = allocation.size - size
            if last >= 0 and offset.max() <= last and not np.bitwise_or.reduce(offset) & (size - 1):
                return allocation, offset
        self.check_each(address, size, write)
        raise Mixed

    def check_each(self, address: Array, size: int, write: bool) -> None:
        """LaneFault for the first lane whose access is wrong."""
        windows, inverse = np.unique(address >> np.uint64(WINDOW_BITS), return_inverse=True)
        wrong = np.zeros(address.shape[0], np.bool_)
        for which, window in enumerate(windows.tolist()):
            mine = inverse == which
            allocation = self.allocations.get(window)
            if allocation is None or (write and not allocation.writable):
                wrong |= mine
                continue
            offset = address - allocation.base
            fits = (offset <= max(allocation.size - size, 0)) & (offset & np.uint64(size - 1) == 0)
            wrong |= mine & (~fits if allocation.size >= size else True)
        if wrong.any():
            position = int(np.flatnonzero(wrong)[0])
            kind, why = self.explain(int(address[position]), size, write)
            raise LaneFault(kind, why, position)

    def explain(self, address: int, size: int, write: bool) -> tuple[type[DeviceError], str]:
        """What is wrong with an access."""
        access = f"{'write' if write else 'read'} of {size} byte{'s' if size > 1 else ''} at {address:#x}"
        allocation = self.allocations.get(address >> WINDOW_BITS)
        if allocation is None:
            return IllegalAddressError, f"{access}: {self.why_missing(address)}"
        offset = address - allocation.address
        if not 0 <= offset <= allocation.size - size:
            return IllegalAddressError, f"out-of-bounds {access}: {outside(allocation, offset, size)}"
        if write and not allocation.writable:
            return MemoryFault, f"{access}: {allocation.name} is read-only"
        return MisalignedAddressError, f"misaligned {access}: not a multiple of {size}{promised(size)}"


def host_bytes() -> int:
    """The memory of this machine, which is all that an emulated device can have."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not on Windows
        return WITHOUT_SYSCONF


def out_of_memory(size: int, used: int, limit: int) -> MemoryError:
    asked, left, all_ = (gibibytes(value) for value in (size, max(limit - used, 0), limit))
    return MemoryError(f"{asked} asked for on the emulator, {left} free of {all_}")


def promised(size: int) -> str:
    """What makes an access so wide, where no scalar is."""
    return " (a vector's, or what assume_aligned() promised)" if size > 8 else ""


class Mixed(Exception):
    """Lanes of one access are all right, but not in one storage."""


def outside(allocation: Allocation, offset: int, size: int) -> str:
    """Where an access lies that leaves ``allocation``."""
    name = f"{allocation.name} of {allocation.size} bytes"
    if offset < 0:
        return f"{-offset} bytes before {name}"
    if offset < allocation.size:
        return f"{offset + size - allocation.size} bytes past the end of {name}"
    return f"{offset - allocation.size} bytes after the end of {name}"
