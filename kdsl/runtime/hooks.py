"""`launch_hooks`: functions that are called before and after every launch of this process.

A launch asks nothing of this module. While there are hooks, each device's launch function is replaced by one that gives
the launch back (`Observed`) to where its arguments are known, and it is made from there with the hooks around it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol
from weakref import WeakSet

from kdsl.backend import Backend, Launch
from kdsl.locks import Lock
from kdsl.records import dataclass
from kdsl.runtime.device import Device, device_of
from kdsl.runtime.scalars import shown


class Observed(Exception):
    """A launch was not made, since there are hooks to be called around it."""


@dataclass(frozen=True, slots=True, eq=False)
class LaunchRecord:
    """A launch, as hooks see it.

    ``arguments`` are those that were given, by name: whoever keeps the record keeps their arrays. ``config`` has
    ``grid``, ``block``, ``shared_bytes`` and the rest; ``stream`` is the handle of the stream that it goes to,
    0 for the default stream.
    """

    kernel: str
    config: Launch
    arguments: Mapping[str, Any]
    backend: Backend

    @property
    def device(self) -> Device:
        return device_of(self.backend)

    @property
    def stream(self) -> int:
        return self.config.stream

    def __str__(self) -> str:
        given = ", ".join(f"{name}={_described(value)}" for name, value in self.arguments.items())
        return f"{self.kernel}[{self.config.grid}, {self.config.block}]({given}) on {self.device}"


def _described(value: Any) -> str:
    """An array by its type and shape, a number as it is, and anything else as errors show it."""
    if isinstance(value, int | float | complex):
        return repr(value)
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if isinstance(shape, tuple) and shape and dtype is not None:
        return f"{dtype}{list(shape)}"
    return shown(value)


Hook = Callable[[LaunchRecord], object]


class Interceptable(Protocol):
    """What launches, and can give launches back instead."""

    def intercept(self, check: Callable[[], None] | None) -> None:
        """Call ``check`` before each launch from now on; what it raises is raised in place of the launch."""
        ...


class Hooks:
    """The hooks of this process, and what launches in it. ``hooks`` are pairs of before and after, outermost first."""

    def __init__(self) -> None:
        self.hooks: tuple[tuple[Hook | None, Hook | None], ...] = ()
        self._lock = Lock()
        self._places: WeakSet[Interceptable] = WeakSet()
        # A launch that is being observed in this thread is made, and so is one that a hook makes.
        self._inside = threading.local()

    def follow(self, place: Interceptable) -> None:
        """Intercept the launches of ``place`` while there are hooks."""
        with self._lock:
            self._places.add(place)
            place.intercept(self.check if self.hooks else None)

    @contextmanager
    def around(self, before: Hook | None, after: Hook | None) -> Iterator[None]:
        """Call these around every launch in the block."""
        pair = (before, after)
        with self._lock:
            self._change((*self.hooks, pair))
        try:
            yield
        finally:
            # Blocks of several threads need not end in the order in which they began. Why `is`? Another block's hooks
            # may be equal to these.
            with self._lock:
                self._change(tuple(kept for kept in self.hooks if kept is not pair))

    def _change(self, hooks: tuple[tuple[Hook | None, Hook | None], ...]) -> None:
        self.hooks = hooks
        for place in self._places:
            place.intercept(self.check if hooks else None)

    @property
    def are_wanted(self) -> bool:
        """Whether a launch of this thread is to be observed."""
        return bool(self.hooks) and not getattr(self._inside, "value", False)

    def check(self) -> None:
        """Raise `Observed` for a launch that is to be observed and is not yet."""
        if self.are_wanted:
            raise Observed

    def observe(self, record: LaunchRecord, launch: Callable[[], object]) -> None:
        """Make a launch with the hooks around it. One that raises before it keeps it from being made; those after it
        are all called.
        """
        hooks = self.hooks
        self._inside.value = True
        try:
            for before, _ in hooks:
                if before is not None:
                    before(record)
            launch()
            with ExitStack() as stack:
                for _, after in hooks:
                    if after is not None:
                        stack.callback(after, record)
        finally:
            self._inside.value = False


HOOKS = Hooks()
"""Why one for the process? Whoever observes wants the launches of all threads, and of code that is not theirs."""


@contextmanager
def launch_hooks(*, before: Hook | None = None, after: Hook | None = None) -> Iterator[None]:
    """``with kdsl.launch_hooks(before=f, after=g):`` calls ``f(record)`` before and ``g(record)`` after every launch
    that any thread of this process makes in the block, in that thread: of kernels, loaded kernels, prepared launches,
    and into a graph.

    ``after`` is called when the launch is enqueued, which is before it has ended on a GPU. Blocks nest: before from the
    outermost in, after from the innermost out. What a hook raises is raised by the launch; raised by ``before``, the
    launch is not made. Launches that a hook makes are not observed.
    """
    for name, hook in (("before", before), ("after", after)):
        if hook is not None and not callable(hook):
            raise TypeError(f"{name} is a function of a LaunchRecord, got {hook!r}")
    if before is None and after is None:
        raise TypeError("launch_hooks takes before=, after= or both")
    with HOOKS.around(before, after):
        yield
