"""Streams, events and graphs on the current device."""

from __future__ import annotations

from typing import Any, Self, TypeVar, overload

from kdsl.current import chosen, current_backend
from kdsl.runtime import event, graph, stream
from kdsl.runtime.device import Device
from kdsl.runtime.stream_backend import StreamBackend

E = TypeVar("E", bound=event.Event)


class Event(event.Event):
    """A point in a stream of ``device`` (the current one, if it is None), for waiting and for timing."""

    def __init__(
        self, timing: bool = True, *, blocking_sync: bool = False, device: str | int | Device | None = None
    ) -> None:
        super().__init__(chosen(device), timing, blocking_sync)


class Graph(graph.Graph):
    """An empty graph on ``device`` (the current one, if it is None), for `add_kernel`. ``with stream.capture() as
    graph:`` gives a full one.
    """

    def __init__(self, *, device: str | int | Device | None = None) -> None:
        super().__init__(chosen(device))


class Stream(stream.Stream):
    """A queue of work on ``device`` (the current one, if it is None): what is launched in one stream runs in order."""

    def __init__(self, priority: int = 0, *, blocking: bool = True, device: str | int | Device | None = None) -> None:
        super().__init__(chosen(device), priority, blocking)

    @classmethod
    def from_handle(cls, foreign: Any) -> Self:
        """The stream that another library's stream object, or a raw handle, is, as a stream of kdsl; ``foreign`` is
        kept alive, and still owns it.
        """
        return cls._of(foreign, current_backend())

    @overload  # type: ignore[override]
    def record(self, event: None = None) -> Event: ...
    @overload
    def record(self, event: E) -> E: ...
    def record(self, event: event.Event | None = None) -> event.Event:
        """``event``, or a new timing event, at this point of the stream."""
        return super().record(Event(device=self.device) if event is None else event)

    def capture(self) -> graph.Capturing[Graph]:
        """``with stream.capture() as graph:`` records what is put into the stream, in place of running it; inside, the
        stream is the current one.
        """
        return graph.Capturing(self, Graph(device=self.device))


class NamedStream(stream.NamedStream, Stream):
    """A default stream of the current device, whichever that is."""

    def __reduce__(self) -> str:
        return stream.NAMED[self.handle]


def current_stream() -> Stream:
    """The stream of the current device in which launches without one go: that of the innermost ``with stream:`` of
    this thread or asyncio task, otherwise the default stream.
    """
    backend = current_backend()
    current = backend.stream_state.current if isinstance(backend, StreamBackend) else None
    return legacy_stream if current is None else current


legacy_stream = NamedStream(1, current_backend)
per_thread_stream = NamedStream(2, current_backend)
