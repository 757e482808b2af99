"""Streams and events over any Backend. On the emulator work is done when it is enqueued, so its one stream is trivially
ordered.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from kdsl.backend import Backend
from kdsl.runtime.errors import LaunchConfigTypeError, LaunchConfigValueError


@runtime_checkable
class StreamBackend(Protocol):
    """What a backend with asynchronous streams adds to `Backend`. Handles are integers; stream 0 is the legacy default
    stream.
    """

    def create_stream(self, priority: int) -> int: ...
    def destroy_stream(self, stream: int) -> None: ...
    def synchronize_stream(self, stream: int) -> None: ...
    def stream_done(self, stream: int) -> bool: ...
    def order(self, first: int, then: int) -> None:
        """Make later work in ``then`` wait for what is in ``first`` now."""
        ...

    def create_event(self, timing: bool) -> int: ...
    def destroy_event(self, event: int) -> None: ...
    def record_event(self, event: int, stream: int) -> None: ...
    def wait_event(self, event: int, stream: int) -> None: ...
    def synchronize_event(self, event: int) -> None: ...
    def event_done(self, event: int) -> bool: ...
    def elapsed_ms(self, start: int, end: int) -> float: ...


class Stream:
    """A queue of work: launches in one stream run in order. Ordered with the default stream, as CUDA's blocking streams
    are.
    """

    def __init__(self, backend: Backend, priority: int = 0) -> None:
        self.backend = backend
        self.handle = 0
        self._streams = backend if isinstance(backend, StreamBackend) else None
        if self._streams:
            self.handle = self._streams.create_stream(priority)
        elif priority:
            raise LaunchConfigValueError(f"stream priorities need a GPU; this is the {backend.name}")

    def synchronize(self) -> None:
        """Wait for the work in this stream, and raise what went wrong in it."""
        if self._streams:
            self._streams.synchronize_stream(self.handle)
        else:
            self.backend.synchronize()

    @property
    def done(self) -> bool:
        """Whether all work in it has finished."""
        return not self._streams or self._streams.stream_done(self.handle)

    def record(self) -> Event:
        """A new timing event at this point of the stream."""
        event = Event(self.backend)
        event.record(self)
        return event

    def wait(self, event: Event) -> None:
        """Make later work here wait for ``event``."""
        _check_event(event)
        if self._streams:
            self._streams.wait_event(event.handle, self.handle)

    def __cuda_stream__(self) -> tuple[int, int]:
        """(version, handle), which other CUDA libraries read."""
        if not self._streams:
            raise AttributeError(f"this stream is on the {self.backend.name}, which no CUDA library can use")
        return (0, self.handle)

    def __del__(self, is_exiting: Callable[[], bool] = sys.is_finalizing) -> None:
        if getattr(self, "handle", 0) and self._streams and not is_exiting():
            self._streams.destroy_stream(self.handle)

    def __repr__(self) -> str:
        return f"Stream(0x{self.handle:x} on {self.backend.name})"


class Event:
    """A point in a stream, for waiting and for timing."""

    def __init__(self, backend: Backend, timing: bool = True) -> None:
        self.backend = backend
        self.timing = timing
        self.handle = 0
        self.recorded = False
        self._streams = backend if isinstance(backend, StreamBackend) else None
        self._host_time = 0.0
        if self._streams:
            self.handle = self._streams.create_event(timing)

    def record(self, stream: Stream | None = None) -> None:
        """Move the event to the end of what is in ``stream`` (the default stream if None) now."""
        if stream is not None and not isinstance(stream, Stream):
            raise TypeError(f"an event is recorded in a kdsl.Stream, got {stream!r}")
        self.recorded = True
        if self._streams:
            self._streams.record_event(self.handle, stream.handle if stream else 0)
        else:
            self._host_time = time.perf_counter()

    def synchronize(self) -> None:
        """Wait until the work before the event has finished."""
        if self._streams:
            self._streams.synchronize_event(self.handle)

    @property
    def done(self) -> bool:
        return not self._streams or self._streams.event_done(self.handle)

    def elapsed_ms(self, end: Event) -> float:
        """Milliseconds from this event to ``end``, which is waited for. On the emulator: the host's time."""
        _check_event(end)
        for event, role in ((self, "start"), (end, "end")):
            if not event.recorded:
                raise ValueError(f"the {role} event was never recorded")
            if not event.timing:
                raise ValueError(f"the {role} event was made with timing=False")
        if self._streams:
            end.synchronize()
            return self._streams.elapsed_ms(self.handle, end.handle)
        return (end._host_time - self._host_time) * 1e3

    def __del__(self, is_exiting: Callable[[], bool] = sys.is_finalizing) -> None:
        if getattr(self, "handle", 0) and self._streams and not is_exiting():
            self._streams.destroy_event(self.handle)


def _check_event(event: Any) -> None:
    if not isinstance(event, Event):
        raise TypeError(f"an Event is needed, which stream.record() gives; got {event!r}")


def stream_handle(stream: Any, backend: Backend) -> int:
    """The handle of a `Stream`, another library's stream object, or a raw handle; 0 for None."""
    if stream is None or (type(stream) is int and stream == 0):
        return 0
    if isinstance(stream, Stream):
        if stream.backend is not backend:
            raise LaunchConfigValueError(f"{stream!r} belongs to another device than this launch on {backend.name}")
        return stream.handle
    handle = foreign_handle(stream)
    if handle is None:
        raise LaunchConfigTypeError(
            f"stream takes a kdsl.Stream, a stream of another library or None, got {stream!r}; "
            "the fourth value in k[grid, block, stream, shared_bytes] is the dynamic shared memory"
        )
    if not isinstance(backend, StreamBackend):
        raise LaunchConfigValueError(
            f"{stream!r} is a CUDA stream; the {backend.name} runs kernels only in its own streams"
        )
    return handle


def foreign_handle(stream: Any) -> int | None:
    """The handle in another library's stream object: `__cuda_stream__`, PyTorch's `cuda_stream`, CuPy's `ptr`; or an
    int.
    """
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return int(protocol()[1] if callable(protocol) else protocol[1])
    for name in ("cuda_stream", "ptr"):
        value = getattr(stream, name, None)
        if isinstance(value, int):
            return value
    # Why refuse small ints? k[grid, block, 1024] is a forgotten stream far more often than a handle, which is an
    # address; 0, 1 and 2 are CUDA's own names for the default, the legacy and the per-thread stream.
    if isinstance(stream, int) and not isinstance(stream, bool) and (0 <= stream <= 2 or stream > 0xFFFF):
        return stream
    return None
