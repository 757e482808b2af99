"""What is passed by value to a kernel that was built ahead of time: numbers, vectors and structs, as bytes."""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Mapping, Sequence
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

NO_REALS = (str, bytes, complex, np.complexfloating, np.flexible, np.datetime64, np.timedelta64)
"""What can be asked for a float, and is no real number."""


class Small(NamedTuple):
    """A floating-point type that NumPy alone lacks: ml_dtypes' name of it, and its bytes."""

    name: str
    size: int

    def __str__(self) -> str:
        return self.name


class Part(NamedTuple):
    """A field of a struct: elements of this ``shape``, at an offset."""

    name: str
    element: Element
    shape: tuple[int, ...]
    offset: int


class Fields(NamedTuple):
    """A struct's fields, and its bytes."""

    parts: tuple[Part, ...]
    size: int

    def __str__(self) -> str:
        return f"structs of {', '.join(part.name for part in self.parts)} ({self.size} bytes)"


Element = np.dtype[Any] | Small | Fields
"""What an array holds, or a field."""


def is_masked(value: Any) -> bool:
    """Whether it is a masked array. Plain arrays are not asked: NumPy imports np.ma when it is first named."""
    return type(value) is not np.ndarray and isinstance(value, np.ndarray) and isinstance(value, np.ma.MaskedArray)


def same(wanted: Element, dtype: np.dtype[Any], name: str) -> bool:
    """Whether a dtype is what is wanted; ``name`` is what its array's library calls it."""
    match wanted:
        case Small():
            return name == wanted.name and dtype.itemsize == wanted.size
        case Fields():
            fields: Mapping[str, Any] = dtype.fields or {}
            return (
                dtype.itemsize == wanted.size
                and dtype.names == tuple(part.name for part in wanted.parts)
                and all(_same_part(part, *fields[part.name][:2]) for part in wanted.parts)
            )
    return dtype == wanted


def _same_part(part: Part, dtype: np.dtype[Any], offset: int) -> bool:
    base, shape = dtype.subdtype or (dtype, ())
    if shape != part.shape or offset != part.offset:
        return False
    # Of a small float a record may hold the bits.
    is_bits = isinstance(part.element, Small) and base.kind in "uV" and base.itemsize == part.element.size
    return is_bits or same(part.element, base, base.name)


def number(where: str, format: str, value: Any) -> bytes:
    """A number in struct's ``format``, ``e2`` for a bfloat16; TypeError for another kind, ValueError where it does not
    fit.
    """
    if is_masked(value):
        raise TypeError(f"{where} takes a number, got a masked array")
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if format == "?":
        if not isinstance(value, bool | np.bool_):
            raise TypeError(f"{where} takes a bool, got {value!r}")
        return struct.pack("?", bool(value))
    try:
        if format in ("e", "e2", "f", "d"):
            real = _real(where, value, is_narrow=format != "d")
            return _bfloat16(real) if format == "e2" else struct.pack(f"<{format}", real)
        return struct.pack(f"<{format}", _integer(where, value))
    except (OverflowError, struct.error):
        raise ValueError(f"{where}: {value!r} does not fit") from None


def _integer(where: str, value: Any) -> int:
    if isinstance(value, np.bool_):
        return int(value)
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{where} takes an int, got {value!r}") from None


def _real(where: str, value: Any, *, is_narrow: bool) -> float:
    kind = type(value)
    is_number = hasattr(kind, "__float__") or hasattr(kind, "__index__")
    if isinstance(value, NO_REALS) or not is_number or getattr(value, "shape", ()) != ():
        raise TypeError(f"{where} takes a real number, got {value!r}")
    try:
        real = float(value)
    except TypeError:
        raise TypeError(f"{where} takes a real number, got {value!r}") from None
    # Some give infinity where others raise: a Decimal, a longdouble.
    if math.isinf(real) and value != real and isinstance(value, Number):
        raise OverflowError
    return _to_odd(real, value) if is_narrow and isinstance(value, Number) and math.isfinite(real) else real


def _to_odd(nearest: float, value: Any) -> float:
    """A double that rounds to every narrower type as the number itself does: of the two beside a number that no double
    is, the one whose last bit is 1.
    """
    exact: Any = int(value) if isinstance(value, np.integer) else value
    if nearest == exact:
        return nearest
    outwards = math.inf if exact > 0 else -math.inf
    if (nearest > exact) == (exact > 0):
        nearest = math.nextafter(nearest, -outwards)
    return nearest if struct.pack("<d", nearest)[0] & 1 else math.nextafter(nearest, outwards)


def _bfloat16(number: float) -> bytes:
    """The nearest bfloat16, ties to even: rounded once, by way of a float32 that is rounded to odd."""
    bits: int = struct.unpack("<I", struct.pack("<f", number))[0]
    if math.isnan(number):
        return b"\xff\x7f"
    back: float = struct.unpack("<f", struct.pack("<I", bits))[0]
    if back != number:
        bits = (bits - 1 if abs(back) > abs(number) else bits) | 1
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    if math.isfinite(number) and rounded & 0x7FFF == 0x7F80:
        raise OverflowError
    return struct.pack("<H", rounded)


def vector(where: str, format: str, lanes: int, is_complex: bool, value: Any) -> bytes:
    """As many numbers side by side; the two parts of a complex number."""
    if is_complex:
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value[()]
        has_parts = isinstance(value, complex | np.complexfloating)
        value = (value.real, value.imag) if has_parts else (value, 0.0)
    is_row = isinstance(value, Sequence) and not isinstance(value, str | bytes)
    if not (value.ndim == 1 if isinstance(value, np.ndarray) else is_row) or len(value) != lanes:
        raise TypeError(f"{where} takes {lanes} numbers, got {value!r}")
    return b"".join(number(where, format, part) for part in value)


def record(where: str, element: Element, value: Any) -> bytes:
    """A struct, of a record of its dtype or of a tuple of its fields."""
    if isinstance(value, tuple):
        return _packed(where, element, (), value)
    # What NumPy makes of a list, say, is no record.
    array = np.asarray(value)
    if is_masked(value) or array.ndim or not same(element, array.dtype, array.dtype.name):
        raise TypeError(f"{where} takes a record or a tuple: {element}; got {value!r}")
    return array.tobytes()


def _packed(where: str, element: Element, shape: tuple[int, ...], value: Any) -> bytes:
    if shape:
        if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str | bytes) or len(value) != shape[0]:
            raise TypeError(f"{where} takes {shape[0]} elements, got {value!r}")
        return b"".join(_packed(f"{where}[{i}]", element, shape[1:], part) for i, part in enumerate(value))
    match element:
        case Fields(parts, size):
            return _packed_fields(where, element, value, bytearray(size)) if parts else bytes(size)
        case Small(name, size):
            if name != "bfloat16":
                raise TypeError(f"{where}: pass a record, whose {name} are bits")
            return number(where, "e2", value)
    if element.kind == "c":
        return vector(where, "f" if element.itemsize == 8 else "d", 2, True, value)
    return number(where, {"l": "q", "L": "Q"}.get(element.char, element.char), value)


def _packed_fields(where: str, element: Fields, value: Any, out: bytearray) -> bytes:
    if not isinstance(value, tuple):
        return record(where, element, value)
    if len(value) != len(element.parts):
        raise TypeError(f"{where} takes {len(element.parts)} fields ({element}), got {value!r}")
    for part, held in zip(element.parts, value, strict=True):
        data = _packed(f"{where}: field `{part.name}`", part.element, part.shape, held)
        out[part.offset : part.offset + len(data)] = data
    return bytes(out)
