"""Events over any device with streams: points in a stream, for waiting and for timing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, NoReturn

from kdsl.backend import Backend, device_name
from kdsl.runtime.awaiting import wait_for
from kdsl.runtime.device import Device, device_of
from kdsl.runtime.errors import LaunchConfigValueError
from kdsl.runtime.stream_backend import StreamBackend

if TYPE_CHECKING:
    from kdsl.runtime.stream import Stream


class Event:
    """A point in a stream. ``timing=False`` makes one that is cheaper to wait for; with ``blocking_sync`` a thread that
    waits for it sleeps, and does not spin.
    """

    def __init__(self, backend: Backend, timing: bool = True, blocking_sync: bool = False) -> None:
        self._handle = 0
        if not isinstance(backend, StreamBackend):
            raise LaunchConfigValueError(f"the {backend.name} has no streams and events")
        for name, value in (("timing", timing), ("blocking_sync", blocking_sync)):
            if not isinstance(value, bool):
                raise TypeError(f"{name} takes True or False, got {value!r}")
        self._backend: Backend = backend
        self._events: StreamBackend = backend
        self._timing = timing
        self._blocking_sync = blocking_sync
        self._recorded = False
        self._stream = 0
        self._handle = backend.create_event(timing, blocking_sync)

    @property
    def backend(self) -> Backend:
        return self._backend

    @property
    def handle(self) -> int:
        """CUDA's handle of it; on the emulator, its number there."""
        return self._handle

    @property
    def timing(self) -> bool:
        return self._timing

    @property
    def blocking_sync(self) -> bool:
        return self._blocking_sync

    @property
    def recorded(self) -> bool:
        """Whether it has been put into a stream."""
        return self._recorded

    @property
    def stream(self) -> int:
        """The handle of the stream that it was recorded in last; 0 before."""
        return self._stream

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} is of this process; make an event where it is used")

    @property
    def device(self) -> Device:
        """Where the streams are that it is recorded in."""
        return device_of(self.backend)

    def record(self, stream: Stream | None = None) -> None:
        """Move the event to the end of what is in ``stream`` now (in the current stream if None)."""
        from kdsl.runtime.stream import Stream, stream_handle  # they need each other

        if stream is not None and not isinstance(stream, Stream):
            raise TypeError(f"an event is recorded in a kdsl.Stream, got {stream!r}")
        found = self._events.stream_state.current if stream is None else stream
        if stream is not None and stream.backend is not self._backend:
            raise LaunchConfigValueError(
                f"{self!r} belongs to another device than {stream!r}, where it is recorded; record an event of that "
                "device, such as the new one that stream.record() makes: streams of other devices can wait for it"
            )
        self._stream = stream_handle(found, self._backend)
        self._events.record_event(self._handle, self._stream)
        self._recorded = True

    def synchronize(self) -> None:
        """Wait until the work before the event has finished."""
        self._events.synchronize_event(self._handle)

    @property
    def done(self) -> bool:
        """Whether the work before it has finished; so too if it was never recorded."""
        return self._events.event_done(self._handle)

    def query(self) -> bool:
        """The same as ``done``, by CUDA's name."""
        return self.done

    def elapsed_ms(self, end: Event) -> float:
        """Milliseconds from this event to ``end``, which is waited for. On the emulator: the host's time."""
        if not isinstance(end, Event):
            raise TypeError(f"an Event is needed, which stream.record() gives; got {end!r}")
        if end.backend is not self._backend:
            raise LaunchConfigValueError(
                f"{self!r} and {end!r} are of two devices, whose clocks are not one; record both on one device"
            )
        for event, role in ((self, "start"), (end, "end")):
            if not event.recorded:
                raise ValueError(f"the {role} event was never recorded; {role} = stream.record() makes and records one")
            if not event.timing:
                raise ValueError(f"the {role} event was made with timing=False")
        end.synchronize()
        return self._events.elapsed_ms(self._handle, end.handle)

    def __await__(self) -> Generator[Any, None, None]:
        """Wait until the work before the event has finished, while other tasks of the event loop run."""
        return wait_for(self)

    def __repr__(self) -> str:
        return f"Event(0x{self._handle:x} on {device_name(self._backend)})"

    def __del__(self, is_exiting: Callable[[], bool] = sys.is_finalizing) -> None:
        if getattr(self, "_handle", 0) and not is_exiting():
            self._events.destroy_event(self._handle)
