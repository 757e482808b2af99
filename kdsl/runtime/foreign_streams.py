"""Streams of other libraries, which need not be ordered with the default stream, where arrays are made, filled, freed.

Events order the two, so that no host thread waits and no other work does. A stream that is being captured into a graph
is left alone: its launches run when the graph does.
"""

from __future__ import annotations

from collections import deque
from typing import Any

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
    """What one device launched on such streams, and what it holds until work has ended."""

    def __init__(self, calls: Calls, streams: StreamBackend) -> None:
        self._calls = calls
        self._streams = streams
        self._filled = False
        self._fill: int | None = None
        self._fill_runs = False
        self._events: dict[int, tuple[Any, Any, int]] = {}
        self._busy: dict[int, int] = {}
        self._kept: deque[tuple[int, Any]] = deque()

    def filled(self) -> None:
        """Note work on the default stream that launches on other streams must come after."""
        self._filled = True

    def before(self, stream: int) -> None:
        """Make the launch that follows on a foreign stream wait for what was noted."""
        if not (self._filled or self._fill_runs) or self.is_capturing(stream):
            return
        fill = self._mark()
        if self._streams.event_done(fill):
            self._fill_runs = self._filled
        else:
            self._streams.wait_event(fill, stream)

    def _mark(self) -> int:
        """The event that comes after all that was noted."""
        if self._fill is None:
            self._fill = self._streams.create_event(timing=False)
        if self._filled:
            self._filled, self._fill_runs = False, True
            self._streams.record_event(self._fill, 0)
        return self._fill

    def settle(self) -> None:
        """Let what was noted be waited for without the default stream: a capture begins, at which it is not to be
        used.
        """
        if self._filled:
            self._mark()

    def after(self, stream: int) -> None:
        """Remember that there is work on a foreign stream."""
        api = self._calls.api
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
        self.join()
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
        code = 0
        while self._busy and not code:
            # Another thread may take it first.
            _, event = self._busy.popitem()
            self._calls.enter()
            api = self._calls.api
            code, _ = self._calls.attempt("cuStreamWaitEvent", api.CUstream(0), api.CUevent(event), 0)
        return code

    def rest(self) -> None:
        """Forget what was remembered: everything has ended."""
        self._filled = self._fill_runs = False
        self._busy.clear()
        self.let_go()

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
        if len(self._kept) > MOST_KEPT:
            event, _ = self._kept.popleft()
            self._streams.synchronize_event(event)
            self._streams.destroy_event(event)

    def release(self, owners: Any) -> None:
        """Drop ``owners`` once all work so far has ended; for finalizers, so in a dead or forked process at once."""
        if self._calls.forked or self._calls.dead:
            return
        code = self.try_join()
        if code in DEAD_CONTEXT:
            self._calls.put_off(code)
        elif not code:
            self.keep(owners, 0)

    def let_go(self) -> None:
        """Drop what is held for work that has ended."""
        while self._kept:
            event, owners = self._kept.popleft()
            if not self._streams.event_done(event):
                self._kept.appendleft((event, owners))
                return
            self._streams.destroy_event(event)
