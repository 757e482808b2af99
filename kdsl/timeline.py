"""The host's timeline of a run: what took how long, from the first parse to the synchronised result."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from time import perf_counter

from kdsl.locks import Lock
from kdsl.records import dataclass


@dataclass(frozen=True, slots=True)
class Event:
    """One step. Times are seconds; ``start`` counts from the timeline's beginning, ``depth`` is the nesting."""

    name: str
    start: float
    duration: float
    depth: int
    detail: str = ""


@dataclass
class Timeline:
    """Collects events in the order in which they began. Those of several threads may seem to be nested."""

    origin: float = field(default_factory=perf_counter)
    events: list[Event] = field(default_factory=list)
    depth: int = 0
    _lock: Lock = field(default_factory=Lock, repr=False)

    @contextmanager
    def step(self, name: str, detail: str = "") -> Iterator[None]:
        """Time what runs inside; a step that raises is recorded too."""
        start = perf_counter()
        with self._lock:
            place, depth = len(self.events), self.depth
            # The place is taken now, so that a step stands before the steps inside it.
            self.events.append(Event(name, start - self.origin, 0.0, depth, detail))
            self.depth += 1
        try:
            yield
        finally:
            self.depth = depth
            self.events[place] = Event(name, start - self.origin, perf_counter() - start, depth, detail)

    def record(self, name: str, start: float, duration: float, detail: str = "") -> None:
        """Add a step that was timed elsewhere; ``start`` is a `perf_counter` reading."""
        self.events.append(Event(name, start - self.origin, duration, self.depth, detail))

    def render(self) -> str:
        """A table: when each step began, how long it took (both in milliseconds), and what it was."""
        rows = [f"{'start ms':>10} {'took ms':>10}  step"]
        for event in self.events:
            label = "  " * event.depth + event.name + (f"  {event.detail}" if event.detail else "")
            rows.append(f"{event.start * 1e3:10.3f} {event.duration * 1e3:10.3f}  {label}")
        return "\n".join(rows)
