"""Files in a private folder: written whole or not at all, checked when they are read, and the oldest removed when
there are too many bytes. What else may lie in the folder is left alone.

Knows nothing of kernels. Nothing here raises because of the disk: what cannot be read is not there, and what cannot be
written is not kept.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from kdsl.cache.digests import BYTES, digest
from kdsl.cache.locks import LONGEST_WAIT, locked
from kdsl.cache.settings import FILES

LOCKS, COUNTS = "locks", "counts"
HITS, MISSES = "hits", "misses"
TEMPORARY = ".writing-"
ABANDONED = 600.0
"""Seconds after which a temporary file is one whose writer has died."""
FRESH = 3600.0
"""Seconds during which a file that was used counts as just used."""
RECENT = 60.0
"""Seconds after which a process that begins to write looks whether there is too much."""
SWEPT, UNSWEPT = "swept", "unswept"
COUNTED = (HITS, MISSES, SWEPT, UNSWEPT)
BLOCK = 4096
LARGEST = 1 << 30
"""Bytes of one file."""
# On Windows a file is text unless one says so. A link is not followed, and a pipe not waited for.
FLAGS = sum(getattr(os, name, 0) for name in ("O_CLOEXEC", "O_BINARY", "O_NOFOLLOW", "O_NONBLOCK"))
APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | FLAGS
SEAL = b"\n//kdsl:"


class Store:
    """A folder of named, sealed files. A name is a digest, a dot and something: all of one digest are used and removed
    as one.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder = folder
        self.limit = limit
        self._usable: bool | None = None
        self._is_first = True

    def usable(self) -> bool:
        """Whether the folder is there (it is made) and private. Said once on stderr if others could change it."""
        if self._usable is None:
            problem = self._problem()
            if problem:
                print(f"kdsl: the cache in {self.folder} is not used: {problem}", file=sys.stderr)
            self._usable = problem == ""
        return self._usable

    def is_there(self) -> bool:
        """Whether there is something in the folder's place, or its place cannot be looked at. Makes nothing."""
        try:
            os.lstat(self.folder)
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return True

    def _problem(self) -> str | None:
        """Why the folder cannot be used, which the user can mend; None where there just is no place for one."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for name in (FILES, LOCKS, COUNTS):
                (self.folder / name).mkdir(mode=0o700, exist_ok=True)
            found = [os.lstat(self.folder / name) for name in ("", FILES, LOCKS, COUNTS)]
        except FileExistsError as error:
            return f"{error.filename} is no folder"
        except OSError:
            return self._readable()
        return next((why for about in found if (why := _not_private(about))), "")

    def _readable(self) -> str | None:
        """As `_problem`, of a folder that cannot be written."""
        try:
            found = [os.lstat(self.folder / name) for name in ("", FILES)]
        except OSError:
            return None
        return next((why for about in found if (why := _not_private(about))), "")

    def read(self, name: str) -> bytes | None:
        """The bytes of a file; None if there is none, or it is damaged, in which case it is removed."""
        if not self.usable():
            return None
        try:
            data = _read_whole(self.folder / FILES / name)
        except OSError:
            return None
        content = None if data is None else _unsealed(name, data)
        if content is None:
            self.remove(name)
        return content

    def write(self, name: str, content: bytes) -> bool:
        """Keep a file, in place of one of this name; whether that was possible."""
        if not self.usable():
            return False
        data = _sealed(name, content)
        if len(data) > min(self.limit, LARGEST):
            return False
        folder = self.folder / FILES
        temporary = folder / f"{TEMPORARY}{os.getpid()}-{os.urandom(8).hex()}"
        try:
            _write_whole(temporary, data)
            temporary.replace(folder / name)
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink()
            return False
        self._sweep_after(len(data))
        return True

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        with contextlib.suppress(OSError):
            (self.folder / FILES / name).unlink()

    def use(self, name: str) -> None:
        """Note that a file was used, so that others of its age are removed first."""
        path = self.folder / FILES / name
        with contextlib.suppress(OSError):
            if _age(path.stat()) > FRESH:
                os.utime(path)

    def lock(self, key: str, longest: float = LONGEST_WAIT) -> AbstractContextManager[bool]:
        """The lock for a key; few keys share one."""
        return locked(self.folder / LOCKS / key[:2], longest) if self.usable() else contextlib.nullcontext(False)

    def count(self, what: str) -> None:
        """Count an event. A file grows by a byte for each, which is one operation and needs no lock."""
        if not self.usable():
            return
        with contextlib.suppress(OSError):
            file = os.open(self.folder / COUNTS / what, APPEND, 0o600)
            try:
                os.write(file, b".")
            finally:
                os.close(file)

    def counted(self, what: str) -> int:
        """How many events there were."""
        try:
            return (self.folder / COUNTS / what).stat().st_size
        except OSError:
            return 0

    def files(self) -> Iterator[os.DirEntry[str]]:
        """All files, those that are being written included."""
        try:
            with os.scandir(self.folder / FILES) as entries:
                yield from (entry for entry in entries if _is_own(entry.name))
        except OSError:
            return

    def clear(self) -> int:
        """Remove all files and counts; how many bytes there were. OSError if that is not possible."""
        size = 0
        for entry in list(self.files()):
            with contextlib.suppress(FileNotFoundError):
                size += entry.stat(follow_symlinks=False).st_size
                Path(entry.path).unlink()
        for name in COUNTED:
            (self.folder / COUNTS / name).unlink(missing_ok=True)
        return size

    def _sweep_after(self, written: int) -> None:
        """Look whether there is too much: after each eighth of the limit that processes have written, and when one
        begins to, for the limit may be another.
        """
        blocks = self._written(-(-written // BLOCK))
        if blocks * BLOCK >= self.limit // 8 or (self._is_first and self._is_due()):
            self.sweep()
        self._is_first = False

    def _written(self, blocks: int) -> int:
        """Note how many blocks were written; how many there were since the last look."""
        with contextlib.suppress(OSError):
            file = os.open(self.folder / COUNTS / UNSWEPT, APPEND, 0o600)
            try:
                os.write(file, b"." * blocks)
                return os.fstat(file).st_size
            finally:
                os.close(file)
        return 0

    def _is_due(self) -> bool:
        """Whether no process has looked lately."""
        try:
            return _age((self.folder / COUNTS / SWEPT).stat()) > RECENT
        except OSError:
            return True

    def sweep(self) -> None:
        """Remove what dead writers left, and the groups used longest ago where there is too much: so much that the next
        eighth of the limit has room.
        """
        with contextlib.suppress(OSError):
            (self.folder / COUNTS / SWEPT).touch(mode=0o600)
            (self.folder / COUNTS / UNSWEPT).unlink(missing_ok=True)
        groups, part = self._groups(), self.limit // 8
        total = sum(group.size for group in groups)
        if total <= self.limit - part:
            return
        for group in sorted(groups, key=lambda group: group.used):
            if total <= self.limit - 2 * part:
                return
            for name in group.names:
                self.remove(name)
            total -= group.size

    def _groups(self) -> list[Group]:
        found: dict[str, Group] = {}
        for entry in self.files():
            try:
                about = entry.stat(follow_symlinks=False)
            except OSError:
                continue  # removed meanwhile
            if entry.name.startswith(TEMPORARY):
                if _age(about) > ABANDONED:
                    self.remove(entry.name)
                continue
            group = found.setdefault(entry.name.partition(".")[0], Group())
            group.names.append(entry.name)
            group.size += about.st_size
            group.used = max(group.used, about.st_mtime)
        return list(found.values())


class Group:
    """Files that are used and removed together."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.size = 0
        self.used = 0.0


