"""NumPy arguments of one launch: copied to the device before it and back after it, shared memory staying shared.

Host arrays that overlap get one device buffer, so that a kernel sees the aliasing that a C function would.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np

from kdsl.backend import Backend
from kdsl.records import dataclass
from kdsl.runtime.allocation import Allocation
from kdsl.runtime.array_copies import host_bytes

# Bytes: what is aligned for vectors on the host is aligned for them on the device.
LARGEST_VECTOR = 16


@dataclass(slots=True)
class _Group:
    """Host bytes [low, high) that the arrays ``members`` touch, and the device memory that stands for them."""

    low: int
    high: int
    written: bool
    alignment: int
    members: list[np.ndarray[Any, Any]] = field(default_factory=list)
    allocation: Allocation | None = None

    @property
    def base(self) -> int:
        """Where ``low`` is on the device. Overlapping arrays keep their alignment to each other and to memory."""
        assert self.allocation is not None
        return self.allocation.address + self.low % self.alignment

    def bytes(self, writable: bool) -> memoryview:
        """The host bytes: through an array that spans them, or else by address."""
        for array in self.members:
            if (
                array.nbytes == self.high - self.low
                and array.flags.c_contiguous
                and (array.flags.writeable or not writable)
            ):
                return host_bytes(array)
        return memoryview((ctypes.c_ubyte * (self.high - self.low)).from_address(self.low)).cast("B")


class HostArrays:
    """The host arrays of one launch, as a context that frees their device memory at its end.

    ``arrays`` are (array, may be written). Nothing is allocated or copied before `copy_in`. ``alignment``: up to what
    power of two arrays are as aligned on the device as on the host.
    """

    def __init__(
        self,
        backend: Backend,
        arrays: Sequence[tuple[np.ndarray[Any, Any], bool]],
        alignment: int = LARGEST_VECTOR,
    ) -> None:
        self.backend = backend
        self.groups = _grouped(arrays, alignment)

    def copy_in(self) -> None:
        # All allocations first, so that running out of memory copies nothing.
        for group in self.groups:
            group.allocation = Allocation(self.backend, group.high - group.low + group.low % group.alignment)
        for group in self.groups:
            self.backend.write(group.base, group.bytes(writable=False))

    def address(self, host: int) -> int:
        """The device address that stands for a host address in one of the arrays."""
        for group in self.groups:
            if group.low <= host < group.high:
                return group.base + host - group.low
        raise AssertionError("the host address is in none of the arrays")

    def copy_back(self) -> None:
        """Bring back what the kernel may have written, once it has finished; if it failed, nothing is copied."""
        if any(group.written for group in self.groups):
            self.backend.synchronize()
        for group in self.groups:
            if group.written:
                self.backend.read(group.base, group.bytes(writable=True))

    def release(self) -> None:
        """Give the device memory back."""
        for group in self.groups:
            group.allocation = None


def byte_bounds(array: np.ndarray[Any, Any]) -> tuple[int, int]:
    """The addresses [low, high) that an array's elements lie in, whatever its strides."""
    low: int = array.__array_interface__["data"][0]
    if array.flags.c_contiguous:
        return low, low + array.nbytes
    high = low + array.itemsize
    for extent, stride in zip(array.shape, array.strides, strict=True):
        reach = (extent - 1) * stride
        low, high = low + min(reach, 0), high + max(reach, 0)
    return low, high


def _grouped(arrays: Sequence[tuple[np.ndarray[Any, Any], bool]], alignment: int) -> list[_Group]:
    """One group for every set of arrays that overlap; arrays without elements need no memory."""
    groups: list[_Group] = []
    spans = [(byte_bounds(array), array, written) for array, written in arrays if array.size]
    for (low, high), array, written in sorted(spans, key=lambda span: span[0]):
        if groups and low < groups[-1].high:
            group = groups[-1]
            group.high = max(group.high, high)
            group.written |= written
        else:
            group = _Group(low, high, written, alignment)
            groups.append(group)
        group.members.append(array)
        group.alignment = max(group.alignment, array.dtype.alignment)
    return groups
