"""Streams and events of the CUDA driver: `kdsl.runtime.stream_backend.StreamBackend`, as a part of the driver."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import itertools
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from kdsl.backend import DeviceError
from kdsl.captures import Capture, Captures
from kdsl.locks import Lock
from kdsl.runtime import driver_errors
from kdsl.runtime.driver_calls import Calls
from kdsl.runtime.driver_entry import pointer_function
from kdsl.runtime.foreign_streams import ForeignStreams
from kdsl.runtime.watched_launches import Describe, watch
from kdsl.stream_state import ANY_STREAM, StreamState

# The default stream, its other name, and the one per thread: all ordered with the default stream, as our own blocking
# streams are.
DEFAULT_STREAMS = frozenset({0, 1, 2})
NON_BLOCKING = 1
"""CU_STREAM_NON_BLOCKING."""
DISABLE_TIMING, BLOCKING_SYNC = 2, 1
"""CU_EVENT_DISABLE_TIMING, CU_EVENT_BLOCKING_SYNC."""
POLL_SECONDS = 0.0005
RELEASING_BINDINGS = (12, 9, 1)
"""The first cuda-bindings whose calls release the GIL (its release notes)."""


class DriverStreams:
    """Streams and events, with handles as plain integers."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._own_streams: set[int] = set()
        self._watching = Lock()
        self.stream_state = StreamState(self._watch_launches)
        self.captures = Captures(self._watch_launches)
        calls.in_callback = lambda: self.stream_state.in_callback
        calls.in_capture = lambda: bool(self.captures) and self.captures.disturbed
        calls.current_stream = self._current_stream
        self._callbacks: dict[int, tuple[int, Callable[[], object], bool]] = {}
        self._tickets = itertools.count(1)
        self._is_awaited_at_exit = False
        # One C function for all callbacks; it lives as long as the driver may call it.
        self._trampoline = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._call_back)
        # What streams that are not ordered with the default stream have to do with it.
        self.foreign = ForeignStreams(calls, self)

    def is_ordered(self, stream: int) -> bool:
        """Whether a stream waits for the default stream, where arrays are filled, and that for it."""
        return stream in DEFAULT_STREAMS or stream in self._own_streams

    def _stream(self, stream: int) -> Any:
        return self._calls.api.CUstream(stream)

    # Launches without a stream, in the current one.

    def _current_stream(self) -> int:
        current = self.stream_state.current if self.stream_state.uses else None
        return 0 if current is None else int(current._handle)

    def _watch_launches(self) -> None:
        """Look at each launch while some thread has a current stream or captures one."""
        # Threads come and go at the same time: the last one here sees what all of them did.
        with self._watching:
            watch(self._calls, self._launch_watched if self.stream_state.uses or self.captures else None)

    def _launch_watched(self, launch: Callable[[int], int], asked: int, describe: Describe) -> int:
        """A launch in the current stream, where none was named."""
        stream = asked or self._current_stream()
        self.captures.check_default("a launch", stream)
        if asked:
            code = launch(stream)
        else:
            with self.unordered(stream):
                code = launch(stream)
        if self.captures and not code:
            self._note_captured(stream, describe)
        return code

    @contextlib.contextmanager
    def unordered(self, stream: int) -> Iterator[None]:
        """Around work in a stream, which may be one that is not ordered with the default stream."""
        if self.is_ordered(stream):
            yield
            return
        self.foreign.before(stream)
        try:
            yield
            self.foreign.after(stream)
        except KeyboardInterrupt:
            self.foreign.after(stream)  # it may have been enqueued
            raise

    def _note_captured(self, stream: int, describe: Describe) -> None:
        """Remember what a node of a graph launches."""
        raise NotImplementedError

    # Streams.

    def stream_priorities(self) -> tuple[int, int]:
        least, greatest = self._calls.call("cuCtxGetStreamPriorityRange")
        return int(least), int(greatest)

    def create_stream(self, priority: int, blocking: bool) -> int:
        flags = 0 if blocking else NON_BLOCKING
        stream = int(self._calls.call("cuStreamCreateWithPriority", flags, priority))
        if blocking:
            self._own_streams.add(stream)
        return stream

    def destroy_stream(self, stream: int) -> None:
        self._own_streams.discard(stream)
        self._release("cuStreamDestroy", self._stream(stream))

    def synchronize_stream(self, stream: int) -> None:
        self.captures.check_awaited(stream, self.capture_of)
        self._wait("cuStreamSynchronize", "cuStreamQuery", self._stream(stream))
        self.stream_state.raise_failures(stream)

    def stream_done(self, stream: int) -> bool:
        self.captures.check_awaited(stream, self.capture_of)
        return self._done("cuStreamQuery", self._stream(stream))

    def stream_facts(self, stream: int) -> tuple[int, bool]:
        handle = self._stream(stream)
        flags = int(self._calls.call("cuStreamGetFlags", handle))
        return int(self._calls.bare("cuStreamGetPriority", handle)), not flags & NON_BLOCKING

    def order(self, first: int, then: int) -> None:
        event = self.create_event(timing=False)
        try:
            self.record_event(event, first)
            self.wait_event(event, then)
        finally:
            self.destroy_event(event)

    # Callbacks.

    def call_host(self, stream: int, function: Callable[[], object]) -> None:
        if not releases_gil():
            raise DeviceError("callbacks need cuda-python 12.9.1 or later, whose calls let other threads run")
        capture = self.capture_of(stream)
        ticket = next(self._tickets)
        # Those of a graph are called at each of its launches.
        self._callbacks[ticket] = (stream if capture is None else ANY_STREAM, function, capture is not None)
        self._calls.enter()
        self._await_at_exit()
        code = self._launch_host_function(stream, self._trampoline_address, ticket)
        if code:
            del self._callbacks[ticket]
            raise self._calls.error(code, "cuLaunchHostFunc")
        if capture is not None:
            capture.kept.append(_Ticket(self._callbacks, ticket))

    def _await_at_exit(self) -> None:
        """Let callbacks end before the interpreter does: the driver's thread would find none."""
        if not self._is_awaited_at_exit:
            self._is_awaited_at_exit = True
            atexit.register(_finish, weakref.ref(self))

    @functools.cached_property
    def _launch_host_function(self) -> Callable[..., int]:
        # Why not through cuda-python? What it hands to the driver is good for one call, and a graph makes many.
        return pointer_function(self._calls.api, "cuLaunchHostFunc", 3)

    @functools.cached_property
    def _trampoline_address(self) -> int | None:
        return ctypes.cast(self._trampoline, ctypes.c_void_p).value

    def capture_of(self, stream: int) -> Capture | None:
        raise NotImplementedError

    def _call_back(self, ticket: int) -> None:
        """Called by a thread of the driver."""
        stream, function, is_kept = self._callbacks[ticket]
        if not is_kept:
            del self._callbacks[ticket]
        self.stream_state.call(stream, function)

    # Events.

    def create_event(self, timing: bool, blocking_sync: bool = False) -> int:
        flags = (0 if timing else DISABLE_TIMING) | (BLOCKING_SYNC if blocking_sync else 0)
        return int(self._calls.call("cuEventCreate", flags))

    def destroy_event(self, event: int) -> None:
        self.captures.events.pop(event, None)
        self._release("cuEventDestroy", self._calls.api.CUevent(event))

    def record_event(self, event: int, stream: int) -> None:
        self._calls.call("cuEventRecord", self._calls.api.CUevent(event), self._stream(stream))

    def wait_event(self, event: int, stream: int) -> None:
        self._calls.call("cuStreamWaitEvent", self._stream(stream), self._calls.api.CUevent(event), 0)

    def synchronize_event(self, event: int) -> None:
        self.captures.check_event(event)
        self._wait("cuEventSynchronize", "cuEventQuery", self._calls.api.CUevent(event))

    def event_done(self, event: int) -> bool:
        self.captures.check_event(event)
        return self._done("cuEventQuery", self._calls.api.CUevent(event))

    def elapsed_ms(self, start: int, end: int) -> float:
        self.captures.check_event(start)
        self.captures.check_event(end)
        api = self._calls.api
        return float(self._calls.call("cuEventElapsedTime", api.CUevent(start), api.CUevent(end)))

    def _wait(self, synchronize: str, query: str, handle: Any) -> None:
        if releases_gil():
            self._calls.call(synchronize, handle)
            return
        # Other threads run between the queries: the call itself would hold them.
        while not self._done(query, handle):
            time.sleep(POLL_SECONDS)

    def _done(self, query: str, handle: Any) -> bool:
        self._calls.enter()
        code, _ = self._calls.attempt(query, handle)
        if code and code != driver_errors.NOT_READY:
            raise self._calls.error(code, query)
        return not code

    def _release(self, name: str, handle: Any) -> None:
        """Destroy a stream or event; not after a fork or a fault, where nothing is left to destroy."""
        if not self._calls.forked and not self._calls.dead:
            self._calls.when_allowed(lambda: self._calls.call(name, handle))


def _finish(driver: weakref.ref[DriverStreams]) -> None:
    found = driver()
    if found is None or found._calls.forked or found._calls.dead or not found._callbacks:
        return
    # A kernel's fault is not raised here: its callbacks are not called.
    found._calls.enter()
    found._calls.attempt("cuCtxSynchronize")
    found.stream_state.raise_failures()


class _Ticket:
    """What a graph keeps of a callback; the callback goes with it."""

    def __init__(self, callbacks: dict[int, Any], ticket: int) -> None:
        self._callbacks, self._ticket = callbacks, ticket

    def __del__(self) -> None:
        self._callbacks.pop(self._ticket, None)


@functools.cache
def releases_gil() -> bool:
    """Whether the calls of the installed cuda-bindings let other Python threads run while they wait."""
    from cuda.bindings import __version__  # start-up cost, as the driver's module is

    numbers = [int(part) for part in __version__.split(".")[:3] if part.isdigit()]
    return tuple(numbers) >= RELEASING_BINDINGS
