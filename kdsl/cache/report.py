"""What is in the cache, for those who ask: `kdsl cache info`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path

from kdsl.cache.compilations import ENTRY, UNCACHED
from kdsl.cache.linked import LINKED
from kdsl.cache.settings import Settings
from kdsl.cache.store import HITS, MISSES, Store
from kdsl.records import dataclass


@dataclass(frozen=True, slots=True)
class Uncached:
    """Kernels that are compiled anew in each process, and why."""

    kernels: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Report:
    """``size`` and ``limit`` are in bytes; ``hits`` and ``misses`` count since the cache was made or cleared."""

    folder: Path
    enabled: bool
    usable: bool
    entries: int = 0
    machine_code: int = 0
    linked: int = 0
    """Images that kernels and other compilers' code were linked to."""
    size: int = 0
    limit: int = 0
    hits: int = 0
    misses: int = 0
    uncached: tuple[Uncached, ...] = field(default=())


def why_not_made(folder: Path) -> str | None:
    """Why a folder that is not there cannot be made: it is tried, and taken back. None if it can."""
    # Why not ask for permissions? They do not tell of what is no folder, and root has all of them, in /proc too.
    made: list[Path] = []
    try:
        return _make(list(reversed([folder, *folder.parents])), made)
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    finally:
        for part in reversed(made):
            with suppress(OSError):  # another process uses it by now
                part.rmdir()


def _make(parts: Sequence[Path], made: list[Path]) -> str | None:
    """Make those folders that are missing, and say in ``made`` which; what is in the way of one."""
    for part in parts:
        try:
            part.mkdir(mode=0o700)
        except FileExistsError:
            if not part.is_dir():
                return f"{part} is no folder"
        else:
            made.append(part)
    return None


def report(said: Settings) -> Report:
    """A look at the cache. It is not made where there is none."""
    if said.enabled and not os.path.isdir(said.folder):  # noqa: PTH112 (Path.is_dir raises for a name that is too long)
        why = why_not_made(said.folder)
        if why is not None:
            print(f"kdsl: the cache in {said.folder} is not used: {why}", file=sys.stderr)
        return Report(said.folder, said.enabled, why is None, limit=said.limit)
    store = Store(said.folder, said.limit)
    if not store.is_there():
        return Report(said.folder, said.enabled, True, limit=said.limit)
    if not store.usable():
        return Report(said.folder, said.enabled, False, limit=said.limit)
    names, size = [], 0
    for entry in store.files():
        try:
            size += entry.stat().st_size
        except FileNotFoundError:
            continue  # removed meanwhile
        names.append(entry.name)
    endings = (f".{ENTRY}", ".cubin", f".{LINKED}")
    entries, machine_code, linked = (sum(name.endswith(ending) for name in names) for ending in endings)
    notes = [store.read(name) for name in sorted(names) if name.endswith(f".{UNCACHED}")]
    return Report(
        said.folder,
        said.enabled,
        True,
        entries,
        machine_code,
        linked,
        size,
        said.limit,
        store.counted(HITS),
        store.counted(MISSES),
        tuple(one for note in notes if note is not None and (one := _uncached(note)) is not None),
    )


def _uncached(note: bytes) -> Uncached | None:
    """None for what says nothing of the kind."""
    try:
        said = json.loads(note)
        return Uncached(tuple(map(str, said["kernels"])), str(said["why"]))
    except (LookupError, TypeError, ValueError, RecursionError):
        return None
