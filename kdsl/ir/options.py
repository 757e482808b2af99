"""The options of ``@kernel``. Apart from the nodes, because a decorator needs them and should not load the tree."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """What ``@kernel(...)`` may say. They hold for the kernel and the device functions it calls."""

    fmad: bool = True
    fastmath: bool = False
    asserts: bool = True
    restrict: bool = False
    launch_bounds: tuple[int, ...] | None = None
    """(threads of the largest block[, blocks that should fit on an SM])."""
