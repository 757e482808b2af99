"""What a kernel built ahead of time requires of every launch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np


class Contract(NamedTuple):
    """What a kernel requires of every launch: each relation as its text and a function of `Values`. ``block`` and
    ``grid`` give extents without brackets, from the arguments; ``fixed_block`` is that of every launch.
    """

    requires: tuple[tuple[str, Callable[[Values], bool]], ...] = ()
    block: Callable[[Values], tuple[int, int, int]] | None = None
    grid: Callable[[Values], tuple[int, int, int]] | None = None
    shared: Callable[[Values], int] | None = None
    fixed_block: tuple[int, int, int] | None = None


class Values:
    """What the relations of a contract are about: the arguments of a launch, and its configuration."""

    def __init__(
        self,
        names: Sequence[str],
        given: Sequence[Any],
        grid: Sequence[int] = (),
        block: Sequence[int] = (),
        shared: int = 0,
    ) -> None:
        self.by_name = dict(zip(names, given, strict=True))
        self.grid, self.block, self.shared = grid, block, shared

    def argument(self, name: str, kind: type[bool] | type[int] | type[float]) -> Any:
        """A scalar, as a plain number of Python's: NumPy's would wrap, or compare by a rounding of its own."""
        return kind(self.by_name[name])

    def array(self, name: str, attribute: str, axis: int, lanes: int) -> int:
        """What is known of an array; elements of ``lanes`` numbers are one."""
        value = self.by_name[name]
        interface = value.__array_interface__ if isinstance(value, np.ndarray) else value.__cuda_array_interface__
        shape, item = tuple[int, ...](interface["shape"]), np.dtype(interface["typestr"]).itemsize
        if attribute == "ptr":
            # As it is passed: what has no elements on the host has no memory on the device.
            is_nowhere = isinstance(value, np.ndarray) and not value.size
            return 0 if is_nowhere else int(interface["data"][0] or 0)
        if attribute == "shape":
            return int(shape[axis])
        if attribute == "strides":
            strides = interface.get("strides")
            return int(strides[axis]) if strides is not None else math.prod(shape[axis + 1 :]) * item
        sizes: dict[str, int] = {
            "size": math.prod(shape) // lanes,
            "ndim": len(shape),
            "nbytes": math.prod(shape) * item,
        }
        return sizes[attribute]

    def configured(self, what: str, axis: str) -> int:
        """A part of the configuration."""
        if what == "shared":
            return self.shared
        extents = self.grid if what == "grid" else self.block
        return math.prod(extents) if axis == "size" else extents["xyz".index(axis)]


def shift_left(a: int, b: int) -> int:
    """``a << b`` for amounts that make sense of arguments."""
    if not 0 <= b <= 128:
        raise ArithmeticError(f"a shift by {b}")
    return a << b


def shift_right(a: int, b: int) -> int:
    """``a >> b``; any amount that is not negative."""
    if b < 0:
        raise ArithmeticError(f"a shift by {b}")
    return a >> b
