"""The floating-point formats: bits to values, an exact or odd f64 rounded to bits, NaN, flushing and saturation.

NaN results are the hardware's: all ones without the sign for f32 (0x7fffffff), f16 and bf16 (0x7fff); an f64 result
keeps a NaN operand's payload, quieted (of several the second operand's, then the third's; for div the first's), and is
0xfff8000000000000 where no operand is NaN. All of this, and which results .ftz flushes, was seen on an H200.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kdsl.emulator.operation import UNSIGNED, WIDTH, Array, Run

CANONICAL: dict[str, Any] = {
    "f16": np.uint16(0x7FFF),
    "bf16": np.uint16(0x7FFF),
    "f32": np.uint32(0x7FFFFFFF),
    "f64": np.uint64(0xFFF8000000000000),
}
INFINITY: dict[str, Any] = {
    "f16": np.uint16(0x7C00),
    "bf16": np.uint16(0x7F80),
    "f32": np.uint32(0x7F800000),
    "f64": np.uint64(0x7FF0000000000000),
}
SIGN: dict[str, Any] = {
    "f16": np.uint16(0x8000),
    "bf16": np.uint16(0x8000),
    "f32": np.uint32(0x80000000),
    "f64": np.uint64(1 << 63),
}
ONE: dict[str, Any] = {
    "f16": np.uint16(0x3C00),
    "bf16": np.uint16(0x3F80),
    "f32": np.uint32(0x3F800000),
    "f64": np.uint64(0x3FF0000000000000),
}
SMALLEST_NORMAL = {"f16": 2.0**-14, "f32": 2.0**-126}
PRECISION = {"f16": 11, "f32": 24}
QUIET = np.uint64(1 << 51)
ROUNDINGS = frozenset(("rn", "rz", "rm", "rp"))


def _bf16_real(bits: Array) -> Array:
    values: Array = (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return values


def real(type_name: str) -> Run:
    """From bits to values: f64 for f64, f32 (exact) for the rest."""
    return {
        "f16": lambda bits: bits.view(np.float16).astype(np.float32),
        "bf16": _bf16_real,
        "f32": lambda bits: bits.view(np.float32),
        "f64": lambda bits: bits.view(np.float64),
    }[type_name]


def flush(bits: Array, type_name: str) -> Array:
    """Subnormals become zero of their sign (.ftz)."""
    subnormal = (bits & INFINITY[type_name]) == 0
    return np.where(subnormal, bits & SIGN[type_name], bits) if subnormal.any() else bits


def is_nan(bits: Array, type_name: str) -> Array:
    nan: Array = (bits & ~SIGN[type_name]) > INFINITY[type_name]
    return nan


def canonical(bits: Array, type_name: str) -> Array:
    """Every NaN becomes the one that hardware makes; in place, so ``bits`` must be a fresh result."""
    nan = is_nan(bits, type_name)
    if nan.any():
        np.copyto(bits, CANONICAL[type_name], where=nan)
    return bits


def canonical_f32(result: Array) -> Array:
    """As `canonical`, from a fresh float32 array to bits."""
    bits: Array = result.view(np.uint32)
    nan = np.isnan(result)
    if nan.any():
        np.copyto(bits, CANONICAL["f32"], where=nan)
    return bits


def payload_f64(result: Array, *operands: Array) -> Array:
    """From a fresh float64 array to bits, a NaN with the payload of the last of ``operands`` that is one."""
    bits: Array = result.view(np.uint64)
    nan = np.isnan(result)
    if nan.any():
        fixed = np.full(bits.shape, CANONICAL["f64"])
        for operand in operands:
            fixed = np.where(is_nan(operand, "f64"), operand | QUIET, fixed)
        np.copyto(bits, fixed, where=nan)
    return bits


def saturate(bits: Array, type_name: str) -> Array:
    """Clamp to [+0, 1]; NaN gives +0 (.sat)."""
    sign, one = SIGN[type_name], ONE[type_name]
    drop = ((bits & sign) != 0) | (bits > INFINITY[type_name])
    clamped: Array = np.where(drop, bits.dtype.type(0), np.minimum(bits, one))
    return clamped


def relu(bits: Array, type_name: str) -> Array:
    """Negative values become +0, NaN the canonical one (.relu)."""
    negative = ((bits & SIGN[type_name]) != 0) & ~is_nan(bits, type_name)
    return canonical(np.where(negative, bits.dtype.type(0), bits), type_name)


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded sum and its exact error (Knuth), with few temporary arrays."""
    total = a + b
    part = total - a
    error = total - part
    np.subtract(a, error, out=error)
    error += np.subtract(b, part, out=part)
    return total, error


