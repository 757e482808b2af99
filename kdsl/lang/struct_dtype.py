"""Structs and NumPy's structured dtypes: the type of a dtype's elements, and what differs between the two."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from kdsl.lang.complex_type import ComplexType
from kdsl.lang.fixed_array import fixed_array
from kdsl.lang.struct_type import StructField, StructType
from kdsl.lang.types import MemoryType, ScalarType, VectorType, as_type


@cache
def struct_of_dtype(dtype: np.dtype[Any]) -> StructType:
    """The type of the elements of a structured NumPy array whose class nobody named: the same for equal dtypes.

    TypeError for a dtype with fields that kernels do not have, or at offsets where C has none.
    """
    made = StructType(f"struct {{{', '.join(dtype.names or ())}}}")
    fields: list[StructField] = []
    align = 1
    for name in dtype.names or ():
        assert dtype.fields is not None
        field, offset, *_ = dtype.fields[name]
        if field.subdtype is not None:
            base, shape = field.subdtype
            while base.subdtype is not None:
                base, shape = base.base, (*shape, *base.shape)
            type: MemoryType = _array(base, shape, offset, dtype.itemsize)
        elif field.names is not None:
            type = struct_of_dtype(field)
        else:
            scalar_type = as_type(field)
            assert isinstance(scalar_type, ScalarType | ComplexType)
            type = scalar_type
        if offset % type.align:
            raise TypeError(f"field {name!r} is at byte {offset}, which is no multiple of {type.align}")
        align = max(align, type.align)
        fields.append(StructField(name, type, offset))
    if dtype.itemsize % align or not fields:
        raise TypeError(f"elements of {dtype.itemsize} bytes, which is no multiple of {align}")
    made.set_layout(fields, dtype.itemsize, align)
    return made


def _array(base: np.dtype[Any], shape: tuple[int, ...], offset: int, size: int) -> MemoryType:
    """A sub-array: a vector where it may be one, of 2 to 4 numbers that are aligned as one; else an array."""
    element = struct_of_dtype(base) if base.names is not None else as_type(base)
    assert isinstance(element, ScalarType | StructType)
    if len(shape) == 1 and shape[0] in (2, 3, 4) and isinstance(element, ScalarType):
        vector = VectorType(element, shape[0])
        if vector.align <= 16 and offset % vector.align == 0 and size % vector.align == 0:
            return vector
    return fixed_array(element, shape)


def dtype_name(type_: ScalarType | StructType) -> str:
    """The dtype of a type, as a message names it."""
    if not isinstance(type_, StructType) or isinstance(type_, ComplexType):
        return str(type_.numpy)
    return f"{type_}.dtype" if type_.python is not None else described(type_.numpy)


def described(dtype: np.dtype[Any]) -> str:
    """A dtype in a message: a structured one by its fields."""
    if dtype.names is None:
        return str(dtype)
    return f"{{{', '.join(f'{name}: {_field(dtype, name)[0]}' for name in dtype.names)}}}"


def difference(type_: StructType, dtype: np.dtype[Any]) -> str:
    """The first thing in which a dtype differs from a struct's."""
    wanted = type_.numpy
    if dtype.names is None:
        return f"{dtype} has no fields"
    missing = [name for name in wanted.names or () if name not in dtype.names]
    extra = [name for name in dtype.names if name not in (wanted.names or ())]
    if missing:
        return f"it has no field {missing[0]!r}"
    if extra:
        return f"{type_} has no field {extra[0]!r}"
    if dtype.names != wanted.names:
        return f"its fields are in the order {', '.join(dtype.names)}"
    pairs = [(name, _field(wanted, name), _field(dtype, name)) for name in dtype.names]
    for name, (want, _), (have, _) in pairs:
        if want != have:
            return f"its field {name!r} is {described(have)}, not {described(want)}"
    for name, (_, at), (_, place) in pairs:
        if at != place:
            return f"its field {name!r} is at byte {place}, not {at}"
    return f"its elements have {dtype.itemsize} bytes, not {wanted.itemsize}"


def _field(dtype: np.dtype[Any], name: str) -> tuple[np.dtype[Any], int]:
    assert dtype.fields is not None
    field, offset, *_ = dtype.fields[name]
    return field, offset
