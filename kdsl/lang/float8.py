"""The floats of 8 bits, f8e4m3 and f8e5m2: which numbers they hold (PTX ISA 9.0, 5.2.3).

f8e4m3 has 4 bits of exponent, 3 of fraction, no infinity and one NaN of each sign; f8e5m2 is the upper half of an f16.
"""

from __future__ import annotations

import math

from kdsl.lang.types import ScalarType
from kdsl.records import dataclass


@dataclass(frozen=True, slots=True)
class Format:
    """``bias`` of the exponent, bits of the ``fraction``, and the ``largest`` finite number."""

    bias: int
    fraction: int
    largest: float

    @property
    def smallest_normal(self) -> float:
        return math.ldexp(1.0, 1 - self.bias)

    @property
    def quantum(self) -> float:
        """The smallest number above 0."""
        return math.ldexp(1.0, 1 - self.bias - self.fraction)


FORMATS = {"f8e4m3": Format(7, 3, 448.0), "f8e5m2": Format(15, 2, 57344.0)}
NAN = 0x7F
INFINITY = 0x7C
"""Of f8e5m2 alone."""


def saturated(value: float, type: ScalarType) -> float:
    """The nearest number of the type, ties to even; the largest where it is too large, as ``cvt.rn.satfinite``."""
    form = FORMATS[type.name]
    if math.isnan(value) or value == 0:
        return value
    size = min(abs(value), form.largest)
    step = math.ldexp(1.0, max(math.frexp(size)[1] - 1 - form.fraction, 1 - form.bias - form.fraction))
    return math.copysign(round(size / step) * step, value)


def fits(value: float, type: ScalarType) -> bool:
    """Whether it is rounded, and not clamped, to a number of the type."""
    if math.isnan(value):
        return True
    form = FORMATS[type.name]
    # Half a step above the largest there is a tie, whose even neighbour would be the next power of two.
    above = form.largest + math.ldexp(1.0, math.frexp(form.largest)[1] - 2 - form.fraction)
    return abs(value) < above or (type.name == "f8e4m3" and abs(value) == above)


def bits(value: float, type: ScalarType) -> int:
    """The 8 bits of a number of the type."""
    if math.isnan(value):
        return NAN
    form = FORMATS[type.name]
    sign, size = 0x80 if math.copysign(1.0, value) < 0 else 0, abs(value)
    if math.isinf(value):
        return sign | INFINITY
    if size < form.smallest_normal:
        return sign | int(size / form.quantum)
    exponent = math.frexp(size)[1] - 1
    fraction = int(math.ldexp(size, form.fraction - exponent)) - (1 << form.fraction)
    return sign | (exponent + form.bias) << form.fraction | fraction
