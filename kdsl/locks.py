"""A lock for what all threads share, which a forked child can take though a thread of its parent's held it."""

from __future__ import annotations

import os
import threading
from types import TracebackType
from weakref import WeakSet


class Lock:
    """Held in a ``with`` block by one thread at a time; reentrant, since Python may run a finalizer anywhere.

    A fork copies a lock that another thread holds, but not the thread: the child gets a new one, or would wait for
    ever.
    """

    __slots__ = ("__weakref__", "_lock")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _LOCKS.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._lock.release()

    def renew(self) -> None:
        """Make it free."""
        self._lock = threading.RLock()


_LOCKS: WeakSet[Lock] = WeakSet()


def _renew_in_child() -> None:
    for lock in _LOCKS:
        lock.renew()


if hasattr(os, "register_at_fork"):  # absent on Windows, which does not fork
    os.register_at_fork(after_in_child=_renew_in_child)
