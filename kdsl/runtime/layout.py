"""How an array lies in memory: shapes, strides, and what a launcher must know of it at a glance."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import numpy as np

from kdsl.backend import Backend
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import ScalarType

INT32_ELEMENTS = 2**31 - 1
"""The most elements of an array that kernels count in 32 bits."""
MOST_BYTES = 2**63 - 1
MOST_DIMENSIONS = 64
"""As many as NumPy's arrays may have."""


class Layout:
    """What a launcher must know of an array at a glance; interned per backend, so that it is compared by ``is``.

    ``wide`` marks arrays whose element offsets do not fit 31 bits; ``form`` says whether it is C-contiguous (an empty
    text), ``strided`` or ``freed``.
    """

    __slots__ = ("backend", "dtype", "form", "type", "wide")

    def __init__(self, backend: Backend, type_: ScalarType | StructType, wide: bool, form: str) -> None:
        self.backend, self.type, self.wide, self.form = backend, type_, wide, form
        self.dtype = type_.numpy


def layout_of(backend: Backend, type_: ScalarType | StructType, wide: bool = False, form: str = "") -> Layout:
    """The one `Layout` for these. Backends hash by identity and live as long as the process."""
    key: Any = backend  # a Protocol says nothing of hashing
    return _layout(key, type_, wide, form)


@functools.cache
def _layout(backend: Any, type_: ScalarType | StructType, wide: bool, form: str) -> Layout:
    return Layout(backend, type_, wide, form)


def normal_shape(shape: Any) -> tuple[int, ...]:
    """A shape as a tuple of ints, from an int or a sequence; ValueError for negative extents and too many of them."""
    extents = shape if isinstance(shape, (tuple, list)) else (shape,)
    try:
        if any(isinstance(extent, bool) for extent in extents):
            raise TypeError
        out = tuple(operator.index(extent) for extent in extents)
    except TypeError:
        fix = ""
        if any(isinstance(extent, (float, np.floating)) for extent in extents):
            fix = "; int(n) is one, and n // 2 divides to one"
        elif hasattr(shape, "shape"):
            fix = "; write a.shape for an array as large as another one, kdsl.to_device(a) for a copy of it"
        raise TypeError(f"a shape is an int or a tuple of ints, got {shape!r}{fix}") from None
    if any(extent < 0 for extent in out):
        raise ValueError(f"negative extent in the shape {out}: every extent is at least 0")
    if len(out) > MOST_DIMENSIONS:
        raise ValueError(f"a shape of {len(out)} dimensions: NumPy and kdsl have at most {MOST_DIMENSIONS}")
    return out


def checked_bytes(shape: tuple[int, ...], type_: ScalarType | StructType) -> int:
    """The bytes of a contiguous array; ValueError for more than any address space has."""
    size = math.prod(shape) * type_.size
    # NumPy counts what the other extents would take, even where one of them is 0.
    if math.prod(extent for extent in shape if extent) * type_.size > MOST_BYTES:
        raise ValueError(f"an array of shape {shape} of {type_} is too large: it has more than 2**63 bytes")
    return size


def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides, in elements, of a C-contiguous array."""
    out, step = [], 1
    for extent in reversed(shape):
        out.append(step)
        step *= extent
    return tuple(reversed(out))


def is_contiguous(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether strides in elements are those of a C-contiguous array, as far as they matter."""
    if 0 in shape:
        return True
    return all(
        extent == 1 or stride == expected
        for extent, stride, expected in zip(shape, strides, contiguous_strides(shape), strict=True)
    )


def reach(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, int]:
    """How far the elements lie before and after the first, in the unit of the strides: (at most 0, at least 0)."""
    if 0 in shape:
        return 0, 0
    ends = [(extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)]
    return sum(end for end in ends if end < 0), sum(end for end in ends if end > 0)
