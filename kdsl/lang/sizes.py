"""What a type takes in memory: constants, in kernels and on the host."""

from __future__ import annotations

from typing import Any, get_origin

import numpy as np

from kdsl.lang.construct import construct_of_host
from kdsl.lang.types import ArrayType, MemoryType, Type, as_type


@construct_of_host
def size_of(dtype: Any) -> int:
    """The bytes of a type in memory, padding included, as C's ``sizeof``: of a scalar, vector, complex number, `Ptr`,
    `FixedArray` or struct. A constant; also a function of the host.
    """
    return memory_type(dtype, "size_of").size


@construct_of_host
def align_of(dtype: Any) -> int:
    """The alignment of a type in memory in bytes, as C++'s ``alignof``. A constant; also a function of the host."""
    return memory_type(dtype, "align_of").align


def memory_type(dtype: Any, name: str) -> MemoryType:
    """The type that may lie in memory which an object means. TypeError, for the function of this name, if none."""
    try:
        # Why not as_type alone? To NumPy a string is a dtype, and an object with one.
        if not isinstance(dtype, Type | type | np.dtype) and get_origin(dtype) is None:
            raise TypeError
        type_ = as_type(dtype)
    except (TypeError, ValueError):
        raise TypeError(f"{name}() takes a type, got {dtype!r:.60}") from None
    if isinstance(type_, ArrayType):
        raise TypeError(f"{name}() takes a type that lies in memory; of an array's elements: {name}({type_.element})")
    if not isinstance(type_, MemoryType):
        raise TypeError(f"{name}() takes a type that lies in memory, and {type_} does not")
    if type_.size == 0:
        raise TypeError(f"{name}({type_}): not all fields of {type_} are known yet")
    return type_
