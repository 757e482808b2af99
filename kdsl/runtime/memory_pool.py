"""The pool that device arrays come from: how much there is, and what it keeps of what was freed."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from kdsl.backend import Backend


@runtime_checkable
class PoolBackend(Protocol):
    """A backend that tells of its memory."""

    release_threshold: int
    """Bytes that it keeps at a synchronisation."""

    def memory_info(self) -> tuple[int, int, int, int]:
        """Bytes: free and total on the device, used by arrays here, and reserved for them and for later ones."""
        ...

    def trim_memory(self, keep: int) -> None:
        """Give back what no array uses, but for ``keep`` bytes."""
        ...


@dataclass(frozen=True)
class MemoryInfo:
    """Bytes of a device's memory.

    ``free``, of ``total``: what no process has. ``used``: what arrays of this process have; ``reserved``: what the pool
    that they come from has, ``used`` and what it keeps for later ones.
    """

    free: int
    total: int
    used: int
    reserved: int


def memory_info(backend: Backend) -> MemoryInfo:
    return MemoryInfo(*_pool(backend).memory_info())


def trim_memory(keep: int, backend: Backend) -> None:
    size = _size("keep", keep)
    pool = _pool(backend)
    # Memory freed while work is in flight comes back when that has ended.
    backend.synchronize()
    pool.trim_memory(size)


def set_release_threshold(size: int, backend: Backend) -> None:
    _pool(backend).release_threshold = _size("the release threshold", size)


def _pool(backend: Any) -> PoolBackend:
    if not isinstance(backend, PoolBackend):
        raise TypeError(f"the {backend.name} tells nothing of its memory")
    return backend


def _size(what: str, size: Any) -> int:
    try:
        found = operator.index(size)
    except TypeError:
        raise TypeError(f"{what} is a number of bytes, got {size!r}") from None
    if not 0 <= found < 2**63:
        raise ValueError(f"{what} is a number of bytes, got {found}")
    return found
