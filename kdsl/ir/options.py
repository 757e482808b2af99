"""The options of ``@kernel``. Apart from the nodes, because a decorator needs them and should not load the tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from math import prod
from types import FunctionType
from typing import Any

from kdsl.contracts.contract import NOTHING, Contract
from kdsl.contracts.given import (
    NAMES,
    Extent,
    check_block,
    given_extents,
    given_min_arch,
    given_requires,
    given_shared,
)
from kdsl.lang.extern import Source, link_sources
from kdsl.records import dataclass

MOST_THREADS = 1024
"""Of a block, on every architecture so far (CUDA C++ Programming Guide, compute capabilities)."""
MOST_OF_CLUSTER = 16
"""Blocks, on every architecture so far; more than 8 are not portable."""
FEWEST_REGISTERS, MOST_REGISTERS = 24, 255
"""Of a thread: ptxas takes fewer for 24, and ignores more."""
NUMBERS = ("launch_bounds", "cluster", "max_registers", "link", *NAMES)


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
    """(threads of the largest block[, blocks that should fit on an SM[, blocks of the largest cluster]])."""
    cluster: tuple[int, int, int] | None = None
    """Blocks of a cluster along x, y and z."""
    max_registers: int | None = None
    """Registers that a thread may use."""
    requires: tuple[str, ...] = ()
    """Relations between arguments and configuration that hold in every launch."""
    block: tuple[Extent, ...] | None = None
    grid: tuple[Extent, ...] | None = None
    shared: Extent | None = None
    """What a launch without brackets takes: ints and expressions. A constant block is that of every launch."""
    min_arch: str | None = None
    """The first architecture that the kernel is for."""
    link: tuple[Source, ...] = ()
    """What is linked with the kernel, beside what the functions that it calls name."""
    contract: Contract = NOTHING
    """What ``requires`` to ``shared`` say, read: see `with_contract`."""

    @classmethod
    def checked(cls, given: Mapping[str, Any]) -> Options:
        """The options that a user gave by name; TypeError for an unknown one or a value that it does not take."""
        known = [field.name for field in fields(cls) if field.name != "contract"]
        for name, value in given.items():
            if name not in known:
                from difflib import get_close_matches  # start-up cost: for mistakes alone

                close = get_close_matches(str(name), known, 1)
                meant = f" (did you mean {close[0]!r}?)" if close else ""
                raise TypeError(f"@kernel has no option {name!r}{meant}; it takes {', '.join(known)}")
            if name not in NUMBERS and not isinstance(value, bool):
                raise TypeError(f"@kernel({name}=...) takes True or False, got {value!r}")
        numbers = {
            "launch_bounds": _launch_bounds(given.get("launch_bounds")),
            "cluster": _cluster(given.get("cluster")),
            "max_registers": _max_registers(given.get("max_registers")),
            "requires": given_requires(given.get("requires", ())),
            "block": given_extents("block", given.get("block")),
            "grid": given_extents("grid", given.get("grid")),
            "shared": given_shared(given.get("shared")),
            "link": link_sources("@kernel", given.get("link", ())),
            "min_arch": given_min_arch(given.get("min_arch")),
        }
        options = cls(**{**given, **numbers})
        options._check_together()
        return options

    def with_contract(self, function: FunctionType) -> Options:
        """The options of this kernel, whose contract's texts are read; ContractError at the decorator."""
        if not self.requires and self.block is None and self.grid is None and self.shared is None:
            return self
        from kdsl.contracts.decorate import contract_of  # start-up cost: most kernels have none

        return replace(self, contract=contract_of(function, self.requires, self.grid, self.block, self.shared))

    def with_unchecked_contract(self) -> Options:
        """The options of a kernel that is launched by others than kdsl."""
        return replace(self, contract=self.contract.unchecked())

    def _check_together(self) -> None:
        """TypeError for options that say how many threads, registers, or blocks of a cluster, in two ways."""
        bounds = self.launch_bounds or ()
        check_block(self.block, bounds, self.max_registers)
        if self.max_registers is not None and len(bounds) > 1:
            raise TypeError(
                f"max_registers={self.max_registers} and launch_bounds={bounds} both say how many registers there are; "
                f"write launch_bounds={bounds[0]}, or leave out max_registers"
            )
        if self.cluster is not None and len(bounds) > 2:
            raise TypeError(
                f"cluster={self.cluster} and launch_bounds={bounds} both say how large a cluster is; "
                f"write launch_bounds={bounds[:2]}"
            )


def _launch_bounds(value: Any) -> tuple[int, ...] | None:
    if value is None:
        return None
    bounds = value if isinstance(value, tuple) else (value,)
    if not 1 <= len(bounds) <= 3 or not all(type(b) is int and b > 0 for b in bounds) or bounds[0] > MOST_THREADS:
        raise TypeError(
            f"launch_bounds takes (threads up to {MOST_THREADS}[, blocks on an SM[, blocks of a cluster]]), "
            f"got {value!r}"
        )
    if len(bounds) == 3 and bounds[2] > MOST_OF_CLUSTER:
        raise TypeError(f"a cluster has at most {MOST_OF_CLUSTER} blocks, and launch_bounds says {bounds[2]}")
    return bounds


def _cluster(value: Any) -> tuple[int, int, int] | None:
    if value is None:
        return None
    extents = value if isinstance(value, tuple) else (value,)
    if not 1 <= len(extents) <= 3 or not all(type(e) is int and e > 0 for e in extents):
        raise TypeError(f"cluster takes the blocks of a cluster along x[, y[, z]], got {value!r}")
    if prod(extents) > MOST_OF_CLUSTER:
        raise TypeError(
            f"a cluster has at most {MOST_OF_CLUSTER} blocks, 8 on every GPU; {value!r} are {prod(extents)}"
        )
    x, y, z = (*extents, 1, 1)[:3]
    return x, y, z


def _max_registers(value: Any) -> int | None:
    if value is None or (type(value) is int and FEWEST_REGISTERS <= value <= MOST_REGISTERS):
        return value
    raise TypeError(f"max_registers takes {FEWEST_REGISTERS} to {MOST_REGISTERS} registers of a thread, got {value!r}")
