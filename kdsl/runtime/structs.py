"""Struct arguments: the bytes of one that is passed by value."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from kdsl.backend import Backend
from kdsl.lang import float8
from kdsl.lang.complex_type import ComplexType
from kdsl.lang.struct_dtype import described, difference, dtype_name
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import F32, PointerType, ScalarType, VectorType
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
            fix = f"{difference(type_, value.dtype)}: pass an element of a.astype({dtype_name(type_)})"
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
        held, place = getattr(value, field.name), f"{where}: field `{field.name}`"
        match field.type:
            case StructType() as inner:
                yield struct_bytes(place, inner, held, backend)
            case VectorType() as vector:
                yield from numbers(place, vector, held)
            case PointerType() as pointer:
                yield _address(place, pointer, held, backend)
            case ScalarType(is_float8=True) as scalar:
                yield _float8(place, scalar, held)
            case ScalarType() as scalar:
                yield packable(place, scalar, held)


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
                f"{where} takes memory of {backend.name}, got a DeviceArray on {value.backend.name}"
            )
        if isinstance(element, ScalarType | StructType) and value.dtype != element.numpy:
            raise ArgumentTypeError(f"{where} takes {type_}, got a DeviceArray of {value.dtype}; convert a copy")
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
        text += "x" * (field.offset - end)
        match field.type:
            case StructType() as inner:
                text += f"{inner.size}s"
            case VectorType() as vector:
                text += FORMATS[vector.element.name] * vector.lanes
            case PointerType():
                text += "Q"
            case ScalarType() as scalar:
                text += "B" if scalar.is_float8 else FORMATS[scalar.name]
        end = field.offset + field.type.size
    return struct.Struct(text + "x" * (type_.size - end))
