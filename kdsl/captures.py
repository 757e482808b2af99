"""What a device records while a stream is captured, and what graphs keep: shared by the GPU's driver and the emulator.

Knows nothing of Python kernels or arrays: a kernel's node has the bytes of its parameters.
"""

from __future__ import annotations

import struct
import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import field
from typing import Any, Protocol

from kdsl.backend import DeviceError, Launch
from kdsl.locks import Lock
from kdsl.records import dataclass

LEGACY = (0, 1)
"""The default stream, and CUDA's other name of it."""
ENDED = "the event was recorded in a capture that has ended: record it again"
CAPTURED_ELSEWHERE = (
    "what is waited for is in a capture on another device, and a graph is of one device: capture one on each, and "
    "order their launches with events"
)
NOT_OUTSIDE = "what a capture waits for must be in the capture"
OUTSIDE = f"a captured stream waits for work outside of the capture: {NOT_OUTSIDE}"
TWICE = (
    "the stream is being captured already: launches in it, of functions that are called there too, are a part of that "
    "capture; make another stream for another graph"
)
AGAIN = "a graph inside of a capture: launch a graph outside of a capture; what it launches can be captured anew"
WAITING = "what is captured has not run: wait after the graph was launched"
ALLOCATING = "make arrays before it; the graph keeps those that its launches use"
SCRATCH = "it needs memory of its own, which a graph does not make: write it as a kernel"
COPYING = "it would run now, and not with the graph: do it before, or in a launch"
DEFAULT_STREAM = "leave the stream out, which means the captured one, or name another stream that waits for it"
NOT_JOINED = (
    "the capture forked to another stream that was not joined, and nothing was captured: let the captured stream wait "
    "for it, stream.wait(other), before the capture ends"
)


class StreamCaptureError(DeviceError):
    """Work that cannot be captured into a graph, or a capture that failed. Nothing of it was run."""


@dataclass(frozen=True, slots=True, eq=False)
class RecordedNode:
    """One node of a graph. ``handle`` and ``depends``, the handles of the nodes before it, are the device's own."""

    handle: Any
    kind: str
    """``kernel``, ``copy``, ``fill``, ``host``, ``empty``, or what else the driver calls it."""
    depends: tuple[Any, ...] = ()
    function: Any = None
    """What `Launcher.function` is, for a kernel that kdsl launched; on the emulator also what another node calls."""
    launch: Launch | None = None
    parameters: bytes = b""


@dataclass(slots=True, eq=False)
class Capture:
    """A stream that is being captured. ``blocking``: it is ordered with the default stream. ``kept`` is what the graph
    must keep alive.
    """

    stream: int
    blocking: bool
    thread: int
    kept: list[Any] = field(default_factory=list)


class Captures:
    """The captures of one device. ``changed`` is called when one begins or has ended; ``events`` are those that were
    recorded in one, with what the device knows of where.
    """

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self.events: dict[int, Any] = {}
        self._active: tuple[Capture, ...] = ()
        """Replaced and never changed: of a list, who looks through it misses one where another thread removes one."""
        self._lock = Lock()
        self._changed = changed

    def __bool__(self) -> bool:
        return bool(self._active)

    def __contains__(self, capture: Capture) -> bool:
        return capture in self._active

    def begin(self, stream: int, blocking: bool) -> Capture:
        capture = Capture(stream, blocking, threading.get_ident())
        with self._lock:
            self._active = (*self._active, capture)
        try:
            self._changed()
        except BaseException:  # Ctrl-C
            self.end(capture)
            raise
        return capture

    def end(self, capture: Capture) -> None:
        try:
            with self._lock:
                self._active = tuple(known for known in self._active if known is not capture)
        finally:
            self._changed()

    def find(self, stream: int) -> Capture | None:
        """The capture that began in a stream."""
        return next((capture for capture in self._active if capture.stream == stream), None)

    @property
    def disturbed(self) -> bool:
        """Whether work on the default stream would disturb a capture."""
        return any(c.blocking or c.thread == threading.get_ident() for c in self._active)

    def check(self, doing: str, instead: str) -> None:
        """StreamCaptureError for what uses the default stream, or waits, where a capture forbids it."""
        if not self._active:
            return
        if any(capture.thread == threading.get_ident() for capture in self._active):
            raise StreamCaptureError(f"{doing} inside of a capture: {instead}")
        if any(capture.blocking for capture in self._active):
            raise StreamCaptureError(
                f"{doing} while another thread captures a stream that is ordered with the default stream; capture in "
                "kdsl.Stream(blocking=False), which leaves other threads alone"
            )

    def check_default(self, doing: str, stream: int, instead: str = DEFAULT_STREAM) -> None:
        """`check` for work in a stream, if that is the default stream."""
        if stream in LEGACY:
            self.check(f"{doing} in the default stream", instead)

    def check_awaited(self, stream: int, capture_of: Callable[[int], Capture | None]) -> None:
        """StreamCaptureError for a wait of the host for a stream that is captured, or for the default stream."""
        if self._active and (stream in LEGACY or capture_of(stream) is not None):
            self.check("waiting for a stream", WAITING)

    def check_event(self, event: int) -> None:
        """StreamCaptureError for a question about an event that was recorded in a capture."""
        if event in self.events:
            raise StreamCaptureError("the event was recorded in a capture: there is no work before it to wait for")


class Pins:
    """Memory that graphs use: it is given back when the last of them is gone, if it was freed before."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self._freed: dict[int, Callable[[], object]] = {}
        self._lock = Lock()

    def add(self, address: int) -> None:
        """Keep an allocation, which begins at this address."""
        with self._lock:
            self._counts[address] = self._counts.get(address, 0) + 1

    def hold(self, address: int, free: Callable[[], object]) -> bool:
        """Whether an allocation that is freed now is kept: ``free`` is then called when it no longer is."""
        if not self._counts:
            return False
        with self._lock:
            if address not in self._counts:
                return False
            self._freed[address] = free
            return True

    def remove(self, address: int) -> None:
        """Undo one `add`."""
        with self._lock:
            self._counts[address] -= 1
            if self._counts[address]:
                return
            del self._counts[address]
            free = self._freed.pop(address, None)
        if free is not None:
            free()


class Pinning(Protocol):
    """A device that keeps memory for graphs."""

    def pin(self, address: int) -> int | None: ...
    def unpin(self, allocation: int) -> None: ...


class Pinned:
    """Keeps allocations of a device as long as it lives."""

    def __init__(self, device: Pinning, addresses: Iterable[int]) -> None:
        self._device = device
        self._allocations: list[int] = []
        for address in addresses:
            if address and (found := device.pin(address)) is not None:
                self._allocations.append(found)

    def __del__(self, is_exiting: Callable[[], bool] = sys.is_finalizing) -> None:
        if not is_exiting():
            for allocation in getattr(self, "_allocations", ()):
                self._device.unpin(allocation)


def words(parameters: bytes) -> Iterable[int]:
    """Whatever may be an address in a kernel's parameters, structs among them: addresses lie at multiples of 8."""
    count = len(parameters) // 8
    return dict.fromkeys(struct.unpack_from(f"<{count}Q", parameters))