def to_odd(total: Array, error: Array) -> Array:
    """The f64 cut towards zero from ``total + error``, with its last bit set where that is inexact.

    Rounded to 51 bits or fewer, it gives what the exact sum would.
    """
    below, above = error < 0, error > 0  # neither where it is NaN, beside an infinity
    inexact = below | above
    past = (below != (total < 0)) & inexact
    bits: Array = total.view(np.int64) - past
    bits |= inexact
    return bits.view(np.float64)


def flush_tiny(bits: Array, exact: Array, type_name: str, mode: str) -> Array:
    """Results become zero of their sign (.ftz) that are below the normal numbers.

    What counts is what the type's precision would give if exponents had no end (IEEE 754's tininess after rounding):
    just below the smallest normal number the steps are half of a subnormal's.
    """
    smallest, precision = SMALLEST_NORMAL[type_name], PRECISION[type_name]
    size = np.abs(exact)
    if mode == "rn":
        tiny = size < smallest * (1 - 2.0 ** -(precision + 1))
    elif mode == "rz":
        tiny = size < smallest
    else:
        away = (exact < 0) == (mode == "rm")
        tiny = np.where(away, size <= smallest * (1 - 2.0**-precision), size < smallest)
    return np.where(tiny, bits & SIGN[type_name], bits) if tiny.any() else bits


def _directed(nearest: Array, back: Array, exact: Array, sign: Any, mode: str) -> Array:
    """A nearest-rounded result, of value ``back``, stepped to the other side of ``exact`` where the mode wants that."""
    one = nearest.dtype.type(1)
    if mode == "rz":
        return np.where(np.abs(back) > np.abs(exact), nearest - one, nearest)
    negative = (nearest & sign) != 0
    if mode == "rm":
        return np.where(back > exact, np.where(negative, nearest + one, nearest - one), nearest)
    return np.where(back < exact, np.where(negative, nearest - one, nearest + one), nearest)


def odd_f32(exact: Array) -> Array:
    """f64 (or f32) to the bits of an f32 that is odd where inexact, and never rounds to infinity."""
    nearest = exact.astype(np.float32)
    bits = nearest.view(np.uint32)
    back = nearest.astype(np.float64)
    towards_zero = np.where(np.abs(back) > np.abs(exact), bits - np.uint32(1), bits)
    return np.where((back != exact) & ~np.isnan(exact), towards_zero | np.uint32(1), bits)


def round_bf16(bits: Array, mode: str = "rn") -> Array:
    """f32 bits (odd, if they stand for something longer) to bf16 bits; NaN in, canonical NaN out."""
    if mode == "rn":
        rounded = bits >> np.uint32(16)
        rounded &= np.uint32(1)
        rounded += np.uint32(0x7FFF)
        rounded += bits
    elif mode == "rz":
        rounded = bits
    else:
        negative = (bits >> np.uint32(31)) != 0
        rounded = bits + np.where(negative == (mode == "rm"), np.uint32(0xFFFF), np.uint32(0))
    result = (rounded >> np.uint32(16)).astype(np.uint16)
    nan = np.isnan(bits.view(np.float32))
    if nan.any():
        np.copyto(result, CANONICAL["bf16"], where=nan)
    return result


def _sticky_f32(exact: Array, mode: str) -> Array:
    """f32 bits that round to bf16 as ``exact`` does."""
    if exact.dtype == np.float32:
        return exact.view(np.uint32)
    if mode != "rn":
        return odd_f32(exact)
    bits = exact.astype(np.float32).view(np.uint32)
    # Only at the middle of two bf16 does it matter on which side of the f32 the exact value was.
    middle = (bits & np.uint32(0xFFFF)) == 0x8000
    if middle.any():
        bits[middle] = odd_f32(exact[middle])
    return bits


def narrow(exact: Array, type_name: str, mode: str = "rn") -> Array:
    """An exact (or odd) f64 or f32 to the bits of f16, bf16 or f32; NaN becomes canonical."""
    if type_name == "bf16":
        return round_bf16(_sticky_f32(exact, mode), mode)
    dtype = np.float16 if type_name == "f16" else np.float32
    nearest = exact.astype(dtype)  # a copy even of an f32, as the bits are changed in place
    bits = nearest.view(UNSIGNED[WIDTH[type_name]])
    if mode != "rn":
        bits = _directed(bits, nearest.astype(np.float64), exact, SIGN[type_name], mode)
    return canonical(bits, type_name)


def zero_sign(total: Array, a: Array, b: Array, mode: str) -> Array:
    """The sum, its zeros with the sign of the rounding mode: towards minus infinity, minus if either term is."""
    if mode != "rm":
        return total
    minus = (total == 0) & (np.signbit(a) | np.signbit(b))
    return np.where(minus, -0.0, total)
