"""f64 arithmetic in the rounding modes that NumPy lacks (.rz .rm .rp): the nearest f64, and on which side it errs."""

from __future__ import annotations

import numpy as np

from kdsl.emulator.instructions.fma import round_scaled, scaled_fma, two_product
from kdsl.emulator.operation import Array


def add(a: Array, b: Array, mode: str) -> Array:
    return fma(a, np.ones(1), b, mode)


def subtract(a: Array, b: Array, mode: str) -> Array:
    return add(a, -b, mode)


def multiply(a: Array, b: Array, mode: str) -> Array:
    # Why a signed zero? A sum of zeros of both signs would lose the product's.
    a, b = np.broadcast_arrays(a, b)
    return scaled_fma(a, b, np.copysign(0.0, np.copysign(1.0, a) * np.copysign(1.0, b)), mode)


def fma(a: Array, b: Array, c: Array, mode: str) -> Array:
    a, b, c = np.broadcast_arrays(a, b, c)
    return scaled_fma(a, b, c, mode)


def divide(a: Array, b: Array, mode: str) -> Array:
    plain = a / b  # right where an operand is zero, infinite or NaN
    usual = np.isfinite(a) & np.isfinite(b) & (a != 0) & (b != 0)
    (a, a_exponent), (b, b_exponent) = (np.frexp(np.where(usual, x, 1.0)) for x in (a, b))
    quotient = a / b
    product, product_error = two_product(quotient, b)
    remainder = (a - product) - product_error  # exact, as the remainder of a nearest quotient is an f64
    rounded = round_scaled(quotient, remainder * np.sign(b), a_exponent - b_exponent, mode)
    return np.where(usual, rounded, plain)


def square_root(a: Array, mode: str) -> Array:
    plain = np.sqrt(a)
    usual = np.isfinite(a) & (a > 0)
    significand, exponent = np.frexp(np.where(usual, a, 1.0))
    odd = exponent % 2
    significand, exponent = np.ldexp(significand, odd), (exponent - odd) // 2
    root = np.sqrt(significand)
    product, product_error = two_product(root, root)
    remainder = (significand - product) - product_error
    return np.where(usual, round_scaled(root, remainder, exponent, mode), plain)


def reciprocal(a: Array, mode: str) -> Array:
    return divide(np.ones_like(a), a, mode)
