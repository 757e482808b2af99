"""The type that an argument gives to a parameter without an annotation."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from kdsl.lang.struct import is_struct, struct_type_of
from kdsl.lang.struct_dtype import struct_of_dtype
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import (
    COMPLEX64,
    COMPLEX128,
    F32,
    SCALARS,
    ArrayType,
    ScalarType,
    TupleType,
    Type,
    as_type,
    boolean,
)
from kdsl.runtime.callables import function_type
from kdsl.runtime.errors import ArgumentTypeError, ArgumentValueError, written
from kdsl.runtime.interface import NotOnDeviceError, foreign_array, is_foreign
from kdsl.runtime.markers import unmarked
from kdsl.runtime.memory import DeviceArray
from kdsl.runtime.scalars import narrowest, shown

MOST_DIMENSIONS = 4


def infer_type(kernel: str, name: str, value: Any) -> Type:
    """Arrays give their dtype, rank and layout; Python numbers what a variable bound to such a literal has; NumPy
    scalars their own type.

    ArgumentTypeError for anything else.
    """
    where, value = f"{kernel}: argument `{name}`", unmarked(value)
    if isinstance(value, DeviceArray):
        return _array(where, value.layout.type, value.ndim, strided=not value.is_contiguous)
    if isinstance(value, np.ndarray):
        return _array(where, _element(where, value.dtype), value.ndim, strided=not value.flags.c_contiguous)
    if isinstance(value, np.generic):
        return _element(where, value.dtype)
    if is_struct(value):
        return struct_type_of(value)
    if isinstance(value, bool):
        return boolean
    if isinstance(value, float):
        return F32
    if isinstance(value, complex):
        return COMPLEX64
    # Before numbers: arrays of many libraries have an __index__, which waits for the GPU, or raises.
    if is_foreign(value):
        return _foreign(where, value)
    if hasattr(type(value), "__index__"):
        return _integer(where, operator.index(value))
    if callable(value) and not isinstance(value, type):
        return function_type(kernel, name, value, infer_type)
    if isinstance(value, tuple):
        return tuple_type(kernel, name, value)
    return _foreign(where, value)


def tuple_type(kernel: str, name: str, value: tuple[Any, ...]) -> TupleType:
    """The type of a tuple's elements; a NamedTuple keeps its class."""
    python = type(value) if hasattr(value, "_fields") else None
    names = [f"{name}.{field}" for field in value._fields] if python else [f"{name}[{i}]" for i in range(len(value))]  # type: ignore[attr-defined]
    return TupleType(tuple(infer_type(kernel, n, v) for n, v in zip(names, value, strict=True)), python)


def element_type(wanted: str, value: Any) -> ScalarType | StructType:
    """The type of an array's elements; ``wanted`` begins the error for what is no array: what takes which type."""
    value = unmarked(value)
    if isinstance(value, DeviceArray):
        return value.layout.type
    if isinstance(value, np.ndarray):
        return _element(wanted, value.dtype)
    view = None
    if not isinstance(value, (bool, int, float, complex, np.generic)):
        try:
            view = foreign_array(value)
        except NotOnDeviceError as error:
            raise ArgumentTypeError(f"{wanted}, got {shown(value)}: it {error}") from None
    if view is None:
        raise ArgumentTypeError(f"{wanted}, got {shown(value)}; pass an array")
    if view.type is None:
        raise ArgumentTypeError(f"{wanted}, got an array of the dtype {view.dtype}, which kernels do not have")
    return view.type


def _integer(where: str, value: int) -> ScalarType:
    found = narrowest(value)
    if found is None:
        raise ArgumentValueError(f"{where} is {written(value)}, which no integer type of 64 bits holds")
    return found


def _foreign(where: str, value: Any) -> Type:
    try:
        view = foreign_array(value)
    except NotOnDeviceError as error:
        raise ArgumentTypeError(f"{where} is {shown(value)}: it {error}") from None
    if view is None:
        raise ArgumentTypeError(
            f"{where} is {shown(value)}, which gives no type; pass an array or a number, or annotate the parameter"
        )
    if view.type is None:
        raise ArgumentTypeError(f"{where} has the dtype {view.dtype}, which kernels do not have")
    return _array(where, view.type, len(view.shape), strided=view.strides is not None)


def _array(where: str, element: ScalarType | StructType, ndim: int, *, strided: bool) -> ArrayType:
    if not 1 <= ndim <= MOST_DIMENSIONS:
        fix = "pass a.reshape(1)" if ndim == 0 else f"at most {MOST_DIMENSIONS} are supported: reshape it"
        raise ArgumentValueError(f"{where} is an array with {ndim} dimensions; {fix}")
    return ArrayType(element, ndim, strided=strided)


def _element(where: str, dtype: np.dtype[Any]) -> ScalarType | StructType:
    try:
        type = struct_of_dtype(dtype) if dtype.names is not None else as_type(dtype)
    except TypeError as error:
        if dtype.names is not None:
            message = f"{where} has elements that a kernel cannot have: {error}; copy what it needs"
            raise ArgumentTypeError(message) from None
        raise ArgumentTypeError(
            f"{where} has the dtype {dtype}, which kernels do not have; "
            f"they have {', '.join((*SCALARS, COMPLEX64.name, COMPLEX128.name))}"
        ) from None
    assert isinstance(type, ScalarType | StructType)
    return type
