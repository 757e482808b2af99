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


@dataclass(frozen=True, slots=True)
class Staged:
    """A host array of a launch: whether it is copied to the device (``read``), and back (``returned``)."""

    array: np.ndarray[Any, Any]
    read: bool
    returned: bool


@dataclass(slots=True)
class _Member:
    """A staged array whose elements lie in the host bytes [low, high)."""

    low: int
    high: int
    staged: Staged

    def bytes(self) -> memoryview:
        """These bytes: through the array where it spans them, or else by address."""
        array = self.staged.array
        return host_bytes(array) if array.flags.c_contiguous else _bytes_at(self.low, self.high - self.low)

    @property
    def is_dense(self) -> bool:
        """Whether its elements fill the bytes, in whatever order."""
        return self.staged.array.nbytes == self.high - self.low


@dataclass(slots=True)
class _Group:
    """Host bytes [low, high) that arrays touch which overlap, and the device memory that stands for them."""

    low: int
    high: int
    alignment: int
    members: list[_Member] = field(default_factory=list)
    allocation: Allocation | None = None

    @property
    def base(self) -> int:
        """Where ``low`` is on the device. Overlapping arrays keep their alignment to each other and to memory."""
        assert self.allocation is not None
        return self.allocation.address + self.low % self.alignment

    def copy_in(self, backend: Backend) -> None:
        read = [member for member in self.members if member.staged.read]
        spanning = next((member for member in read if member.high - member.low == self.high - self.low), None)
        if spanning is not None:
            backend.write(self.base, spanning.bytes())
        elif len(read) == len(self.members):
            backend.write(self.base, _bytes_at(self.low, self.high - self.low))
        else:
            for member in read:
                backend.write(self.base + member.low - self.low, member.bytes())

    def copy_back(self, backend: Backend) -> None:
        for member in self.members:
            if not member.staged.returned:
                continue
            place = self.base + member.low - self.low
            if member.is_dense:
                backend.read(place, member.bytes())
            else:
                # Between its elements may be others', which the kernel must not seem to have written.
                _read_elements(backend, place, member)


class HostArrays:
    """The host arrays of one launch, and the device memory that stands for them until `release`.

    Nothing is allocated or copied before `copy_in`. ``alignment``: up to what power of two arrays are as aligned on the
    device as on the host.
    """

    def __init__(self, backend: Backend, arrays: Sequence[Staged], alignment: int = LARGEST_VECTOR) -> None:
        self.backend = backend
        self.groups = _grouped(arrays, alignment)

    def copy_in(self) -> None:
        # All allocations first, so that running out of memory copies nothing.
        for group in self.groups:
            group.allocation = Allocation(self.backend, group.high - group.low + group.low % group.alignment)
        for group in self.groups:
            group.copy_in(self.backend)

    def address(self, host: int) -> int:
        """The device address that stands for a host address in one of the arrays."""
        for group in self.groups:
            if group.low <= host < group.high:
                return group.base + host - group.low
        raise AssertionError("the host address is in none of the arrays")

    def copy_back(self) -> None:
        """Bring back what the kernel may have written, once it has finished; if it failed, nothing is copied."""
        if any(member.staged.returned for group in self.groups for member in group.members):
            self.backend.synchronize()
        for group in self.groups:
            group.copy_back(self.backend)

    def release(self) -> None:
        """Give the device memory back."""
        for group in self.groups:
            group.allocation = None


def _bytes_at(address: int, size: int) -> memoryview:
    """Host bytes, which an array keeps alive."""
    return memoryview((ctypes.c_ubyte * size).from_address(address)).cast("B")


def _read_elements(backend: Backend, place: int, member: _Member) -> None:
    """Copy back the elements of an array, and nothing of what lies between them."""
    array = member.staged.array
    fresh = np.empty(member.high - member.low, np.uint8)
    backend.read(place, fresh.data)
    offset = array.__array_interface__["data"][0] - member.low
    first = fresh[offset : offset + array.itemsize].view(array.dtype)
    array[...] = np.lib.stride_tricks.as_strided(first, array.shape, array.strides)


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


def _grouped(arrays: Sequence[Staged], alignment: int) -> list[_Group]:
    """One group for every set of arrays that overlap; arrays without elements need no memory."""
    groups: list[_Group] = []
    members = [_Member(*byte_bounds(staged.array), staged) for staged in arrays if staged.array.size]
    for member in sorted(members, key=lambda member: member.low):
        if groups and member.low < groups[-1].high:
            group = groups[-1]
            group.high = max(group.high, member.high)
        else:
            group = _Group(member.low, member.high, alignment)
            groups.append(group)
        group.members.append(member)
        group.alignment = max(group.alignment, member.staged.array.dtype.alignment)
    return groups
