"""Inputs for the programs: the values at which scalar operations go wrong, and random bits between them."""

from __future__ import annotations

import math
from random import Random
from typing import Any

from . import ieee, semantics
from .semantics import Value
from .typing_rules import I32, Scalar, Vector


def edges(t: Scalar) -> list[Value]:
    """The edge values of a type, as values of it."""
    if t.kind == "bool":
        return [False, True]
    return float_edges(t) if t.is_float else int_edges(t)


def int_edges(t: Scalar) -> list[Value]:
    near = [0, 1, 2, 3, 7, 10, t.bits - 1, t.bits, t.bits + 1, 31, 32, 63, 64]
    powers = [1 << k for k in range(4, t.bits)]
    values = {*near, *(-v for v in near), *powers, *(p - 1 for p in powers), t.low, t.low + 1, t.high, t.high - 1}
    return sorted(v for v in values if t.low <= v <= t.high)


def float_edges(t: Scalar) -> list[Value]:
    form = t.format
    tiny = math.ldexp(1.0, form.smallest_exponent)
    normal = math.ldexp(1.0, 1 - form.emax)
    step = math.ldexp(1.0, 1 - form.precision)
    halves = [k / 2 for k in range(8)]
    plain = [*halves, 7.0, 10.0, 127.0, 128.0, 255.0, 256.0, 32767.5, 1 / 3, 0.1, 1e-3, math.pi]
    integers = [2.0**k + d for k in (8, 11, 15, 16, 24, 31, 32, 53, 63, 64) for d in (-1.0, -0.5, 0.0, 1.0)]
    limits = [tiny, 3 * tiny, normal, normal - tiny, form.largest, 1 + step, 1 - step / 2, math.sqrt(form.largest)]
    finite = {ieee.convert(v, form) for v in (*plain, *integers, *limits)} - {math.inf}
    magnitudes = [*sorted(finite), math.inf]
    return [*magnitudes, *(-v for v in magnitudes), math.nan]


def draw(t: Scalar, random: Random) -> Any:
    """One input of type ``t``: an edge, a small number, or any bits; a tuple of them for a vector."""
    if isinstance(t, Vector):
        return tuple(draw(t.element, random) for _ in range(t.lanes))
    kind = random.random()
    if kind < 0.55:
        return random.choice(edges(t))
    if kind < 0.75 and t.kind != "bool":
        small = random.randint(0 if t.kind == "unsigned" else -12, 12)
        return ieee.convert(small / random.choice((1, 2, 3, 4)), t.format) if t.is_float else small
    return semantics.from_bits(random.getrandbits(1 if t.kind == "bool" else t.bits), t)


def counted(t: Scalar, random: Random) -> Any:
    """A small whole number, of which floats are exact sums."""
    if isinstance(t, Vector):
        return tuple(counted(t.element, random) for _ in range(t.lanes))
    return semantics.cast(random.randint(0, 9), I32, t)
