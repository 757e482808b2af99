"""The host's side beside launching, on the current device: arrays in its memory, streams, events, waiting."""

from __future__ import annotations

from typing import Any

import numpy as np

from kdsl.backend import Backend
from kdsl.current import backend_of, current_backend
from kdsl.lang.types import F32
from kdsl.runtime import event, memory, shared_arrays, stream
from kdsl.runtime.device import Device
from kdsl.runtime.memory import DeviceArray
from kdsl.runtime.stream_backend import StreamBackend


def to_device(array: Any, device: str | int | Device | None = None) -> DeviceArray:
    """A C-contiguous copy of ``array``, or of what NumPy makes of it, in the memory of ``device``: the current one, if
    it is None. ``array`` may be a DeviceArray, on any device.
    """
    return memory.to_device(array, _chosen(device))


def empty(shape: int | tuple[int, ...], dtype: Any = F32, *, device: str | int | Device | None = None) -> DeviceArray:
    """An uninitialised array on ``device`` (the current one, if it is None); ``dtype`` is a type of the kernel language
    or a NumPy dtype.
    """
    return memory.empty(shape, dtype, backend=_chosen(device))


def zeros(shape: int | tuple[int, ...], dtype: Any = F32, *, device: str | int | Device | None = None) -> DeviceArray:
    """An array of zeros on ``device`` (the current one, if it is None)."""
    return memory.zeros(shape, dtype, backend=_chosen(device))


def _chosen(device: str | int | Device | None) -> Backend:
    return current_backend() if device is None else backend_of(device)


def full(
    shape: int | tuple[int, ...], value: Any, dtype: Any = F32, *, device: str | int | Device | None = None
) -> DeviceArray:
    """An array on ``device`` (the current one, if it is None) whose elements are all ``value``, which ``dtype`` has to
    hold.
    """
    return memory.full(shape, value, dtype, backend=_chosen(device))


def empty_like(
    array: Any,
    dtype: Any = None,
    shape: int | tuple[int, ...] | None = None,
    *,
    device: str | int | Device | None = None,
) -> DeviceArray:
    """An uninitialised array with the shape and dtype of a NumPy array or a DeviceArray, on the device of the latter or
    the current one; ``dtype``, ``shape`` and ``device`` say otherwise.
    """
    there = array.backend if device is None and isinstance(array, DeviceArray) else _chosen(device)
    wanted = array.shape if shape is None else shape
    return memory.empty(wanted, array.dtype if dtype is None else dtype, backend=there)


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
    return shared_arrays.from_dlpack(array, _chosen(device), copy)


def synchronize() -> None:
    """Wait for all work on the current device, and raise what went wrong in it, a DeviceError."""
    current_backend().synchronize()


class Event(event.Event):
    """A point in a stream of the current device (or of ``backend``), for waiting and for timing."""

    def __init__(self, timing: bool = True, *, blocking_sync: bool = False, backend: Backend | None = None) -> None:
        super().__init__(backend or current_backend(), timing, blocking_sync)


class _Recording(stream.Stream):
    """What records events of the class above."""

    def record(self, event: event.Event | None = None) -> event.Event:
        return super().record(Event(backend=self.backend) if event is None else event)


class Stream(_Recording):
    """A queue of work on the current device: what is launched in one stream runs in order."""

    def __init__(self, priority: int = 0, *, blocking: bool = True) -> None:
        super().__init__(current_backend(), priority, blocking)

    @classmethod
    def from_handle(cls, foreign: Any) -> Stream:
        """The stream that another library's stream object, or a raw handle, is, as a stream of kdsl; ``foreign`` is
        kept alive, and still owns it.
        """
        return cls.of(foreign, current_backend())


def current_stream() -> stream.Stream:
    """The stream of the current device in which launches without one go: that of the innermost ``with stream:`` of
    this thread or asyncio task, otherwise the default stream.
    """
    backend = current_backend()
    current = backend.stream_state.current if isinstance(backend, StreamBackend) else None
    return legacy_stream if current is None else current


class NamedStream(_Recording, stream.NamedStream):
    """A default stream of the current device, whichever that is."""


legacy_stream = NamedStream(1, current_backend)
per_thread_stream = NamedStream(2, current_backend)
