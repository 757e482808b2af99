"""Struct arguments: the bytes of one that is passed by value."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from kdsl.backend import Backend, device_name
from kdsl.lang import float8
from kdsl.lang.complex_type import ComplexType
from kdsl.lang.fixed_array import FixedArrayType, items
from kdsl.lang.struct_dtype import described, difference, dtype_name
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import F32, MemoryType, PointerType, ScalarType, VectorType
from kdsl.runtime.errors import ArgumentTypeError, ArgumentValueError
from kdsl.runtime.formats import FORMATS
from kdsl.runtime.memory import DeviceArray
from kdsl.runtime.scalars import packable, shown
from kdsl.runtime.vectors import numbers


def struct_bytes(where: str, type_: StructType, value: Any, backend: Backend) -> bytes:
    """A struct as it lies in memory, of an object of its class or a NumPy record of its dtype; ``where`` begins every
    message.
    """
    if isinstance(type_, ComplexType):
        return _complex_bytes(where, type_, value)
    if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.names is not None:
        value = value[()]
    if isinstance(value, np.void):
        if value.dtype != type_.numpy:
            has_fields = set(value.dtype.names or ()) == set(type_.numpy.names or ())
            made = f"an element of a.astype({dtype_name(type_)})" if has_fields else f"{type_}(...)"
            fix = f"{difference(type_, value.dtype)}: pass {made}"
            raise ArgumentTypeError(f"{where} takes {type_}, got a NumPy record of {described(value.dtype)}; {fix}")
        return value.tobytes()
    if type_.python is None or type(value) is not type_.python:
        fix = f"pass {type_}(...) or an element of an array of {dtype_name(type_)}"
        raise ArgumentTypeError(f"{where} takes {type_}, got {shown(value)}; {fix}")
    return _format(type_).pack(*_numbers(where, type_, value, backend))


def _complex_bytes(where: str, type_: ComplexType, value: Any) -> bytes:
    """A complex number, of one of Python's or NumPy's, or of a real one."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if not isinstance(value, complex | np.complexfloating):
        return _format(type_).pack(packable(where, type_.component, value), 0.0)
    return _format(type_).pack(*(packable(where, type_.component, part) for part in (value.real, value.imag)))


def _numbers(where: str, type_: StructType, value: Any, backend: Backend) -> Iterator[Any]:
    """What is packed for each field, in order."""
    for field in type_.fields:
        yield from _packed(f"{where}: field `{field.name}`", field.type, getattr(value, field.name), backend)


def _packed(place: str, type_: MemoryType, held: Any, backend: Backend) -> Iterator[Any]:
    match type_:
        case FixedArrayType():
            for i, item in enumerate(_items(place, type_, held)):
                yield from _packed(f"{place}[{i}]", type_.element, item, backend)
        case StructType():
            yield struct_bytes(place, type_, held, backend)
        case VectorType():
            yield from numbers(place, type_, held)
        case PointerType():
            yield _address(place, type_, held, backend)
        case ScalarType(is_float8=True):
            yield _float8(place, type_, held)
        case ScalarType():
            yield packable(place, type_, held)


def _items(place: str, type_: FixedArrayType, held: Any) -> list[Any]:
    try:
        return list(items(type_, held))
    except ValueError as error:
        raise ArgumentValueError(f"{place}: {error}") from None


def _float8(where: str, type_: ScalarType, value: Any) -> int:
    """The bits of a float of 8 bits."""
    number = float(packable(where, F32, float(value) if isinstance(value, np.generic) else value))
    if not float8.fits(number, type_):
        raise ArgumentValueError(f"{where} takes {type_}, got {value!r}, which is too large for it")
    return float8.bits(float8.saturated(number, type_), type_)


def _address(where: str, type_: PointerType, value: Any, backend: Backend) -> int:
    """An address of the device: a DeviceArray's, a number, or None for no memory."""
    if value is None:
        return 0
    if isinstance(value, DeviceArray):
        element = type_.element.element if isinstance(type_.element, VectorType) else type_.element
        if value.backend is not backend:
            raise ArgumentValueError(
                f"{where} takes memory of {device_name(backend)}, got a DeviceArray on {device_name(value.backend)}; "
                f"pass a copy there, a.to({device_name(backend)!r})"
            )
        if isinstance(element, ScalarType | StructType) and value.dtype != element.numpy:
            raise ArgumentTypeError(f"{where} takes {type_}, got a DeviceArray of {value.dtype}; convert a copy")
        if value.layout.form:
            fix = "pass another" if value.is_freed else "pass a.copy(), which you keep alive"
            raise ArgumentValueError(f"{where} takes {type_}, got {value!r}; {fix}")
        return value.address
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**64:
        return value
    raise ArgumentTypeError(
        f"{where} takes {type_}, got {shown(value)}; pass a DeviceArray, kdsl.to_device(a), which you keep alive"
    )


@cache
def _format(type_: StructType) -> struct.Struct:
    """How `struct` packs it, with gaps as explicit pad bytes."""
    text, end = "=", 0
    for field in type_.fields:
        text += "x" * (field.offset - end) + _character(field.type)
        end = field.offset + field.type.size
    return struct.Struct(text + "x" * (type_.size - end))


def _character(type_: MemoryType) -> str:
    """How `struct` packs a field."""
    match type_:
        case FixedArrayType():
            return _character(type_.element) * len(type_.fields)
        case StructType():
            return f"{type_.size}s"
        case VectorType():
            return FORMATS[type_.element.name] * type_.lanes
        case PointerType():
            return "Q"
        case ScalarType():
            return "B" if type_.is_float8 else FORMATS[type_.name]
