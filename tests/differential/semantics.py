"""What each scalar operation gives, to the bit (language reference, 3.3).

Ints and bools are Python's, in their type's range; floats are carried as ieee.py says.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from . import ieee
from .typing_rules import F32, F64, IllTyped, Scalar

Value = bool | int | float


class OpenBits(Exception):
    """The result depends on the payload of a NaN, which the language leaves open."""


def wrap(value: int, t: Scalar) -> int:
    """The low bits of an integer, read as type ``t``."""
    return (value - t.low) % (1 << t.bits) + t.low


def cast(value: Value, source: Scalar, target: Scalar) -> Value:
    """``target(value)``; a weak value may be cast to anything, an int keeping its low bits."""
    if target.kind == "bool":
        return bool(value)
    from_float = source.is_float or source.kind == "weak-float"
    if target.is_float:
        if from_float:
            return ieee.convert(float(value), target.format)
        return ieee.from_int(int(value), target.format)
    if not from_float:
        return wrap(int(value), target)
    return saturate(float(value), target)


def saturate(value: float, t: Scalar) -> int:
    """Truncated to an int; NaN is 0."""
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return t.high if value > 0 else t.low
    return min(max(math.trunc(value), t.low), t.high)


def literal(value: Value, t: Scalar) -> Value:
    """A weak value where type ``t`` is wanted."""
    if t.is_int and not t.low <= value <= t.high:
        raise IllTyped(f"{value} does not fit {t.name}")
    if t.is_float:
        number = ieee.convert(value, t.format) if isinstance(value, float) else ieee.from_int(int(value), t.format)
        if math.isinf(number) and not math.isinf(value):
            raise IllTyped(f"{value} does not fit {t.name}")
        return number
    return int(value)


def floor_divide(a: int, b: int) -> int:
    return a // b if b else 0


def floor_modulo(a: int, b: int) -> int:
    return a % b if b else 0


def shift_left(a: int, amount: int, t: Scalar) -> int:
    return wrap(a << amount, t) if 0 <= amount < t.bits else 0


def shift_right(a: int, amount: int, t: Scalar) -> int:
    if 0 <= amount < t.bits:
        return a >> amount
    return -1 if a < 0 else 0


def power(base: int, exponent: int, t: Scalar) -> int:
    return wrap(pow(base, exponent, 1 << t.bits), t) if exponent >= 0 else 0


INT_BINARY: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": floor_divide,
    "%": floor_modulo,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "min": min,
    "max": max,
}


def float_modulo(a: float, b: float, form: ieee.Format) -> float:
    """Python's: the sign is the divisor's; the exact remainder rounded once."""
    if math.isnan(a) or math.isnan(b) or math.isinf(a) or b == 0:
        return math.nan
    if math.isinf(b):
        return math.copysign(0.0, b) if a == 0 else a if (a < 0) == (b < 0) else b
    (n, d), (m, e) = a.as_integer_ratio(), b.as_integer_ratio()
    return ieee.nearest((n * e) % (m * d), d * e, form, math.copysign(0.0, b))


def float_floor_divide(a: float, b: float, form: ieee.Format) -> float:
    """Python's: the quotient of what the truncating remainder leaves, made whole; of 16-bit floats the exact floor."""
    if b == 0:
        return ieee.divide(a, b, form)
    if math.isnan(a) or math.isnan(b) or math.isinf(a):
        return math.nan
    if form.bits == 16 and math.isfinite(b):
        (n, d), (m, e) = a.as_integer_ratio(), b.as_integer_ratio()
        return ieee.nearest((n * e) // (m * d), 1, form, ieee.signed_zero(a, b))
    remainder = truncated_remainder(a, b)
    quotient = ieee.divide(ieee.subtract(a, remainder, form), b, form)
    if remainder != 0 and (remainder < 0) != (b < 0):
        quotient = ieee.subtract(quotient, 1.0, form)
    if quotient == 0:
        return ieee.signed_zero(a, b)
    if math.isinf(quotient):
        return quotient
    whole = float(math.floor(quotient))
    return ieee.add(whole, 1.0, form) if ieee.subtract(quotient, whole, form) > 0.5 else whole


def truncated_remainder(a: float, b: float) -> float:
    """C's fmod of a finite ``a``, always exact."""
    if math.isinf(b) or a == 0:
        return a
    (n, d), (m, e) = a.as_integer_ratio(), b.as_integer_ratio()
    rest = (abs(n) * e) % (abs(m) * d)
    return ieee.nearest(-rest if n < 0 else rest, d * e, ieee.DOUBLE, math.copysign(0.0, a))


def lesser(a: float, b: float) -> float:
    if math.isnan(a) or math.isnan(b):
        return b if math.isnan(a) else a
    if a == b:
        return a if math.copysign(1.0, a) < 0 else b
    return min(a, b)


def greater(a: float, b: float) -> float:
    return -lesser(-a, -b)


FLOAT_BINARY: dict[str, Callable[[float, float, ieee.Format], float]] = {
    "+": ieee.add,
    "-": ieee.subtract,
    "*": ieee.multiply,
    "/": ieee.divide,
    "//": float_floor_divide,
    "%": float_modulo,
    "min": lambda a, b, form: lesser(a, b),
    "max": lambda a, b, form: greater(a, b),
}


def whole(rounding: Callable[[float], int], a: float) -> float:
    """Round to a whole float, keeping what is not finite and the sign of zero."""
    return math.copysign(float(rounding(a)), a) if math.isfinite(a) else a


ROUNDINGS: dict[str, Callable[[float], int]] = {"round": round, "floor": math.floor, "ceil": math.ceil}


def binary(op: str, a: Value, b: Value, t: Scalar) -> Value:
    """An operation on two values of type ``t``, but for ``/`` of ints, which is that of the quotient's type."""
    if t.is_float:
        if op not in FLOAT_BINARY:
            raise IllTyped(f"{op} of {t.name}")
        return FLOAT_BINARY[op](float(a), float(b), t.format)
    if t.kind == "bool":
        return bool(INT_BINARY[op](int(a), int(b)))
    if op == "/":
        wide = F64 if t.bits == 64 else F32
        x, y = (ieee.from_int(int(v), wide.format) for v in (a, b))
        return ieee.divide(x, y, wide.format)
    if op == "**":
        return power(int(a), int(b), t)
    return wrap(INT_BINARY[op](int(a), int(b)), t)


def unary(op: str, a: Value, t: Scalar) -> Value:
    if op == "+":
        return a
    if t.is_float:
        number = float(a)
        if op == "-":
            return -number
        if op == "abs":
            return abs(number)
        if op == "sqrt":
            return ieee.square_root(number, t.format)
        return whole(ROUNDINGS[op], number)
    if op in ROUNDINGS:
        return a
    whole_number = int(a)
    return wrap({"-": -whole_number, "~": ~whole_number, "abs": abs(whole_number)}[op], t)


def compare(op: str, a: Value, b: Value) -> bool:
    match op:
        case "==":
            return a == b
        case "!=":
            return a != b
        case "<":
            return a < b
        case "<=":
            return a <= b
        case ">":
            return a > b
        case _:
            return a >= b


def bits(value: Value, t: Scalar) -> int | None:
    """The bit pattern in memory; None for a NaN, whose payload is open."""
    if t.is_float:
        return None if math.isnan(value) else ieee.encode(float(value), t.format)
    return int(value) % (1 << t.bits)


def from_bits(pattern: int, t: Scalar) -> Value:
    if t.is_float:
        return ieee.decode(pattern, t.format)
    return bool(pattern) if t.kind == "bool" else wrap(pattern, t)


def bitcast(value: Value, source: Scalar, target: Scalar) -> Value:
    pattern = bits(value, source)
    if pattern is None:
        raise OpenBits
    return from_bits(pattern, target)
