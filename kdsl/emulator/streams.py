"""Streams and events of the emulator: work is done when it is put into a stream, so there is nothing to wait for."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

from kdsl.backend import DeviceError
from kdsl.captures import Capture, Captures
from kdsl.stream_state import StreamState

PRIORITIES = (0, -5)
"""As an H100 says; here they are hints that nothing follows."""
NAMED_STREAMS = (0, 1, 2)
FIRST_HANDLE = 0x10000


class EmulatedStreams:
    """Streams and events, with handles as plain integers: each stream and event has one that no other ever has."""

    def __init__(self) -> None:
        self.stream_state = StreamState()
        self.captures = Captures()
        self._handles = itertools.count(FIRST_HANDLE)
        self._streams: dict[int, tuple[int, bool]] = dict.fromkeys(NAMED_STREAMS, (0, True))
        # When an event was recorded last, in milliseconds.
        self._events: dict[int, float] = {}

    def stream_priorities(self) -> tuple[int, int]:
        return PRIORITIES

    def create_stream(self, priority: int, blocking: bool) -> int:
        self.check_callback()
        handle = next(self._handles)
        self._streams[handle] = (priority, blocking)
        return handle

    def destroy_stream(self, stream: int) -> None:
        del self._streams[stream]

    def stream_facts(self, stream: int) -> tuple[int, bool]:
        self._check_stream(stream)
        return self._streams[stream]

    def capture_of(self, stream: int) -> Capture | None:
        raise NotImplementedError

    def synchronize_stream(self, stream: int) -> None:
        self.captures.check_awaited(stream, self.capture_of)
        self._check_stream(stream)
        self.stream_state.raise_failures(stream)

    def stream_done(self, stream: int) -> bool:
        self.captures.check_awaited(stream, self.capture_of)
        self._check_stream(stream)
        return True

    def order(self, first: int, then: int) -> None:
        self._check_stream(first)
        self._check_stream(then)

    def call_host(self, stream: int, function: Callable[[], object]) -> None:
        self._check_stream(stream)
        self.stream_state.call(stream, function)

    def create_event(self, timing: bool, blocking_sync: bool = False) -> int:
        self.check_callback()
        handle = next(self._handles)
        self._events[handle] = 0.0
        return handle

    def destroy_event(self, event: int) -> None:
        self.captures.events.pop(event, None)
        del self._events[event]

    def record_event(self, event: int, stream: int) -> None:
        self._check_stream(stream)
        self._events[event] = time.perf_counter() * 1e3

    def wait_event(self, event: int, stream: int) -> None:
        self._check_stream(stream)

    def synchronize_event(self, event: int) -> None:
        self.captures.check_event(event)
        self.check_callback()

    def event_done(self, event: int) -> bool:
        self.captures.check_event(event)
        self.check_callback()
        return True

    def elapsed_ms(self, start: int, end: int) -> float:
        self.captures.check_event(start)
        self.captures.check_event(end)
        return self._events[end] - self._events[start]

    def _check_stream(self, stream: int) -> None:
        self.check_callback()
        if stream not in self._streams:
            raise DeviceError(f"the emulator has no stream 0x{stream:x}")

    def check_callback(self) -> None:
        """Refuse what a GPU would refuse in a callback."""
        if self.stream_state.in_callback:
            raise DeviceError(
                "a callback of a stream must not use the device, which CUDA forbids; wake a thread that does"
            )
