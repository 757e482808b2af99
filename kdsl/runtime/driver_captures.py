"""Capturing streams of the CUDA driver, and what is not possible meanwhile: as a part of the driver."""

from __future__ import annotations

from typing import Any

from kdsl.backend import DeviceError, Launch
from kdsl.captures import (
    ALLOCATING,
    COPYING,
    ENDED,
    LEGACY,
    NOT_JOINED,
    OUTSIDE,
    TWICE,
    WAITING,
    Capture,
    Pinned,
    Pins,
    StreamCaptureError,
    words,
)
from kdsl.runtime.driver_calls import Calls, error_text
from kdsl.runtime.driver_memory import FILLS, DriverMemory
from kdsl.runtime.strided import strided_copies
from kdsl.runtime.watched_launches import Describe

RELAXED = "CU_STREAM_CAPTURE_MODE_RELAXED"
"""The mode in which the driver forbids nothing that leaves a capture whole. The others end the capture where the thread
asks about another stream, allocates or loads a module; what is to be refused is refused here.
"""
ACTIVE = 1
"""CU_STREAM_CAPTURE_STATUS_ACTIVE."""
UNJOINED = 904
"""CUDA_ERROR_STREAM_CAPTURE_UNJOINED."""

Noted = tuple[Any, Launch, bytes]
"""What a node launches: the kernel, the configuration, the packed parameters."""


