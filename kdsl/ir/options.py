"""The options of ``@kernel``. Apart from the nodes, because a decorator needs them and should not load the tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

MOST_THREADS = 1024
"""Of a block, on every architecture so far (CUDA C++ Programming Guide, compute capabilities)."""


@dataclass(frozen=True, slots=True)
class Options:
    """What ``@kernel(...)`` may say. They hold for the kernel and the device functions it calls."""

    fmad: bool = True
    fastmath: bool = False
    asserts: bool = True
    restrict: bool = False
    debug: bool = False
    """Check indices, divisors and casts while the kernel runs."""
    launch_bounds: tuple[int, ...] | None = None
    """(threads of the largest block[, blocks that should fit on an SM])."""

    @classmethod
    def checked(cls, given: Mapping[str, Any]) -> Options:
        """The options that a user gave by name; TypeError for an unknown one or a value that it does not take."""
        known = [field.name for field in fields(cls)]
        for name, value in given.items():
            if name not in known:
                raise TypeError(f"@kernel has no option {name!r}; it takes {', '.join(known)}")
            if name != "launch_bounds" and not isinstance(value, bool):
                raise TypeError(f"@kernel({name}=...) takes True or False, got {value!r}")
        return cls(**{**given, "launch_bounds": _launch_bounds(given.get("launch_bounds"))})


def _launch_bounds(value: Any) -> tuple[int, ...] | None:
    if value is None:
        return None
    bounds = value if isinstance(value, tuple) else (value,)
    if not 1 <= len(bounds) <= 2 or not all(type(b) is int and b > 0 for b in bounds) or bounds[0] > MOST_THREADS:
        raise TypeError(f"launch_bounds takes (threads up to {MOST_THREADS}[, blocks on an SM]), got {value!r}")
    return bounds
