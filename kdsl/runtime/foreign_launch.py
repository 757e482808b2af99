"""The fast ways of a launch whose configuration is bound, by the classes of its arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kdsl.backend import Launch
from kdsl.runtime.enqueue import Enqueue
from kdsl.runtime.foreign_memory import sharing_of
from kdsl.runtime.foreign_packer import LaunchesForeign
from kdsl.runtime.hooks import Observed

if TYPE_CHECKING:
    from kdsl.runtime.launcher import Launcher

MOST_WAYS = 64
"""Combinations of classes that one configuration keeps ways for."""
NEW = object()


class ForeignLaunches:
    """Launches with other libraries' arrays, if that is all that is special about the arguments.

    ``elsewhere`` has what enqueues in other streams than the launch's; ``is_plain`` says whether arguments can be plain
    at all.
    """

    def __init__(
        self, launcher: Launcher, launch: Launch, enqueue: Enqueue, elsewhere: dict[int, Enqueue], is_plain: bool
    ) -> None:
        self._launcher = launcher
        self._named = launch.stream
        self._enqueue = enqueue
        self._elsewhere = elsewhere
        self._is_plain = is_plain
        self._ways: dict[tuple[type, ...], LaunchesForeign | None] = {}

    def launch_with(self, given: tuple[Any, ...]) -> bool:
        """Launch with these arguments; False if it is left to the checked way."""
        if not self._is_plain:
            return False
        classes = tuple(map(type, given))
        way: Any = self._ways.get(classes, NEW)
        if way is NEW:
            way = self._add(classes, given)
        if way is None:
            return False
        backend: Any = self._launcher.backend
        # A stream of ours that is current, and a graph that is captured, come before another library's stream.
        if backend.captures or backend.stream_state.uses:
            return False
        try:
            return bool(way(given))
        except Observed:
            return False  # there are hooks, who want to know the arguments

    def _add(self, classes: tuple[type, ...], given: tuple[Any, ...]) -> LaunchesForeign | None:
        sharing = sharing_of(self._launcher.backend)
        if sharing is None:
            self._is_plain = False
            return None
        if len(self._ways) >= MOST_WAYS:
            self._ways.clear()
        make = self._launcher.foreign_packer(given, sharing)
        way = None if make is None else make(self._enqueue, self._elsewhere, self._named)
        self._ways[classes] = way
        return way
