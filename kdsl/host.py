"""The host's side beside launching, on the current device: arrays in its memory, waiting."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from kdsl.current import chosen, current_backend
from kdsl.lang.types import F32
from kdsl.runtime import array_making, host_memory, memory_pool, shared_arrays
from kdsl.runtime.device import Device
from kdsl.runtime.host_values import as_numpy
from kdsl.runtime.memory import DeviceArray
from kdsl.runtime.memory_pool import MemoryInfo


def to_device(array: Any, device: str | int | Device | None = None) -> DeviceArray:
    """A C-contiguous copy of ``array``, or of what NumPy makes of it, in the memory of ``device``: the current one, if
    it is None. ``array`` may be a DeviceArray, on any device.
    """
    return array_making.to_device(array, chosen(device))


def empty(shape: int | tuple[int, ...], dtype: Any = F32, *, device: str | int | Device | None = None) -> DeviceArray:
    """An uninitialised array on ``device`` (the current one, if it is None); ``dtype`` is a type of the kernel language
    or a NumPy dtype.
    """
    return array_making.empty(shape, dtype, backend=chosen(device))


def zeros(shape: int | tuple[int, ...], dtype: Any = F32, *, device: str | int | Device | None = None) -> DeviceArray:
    """An array of zeros on ``device`` (the current one, if it is None)."""
    return array_making.zeros(shape, dtype, backend=chosen(device))


def full(
    shape: int | tuple[int, ...], value: Any, dtype: Any = F32, *, device: str | int | Device | None = None
) -> DeviceArray:
    """An array on ``device`` (the current one, if it is None) whose elements are all ``value``, which ``dtype`` has to
    hold.
    """
    return array_making.full(shape, value, dtype, backend=chosen(device))


def empty_like(
    array: Any,
    dtype: Any = None,
    shape: int | tuple[int, ...] | None = None,
    *,
    device: str | int | Device | None = None,
) -> DeviceArray:
    """An uninitialised array with the shape and dtype of an array (or of what NumPy makes of it), on the device of a
    DeviceArray or the current one; ``dtype``, ``shape`` and ``device`` say otherwise.
    """
    if not isinstance(getattr(array, "dtype", None), np.dtype):
        array = as_numpy(array)
    there = array.backend if device is None and isinstance(array, DeviceArray) else chosen(device)
    wanted = array.shape if shape is None else shape
    return array_making.empty(wanted, array.dtype if dtype is None else dtype, backend=there)


def zeros_like(
    array: Any,
    dtype: Any = None,
    shape: int | tuple[int, ...] | None = None,
    *,
    device: str | int | Device | None = None,
) -> DeviceArray:
    """As `empty_like`, an array of zeros."""
    made = empty_like(array, dtype, shape, device=device)
    made.fill(np.zeros((), made.dtype))
    return made


def from_dlpack(array: Any, *, device: str | int | Device | None = None, copy: bool | None = None) -> DeviceArray:
    """A DeviceArray over the memory of an array of another library, through DLPack: PyTorch's, CuPy's, on the emulator
    NumPy's too. With ``copy=True`` over a copy. It lies on ``device`` (the current one, if it is None): BufferError for
    an array that does not, or cannot be shared, such as a read-only one.
    """
    return shared_arrays.from_dlpack(array, chosen(device), copy)


def pinned_empty(
    shape: int | tuple[int, ...], dtype: Any = F32, *, device: str | int | Device | None = None
) -> np.ndarray[Any, Any]:
    """An uninitialised NumPy array in pinned host memory, which every GPU copies from and to by itself: with
    ``d.copy_from(a, stream=s)`` and ``d.to_host(a, stream=s)`` the host goes on meanwhile. A kernel takes it as it
    takes any NumPy array.
    """
    return host_memory.empty(shape, dtype, kind="pinned", backend=chosen(device))


def mapped_empty(
    shape: int | tuple[int, ...], dtype: Any = F32, *, device: str | int | Device | None = None
) -> np.ndarray[Any, Any]:
    """An uninitialised NumPy array in host memory that kernels on the device use in place, over the bus: a launch
    copies nothing of it and does not wait. Synchronise before the host reads what a kernel wrote.
    """
    return host_memory.empty(shape, dtype, kind="mapped", backend=chosen(device))


def managed_empty(
    shape: int | tuple[int, ...], dtype: Any = F32, *, device: str | int | Device | None = None
) -> np.ndarray[Any, Any]:
    """An uninitialised NumPy array in managed memory, whose pages move between host and device as they are used: as
    `mapped_empty`, but fast where one side uses it again and again. `mem_prefetch` moves it in advance.
    """
    return host_memory.empty(shape, dtype, kind="managed", backend=chosen(device))


def mem_prefetch(array: np.ndarray[Any, Any], to: Literal["device", "host"] = "device", *, stream: Any = None) -> None:
    """Move a `managed_empty` array (or a contiguous part of one) to its device or to the host, in a stream."""
    host_memory.prefetch(array, to, stream)


def mem_advise(array: np.ndarray[Any, Any], advice: str) -> None:
    """Say how a `managed_empty` array (or a contiguous part of one) will be used: ``read_mostly``, ``prefer_device``,
    ``prefer_host``, ``accessed_by_device`` or ``accessed_by_host``, each taken back by ``unset_`` before it.
    """
    host_memory.advise(array, advice)


def memory_info(device: str | int | Device | None = None) -> MemoryInfo:
    """How much memory ``device`` (the current one, if it is None) has, and how much of it arrays here use."""
    return memory_pool.memory_info(chosen(device))


def trim_memory(keep: int = 0, *, device: str | int | Device | None = None) -> None:
    """Give memory that no array uses any more back to the system, but for ``keep`` bytes, after the work enqueued
    before. For other processes and libraries: arrays of kdsl use it again anyway.
    """
    memory_pool.trim_memory(keep, chosen(device))


def set_release_threshold(size: int, *, device: str | int | Device | None = None) -> None:
    """Bytes of freed memory that the device keeps for later arrays when it is synchronised: at first a sixteenth of
    its memory.
    """
    memory_pool.set_release_threshold(size, chosen(device))


def synchronize() -> None:
    """Wait for all work on the current device, and raise what went wrong in it, a DeviceError."""
    current_backend().synchronize()
