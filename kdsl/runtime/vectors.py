"""Vector arguments: the bytes of one that is passed by value, of any sequence of as many numbers."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from kdsl.lang.types import VectorType
from kdsl.runtime.errors import ArgumentTypeError
from kdsl.runtime.formats import FORMATS
from kdsl.runtime.scalars import packable, shown


def vector_bytes(where: str, type_: VectorType, value: Any) -> bytes:
    """A vector as it lies in memory; ``where`` begins every message."""
    element = type_.element
    if type(value) is np.ndarray and value.shape == (type_.lanes,) and value.dtype == element.numpy:
        return value.tobytes()
    return _format(type_).pack(*numbers(where, type_, value))


def numbers(where: str, type_: VectorType, value: Any) -> Iterator[Any]:
    """What is packed for each component: numbers that fit, of a sequence of as many."""
    is_row = isinstance(value, Sequence) and not isinstance(value, str | bytes)
    if not (value.ndim == 1 if isinstance(value, np.ndarray) else is_row):
        raise ArgumentTypeError(f"{where} takes {type_.lanes} numbers ({type_}), got {shown(value)}; {_fix(type_)}")
    if len(value) != type_.lanes:
        got = f"{shown(value)} of {len(value)}"
        raise ArgumentTypeError(f"{where} takes {type_.lanes} numbers ({type_}), got {got}; {_fix(type_)}")
    for name, component in zip("xyzw", value, strict=False):
        yield packable(f"{where}: component `{name}`", type_.element, component)


def _fix(type_: VectorType) -> str:
    return f"pass {type_}({', '.join('abcd'[: type_.lanes])}) or a tuple"


@cache
def _format(type_: VectorType) -> struct.Struct:
    return struct.Struct(f"={FORMATS[type_.element.name] * type_.lanes}")
