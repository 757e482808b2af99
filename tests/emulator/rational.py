"""IEEE 754 arithmetic in integers and fractions: exact results, rounded once, for any binary format and rounding mode.

The oracle of the floating-point tests. It works on bit patterns, one at a time, without a floating-point operation.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt


@dataclass(frozen=True)
class Format:
    exponent_bits: int
    fraction_bits: int
    nan: int

    @property
    def width(self) -> int:
        return 1 + self.exponent_bits + self.fraction_bits

    @property
    def bias(self) -> int:
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def infinity(self) -> int:
        return ((1 << self.exponent_bits) - 1) << self.fraction_bits

    @property
    def sign(self) -> int:
        return 1 << (self.width - 1)


FORMATS = {
    "f16": Format(5, 10, 0x7FFF),
    "bf16": Format(8, 7, 0x7FFF),
    "f32": Format(8, 23, 0x7FFFFFFF),
    "f64": Format(11, 52, 0xFFF8000000000000),
}


@dataclass(frozen=True)
class Number:
    """A decoded value: NaN, an infinity, or a fraction (whose sign matters for zero)."""

    negative: bool
    value: Fraction = Fraction(0)
    infinite: bool = False
    nan: bool = False


NAN = Number(False, nan=True)


def decode(bits: int, f: Format) -> Number:
    negative, magnitude = bool(bits & f.sign), bits & ~f.sign
    if magnitude > f.infinity:
        return NAN
    if magnitude == f.infinity:
        return Number(negative, infinite=True)
    exponent, fraction = magnitude >> f.fraction_bits, magnitude & ((1 << f.fraction_bits) - 1)
    if exponent:
        fraction |= 1 << f.fraction_bits
    scale = max(exponent, 1) - f.bias - f.fraction_bits
    value = Fraction(fraction) * Fraction(2) ** scale
    return Number(negative, -value if negative else value)


def _round_units(units: Fraction, negative: bool, mode: str) -> int:
    whole, rest = divmod(units.numerator, units.denominator)
    twice = 2 * rest
    if mode == "rn":
        return whole + (twice > units.denominator or (twice == units.denominator and whole % 2 == 1))
    if mode == "rna":
        return whole + (twice >= units.denominator)
    away = {"rz": False, "rm": negative, "rp": not negative}[mode]
    return whole + (away and rest != 0)


def encode(number: Number, f: Format, mode: str = "rn") -> int:
    """The bits of the format's nearest value in that mode."""
    if number.nan:
        return f.nan
    sign = f.sign if number.negative else 0
    if number.infinite:
        return sign | f.infinity
    magnitude = abs(number.value)
    if magnitude == 0:
        return sign
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if Fraction(2) ** exponent > magnitude:
        exponent -= 1
    exponent = max(exponent, 1 - f.bias)
    units = _round_units(magnitude / Fraction(2) ** (exponent - f.fraction_bits), number.negative, mode)
    # A carry out of the fraction runs into the exponent field by itself; a subnormal has the field of its missing bit.
    bits = ((exponent + f.bias - 1) << f.fraction_bits) + units
    if bits >= f.infinity:
        to_infinity = mode in ("rn", "rna") or mode == ("rm" if number.negative else "rp")
        bits = f.infinity if to_infinity else f.infinity - 1
    return sign | bits


def add(a: Number, b: Number, mode: str = "rn") -> Number:
    if a.nan or b.nan or (a.infinite and b.infinite and a.negative != b.negative):
        return NAN
    if a.infinite or b.infinite:
        return a if a.infinite else b
    total = a.value + b.value
    if total == 0:
        negative = (a.negative or b.negative) if mode == "rm" else (a.negative and b.negative)
        # Two zeros of one sign keep it; any other exact zero has the sign of the mode.
        return Number(negative)
    return Number(total < 0, total)


def negate(a: Number) -> Number:
    return a if a.nan else Number(not a.negative, -a.value, a.infinite)


def multiply(a: Number, b: Number) -> Number:
    if a.nan or b.nan:
        return NAN
    negative = a.negative != b.negative
    if a.infinite or b.infinite:
        other = b if a.infinite else a
        return NAN if not other.infinite and other.value == 0 else Number(negative, infinite=True)
    return Number(negative, a.value * b.value)


