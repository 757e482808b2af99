"""Complex numbers: which types variables get of literals and of operators."""

from __future__ import annotations

import numpy as np

from kdsl import Ptr, complex128, f32, f64, kernel

from .harness import variables

ONE = np.complex64(1 - 2j)
HALF_TURN = -1 + 0j


def test_literals_take_the_type_that_they_meet():
    @kernel
    def k(a: Ptr[complex128], x: f64, c: bool):
        w = 0
        w += a[0]
        v = 2 + 3j
        v = a[1]
        u = x * 1j
        t = 1j if c else 2.0
        s = a[0] if c else 1
        r = ONE
        q = HALF_TURN * 2
        q += 1
        p = f32(1.0) * 1j
        o = 3 * (1j).imag
        o += 1

    assert variables(k) == {
        "w": "complex128",
        "v": "complex128",
        "u": "complex128",
        "t": "complex64",
        "s": "complex128",
        "r": "complex64",
        "q": "complex64",
        "p": "complex64",
        "o": "f32",
        "number": "complex128",
    }
