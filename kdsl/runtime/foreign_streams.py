"""Streams of other libraries, which need not be ordered with the default stream, where arrays are made, filled, freed.

Events order the two, so that no host thread waits and no other work does. A stream that is being captured into a graph
is left alone: its launches run when the graph does.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from kdsl.locks import Lock
from kdsl.runtime.driver_calls import Calls
from kdsl.runtime.driver_errors import DEAD_CONTEXT
from kdsl.runtime.stream_backend import StreamBackend

MOST_KEPT = 64
"""What is held for work in flight; past it, the oldest work is waited for."""
MOST_STREAMS = 64
"""Streams whose last work is remembered by an event of their own."""
CAPTURE_IMPLICIT = 906
"""CUDA_ERROR_STREAM_CAPTURE_IMPLICIT: what the default stream says while another one is captured."""


class ForeignStreams:
    """What one device launched on such streams, and what it holds until work has ended. Any thread may call any of it.

    Work on the default stream is known by a new object: `_noted` is the latest, `_marked` the latest that the event
    `_fill` comes after, and `_ended` one that has ended, and so has all before it.
    """

    def __init__(self, calls: Calls, streams: StreamBackend) -> None:
        self._calls = calls
        self._streams = streams
        self._lock = Lock()
        self._noted: object = None
        self._marked: object = None
        self._ended: object = None
        self._fill: int | None = None
        self._events: dict[int, tuple[Any, Any, int]] = {}
        self._busy: dict[int, int] = {}
        self._kept: deque[tuple[int, Any]] = deque()
        self._unasked: deque[Any] = deque()

    def filled(self) -> None:
        """Note the work on the default stream that was just enqueued: launches on other streams come after it."""
        self._noted = object()

    def before(self, stream: int) -> None:
        """Make the launch that follows on a foreign stream wait for what was noted."""
        noted = self._noted
        if noted is self._ended or self.is_capturing(stream):
            return
        fill = self._mark()
        if self._streams.event_done(fill):
            self._ended = noted
        else:
            self._streams.wait_event(fill, stream)

    def _mark(self) -> int:
        """The event that comes after all that was noted."""
        with self._lock:
            if self._fill is None:
                self._fill = self._streams.create_event(timing=False)
            noted = self._noted
            if noted is not self._marked:
                self._streams.record_event(self._fill, 0)
                self._marked = noted
            return self._fill

    def settle(self) -> None:
        """Let what was noted be waited for without the default stream: a capture begins, at which it is not to be
        used.
        """
        if self._noted is not self._marked:
            self._mark()

    def after(self, stream: int) -> None:
        """Remember that there is work on a foreign stream."""
        api = self._calls.api
        with self._lock:
            found = self._events.get(stream)
            if found is None:
                if len(self._events) >= MOST_STREAMS:
                    self._forget()
                event = self._streams.create_event(timing=False)
                found = self._events[stream] = (api.CUstream(stream), api.CUevent(event), event)
            handle, event_handle, event = found
            # Bare calls: the launch that was just made has seen to the context.
            code, status = api.cuStreamIsCapturing(handle)
            if not code and not int(status):
                (code,) = api.cuEventRecord(event_handle, handle)
                self._busy[stream] = event
        if code:
            raise self._calls.error(int(code), "cuEventRecord")

    def _forget(self) -> None:
        """Let go of all streams' events, if nothing keeps the default stream from waiting for them first."""
        if not self.try_join():
            for _, _, event in self._events.values():
                self._streams.destroy_event(event)
            self._events.clear()

    def join(self) -> None:
        """Make later work on the default stream wait for all that was remembered."""
        code = self.try_join()
        if code:
            raise self._calls.error(code, "cuStreamWaitEvent")

    def try_join(self) -> int:
        """As `join`, for finalizers: the driver's code in place of an exception."""
        if not self._busy:
            return 0
        api = self._calls.api
        with self._lock:
            for stream, event in list(self._busy.items()):
                self._calls.enter()
                code, _ = self._calls.attempt("cuStreamWaitEvent", api.CUstream(0), api.CUevent(event), 0)
                if code:
                    return code
                self._busy.pop(stream, None)
        return 0

    def is_capturing(self, stream: int) -> bool:
        """Whether work in a stream is recorded into a graph now."""
        self._calls.enter()
        code, status = self._calls.attempt("cuStreamIsCapturing", self._calls.api.CUstream(stream))
        if code and code != CAPTURE_IMPLICIT:
            raise self._calls.error(code, "cuStreamIsCapturing")
        return bool(code or int(status))

    def keep(self, owners: Any, stream: int) -> None:
        """Hold ``owners`` until what is in ``stream`` now has ended. What a graph uses, the graph's owner must hold."""
        if self.is_capturing(stream):
            return
        event = self._streams.create_event(timing=False)
        self._streams.record_event(event, stream)
        self._kept.append((event, owners))
        self.let_go()
        if len(self._kept) > MOST_KEPT and (oldest := self._take_oldest()) is not None:
            self._streams.synchronize_event(oldest[0])
            self._streams.destroy_event(oldest[0])

    def _take_oldest(self) -> tuple[int, Any] | None:
        try:
            return self._kept.popleft()
        except IndexError:
            return None  # another thread took it

    def release(self, owners: Any) -> None:
        """Drop ``owners`` once all work so far has ended; for finalizers, so in a dead or forked process at once."""
        if self._calls.forked or self._calls.dead:
            return
        # Where the driver cannot be asked, as while another library captures a stream, they stay until it can be.
        self._unasked.append(owners)
        code = self.try_join()
        if code in DEAD_CONTEXT:
            self._calls.put_off(code)
        elif not code and not self.is_capturing(0):
            with self._lock:
                held = [self._unasked.popleft() for _ in range(len(self._unasked))]
            try:
                self.keep(held, 0)
            except BaseException:
                self._unasked.extend(held)
                raise

    def let_go(self) -> None:
        """Drop what is held for work that has ended."""
        while (oldest := self._take_oldest()) is not None:
            if not self._streams.event_done(oldest[0]):
                self._kept.appendleft(oldest)
                return
            self._streams.destroy_event(oldest[0])
