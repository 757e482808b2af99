"""DeviceArrays over memory that another library owns: `from_dlpack`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from kdsl.backend import Backend
from kdsl.runtime.dlpack import dlpack_array
from kdsl.runtime.dlpack_export import HostMemoryBackend
from kdsl.runtime.foreign_array import ForeignArray, HostMemory, NotOnDeviceError
from kdsl.runtime.foreign_memory import SharingBackend, sharing_of
from kdsl.runtime.host_values import is_masked
from kdsl.runtime.interface import has_dlpack
from kdsl.runtime.jax_arrays import is_jax
from kdsl.runtime.layout import contiguous_strides, reach
from kdsl.runtime.memory import DeviceArray
from kdsl.runtime.scalars import shown
from kdsl.runtime.torch_tensors import loaded_torch

COPY = "pass copy=True"


class BorrowedMemory:
    """Holds what keeps another library's memory alive, until no DeviceArray uses it and work on it has ended."""

    __slots__ = ("address", "backend", "first", "owner")

    def __init__(self, found: ForeignArray, backend: Backend) -> None:
        self.address = 0
        self.first = 0
        """Where kernels find the first element, if not where the owner does."""
        self.backend = backend
        self.owner = found.owner
        if isinstance(backend, HostMemoryBackend) and 0 not in found.shape:
            assert found.type is not None
            size = found.type.size
            low, high = reach(found.shape, found.strides or contiguous_strides(found.shape))
            memory = HostMemory(
                found.address + low * size, ((high - low + 1) * size,), None, "|u1", found.readonly, found.owner
            )
            self.address = backend.adopt(np.asarray(memory))
            self.first = self.address - low * size

    def __repr__(self) -> str:
        return "the library that it was taken from"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "device memory is neither pickled nor deep-copied; copy it with .to_host() and kdsl.to_device()"
        )

    def __del__(self, is_exiting: Callable[[], bool] = sys.is_finalizing) -> None:
        if is_exiting():
            return
        sharing = sharing_of(self.backend)
        if sharing is not None:
            sharing.release(self.owner)
        elif self.address:
            self.backend.free(self.address)


def from_dlpack(value: Any, backend: Backend, copy: bool | None = None) -> DeviceArray:
    """The DeviceArray over the memory of another library's array, or over a copy with ``copy=True``.

    TypeError for what has no ``__dlpack__``; BufferError for an array that cannot be shared.
    """
    if is_masked(value):
        raise BufferError(
            "from_dlpack: a masked array has no device counterpart; pass array.filled(value) or array.data"
        )
    if loaded_torch(value) is not None and value.is_neg():  # PyTorch exports it without its sign
        raise BufferError("from_dlpack: the tensor is a lazy negative; pass t.resolve_neg()")
    if not has_dlpack(value):
        raise TypeError(f"from_dlpack takes an array with __dlpack__, got {shown(value)}; kdsl.to_device copies others")
    try:
        found = dlpack_array(value, 0)
    except NotOnDeviceError as error:
        raise BufferError(f"from_dlpack: {shown(value)} {error}") from None
    problem = _problem(value, found, backend, bool(copy))
    if problem:
        raise BufferError(f"from_dlpack: {shown(value)} {problem}")
    assert found.type is not None
    borrowed = BorrowedMemory(found, backend)
    shared = DeviceArray(found.shape, found.type, backend, borrowed, borrowed.first or found.address, found.strides)
    if not copy:
        return shared
    out = DeviceArray(found.shape, found.type, backend)
    out.copy_from(shared)
    return out


def _problem(value: Any, found: ForeignArray, backend: Backend, copy: bool) -> str:
    """Why its memory cannot be a DeviceArray's; empty if it can."""
    if found.type is None:
        return f"has the dtype {found.dtype}, which kernels do not have"
    if found.is_host and not isinstance(backend, HostMemoryBackend):
        return f"is in memory of the host; kdsl.to_device copies it to {backend.name}"
    if not found.is_host and not isinstance(backend, SharingBackend):
        return f"is in a GPU's memory, which the {backend.name} does not reach; copy it to the host first"
    ordinal = getattr(backend, "ordinal", None)
    if found.device is not None and found.device != ordinal:
        return f"is on cuda:{found.device} and not on cuda:{ordinal}; call kdsl.set_device({found.device}) before"
    if found.address % found.type.align and 0 not in found.shape:
        return f"is at 0x{found.address:x}, which is no multiple of {found.type.align}; pass a copy of it"
    if not copy and (found.readonly or is_jax(value)):
        return f"is read-only, which a DeviceArray is not; {COPY}, or pass it to kernels itself: they may read it"
    return ""
