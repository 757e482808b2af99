"""Real numbers as floats of a kernel: each is rounded once, to the nearest, ties to even."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import ArgumentError, Constexpr, Ptr, bf16, f16, f32, kernel


@kernel
def put16(x: Ptr[f16], n: f16) -> None:
    x[0] = n


@kernel
def put_bf16(x: Ptr[bf16], n: bf16) -> None:
    x[0] = n


@kernel
def put32(x: Ptr[f32], n: f32) -> None:
    x[0] = n


@kernel
def constant16(x: Ptr[f16], n: Constexpr[f16]) -> None:
    x[0] = n


@kernel
def constant_bf16(x: Ptr[bf16], n: Constexpr[bf16]) -> None:
    x[0] = n


@kernel
def constant32(x: Ptr[f32], n: Constexpr[f32]) -> None:
    x[0] = n


def nearest(number: Fraction, digits: int, most: int) -> Fraction | None:
    """``number`` with so many binary digits behind the first; None where it is 2 ** (most + 1) or more."""
    exponent = 0
    while abs(number) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    unit = Fraction(2) ** (exponent - digits)
    found = round(number / unit) * unit  # of Fractions, which rounds ties to even
    return found if abs(found) < Fraction(2) ** (most + 1) else None


NUMBERS: list[tuple[Any, Callable[[int], Any]]] = [
    # A tie, and a little more or less, which a double does not hold.
    *(
        (kind, lambda digits, kind=kind, more=more: kind(1) + kind(2) ** kind(-digits - 1) + kind(more) / kind(2) ** 80)
        for kind in (Fraction, Decimal)
        for more in (-1, 0, 1)
    ),
    (np.longdouble, lambda digits: np.longdouble(1) + np.longdouble(2) ** -(digits + 1) + np.longdouble(2) ** -60),
    (np.longdouble, lambda digits: -np.longdouble(1) - np.longdouble(2) ** -(digits + 1) - np.longdouble(2) ** -60),
    *((int, lambda digits, more=more: 2**60 + 2 ** (60 - digits - 1) + more) for more in (-1, 0, 1)),
    *((int, lambda digits, more=more: -(2**62) - 2 ** (62 - digits - 1) + more) for more in (-1, 0, 1)),
    (np.int64, lambda digits: np.int64(2**60 + 2 ** (60 - digits - 1) + 1)),
    (np.uint64, lambda digits: np.uint64(2**63 + 2 ** (63 - digits - 1) + 1)),
    # Beside the largest number and what is too large.
    (int, lambda digits: 2**128 - 2 ** (128 - digits - 2) - 1),
    (int, lambda digits: 2**128 - 2 ** (128 - digits - 2)),
    (Decimal, lambda _: Decimal("1e400")),
]


@pytest.mark.parametrize(
    ("passed", "constant", "dtype", "digits", "most"),
    [(put16, constant16, f16, 10, 15), (put_bf16, constant_bf16, bf16, 7, 127), (put32, constant32, f32, 23, 127)],
    ids=["f16", "bf16", "f32"],
)
def test_numbers_that_a_double_does_not_hold(
    device: str, passed: Any, constant: Any, dtype: Any, digits: int, most: int
) -> None:
    x = kdsl.zeros(1, dtype)
    for kind, make in NUMBERS:
        number = make(digits)
        exact = Fraction(int(number)) if kind in (np.int64, np.uint64) else Fraction(*number.as_integer_ratio())
        expected = nearest(exact, digits, most)
        for put in (passed, passed, constant):
            if expected is None:
                with pytest.raises(ArgumentError, match="too large for it"):
                    put[1, 1](x, number)
            else:
                put[1, 1](x, number)
                assert Fraction(float(x.to_host()[0])) == expected, (number, put)
