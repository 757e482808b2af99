"""A lock for what all threads share, which a forked child can take though a thread of its parent's held it."""

from __future__ import annotations

import os
from _thread import RLock
from weakref import WeakSet


# Why a subclass, and not an RLock inside? Python looks for signals where a function of Python's begins: Ctrl-C in an
# `__exit__` of ours would leave the lock held for ever. (Only to type checkers is the class final.)
class Lock(RLock):  # type: ignore[misc]
    """Held in a ``with`` block by one thread at a time; reentrant, since Python may run a finalizer anywhere.

    A fork copies a lock that another thread holds, but not the thread: in the child it is free, which would wait for
    ever.
    """

    __slots__ = ()

    def __init__(self) -> None:
        _LOCKS.add(self)

    def renew(self) -> None:
        """Make it free."""
        self._at_fork_reinit()  # type: ignore[attr-defined]


_LOCKS: WeakSet[Lock] = WeakSet()


def _renew_in_child() -> None:
    for lock in _LOCKS:
        lock.renew()


if hasattr(os, "register_at_fork"):  # absent on Windows, which does not fork
    os.register_at_fork(after_in_child=_renew_in_child)
