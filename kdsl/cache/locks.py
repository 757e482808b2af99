"""A lock that processes and threads share: of many that want to compile the same kernel, one does, the others wait.

The operating system ends a lock with the process that holds it, however that ends, so there are no stale ones. A
holder that takes too long is not waited for: then the work is done twice, which is slow and not wrong.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

LONGEST_WAIT = 30.0
FIRST_PAUSE, LONGEST_PAUSE = 0.001, 0.02
# A link is not followed: the file is made in the folder, or nowhere.
FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)

if sys.platform == "win32":
    import msvcrt

    def _try_lock(file: int) -> bool:
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(file: int) -> None:
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def _try_lock(file: int) -> bool:
        try:
            # Why not lockf? Its locks are a process's: two threads would both have it.
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(file: int) -> None:
        # Why, where the file is closed? A process that was forked meanwhile has it too, and closes it when it ends.
        fcntl.flock(file, fcntl.LOCK_UN)


@contextmanager
def locked(path: Path, longest: float = LONGEST_WAIT) -> Iterator[bool]:
    """Hold the lock of a file, which is made; gives whether it is held: not after ``longest`` seconds, nor where
    files have no locks.
    """
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | FLAGS, 0o600)
    except OSError:
        yield False
        return
    held = False
    try:
        held = _wait(file, longest)
        yield held
    finally:
        if held:
            _unlock(file)
        os.close(file)


def _wait(file: int, longest: float) -> bool:
    end, pause = monotonic() + longest, FIRST_PAUSE
    while True:
        try:
            if _try_lock(file):
                return True
        except OSError:
            return False
        if monotonic() >= end:
            return False
        sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE)
