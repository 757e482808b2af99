"""A row of the table: a kernel, what it is run on, what it must give, and what its PTX must hold."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kdsl.compiler import Kernel
from kdsl.runtime.config import LaunchConfig
from kdsl.target import KNOWN

AREAS = (
    "Types",
    "Values and operators",
    "Generics",
    "Statements",
    "Memory",
    "Barriers and fences",
    "Atomics",
    "Clusters and cooperative launches",
    "Warp",
    "Groups",
    "Math",
    "Rounding and conversions",
    "Fast approximations",
    "Bits",
    "Random numbers",
    "Inline PTX",
    "Special",
    "Debug builds",
)
"""The headings of the table, in its order."""

OLDEST = KNOWN[0]
"""The oldest architecture there is: what needs no newer one runs everywhere, and nothing is refused."""


@dataclass(frozen=True)
class Capability:
    """One row. ``out`` is what the first argument holds afterwards, ``inputs`` are the other arguments.

    ``start`` is what the first argument holds before (zeros if None). ``ulps`` is how far a float may be off, and
    ``because`` says why it may be off at all. ``absolute`` is an absolute distance instead.
    """

    area: str
    name: str
    what: str
    kernel: Kernel[Any]
    out: np.ndarray | None
    inputs: tuple[Any, ...] = ()
    start: np.ndarray | None = None
    instructions: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    minimum: str = OLDEST
    shown_on: str = OLDEST
    config: LaunchConfig = field(default_factory=lambda: LaunchConfig(1, 32))
    signature: Mapping[str, Any] | None = None
    keywords: Mapping[str, Any] = field(default_factory=dict)
    raises: tuple[type[Exception], str] | None = None
    prints: str | None = None
    ulps: float = 0
    absolute: float = 0
    because: str = ""

    @property
    def id(self) -> str:
        return f"{self.area}: {self.name}"

    @property
    def below(self) -> str | None:
        """The architecture before the first that has it; None if every one has it."""
        place = KNOWN.index(self.minimum)
        return KNOWN[place - 1] if place else None

    @property
    def digest(self) -> str:
        """Changes with the row: what passed is no record of what is written now if it differs."""
        parts = (inspect.getsource(self.kernel.function), self.what, self.minimum, self.shown_on, *self.instructions)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def row(
    area: str,
    name: str,
    what: str,
    *,
    out: Any = None,
    grid: Any = 1,
    block: Any = 32,
    shared: int = 0,
    cluster: Any = None,
    cooperative: bool = False,
    shown_on: str | None = None,
    **fields: Any,
) -> Callable[[Kernel[Any]], Capability]:
    """Make a kernel a row of the table."""
    config = LaunchConfig(grid, block, shared, None, cluster, cooperative)
    minimum = fields.get("minimum", OLDEST)
    expected = None if out is None else np.asarray(out)

    def made(kernel: Kernel[Any]) -> Capability:
        return Capability(area, name, what, kernel, expected, shown_on=shown_on or minimum, config=config, **fields)

    return made


def rows() -> list[Capability]:
    """Every row of every `rows_*.py` of this folder, in the table's order. A mistake in one is an AssertionError."""
    package = importlib.import_module(__package__ or "")
    names = [m.name for m in pkgutil.iter_modules(package.__path__) if m.name.startswith("rows_")]
    found = [r for name in names for r in _rows_of(importlib.import_module(f"{package.__name__}.{name}"))]
    for r in found:
        assert r.area in AREAS, f"{r.id}: no area is called so; add it to AREAS"
        assert bool(r.because) == bool(r.ulps or r.absolute), f"{r.id}: a tolerance needs a reason"
        assert r.out is not None or r.raises or r.prints, f"{r.id}: nothing is expected of it"
        assert re.fullmatch(r"[^\n|]+[^.\n|]", r.what), f"{r.id}: one line without a full stop"
    ids = [r.id for r in found]
    twice = {i for i in ids if ids.count(i) > 1}
    assert not twice, f"two rows of one name: {sorted(twice)}"
    return sorted(found, key=lambda r: AREAS.index(r.area))


def _rows_of(module: Any) -> Iterator[Capability]:
    for value in vars(module).values():
        yield from (v for v in (value if isinstance(value, (list, tuple)) else (value,)) if isinstance(v, Capability))
