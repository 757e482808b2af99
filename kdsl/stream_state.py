"""What a device remembers of its streams beside their work: which one is current, and which callbacks failed."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, ClassVar

from kdsl.locks import Lock

ANY_STREAM = -1
"""Stands for the stream of callbacks of graphs, which may be launched in any."""


class StreamState:
    """``uses`` counts the ``with stream:`` blocks that are being run, in all threads and tasks; ``changed`` is called
    when it leaves zero or comes back to it.
    """

    # Of all devices: what runs in a callback of one must not use another either.
    _callback_threads: ClassVar[set[int]] = set()

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        # Each thread and each asyncio task has its own: a pair of the stream and what was current before.
        self._current: ContextVar[tuple[Any, Any] | None] = ContextVar("kdsl stream", default=None)
        self._lock = Lock()
        self._changed = changed
        self._failures: dict[int, list[BaseException]] = {}
        self._is_shown_at_exit = False
        self._entries: dict[int, tuple[Any, Any]] = {}
        self._is_told = False
        self.uses = 0

    @property
    def current(self) -> Any:
        """The stream that this thread or task works in; None for the default stream."""
        found = self._current.get()
        return None if found is None else found[0]

    def enter(self, stream: Any) -> None:
        """Make ``stream`` current."""
        before = self._current.get()
        entry = (stream, before)
        try:
            self._current.set(entry)
            self._note(entry, is_entered=True)
        except BaseException:
            # Ctrl-C: nobody leaves what was not entered.
            self._current.set(before)
            self._note(entry, is_entered=False)
            raise

    def leave(self, stream: Any) -> None:
        """Make current what was so before `enter`."""
        entry = self._current.get()
        if entry is None or entry[0] is not stream:
            raise RuntimeError(f"{stream!r} is left, and it is not the current stream: `with` blocks must nest")
        try:
            self._current.set(entry[1])
        finally:
            self._note(entry, is_entered=False)

    def _note(self, entry: tuple[Any, Any], *, is_entered: bool) -> None:
        """Why not count up and down? After Ctrl-C nobody knows whether that was done; this can be done again."""
        with self._lock:
            if is_entered:
                self._entries[id(entry)] = entry
            else:
                self._entries.pop(id(entry), None)
            self.uses = len(self._entries)
            if self._is_told != bool(self.uses):
                self._is_told = bool(self.uses)
                self._changed()

    # Callbacks.

    @property
    def in_callback(self) -> bool:
        """Whether this thread runs a callback, which must not use the device."""
        return bool(self._callback_threads) and threading.get_ident() in self._callback_threads

    def call(self, stream: int, function: Callable[[], object]) -> None:
        """Run a callback; what it raises is kept for `raise_failures`."""
        thread = threading.get_ident()
        self._callback_threads.add(thread)
        try:
            function()
        except BaseException as error:
            # Nobody above this could be told: raised by the next synchronisation, or shown when the process ends.
            with self._lock:
                self._failures.setdefault(stream, []).append(error)
                is_first, self._is_shown_at_exit = not self._is_shown_at_exit, True
            if is_first:
                atexit.register(self.raise_failures)
        finally:
            self._callback_threads.discard(thread)

    def raise_failures(self, stream: int | None = None) -> None:
        """Raise what callbacks of a stream (of all, if None) have raised since this was asked last."""
        if not self._failures:
            return
        with self._lock:
            streams = list(self._failures) if stream is None else [stream, ANY_STREAM]
            errors = [error for found in streams for error in self._failures.pop(found, [])]
        if len(errors) == 1:
            raise errors[0]
        if errors:
            raise BaseExceptionGroup("callbacks of streams failed", errors)
