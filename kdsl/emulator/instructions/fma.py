"""Exact fused multiply-add: one rounding, in f32 by way of f64, and in f64 by error-free transforms.

NumPy has no fma. In f32 the product is exact in f64; the sum is not, and rounding it twice goes wrong only where the
f64 sum lies at the middle of two f32, or the result is subnormal: those lanes are rounded to odd first (Boldo and
Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", IEEE Transactions on
Computers 57, 2008).
"""

from __future__ import annotations

import numpy as np

from kdsl.emulator.instructions.formats import canonical_f32, payload_f64, to_odd, two_sum
from kdsl.emulator.operation import Array, in_blocks

LOW_BITS, MIDDLE = np.uint64(0x1FFFFFFF), np.uint64(0x10000000)
SMALLEST_NORMAL_F32 = np.float32(2.0**-126)
HALF_SPLIT, UPPER = np.uint64(1 << 26), np.uint64(0xFFFFFFFFF8000000)
FRACTION = np.uint64((1 << 52) - 1)
# A product from here up has an error that is an f64, and if no step overflows the plain f64 algorithm is exact.
PLAIN_LOW = 2.0**-900
F64_BLOCK = 2048  # seven rows of this many stay in the first-level cache's neighbourhood


@in_blocks
def fma_f32(a: Array, b: Array, c: Array) -> Array:
    """a * b + c of f32 bits, rounded to nearest once."""
    a, b, c = a.view(np.float32), b.view(np.float32), c.view(np.float32)
    total = np.multiply(a, b, dtype=np.float64) + c
    result = total.astype(np.float32)
    small = np.abs(result) < SMALLEST_NORMAL_F32
    some_small = small.any()
    if some_small:
        small &= total != 0
    bits: Array = total.view(np.uint64)
    doubtful = np.bitwise_and(bits, LOW_BITS, out=bits) == MIDDLE
    if some_small:
        doubtful |= small
    if doubtful.any():
        a, b, c = (np.broadcast_to(x, doubtful.shape)[doubtful].astype(np.float64) for x in (a, b, c))
        result[doubtful] = to_odd(*two_sum(a * b, c)).astype(np.float32)
    return canonical_f32(result)


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded product and its exact error, if nothing overflows or becomes subnormal (Dekker).

    Each factor is split at 26 bits by rounding its lower half away.
    """
    product = a * b
    a_high = ((a.view(np.uint64) + HALF_SPLIT) & UPPER).view(np.float64)
    b_high = ((b.view(np.uint64) + HALF_SPLIT) & UPPER).view(np.float64)
    a_low, b_low = a - a_high, b - b_high
    return product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


def exact_terms(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    """a * b + c as two f64: the larger part, and the rest rounded to odd. Their rounded sum is the rounded result."""
    product, product_error = two_product(a, b)
    upper, upper_error = two_sum(c, product_error)
    larger, larger_error = two_sum(product, upper)
    return larger, to_odd(*two_sum(larger_error, upper_error))


def fma_f64(a_bits: Array, b_bits: Array, c_bits: Array) -> Array:
    """a * b + c of f64 bits, rounded to nearest once."""
    size = max(a_bits.size, b_bits.size, c_bits.size)
    result = np.empty(size)
    work = np.empty((7, min(size, F64_BLOCK)))
    for start in range(0, size, F64_BLOCK):
        part = slice(start, start + F64_BLOCK)
        a, b, c = (x if x.size == 1 else x[part] for x in (a_bits, b_bits, c_bits))
        _fma_block(a, b, c, result[part], work[:, : result[part].size])
    return result.view(np.uint64)


def _fma_block(a_bits: Array, b_bits: Array, c_bits: Array, result: Array, work: Array) -> None:
    """Into ``result``; ``work`` is seven rows for what is in between."""
    a, b, c = a_bits.view(np.float64), b_bits.view(np.float64), c_bits.view(np.float64)
    product, tail, tail_error = _plain_terms(a, b, c, work)
    np.add(product, tail, out=result)
    # A tail of one bit may lie at the middle of two f64; only then does what the tail itself lost count.
    doubtful = (tail.view(np.uint64) & FRACTION) == 0
    if doubtful.any():
        doubtful &= tail_error != 0
        if doubtful.any():
            result[doubtful] = product[doubtful] + to_odd(tail[doubtful], tail_error[doubtful])
    size = np.abs(np.multiply(a, b, out=product), out=product)
    strange = ~np.isfinite(result)
    if np.fmin.reduce(size) < PLAIN_LOW:
        zero = (a == 0) | (b == 0)
        np.copyto(result, a * b + c, where=zero)  # right, the sign of a zero too
        strange |= (size < PLAIN_LOW) & ~zero
    if strange.any():
        x, y, z = (np.broadcast_to(x, strange.shape)[strange] for x in (a_bits, b_bits, c_bits))
        exact = scaled_fma(x.view(np.float64), y.view(np.float64), z.view(np.float64), "rn")
        result[strange] = payload_f64(exact, x, z, y).view(np.float64)


def _plain_terms(a: Array, b: Array, c: Array, work: Array) -> tuple[Array, Array, Array]:
    """As `exact_terms`, written out so that every step reuses a row; the last two parts are not combined yet."""
    product, p, q, r, s, t, u = work
    np.multiply(a, b, out=product)
    a_high = _upper_half(a, p)
    b_high = _upper_half(b, q)
    a_low, b_low = np.subtract(a, a_high, out=r), np.subtract(b, b_high, out=s)
    error = np.subtract(product, np.multiply(a_high, b_high, out=t), out=t)
    error -= np.multiply(a_low, b_high, out=u)
    error -= np.multiply(a_high, b_low, out=u)
    error = np.subtract(np.multiply(a_low, b_low, out=u), error, out=u)
    upper, upper_error = _two_sum_into(c, error, p, q, r)  # p: the sum, q: its error
    larger, larger_error = _two_sum_into(product, upper, s, t, r)
    tail, tail_error = _two_sum_into(larger_error, upper_error, p, u, r)
    return larger, tail, tail_error


def _upper_half(x: Array, out: Array) -> Array:
    bits = out.view(np.uint64)
    np.add(x.view(np.uint64), HALF_SPLIT, out=bits)
    np.bitwise_and(bits, UPPER, out=bits)
    return out


def _two_sum_into(a: Array, b: Array, total: Array, error: Array, spare: Array) -> tuple[Array, Array]:
    np.add(a, b, out=total)
    np.subtract(total, a, out=error)
    np.subtract(a, np.subtract(total, error, out=spare), out=spare)
    np.subtract(b, error, out=error)
    return total, np.add(spare, error, out=error)


def scaled_fma(a: Array, b: Array, c: Array, mode: str) -> Array:
    """a * b + c of any f64 values in a rounding mode: on the significands, the exponents put back at the end."""
    plain = a * b + c  # right where an operand is NaN or infinite, and where the product is zero
    # Why c alone? The rounded product may be infinite where the exact one is not.
    plain = np.where(np.isfinite(a) & np.isfinite(b) & np.isinf(c), c, plain)
    if mode == "rm":
        negative_zero = (plain == 0) & (np.signbit(a * b) | np.signbit(c)) & ((a == 0) | (b == 0))
        plain = np.where(negative_zero, -0.0, plain)
    usual = np.isfinite(a) & np.isfinite(b) & np.isfinite(c) & (a != 0) & (b != 0)
    a, b, c = (np.where(usual, x, 1.0) for x in (a, b, c))
    (a, a_exponent), (b, b_exponent), (c, c_exponent) = np.frexp(a), np.frexp(b), np.frexp(c)
    # Why clamp? Past these distances the smaller term only says on which side of a rounding boundary the sum is.
    product_exponent = a_exponent + b_exponent
    distance = np.clip(c_exponent - product_exponent, -200, 200)
    exponent = np.where((distance == 200) & (c != 0), c_exponent - distance, product_exponent)
    larger, rest = exact_terms(a, b, np.ldexp(c, distance))
    total = larger + rest
    error = rest - (total - larger)
    rounded = round_scaled(total, error, exponent, mode)
    if mode == "rm":
        rounded = np.where((total == 0) & (error == 0), -0.0, rounded)
    return np.where(usual, rounded, plain)


def round_scaled(total: Array, error: Array, exponent: Array, mode: str) -> Array:
    """(total + error) * 2**exponent as f64. ``total`` is the sum's nearest f64, of ``error`` only the sign counts."""
    result = np.ldexp(total, exponent)
    if mode != "rn":
        result = _step(result, total, error, mode)
    _, magnitude = np.frexp(total)
    tiny = (magnitude + exponent <= -1022) & (total != 0)
    if tiny.any():
        result[tiny] = _subnormal(total[tiny], error[tiny], exponent[tiny], mode)
    return result


