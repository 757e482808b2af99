"""IEEE 754 binary formats in Python integers: exact rounding, bit patterns, and the arithmetic that needs them.

Every value is carried by a Python float, which holds each of the four formats exactly; nothing rounds by itself:
sums, products and quotients are exact ratios of integers, rounded once to the format by `nearest`.
A NaN is just "a NaN": what payload it has is not modelled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Format:
    """``precision`` counts the hidden bit; ``emax`` is the exponent of the largest finite number."""

    name: str
    bits: int
    precision: int
    emax: int

    @property
    def smallest_exponent(self) -> int:
        """The exponent of the least subnormal, which is the quantum of all subnormals."""
        return 1 - self.emax - (self.precision - 1)

    @property
    def largest(self) -> float:
        return math.ldexp((1 << self.precision) - 1, self.emax - self.precision + 1)


HALF = Format("f16", 16, 11, 15)
BFLOAT = Format("bf16", 16, 8, 127)
SINGLE = Format("f32", 32, 24, 127)
DOUBLE = Format("f64", 64, 53, 1023)


def nearest(numerator: int, denominator: int, form: Format, zero: float = 0.0) -> float:
    """``numerator / denominator`` (the latter positive) rounded half to even; ``zero`` is what an exact zero gives."""
    if numerator == 0:
        return zero
    magnitude = abs(numerator)
    sign = -1.0 if numerator < 0 else 1.0
    exponent = magnitude.bit_length() - denominator.bit_length()
    scaled = magnitude << max(-exponent, 0), denominator << max(exponent, 0)
    if scaled[0] < scaled[1]:
        exponent -= 1
    quantum = max(exponent - form.precision + 1, form.smallest_exponent)
    top, bottom = magnitude << max(-quantum, 0), denominator << max(quantum, 0)
    digits, rest = divmod(top, bottom)
    if 2 * rest > bottom or (2 * rest == bottom and digits & 1):
        digits += 1
    if digits.bit_length() + quantum > form.emax + 1:
        return sign * math.inf
    return sign * math.ldexp(digits, quantum)


def convert(value: float, form: Format) -> float:
    """A float of any format as the nearest one of ``form``."""
    if not math.isfinite(value) or value == 0.0:
        return value
    return nearest(*value.as_integer_ratio(), form)


def from_int(value: int, form: Format) -> float:
    return nearest(value, 1, form)


def add(a: float, b: float, form: Format) -> float:
    if not (math.isfinite(a) and math.isfinite(b)):
        return a + b  # inf and NaN only: nothing rounds
    (n, d), (m, e) = a.as_integer_ratio(), b.as_integer_ratio()
    # A zero sum is +0 when rounding to nearest, unless both terms are -0.
    zero = -0.0 if math.copysign(1.0, a) < 0 and math.copysign(1.0, b) < 0 else 0.0
    return nearest(n * e + m * d, d * e, form, zero)


def subtract(a: float, b: float, form: Format) -> float:
    return add(a, -b, form)


def multiply(a: float, b: float, form: Format) -> float:
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b
    (n, d), (m, e) = a.as_integer_ratio(), b.as_integer_ratio()
    return nearest(n * m, d * e, form, signed_zero(a, b))


def divide(a: float, b: float, form: Format) -> float:
    if math.isnan(a) or math.isnan(b) or (math.isinf(a) and math.isinf(b)) or (a == 0 and b == 0):
        return math.nan
    if math.isinf(a) or b == 0:
        return math.copysign(math.inf, signed_zero(a, b))
    if math.isinf(b):
        return signed_zero(a, b)
    (n, d), (m, e) = a.as_integer_ratio(), b.as_integer_ratio()
    return nearest(n * e * (-1 if m < 0 else 1), d * abs(m), form, signed_zero(a, b))


def square_root(a: float, form: Format) -> float:
    if math.isnan(a) or a < 0:
        return math.nan
    if a == 0 or math.isinf(a):
        return a
    n, d = a.as_integer_ratio()
    # sqrt(n/d) = sqrt(n*d)/d; enough bits that only "exact or not" remains to be known, which the last bit says.
    shift = max(0, 2 * (form.precision + 3) - (n * d).bit_length())
    shift += shift & 1
    root = math.isqrt((n * d) << shift)
    inexact = root * root != (n * d) << shift
    return nearest(2 * root + inexact, d << (shift // 2 + 1), form)


def signed_zero(a: float, b: float) -> float:
    return math.copysign(0.0, math.copysign(1.0, a) * math.copysign(1.0, b))


def decode(pattern: int, form: Format) -> float:
    """The value of a bit pattern."""
    fraction_bits = form.precision - 1
    fraction = pattern & ((1 << fraction_bits) - 1)
    exponent = (pattern >> fraction_bits) & (2 * form.emax + 1)
    sign = -1.0 if pattern >> (form.bits - 1) else 1.0
    if exponent == 2 * form.emax + 1:
        return math.nan if fraction else sign * math.inf
    if exponent == 0:
        return sign * math.ldexp(fraction, form.smallest_exponent)
    return sign * math.ldexp(fraction + (1 << fraction_bits), form.smallest_exponent + exponent - 1)


def encode(value: float, form: Format) -> int:
    """The bit pattern of a value that the format holds exactly and that is not a NaN."""
    fraction_bits = form.precision - 1
    sign = (math.copysign(1.0, value) < 0) << (form.bits - 1)
    if math.isinf(value):
        return sign | (2 * form.emax + 1) << fraction_bits
    if value == 0.0:
        return sign
    mantissa, exponent = math.frexp(abs(value))
    biased = exponent - 1 + form.emax
    if biased > 0:
        digits = int(math.ldexp(mantissa, form.precision))
        return sign | (biased << fraction_bits) + digits - (1 << fraction_bits)
    return sign | int(math.ldexp(abs(value), -form.smallest_exponent))