def fma(a: Number, b: Number, c: Number, mode: str = "rn") -> Number:
    return NAN if a.nan or b.nan or c.nan else add(multiply(a, b), c, mode)


def divide(a: Number, b: Number) -> Number:
    if a.nan or b.nan or (a.infinite and b.infinite):
        return NAN
    negative = a.negative != b.negative
    if a.infinite:
        return Number(negative, infinite=True)
    if b.infinite:
        return Number(negative)
    if b.value == 0:
        return NAN if a.value == 0 else Number(negative, infinite=True)
    return Number(negative, a.value / b.value)


def square_root(a: Number) -> Number:
    """Cut after 1,300 bits, with one more bit to say whether anything was cut."""
    if a.nan or (a.negative and (a.infinite or a.value != 0)):
        return NAN
    if a.infinite or a.value == 0:
        return a
    scaled = a.value * (1 << 2600)
    root = isqrt(scaled.numerator // scaled.denominator)
    return Number(False, Fraction(2 * root + (Fraction(root * root) != scaled), 1 << 1301))


def is_tiny(number: Number, f: Format, mode: str) -> bool:
    """Below the normal numbers after rounding with an exponent that has no lower end, which is when hardware flushes."""
    if number.nan or number.infinite or number.value == 0:
        return False
    smallest = Fraction(2) ** (1 - f.bias)
    lowered = Number(number.negative, number.value * 4)  # two exponents up, where nothing is subnormal any more
    rounded = decode(encode(lowered, f, mode), f)
    return abs(number.value) < smallest / 2 or (not rounded.infinite and abs(rounded.value) < 4 * smallest)


def flush(bits: int, f: Format) -> int:
    return bits & f.sign if bits & f.infinity == 0 else bits


def saturate(bits: int, f: Format) -> int:
    if bits & ~f.sign > f.infinity or bits & f.sign:
        return 0
    return min(bits, f.bias << f.fraction_bits)


def edge_patterns(f: Format) -> list[int]:
    """Zeros, subnormals, ones, largest values, infinities and NaN, of both signs."""
    one, inf, low = f.bias << f.fraction_bits, f.infinity, 1 << f.fraction_bits
    half_width = 1 << (f.fraction_bits // 2)
    magnitudes = [0, 1, 2, 3, low // 2, low - 1, low, low + 1, 2 * low, one - 1, one, one + 1, one + low, one - low]
    magnitudes += [inf - 1, inf - 2, inf - low, inf, inf + 1, inf + low // 2, inf + low - 1, one + half_width]
    magnitudes += [one + (f.fraction_bits + k) * low for k in (-1, 0, 1, 2)] + [one - (f.fraction_bits + 1) * low]
    return [sign | m for m in magnitudes for sign in (0, f.sign)]


def random_patterns(f: Format, count: int, seed: int) -> list[int]:
    """Bit patterns with short significands and near exponents often enough to meet ties, cancellation and underflow."""
    source = random.Random(seed)
    patterns = []
    for _ in range(count):
        kind = source.randrange(6)
        bits = source.getrandbits(f.width)
        if kind == 0:
            bits = source.choice(edge_patterns(f))
        elif kind in (1, 2):
            exponent = min(max(f.bias + source.randrange(-f.fraction_bits - 3, f.fraction_bits + 4), 0), 2 * f.bias)
            kept = source.randrange(1, f.fraction_bits + 1)
            fraction = (bits & ((1 << f.fraction_bits) - 1)) >> kept << kept
            bits = (bits & f.sign) | exponent << f.fraction_bits | fraction
        elif kind == 3:
            bits = (bits & f.sign) | source.randrange(0, 3) << f.fraction_bits | bits & ((1 << f.fraction_bits) - 1)
        elif kind == 4:
            half = f.bias // 2 + source.randrange(-3, 4)  # products at the lower end of the range
            bits = (bits & f.sign) | half << f.fraction_bits | bits & ((1 << f.fraction_bits) - 1)
        patterns.append(bits)
    return patterns