def _step(result: Array, total: Array, error: Array, mode: str) -> Array:
    """From nearest to directed: away from ``result`` where the exact value lies on the side that the mode rounds to."""
    bits = result.view(np.int64)
    positive = total > 0
    overflowed = np.isinf(result)
    over = overflowed | (np.where(positive, error, -error) < 0)  # |result| is above the exact magnitude
    under = ~overflowed & (np.where(positive, error, -error) > 0)
    if mode == "rz":
        change = np.where(over, -1, 0)
    else:
        grows = positive == (mode == "rp")  # the mode rounds this sign's magnitudes up
        change = np.where(grows, np.where(under, 1, 0), np.where(over, -1, 0))
    return np.where(total == 0, bits, bits + change).view(np.float64)


def _subnormal(total: Array, error: Array, exponent: Array, mode: str) -> Array:
    """Round in units of the smallest subnormal."""
    shift = np.maximum(exponent + 1074, -600)  # further down is only "not zero"
    magnitude = np.abs(np.ldexp(total, shift))
    side = np.where(total > 0, error, -error)
    base = np.floor(magnitude)
    fraction = magnitude - base
    if mode == "rn":
        past = fraction - 0.5
        odd = base % 2 == 1
        units = base + ((past > 0) | ((past == 0) & ((side > 0) | ((side == 0) & odd))))
    else:
        positive = total > 0
        grows = np.zeros(total.shape, np.bool_) if mode == "rz" else positive == (mode == "rp")
        above = (fraction > 0) | (side > 0)
        below = (fraction == 0) & (side < 0)
        units = base + np.where(grows, above, np.where(below, -1.0, 0.0))
    rounded: Array = np.copysign(np.ldexp(units, -1074), total)
    return rounded
