"""What reductions and scans do with two values, as functions of the kernel language.

Why ``a += b``? An augmented assignment keeps 8 and 16 bits, which a sum widens.
"""

# mypy: disable-error-code="operator, type-var, assignment, call-overload, no-any-return"

from __future__ import annotations

from typing import TypeVar

V = TypeVar("V")


def add(a: V, b: V) -> V:
    a += b
    return a


def mul(a: V, b: V) -> V:
    a *= b
    return a


def and_(a: V, b: V) -> V:
    a &= b
    return a


def or_(a: V, b: V) -> V:
    a |= b
    return a


def xor(a: V, b: V) -> V:
    a ^= b
    return a


def smaller(a: V, b: V) -> V:
    return min(a, b)


def larger(a: V, b: V) -> V:
    return max(a, b)


def smaller_small(a: V, b: V) -> V:
    """Of 8- and 16-bit ints, which ``min`` widens."""
    return a if a < b else b


def larger_small(a: V, b: V) -> V:
    return a if a > b else b
