"""The language's table of scalar semantics in plain Python, on values of one type at a time: ints, bools and floats.

Floats are Python floats holding a value of their type; `nearest` rounds exactly, from rationals.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from kdsl.lang.types import BF16, F16, F32, F64, ScalarType, boolean

Value = bool | int | float

FORMATS = {F16: (11, -14, 15), BF16: (8, -126, 127), F32: (24, -126, 127), F64: (53, -1022, 1023)}
"""Significant bits, and the exponents of the smallest and largest normal numbers."""

# For infinities and NaNs, which every format has alike, and the sign of a zero.
IEEE: dict[str, np.ufunc] = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}


def nearest(value: Fraction, t: ScalarType, zero: float = 0.0) -> float:
    """``value`` rounded once, half to even; ``zero`` is what 0 gives."""
    if value == 0:
        return zero
    precision, smallest, largest = FORMATS[t]
    magnitude = abs(value)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    exponent -= magnitude < Fraction(2) ** exponent
    unit = Fraction(2) ** (max(exponent, smallest) - precision + 1)
    rounded = round(magnitude / unit) * unit
    if rounded >= Fraction(2) ** (largest + 1):
        return math.inf if value > 0 else -math.inf
    return float(rounded) if value > 0 else -float(rounded)


def wrap(value: int, t: ScalarType) -> int:
    value &= (1 << t.bits) - 1
    return value - (1 << t.bits) if t.is_signed and value >> (t.bits - 1) else value


def int_binary(op: str, a: int, b: int, t: ScalarType) -> int:
    match op:
        case "//" | "%" if b == 0:
            return 0
        case "<<":
            return wrap(a << b, t) if 0 <= b < t.bits else 0
        case ">>":
            return a >> (b if 0 <= b < t.bits else t.bits)
        case "**":
            return wrap(pow(a, b, 1 << t.bits), t) if b >= 0 else 0
        case "min" | "max":
            return min(a, b) if op == "min" else max(a, b)
        case _:
            return wrap(eval(f"a {op} b", {"a": a, "b": b}), t)


def float_binary(op: str, a: float, b: float, t: ScalarType) -> float:
    """Results that depend on one rounding only; `//`, `%` and `**` are NumPy's in at least f32."""
    if op in ("min", "max"):
        return extreme(op, a, b)
    if op in ("//", "%"):
        wide = np.float64 if t is F64 else np.float32
        with np.errstate(all="ignore"):
            result = float(np.floor_divide(wide(a), wide(b)) if op == "//" else np.remainder(wide(a), wide(b)))
        return narrow(result, t)
    with np.errstate(all="ignore"):
        doubled = float(IEEE[op](np.float64(a), np.float64(b)))
    if not (math.isfinite(a) and math.isfinite(b)) or (op == "/" and b == 0):
        return doubled
    x, y = Fraction(a), Fraction(b)
    exact = {"+": x + y, "-": x - y, "*": x * y, "/": x / y if y else Fraction(0)}[op]
    return nearest(exact, t, math.copysign(0.0, doubled))


def extreme(op: str, a: float, b: float) -> float:
    if math.isnan(a) or math.isnan(b):
        return b if math.isnan(a) else a
    if a == b == 0:
        negative = [math.copysign(1, v) < 0 for v in (a, b)]
        return -0.0 if (any(negative) if op == "min" else all(negative)) else 0.0
    return min(a, b) if op == "min" else max(a, b)


def narrow(value: float, t: ScalarType) -> float:
    """A float rounded to a float type."""
    return value if not math.isfinite(value) else nearest(Fraction(value), t, math.copysign(0.0, value))


def unary(op: str, a: Value, t: ScalarType) -> Value:
    match op:
        case "not":
            return not a
        case "~":
            return not a if t is boolean else wrap(~int(a), t)
        case "-":
            return -a if t.is_float else wrap(-int(a), t)
        case "abs":
            return abs(a) if t.is_float else wrap(abs(int(a)), t)
        case _ if not t.is_float or not math.isfinite(a):
            return a
        case _:
            function = {"round": round, "floor": math.floor, "ceil": math.ceil}[op]
            return math.copysign(float(function(a)), a)


def compare(op: str, a: Value, b: Value) -> bool:
    return bool(eval(f"a {op} b", {"a": a, "b": b}))


def cast(value: Value, source: ScalarType, target: ScalarType) -> Value:
    if target is boolean:
        return bool(value)
    if source.is_float and target.is_int:
        if math.isnan(value):
            return 0
        whole = int(value) if math.isfinite(value) else (target.maximum if value > 0 else target.minimum)
        return max(target.minimum, min(target.maximum, whole))
    if target.is_int:
        return wrap(int(value), target)
    return narrow(value, target) if source.is_float else nearest(Fraction(int(value)), target)
