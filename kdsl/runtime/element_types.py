"""Which type the elements of an array have, from a dtype of ours, NumPy's or another library's."""

from __future__ import annotations

from typing import Any

import numpy as np

from kdsl.lang.foreign_names import foreign_dtype, name_meant
from kdsl.lang.struct_dtype import struct_of_dtype
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import SCALARS, ArrayType, PointerType, ScalarType, Type, VectorType, as_type


def element_type(dtype: Any) -> ScalarType | StructType:
    """The type that a dtype (ours, Python's or any that NumPy takes) means, or a `@struct` class; TypeError for what
    kernels cannot hold.
    """
    if isinstance(dtype, (list, dict)):
        unhashable: Any = dtype
        dtype = np.dtype(unhashable)
    if isinstance(dtype, np.dtype) and dtype.names is not None:
        return struct_of_dtype(dtype)
    called = foreign_dtype(dtype)
    if called is not None:
        dtype = SCALARS.get(called) or getattr(np, called)
    try:
        found = as_type(dtype)
    except TypeError:
        raise TypeError(f"{_shown(dtype)} is no type of elements that kernels have{_fix(dtype)}") from None
    if not isinstance(found, ScalarType | StructType):
        raise TypeError(f"the elements of an array are scalars or structs, got {_shown(dtype)}{_fix(dtype)}")
    return found


def _shown(dtype: Any) -> str:
    if isinstance(dtype, Type):
        return str(dtype)
    return _an(type(dtype).__name__) if _is_array(dtype) else repr(dtype)


def _an(noun: str) -> str:
    return f"{'an' if noun[:1] in 'aeiou' else 'a'} {noun}"


def _is_array(value: Any) -> bool:
    return hasattr(value, "shape") and not isinstance(value, type)


def _fix(dtype: Any) -> str:
    """What to write in place of what is no dtype."""
    meant = name_meant(dtype)
    if meant is not None:
        return f"; write kdsl.{meant}" if meant != "bool" else "; write bool"
    if isinstance(dtype, int) and not isinstance(dtype, bool):
        return "; a shape of several extents is a tuple, such as (3, 4)"
    if isinstance(dtype, VectorType):
        return f"; an array of vectors has a last extent of {dtype.lanes}, and the dtype {dtype.element}"
    if isinstance(dtype, PointerType | ArrayType):
        return f"; write the type of its elements, {dtype.element}"
    if _is_array(dtype):
        return "; write its dtype, a.dtype"
    return "; write a type such as kdsl.f32, one of NumPy's such as np.float32, or a @struct class"
