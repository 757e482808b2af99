"""The host's side beside launching, on the current device: arrays in its memory, streams, events, waiting."""

from __future__ import annotations

from typing import Any

from kdsl.backend import Backend
from kdsl.current import current_device
from kdsl.lang.types import F32
from kdsl.runtime import memory, stream
from kdsl.runtime.memory import DeviceArray


def to_device(array: Any) -> DeviceArray:
    """A C-contiguous copy of ``array``, or of what NumPy makes of it, in the memory of the current device."""
    return memory.to_device(array, current_device())


def empty(shape: int | tuple[int, ...], dtype: Any = F32) -> DeviceArray:
    """An uninitialised array on the current device; ``dtype`` is a type of the kernel language or a NumPy dtype."""
    return memory.empty(shape, dtype, backend=current_device())


def zeros(shape: int | tuple[int, ...], dtype: Any = F32) -> DeviceArray:
    """An array of zeros on the current device."""
    return memory.zeros(shape, dtype, backend=current_device())


def synchronize() -> None:
    """Wait for all work on the current device, and raise what went wrong in it, a DeviceError."""
    current_device().synchronize()


class Event(stream.Event):
    """A point in a stream of the current device (or of ``backend``), for waiting and for timing."""

    def __init__(self, timing: bool = True, *, backend: Backend | None = None) -> None:
        super().__init__(backend or current_device(), timing)


class Stream(stream.Stream):
    """A queue of work on the current device: what is launched in one stream runs in order."""

    def __init__(self, priority: int = 0) -> None:
        super().__init__(current_device(), priority)

    def record(self) -> Event:
        """A new timing event at this point of the stream."""
        event = Event(backend=self.backend)
        event.record(self)
        return event
