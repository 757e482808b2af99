"""Files that are written whole: all of them, or none."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from errno import EISDIR
from pathlib import Path


def write_files(directory: Path, contents: Mapping[str, bytes]) -> tuple[Path, ...]:
    """Write all files of these names or, if that cannot be done, none: first beside their places, then each into its
    place at once. Two that write into one folder come one after the other.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for name in contents:
        if (directory / name).is_dir():
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR), str(directory / name))
    with tempfile.TemporaryDirectory(prefix=".kdsl-", dir=directory) as staging:
        new, old = Path(staging, "new"), Path(staging, "old")
        new.mkdir()
        old.mkdir()
        for name, data in contents.items():
            (new / name).write_bytes(data)
        with _locked(directory):
            _replace(directory, [*contents], new, old)
    return tuple(directory / name for name in contents)


def _replace(directory: Path, names: Sequence[str], new: Path, old: Path) -> None:
    """Put the files of a folder into their places. If one cannot be (it is another user's, or in use), those before it
    are again what they were.
    """
    for name in names:
        if os.path.lexists(directory / name):
            _link_or_copy(directory / name, old / name)
    done = []
    try:
        for name in names:
            (new / name).replace(directory / name)
            done.append(name)
    except OSError:
        _put_back(directory, done, old)
        raise


def _put_back(directory: Path, names: Sequence[str], old: Path) -> None:
    for name in names:
        if os.path.lexists(old / name):
            (old / name).replace(directory / name)
        else:
            (directory / name).unlink()


def _link_or_copy(source: Path, destination: Path) -> None:
    try:
        os.link(source, destination, follow_symlinks=False)
    except (OSError, NotImplementedError):  # a disk without links
        shutil.copy2(source, destination, follow_symlinks=False)


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """One at a time, on systems and disks that have locks for folders."""
    if sys.platform == "win32":
        yield
        return
    import fcntl  # it is not on Windows

    descriptor = os.open(directory, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
