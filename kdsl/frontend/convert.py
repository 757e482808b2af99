"""The numeric table: which types meet as which, what converts without a cast, and which numbers a type holds."""

from __future__ import annotations

import math
import struct

from kdsl.lang import float8
from kdsl.lang.types import F32, F64, I32, Kind, ScalarType


class DoesNotFit(Exception):
    """A constant is out of the range of the type that it meets."""


def widened(type: ScalarType) -> ScalarType:
    """The type in which arithmetic on a type is done: bools and ints of 8 and 16 bits are widened to i32, as in C."""
    if type.kind is Kind.BOOL or (type.is_int and type.bits < 32):
        return I32
    return type


def common(a: ScalarType, b: ScalarType) -> ScalarType | None:
    """The type in which arithmetic on two types is done; None if there is none and a cast must say."""
    if a.kind is Kind.BOOL and b.kind is not Kind.BOOL:
        return widened(b)
    if b.kind is Kind.BOOL:
        return widened(a)
    return _common_numbers(widened(a), widened(b))


def _common_numbers(a: ScalarType, b: ScalarType) -> ScalarType | None:
    if a == b:
        return a
    if a.is_float8 or b.is_float8:
        return None
    if a.is_float and b.is_float:
        # f16 and bf16 are as wide as each other, and neither holds the other's values.
        return None if a.bits == b.bits else max(a, b, key=lambda t: t.bits)
    if a.is_float or b.is_float:
        return a if a.is_float else b
    if a.kind is b.kind:
        return max(a, b, key=lambda t: t.bits)
    signed, unsigned = (a, b) if a.is_signed else (b, a)
    return signed if signed.bits > unsigned.bits else None


def true_division(type: ScalarType) -> ScalarType:
    """The type of ``/``: f32 of ints, f64 of 64-bit ints."""
    if type.is_float:
        return type
    return F64 if type.bits == 64 else F32


def converts(source: ScalarType, to: ScalarType) -> bool:
    """Whether a value is converted without a cast where it is stored, passed or returned."""
    if source == to:
        return True
    if source.is_float8 or to.is_float8:
        return False
    if source.kind is Kind.BOOL:
        return to.is_int
    if to.kind is Kind.BOOL:
        return False
    if source.is_float:
        return to.is_float and to.bits > source.bits
    if to.is_float:
        return True
    if source.kind is to.kind:
        return to.bits > source.bits
    return to.is_signed and to.bits > source.bits


def fitted(value: int | float | complex, type: ScalarType) -> int | float:
    """A Python number as a constant of a type, rounded if that is a float. DoesNotFit if it is out of range."""
    if isinstance(value, complex):
        raise DoesNotFit
    if type.is_int:
        if isinstance(value, float) or not type.minimum <= value <= type.maximum:
            raise DoesNotFit
        return int(value)
    if type.is_float:
        return rounded(value, type)
    if type.is_float8 and float8.fits(float(value), type):
        return float8.saturated(float(value), type)
    raise DoesNotFit


def rounded(value: int | float, type: ScalarType) -> float:
    """The nearest value of a float type, ties to even; DoesNotFit if a finite number would become infinite."""
    try:
        number = float(value)
        if math.isnan(number) or math.isinf(number) or type == F64:
            return number
        if type.name == "bf16":
            return _rounded_bf16(number)
        code = "<f" if type == F32 else "<e"
        return float(struct.unpack(code, struct.pack(code, number))[0])
    except OverflowError:
        raise DoesNotFit from None


def _rounded_bf16(number: float) -> float:
    # 8 significant bits; below 2^-126 the steps stay 2^-133.
    quantum = max(math.frexp(number)[1] - 8, -133)
    result = math.ldexp(round(math.ldexp(number, -quantum)), quantum)
    if abs(result) >= 2.0**128:
        raise DoesNotFit
    return math.copysign(result, number)


def cast_constant(value: bool | int | float, type: ScalarType) -> bool | int | float:
    """A number as the cast ``type(value)`` gives it: ints keep the low bits, a float saturates to an int, NaN is 0."""
    if type.kind is Kind.BOOL:
        return bool(value != 0)
    if type.is_float:
        return rounded(value, type)
    if type.is_float8:
        return float8.saturated(float(value), type)
    if isinstance(value, float):
        if math.isnan(value):
            return 0
        if math.isinf(value):
            return type.maximum if value > 0 else type.minimum
        return max(type.minimum, min(type.maximum, int(value)))
    return wrapped(int(value), type)


def wrapped(value: int, type: ScalarType) -> int:
    """The low bits of an int as an int type."""
    low = value & ((1 << type.bits) - 1)
    return low - (1 << type.bits) if type.is_signed and low > type.maximum else low
