"""What a device with streams adds to `kdsl.backend.Backend`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Protocol, runtime_checkable

from kdsl.stream_state import StreamState


@runtime_checkable
class StreamBackend(Protocol):
    """Streams and events. Handles are integers; stream 0 is the default stream where no other is current, 1 always."""

    stream_state: StreamState

    def stream_priorities(self) -> tuple[int, int]:
        """The priorities of streams that are served last and first; smaller numbers come first."""
        ...

    def create_stream(self, priority: int, blocking: bool) -> int:
        """A new stream; ``blocking``: ordered with the default stream."""
        ...

    def destroy_stream(self, stream: int) -> None:
        """Give a stream back, whose work still finishes."""
        ...

    def synchronize_stream(self, stream: int) -> None:
        """Wait for its work, and raise what went wrong in it or in its callbacks."""
        ...

    def stream_done(self, stream: int) -> bool: ...
    def stream_facts(self, stream: int) -> tuple[int, bool]:
        """Priority of a stream that another library made, and whether it is ordered with the default stream."""
        ...

    def order(self, first: int, then: int) -> None:
        """Make later work in ``then`` wait for what is in ``first`` now."""
        ...

    def call_host(self, stream: int, function: Callable[[], object]) -> None:
        """Call a function after the work in the stream and before what is put there later."""
        ...

    def create_event(self, timing: bool, blocking_sync: bool = False) -> int:
        """A new event. ``blocking_sync``: a thread that waits for it sleeps, and does not spin."""
        ...

    def destroy_event(self, event: int) -> None: ...
    def record_event(self, event: int, stream: int) -> None: ...
    def wait_event(self, event: int, stream: int) -> None: ...
    def synchronize_event(self, event: int) -> None: ...
    def event_done(self, event: int) -> bool: ...
    def elapsed_ms(self, start: int, end: int) -> float: ...


def streams_of(backend: Any) -> StreamBackend | None:
    """The backend, if it has streams. Asked once: the Protocol has so many members that each look takes 30 us."""
    return _streams_of(backend)


def current_of(backend: Any) -> int | None:
    """The handle of the stream that is current on a device; None for none."""
    streams = streams_of(backend)
    current = None if streams is None else streams.stream_state.current
    return None if current is None else int(current._handle)


@cache
def _streams_of(backend: Any) -> StreamBackend | None:
    return backend if isinstance(backend, StreamBackend) else None