def _not_private(about: os.stat_result) -> str:
    """Why a folder is not the user's alone; empty if it is."""
    if not stat.S_ISDIR(about.st_mode):
        return "it is a link or a file, not a folder"
    if not hasattr(os, "geteuid"):
        return ""  # Windows: a user's folders are private there
    if about.st_uid != os.geteuid():
        return f"it belongs to another user ({about.st_uid})"
    if about.st_mode & 0o022:
        return "others may write to it; chmod 700 makes it private"
    return ""


def _age(about: os.stat_result) -> float:
    """Seconds since a file was written. One of the future is not young: the clock was put back since."""
    return abs(time.time() - about.st_mtime)


def _is_own(name: str) -> bool:
    """Whether the store has made a file of this name."""
    group, dot, _ = name.partition(".")
    return name.startswith(TEMPORARY) or (dot != "" and len(group) == 2 * BYTES and not group.strip("0123456789abcdef"))


def _read_whole(path: Path) -> bytes | None:
    """A file's bytes; None if it is none that this user may have written here."""
    file = os.open(path, os.O_RDONLY | FLAGS)
    try:
        about = os.fstat(file)
        is_plain = stat.S_ISREG(about.st_mode) and (not hasattr(os, "geteuid") or about.st_uid == os.geteuid())
        if not is_plain or about.st_size > LARGEST:
            return None
        with open(file, "rb", closefd=False) as opened:
            return opened.read(LARGEST)
    finally:
        os.close(file)


def _write_whole(path: Path, data: bytes) -> None:
    # Why no fsync? After a power failure a file may be empty or hold garbage; its seal tells, and it is made again.
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | FLAGS, 0o600)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(file, view) :]
    finally:
        os.close(file)


def _sealed(name: str, content: bytes) -> bytes:
    """The bytes with a last line, a comment in PTX, that tells whether they are those of this name."""
    return content + SEAL + digest(name.encode(), content).encode() + b"\n"


def _unsealed(name: str, data: bytes) -> bytes | None:
    size = len(SEAL) + 2 * BYTES + 1
    content = data[:-size]
    return content if len(data) >= size and data == _sealed(name, content) else None
