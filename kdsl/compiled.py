"""What a launch has to know of a compiled kernel, apart from its code: made with the PTX, and kept beside it."""

from __future__ import annotations

from kdsl.backend import Dim3
from kdsl.records import dataclass


@dataclass(frozen=True, slots=True)
class CompiledKernel:
    """One entry of a PTX module. ``name`` is its name there."""

    name: str
    written: tuple[int, ...] | None = None
    """Indexes of the parameters through which memory may be written; None if that is not known."""
    most_threads: int | None = None
    """Of the largest block that it was compiled for."""
    cluster: Dim3 | None = None
    """Blocks of the clusters that it was compiled for."""
    cooperative: bool = False
    """All its blocks must run together."""
    block_multiple: int = 1
    """Its blocks have a multiple of so many threads."""
