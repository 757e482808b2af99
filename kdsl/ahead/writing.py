"""Files that are written whole: all of them, or none."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
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
        for name, data in contents.items():
            Path(staging, name).write_bytes(data)
        with _locked(directory):
            for name in contents:
                Path(staging, name).replace(directory / name)
    return tuple(directory / name for name in contents)


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
