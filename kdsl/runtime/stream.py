"""Streams over any device that has them: queues of work. On the emulator work is done when it is enqueued."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Self, cast

from kdsl.backend import Backend, device_name
from kdsl.runtime.awaiting import wait_for
from kdsl.runtime.device import Device, device_of
from kdsl.runtime.errors import LaunchConfigTypeError, LaunchConfigValueError, written
from kdsl.runtime.event import Event
from kdsl.runtime.peers import PeerBackend, are_peers
from kdsl.runtime.standalone.streams import HANDLES, handle_of
from kdsl.runtime.stream_backend import StreamBackend
from kdsl.stream_state import StreamState

if TYPE_CHECKING:
    from kdsl.runtime.graph import Capturing, Graph

NAMED = {1: "legacy_stream", 2: "per_thread_stream"}


class Stream:
    """A queue of work: launches in one stream run in order.

    ``priority``: smaller numbers are served first; what is outside of the device's range counts as its end.
    ``blocking``: ordered with the default stream, as CUDA's streams are unless made otherwise. ``with stream:`` makes
    it the current stream of this thread or asyncio task: launches that name none go there. ``await stream`` waits for
    the work that is in it. It is destroyed when nothing refers to it any more; work in it still finishes.
    """

    def __init__(self, backend: Backend, priority: int = 0, blocking: bool = True) -> None:
        self._adopt(backend, 0, None)
        if isinstance(priority, bool) or not isinstance(priority, int):
            raise TypeError(f"a stream's priority is an int, such as -1, got {priority!r}")
        if not isinstance(blocking, bool):
            raise TypeError(f"blocking takes True or False, got {blocking!r}")
        least, greatest = self._streams.stream_priorities()
        self._priority = max(min(priority, least), greatest)
        self._blocking = blocking
        self._handle = self._streams.create_stream(self._priority, blocking)
        self._is_ours = True

    def _adopt(self, backend: Backend, handle: int, owner: Any) -> None:
        """Be the stream of this handle, which ``owner`` keeps alive."""
        if not isinstance(backend, StreamBackend):
            raise LaunchConfigValueError(f"the {backend.name} has no streams")
        self._backend, self._streams, self._handle, self._owner = backend, backend, handle, owner
        self._is_ours = False

    @classmethod
    def _of(cls, foreign: Any, backend: Backend) -> Self:
        """The stream that another library's stream object (or a raw handle) is; the object is kept alive."""
        if foreign is None or not is_stream(foreign):
            got = "None; the default stream is kdsl.legacy_stream" if foreign is None else no_stream(foreign)
            raise LaunchConfigTypeError(f"from_handle takes a stream of another library, or its handle, got {got}")
        stream = cls.__new__(cls)
        handle = stream_handle(foreign, backend)
        stream._adopt(backend, handle, foreign)
        stream._priority, stream._blocking = stream._streams.stream_facts(handle)
        return stream

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError(f"{self!r} is of this process; make a stream where it is used")

    @property
    def backend(self) -> Backend:
        return self._backend

    @property
    def device(self) -> Device:
        """Where its work runs."""
        return device_of(self.backend)

    @property
    def handle(self) -> int:
        """CUDA's handle of it; on the emulator, its number there."""
        return self._handle

    @property
    def priority(self) -> int:
        return self._priority

    @property
    def blocking(self) -> bool:
        """Whether it is ordered with the default stream."""
        return self._blocking

    def synchronize(self) -> None:
        """Wait for the work in this stream, and raise what went wrong in it or in its callbacks."""
        self._streams.synchronize_stream(self._handle)

    @property
    def done(self) -> bool:
        """Whether all work in it has finished."""
        return self._streams.stream_done(self._handle)

    def query(self) -> bool:
        """The same as ``done``, by CUDA's name."""
        return self.done

    def record(self, event: Event | None = None) -> Event:
        """``event``, or a new timing event, at this point of the stream."""
        found = Event(self.backend) if event is None else event
        if not isinstance(found, Event):
            raise TypeError(f"record takes an Event or nothing, got {event!r}")
        found.record(self)
        return found

    def wait(self, other: Event | Stream) -> None:
        """Make later work here wait for an event, or for what is in another stream now; another GPU's, too."""
        if isinstance(other, Stream) and other.backend is not self.backend:
            self._check_peer(other)
            other = Stream.record(other, Event(other.backend, timing=False))
        if isinstance(other, Event):
            self._wait_for(other)
            return
        if not isinstance(other, Stream) and handle_of(other) is None:
            raise TypeError(f"an Event is needed, which stream.record() gives, or a stream; got {other!r}")
        self._streams.order(stream_handle(other, self.backend), self._handle)

    def _wait_for(self, event: Event) -> None:
        backend = self.backend
        if event.backend is backend:
            self._streams.wait_event(event.handle, self._handle)
        else:
            self._check_peer(event)
            cast(PeerBackend, backend).wait_for_peer_event(self._handle, event.backend, event.handle)

    def _check_peer(self, other: Event | Stream) -> None:
        """LaunchConfigError where a stream here cannot wait for what is on the other's device."""
        if not are_peers(self.backend, other.backend):
            raise LaunchConfigValueError(
                f"{self!r} cannot wait for {other!r}, which is no device of its kind; wait on the host: "
                f"{type(other).__name__.lower()}.synchronize()"
            )

    def add_callback(self, function: Callable[..., object], *arguments: Any) -> None:
        """Call ``function(*arguments)`` on the host once the work that is in the stream has finished; what is put there
        later waits for it.

        It runs in a thread of the driver and must not use the device; what it raises is raised by the next
        synchronisation. If an earlier kernel fails it is not called.
        """
        if not callable(function):
            raise TypeError(f"a callback is a function, got {function!r}")
        self._streams.call_host(self._handle, lambda: function(*arguments))

    def capture(self) -> Capturing[Graph]:
        """``with stream.capture() as graph:`` records what is put into the stream, in place of running it; inside, the
        stream is the current one.
        """
        from kdsl.runtime.graph import Capturing, Graph  # start-up cost: few programs make graphs

        return Capturing(self, Graph(self.backend))

    def __enter__(self) -> Self:
        self._streams.stream_state.enter(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._streams.stream_state.leave(self)

    def __await__(self) -> Generator[Any, None, None]:
        """Wait for the work that is in the stream now, while other tasks of the event loop run."""
        event = Event(self.backend, timing=False, blocking_sync=True)
        event.record(self)
        yield from wait_for(event)
        self._streams.stream_state.raise_failures(self._handle)

    def __cuda_stream__(self) -> tuple[int, int]:
        """(version, handle), which other CUDA libraries read."""
        if self.backend.name != "cuda":
            raise AttributeError(f"this stream is on the {self.backend.name}, which no CUDA library can use")
        return (0, self._handle)

    def __del__(self, is_exiting: Callable[[], bool] = sys.is_finalizing) -> None:
        if getattr(self, "_is_ours", False) and not is_exiting():
            self._streams.destroy_stream(self._handle)

    def __repr__(self) -> str:
        return f"Stream(0x{self._handle:x} on {device_name(self.backend)})"


class NamedStream(Stream):
    """The legacy default stream (1) or the per-thread one (2) of whichever device is current."""

    def __init__(self, handle: int, current: Callable[[], Backend]) -> None:
        self._handle = handle
        self._current = current
        self._is_ours = False
        self._priority, self._blocking = 0, True
        # What each thread and task has to leave: another device may be current by then.
        self._entered: ContextVar[tuple[StreamState, ...]] = ContextVar(f"kdsl {NAMED[handle]}", default=())

    def __enter__(self) -> Self:
        state = self._streams.stream_state
        state.enter(self)
        self._entered.set((*self._entered.get(), state))
        return self

    def __exit__(self, *_: object) -> None:
        *before, state = self._entered.get()
        self._entered.set(tuple(before))
        state.leave(self)

    @property
    def backend(self) -> Backend:
        return self._current()

    @property
    def _streams(self) -> StreamBackend:  # type: ignore[override]
        backend = self._current()
        if not isinstance(backend, StreamBackend):
            raise LaunchConfigValueError(f"the {backend.name} has no streams")
        return backend

    def __repr__(self) -> str:
        return f"kdsl.{NAMED[self._handle]}"


def stream_handle(stream: Any, backend: Backend) -> int:
    """The handle of a `Stream`, another library's stream object, or a raw handle; 0 for None."""
    if stream is None or (type(stream) is int and stream == 0):
        return 0
    if isinstance(stream, Stream):
        if not isinstance(stream, NamedStream) and stream.backend is not backend:
            raise LaunchConfigValueError(
                f"{stream!r} belongs to another device than what is put into it, which is on {device_name(backend)}; "
                f"make a stream there, kdsl.Stream(device={device_name(backend)!r})"
            )
        return stream._handle
    handle = handle_of(stream)
    if handle is None:
        raise _refused(stream)
    if backend.name != "cuda" and handle not in NAMED:
        raise LaunchConfigValueError(
            f"{stream!r} is a CUDA stream; the {backend.name} runs kernels only in its own streams, kdsl.Stream()"
        )
    return handle


def is_stream(stream: Any) -> bool:
    """Whether a launch takes it for a stream, on whatever device; None is the default one."""
    return stream is None or isinstance(stream, Stream) or handle_of(stream) is not None


def check_stream(stream: Any) -> None:
    """LaunchConfigTypeError for what is no stream."""
    if not is_stream(stream):
        raise _refused(stream)


def _refused(stream: Any) -> LaunchConfigTypeError:
    shared = "; the fourth value in k[grid, block, stream, shared_bytes] is the dynamic shared memory"
    return LaunchConfigTypeError(
        f"stream takes a kdsl.Stream, a stream of another library, a handle or None, got {no_stream(stream)}"
        f"{shared if type(stream) is int else ''}"
    )


def no_stream(given: Any) -> str:
    """What was given in place of a stream, and what to do about it."""
    if isinstance(given, int) and not isinstance(given, bool):
        return f"{written(given)}, which is no handle: 0, 1, 2 or an address"
    if isinstance(given, Event):
        return f"{given!r}; stream.wait(event) lets a stream wait for an event"
    if any(hasattr(given, name) for name in HANDLES.values()):
        return f"{given!r}, which is no stream of a library that kdsl knows: if it is one, pass its handle, an int"
    return f"{given!r}; make one, kdsl.Stream()"
