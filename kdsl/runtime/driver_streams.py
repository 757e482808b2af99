"""Streams and events of the CUDA driver: `kdsl.runtime.stream.StreamBackend`, as a part of the driver."""

from __future__ import annotations

from typing import Any

from kdsl.runtime import driver_errors
from kdsl.runtime.driver_calls import Calls

# The default stream, its other name, and the one per thread: all ordered with the default stream, as our own streams
# are.
DEFAULT_STREAMS = frozenset({0, 1, 2})


class DriverStreams:
    """Streams and events, with handles as plain integers."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._own_streams: set[int] = set()

    def is_ordered(self, stream: int) -> bool:
        """Whether a stream waits for the default stream, where arrays are filled, and that for it."""
        return stream in DEFAULT_STREAMS or stream in self._own_streams

    def create_stream(self, priority: int) -> int:
        # 0, CU_STREAM_DEFAULT: ordered with the default stream.
        stream = int(self._calls.call("cuStreamCreateWithPriority", 0, priority))
        self._own_streams.add(stream)
        return stream

    def destroy_stream(self, stream: int) -> None:
        self._own_streams.discard(stream)
        self._release("cuStreamDestroy", self._calls.api.CUstream(stream))

    def synchronize_stream(self, stream: int) -> None:
        self._calls.call("cuStreamSynchronize", self._calls.api.CUstream(stream))

    def stream_done(self, stream: int) -> bool:
        return self._done("cuStreamQuery", self._calls.api.CUstream(stream))

    def order(self, first: int, then: int) -> None:
        event = self.create_event(timing=False)
        self.record_event(event, first)
        self.wait_event(event, then)
        self.destroy_event(event)

    def create_event(self, timing: bool) -> int:
        # 2, CU_EVENT_DISABLE_TIMING: cheaper to wait for.
        return int(self._calls.call("cuEventCreate", 0 if timing else 2))

    def destroy_event(self, event: int) -> None:
        self._release("cuEventDestroy", self._calls.api.CUevent(event))

    def record_event(self, event: int, stream: int) -> None:
        api = self._calls.api
        self._calls.call("cuEventRecord", api.CUevent(event), api.CUstream(stream))

    def wait_event(self, event: int, stream: int) -> None:
        api = self._calls.api
        self._calls.call("cuStreamWaitEvent", api.CUstream(stream), api.CUevent(event), 0)

    def synchronize_event(self, event: int) -> None:
        self._calls.call("cuEventSynchronize", self._calls.api.CUevent(event))

    def event_done(self, event: int) -> bool:
        return self._done("cuEventQuery", self._calls.api.CUevent(event))

    def elapsed_ms(self, start: int, end: int) -> float:
        api = self._calls.api
        return float(self._calls.call("cuEventElapsedTime", api.CUevent(start), api.CUevent(end)))

    def _done(self, query: str, handle: Any) -> bool:
        self._calls.enter()
        code, _ = self._calls.attempt(query, handle)
        if code and code != driver_errors.NOT_READY:
            raise self._calls.error(code, query)
        return not code

    def _release(self, name: str, handle: Any) -> None:
        """Destroy a stream or event; not after a fork or a fault, where nothing is left to destroy."""
        if not self._calls.forked and not self._calls.dead:
            self._calls.call(name, handle)
