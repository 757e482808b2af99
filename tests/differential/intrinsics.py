"""The pure functions of kdsl whose results are exact, worked out from their descriptions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from . import ieee, semantics
from .typing_rules import BOOL, F32, F64, I32, I64, U32, U64, IllTyped, Scalar, common

if TYPE_CHECKING:
    from .reference_expressions import Typed

Parameter = Scalar | str
"""A type, or a letter for one of several that are the same wherever the letter stands."""
CHOICES: dict[str, tuple[Scalar, ...]] = {"N": (I32, U32, I64, U64), "I": (I32, U32), "F": (F32, F64)}


@dataclass(frozen=True)
class Rule:
    """``give`` takes the arguments and the type that the letter stands for."""

    parameters: tuple[Parameter, ...]
    result: Parameter
    give: Callable[..., Any]

    def types(self, letter: Scalar | None) -> tuple[Scalar, ...]:
        return tuple(stands_for(each, letter) for each in self.parameters)

    @property
    def letter(self) -> str | None:
        return next((each for each in self.parameters if isinstance(each, str)), None)


def stands_for(each: Parameter, letter: Scalar | None) -> Scalar:
    if isinstance(each, Scalar):
        return each
    if letter is None:
        raise IllTyped("a function of literals alone")
    return letter


def unsigned(value: int, t: Scalar) -> int:
    return value % (1 << t.bits)


def lowest_set(x: int, t: Scalar) -> int:
    return (x & -x).bit_length()


def reversed_bits(x: int, t: Scalar) -> int:
    return semantics.wrap(int(f"{unsigned(x, t):0{t.bits}b}"[::-1], 2), t)


def funnel(lo: int, hi: int, amount: int) -> int:
    """The upper half of ``hi:lo`` after a shift to the left."""
    return (((hi << 32 | lo) << amount) >> 32) & 0xFFFF_FFFF


def permuted(x: int, y: int, selector: int) -> int:
    both = y << 32 | x
    return sum((both >> 8 * (selector >> 4 * k & 7) & 0xFF) << 8 * k for k in range(4))


def logic(a: int, b: int, c: int) -> int:
    """``lop3`` with table 0xCA: ``a`` chooses between ``b`` and ``c``."""
    return (a & b) | (~a & c & 0xFFFF_FFFF)


def low_24(x: int, t: Scalar) -> int:
    return semantics.wrap(x, Scalar("", t.kind, 24))


def exact_fma(a: float, b: float, c: float, t: Scalar) -> float:
    """Rounded once."""
    if not all(map(math.isfinite, (a, b))):
        return math.nan if math.isnan(a * b) else a * b + c
    if not math.isfinite(c):
        return c
    product = Fraction(a) * Fraction(b)
    total = product + Fraction(c)
    if total == 0:
        # A sum of zeros of one sign keeps it; any other sum that is 0 is +0.
        both_negative = product == 0 and math.copysign(1.0, a) * math.copysign(1.0, b) < 0 and str(c)[0] == "-"
        return -0.0 if both_negative else 0.0
    return ieee.nearest(total.numerator, total.denominator, t.format)


def dot(a: int, b: int, c: int, t: Scalar) -> int:
    byte = Scalar("", t.kind, 8)
    parts = (semantics.wrap(a >> 8 * k, byte) * semantics.wrap(b >> 8 * k, byte) for k in range(4))
    return semantics.wrap(c + sum(parts), t)


RULES: dict[str, Rule] = {
    "popc": Rule(("N",), I32, lambda x, t: unsigned(x, t).bit_count()),
    "clz": Rule(("N",), I32, lambda x, t: t.bits - unsigned(x, t).bit_length()),
    "ffs": Rule(("N",), I32, lowest_set),
    "brev": Rule(("N",), "N", reversed_bits),
    "mul_hi": Rule(("N", "N"), "N", lambda x, y, t: (x * y) >> t.bits),
    "mul24": Rule(("I", "I"), "I", lambda x, y, t: semantics.wrap(low_24(x, t) * low_24(y, t), t)),
    "hadd": Rule(("I", "I"), "I", lambda x, y, t: (x + y) >> 1),
    "rhadd": Rule(("I", "I"), "I", lambda x, y, t: (x + y + 1) >> 1),
    "sad": Rule(("I", "I", U32), U32, lambda x, y, z, t: semantics.wrap(abs(x - y) + z, U32)),
    "byte_perm": Rule((U32, U32, U32), U32, lambda x, y, s, t: permuted(x, y, s)),
    "funnel_shift_l": Rule((U32, U32, U32), U32, lambda lo, hi, n, t: funnel(lo, hi, n & 31)),
    "funnel_shift_lc": Rule((U32, U32, U32), U32, lambda lo, hi, n, t: funnel(lo, hi, min(n, 32))),
    "funnel_shift_r": Rule((U32, U32, U32), U32, lambda lo, hi, n, t: (hi << 32 | lo) >> (n & 31) & 0xFFFF_FFFF),
    "funnel_shift_rc": Rule((U32, U32, U32), U32, lambda lo, hi, n, t: (hi << 32 | lo) >> min(n, 32) & 0xFFFF_FFFF),
    "mul_wide": Rule(("I", "I"), I64, lambda x, y, t: x * y),
    "dp4a": Rule(("I", "I", "I"), "I", dot),
    "fma": Rule(("F", "F", "F"), "F", exact_fma),
    "math.trunc": Rule(("F",), "F", lambda x, t: semantics.whole(math.trunc, x)),
    "math.isnan": Rule(("F",), BOOL, lambda x, t: math.isnan(x)),
    "math.isinf": Rule(("F",), BOOL, lambda x, t: math.isinf(x)),
    "math.isfinite": Rule(("F",), BOOL, lambda x, t: math.isfinite(x)),
}


def call(name: str, arguments: Sequence[Typed]) -> Typed:
    from .reference_expressions import Typed

    rule = RULES[name]
    letter: Scalar | None = None
    for parameter, argument in zip(rule.parameters, arguments, strict=True):
        if isinstance(parameter, str) and not argument.type.is_weak:
            letter = argument.type if letter is None else common(letter, argument.type)
    if letter is not None and letter not in CHOICES[rule.letter or "N"]:
        raise IllTyped(f"{name} of {letter.name}")
    values = [a.implicitly(t) for a, t in zip(arguments, rule.types(letter), strict=True)]
    give, t = rule.give, letter or I32
    result = stands_for(rule.result, letter)
    if name == "mul_wide":
        result = I64 if t == I32 else U64
    return Typed(result, lambda frame: give(*(value(frame) for value in values), t))