class DriverCaptures(DriverMemory):
    """Captures, whose graphs are plain integers, and the memory that graphs use."""

    def __init__(self, calls: Calls) -> None:
        super().__init__(calls)
        self._capture_ids: dict[int, Capture] = {}
        # By graph, and then by node: what kdsl launched.
        self._noted: dict[int, dict[int, Noted]] = {}
        self._pins = Pins()

    # What a capture forbids. The driver would end the capture at such a call, and say little.

    def alloc(self, size: int) -> int:
        self.captures.check("allocating memory", ALLOCATING)
        return super().alloc(size)

    def free(self, address: int) -> None:
        free = super().free
        if not self._pins.hold(address, lambda: free(address)):
            free(address)

    def write(self, address: int, source: memoryview) -> None:
        self.captures.check("a copy to the device", COPYING)
        super().write(address, source)

    def write_unused(self, address: int, source: memoryview) -> None:
        if not self.captures:
            self.write(address, source)
            return
        # In a stream that is ordered with none that may be captured.
        stream = self.create_stream(0, blocking=False)
        try:
            self._calls.call("cuMemcpyHtoDAsync", address, source, source.nbytes, self._stream(stream))
            self._calls.bare("cuStreamSynchronize", self._stream(stream))
        finally:
            self.destroy_stream(stream)

    def read(self, address: int, destination: memoryview) -> None:
        self.captures.check("a copy to the host", WAITING)
        super().read(address, destination)

    def copy(self, destination: int, source: int, size: int) -> None:
        if not self._in_current("copy", "cuMemcpyDtoDAsync", (destination, source), size):
            super().copy(destination, source, size)

    def copy_strided(
        self,
        destination: int,
        destination_strides: tuple[int, ...],
        source: int,
        source_strides: tuple[int, ...],
        shape: tuple[int, ...],
        itemsize: int,
    ) -> None:
        if self._current_stream() in LEGACY:
            self.captures.check("a copy in the default stream", COPYING)
            super().copy_strided(destination, destination_strides, source, source_strides, shape, itemsize)
        else:
            parts = strided_copies(shape, destination_strides, source_strides, itemsize, destination, source)
            self._copy_parts(parts)

    def fill(self, address: int, value: int, size: int, width: int = 1) -> None:
        if not self._in_current("fill", FILLS[width], (address,), value, size // width):
            super().fill(address, value, size, width)

    def _in_current(self, kind: str, name: str, addresses: tuple[int, ...], *more: int) -> bool:
        """Copy or fill in the current stream, if there is one."""
        stream = self._current_stream()
        if stream in LEGACY:
            self.captures.check(f"a {kind} in the default stream", COPYING)
            return False
        if not more[-1]:
            return True
        capture = self.capture_of(stream)
        if capture is not None:
            capture.kept.append(Pinned(self, addresses))
        with self.unordered(stream):
            self._calls.call(name, *addresses, *more, self._stream(stream))
        return True

    def synchronize(self) -> None:
        self.captures.check("waiting for the device", WAITING)
        if not self.captures:
            super().synchronize()
            return
        # Waiting for the context would end the capture of another thread: for what kdsl has put into streams, then.
        self.foreign.join()
        event = self.create_event(timing=False)
        try:
            # The default stream comes after all streams that are ordered with it.
            self.record_event(event, 1)
            self.synchronize_event(event)
        finally:
            self.destroy_event(event)
        self.stream_state.raise_failures()

    # Events in captures. The driver would end the capture at some of these calls.

    def record_event(self, event: int, stream: int) -> None:
        super().record_event(event, stream)
        capture = self.capture_of(stream) if self.captures else None
        if capture is not None:
            self.captures.events[event] = capture
        else:
            self.captures.events.pop(event, None)

    def wait_event(self, event: int, stream: int) -> None:
        captured = self.captures.events.get(event)
        if captured is not None and captured not in self.captures:
            raise StreamCaptureError(ENDED)
        if captured is not None:
            self.captures.check_default("a wait", stream)
        if self.captures and self.capture_of(stream) not in (None, captured):
            raise StreamCaptureError(OUTSIDE)
        super().wait_event(event, stream)

    # Captures.

    def begin_capture(self, stream: int, blocking: bool) -> Capture:
        self._calls.enter()
        if self._capture_info(stream) is not None:
            raise StreamCaptureError(TWICE)
        self.foreign.settle()
        mode = getattr(self._calls.api.CUstreamCaptureMode, RELAXED)
        try:
            self._calls.bare("cuStreamBeginCapture", self._stream(stream), mode)
            capture = self.captures.begin(stream, blocking)
            found = self._capture_info(stream)
            if found is not None:
                self._capture_ids[found[0]] = capture
                self._noted[found[0]] = {}
        except DeviceError:
            raise
        except BaseException:
            # Ctrl-C: nobody would end it.
            self._abandon(stream)
            raise
        return capture

    def _abandon(self, stream: int) -> None:
        """End the capture that begins in a stream, and keep nothing of it."""
        capture = self.captures.find(stream)
        if capture is not None:
            self.captures.end(capture)
            self._forget(capture)
        if not self._calls.forked and not self._calls.dead and self._capture_info(stream) is not None:
            code, graph = self._calls.attempt("cuStreamEndCapture", self._stream(stream))
            if not code and int(graph):
                self._calls.attempt("cuGraphDestroy", graph)

    def _capture_info(self, stream: int) -> tuple[int, Any] | None:
        """The capture's id, and the nodes that the next one will depend on; None if the stream is not captured."""
        api = self._calls.api
        # Its first form fails where there are edges of programmatic launches; from CUDA 13 on there is one form.
        name = "cuStreamGetCaptureInfo_v3" if hasattr(api, "cuStreamGetCaptureInfo_v3") else "cuStreamGetCaptureInfo"
        code, values = self._calls.attempt(name, self._stream(stream))
        if code or int(values[0]) != ACTIVE:
            return None
        return int(values[1]), values[3]

    def capture_of(self, stream: int) -> Capture | None:
        if not self.captures:
            return None
        stream = stream or self._current_stream()
        if stream in LEGACY:
            return None
        self._calls.enter()
        found = self._capture_info(stream)
        return None if found is None else self._capture_ids.get(found[0])

    def _note_captured(self, stream: int, describe: Describe) -> None:
        found = self._capture_info(stream)
        if found is None or found[0] not in self._noted:
            return
        function, launch, parameters = describe()
        self._noted[found[0]][int(found[1][-1])] = (function, launch, parameters)
        self._capture_ids[found[0]].kept.append(Pinned(self, words(parameters)))

    def end_capture(self, capture: Capture) -> Any:
        try:
            self._calls.enter()
            found = self._capture_info(capture.stream)
            code, graph = self._calls.attempt("cuStreamEndCapture", self._stream(capture.stream))
        except BaseException:
            # Ctrl-C, a kernel's fault, a fork: the stream must not stay captured.
            self._abandon(capture.stream)
            raise
        noted = self._forget(capture)
        self.captures.end(capture)
        self._calls.enter()  # what was freed meanwhile is given back
        if code or found is None or not int(graph):
            raise StreamCaptureError(_why_not(code, error_text(self._calls.api, code)))
        self._noted[int(graph)] = noted
        return int(graph)

    def _forget(self, capture: Capture) -> dict[int, Noted]:
        """What the nodes of a capture that ends launch."""
        numbers = [number for number, known in self._capture_ids.items() if known is capture]
        for number in numbers:
            del self._capture_ids[number]
        noted: dict[int, Noted] = {}
        for number in numbers:
            noted.update(self._noted.pop(number, {}))
        return noted

    # Memory that graphs use.

    def pin(self, address: int) -> int | None:
        self._calls.enter()
        code, found = self._calls.attempt("cuMemGetAddressRange", address)
        if code:
            return None  # no memory of the device's: whoever owns it keeps it
        base = int(found[0])
        self._pins.add(base)
        return base

    def unpin(self, allocation: int) -> None:
        self._pins.remove(allocation)


def _why_not(code: int, text: str) -> str:
    if code == UNJOINED:
        return NOT_JOINED
    return f"the capture was ended by a call that cannot be recorded, and nothing was captured ({text})"
