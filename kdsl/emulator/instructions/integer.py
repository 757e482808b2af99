"""Integer arithmetic (PTX ISA 9.7.1) of 16, 32 and 64 bits: wraps; division by zero gives all ones, as on hardware."""

from __future__ import annotations

from typing import Any

import numpy as np

from kdsl.emulator.operation import SIGNED, UNSIGNED, WIDTH, Array, Opcode, Operation, Run, in_blocks, is_signed, signed

LOW32 = np.uint64(0xFFFFFFFF)
THIRTY_TWO = np.uint64(32)
DOUBLE = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}
ARITHMETIC = frozenset(("u16", "s16", "u32", "s32", "u64", "s64"))


def _same(run: Run, type_name: str, count: int) -> Operation:
    return Operation(run, (type_name,) * count, (type_name,))


def _typed(ufunc: Any, type_name: str) -> Run:
    """A binary ufunc on values of the type, back to bits."""
    if not is_signed(type_name):
        return ufunc  # type: ignore[no-any-return]
    width = WIDTH[type_name]
    dtype, register = SIGNED[width], UNSIGNED[width]

    def run(a: Array, b: Array) -> Array:
        return ufunc(a.view(dtype), b.view(dtype)).view(register)  # type: ignore[no-any-return]

    return run


def _saturating(ufunc: Any) -> Run:
    """``add.sat.s32`` and ``sub.sat.s32``."""

    def run(a: Array, b: Array) -> Array:
        exact = ufunc(a.view(np.int32), b.view(np.int32), dtype=np.int64)
        clamped: Array = np.clip(exact, -(2**31), 2**31 - 1).astype(np.int32)
        return clamped.view(np.uint32)

    return run


def _add_like(opcode: Opcode) -> Operation | None:
    ufunc = {"add": np.add, "sub": np.subtract}[opcode[0]]
    match opcode[1:]:
        case (type_name,) if type_name in ARITHMETIC:
            return _same(ufunc, type_name, 2)
        case ("sat", "s32"):
            return _same(_saturating(ufunc), "s32", 2)
        case ("u16x2" | "s16x2" as type_name,) if opcode[0] == "add":
            return _same(lambda a, b: ufunc(a.view(np.uint16), b.view(np.uint16)).view(np.uint32), type_name, 2)
    return None


@in_blocks
def multiply_high_u64(a: Array, b: Array) -> Array:
    """The upper 64 bits of the 128-bit product, by 32-bit halves."""
    a_low, a_high = a & LOW32, a >> THIRTY_TWO
    b_low, b_high = b & LOW32, b >> THIRTY_TWO
    cross = a_high * b_low + ((a_low * b_low) >> THIRTY_TWO)  # cannot overflow: (2^32-1)^2 + 2^32-1 < 2^64
    other = a_low * b_high + (cross & LOW32)
    high: Array = a_high * b_high + (cross >> THIRTY_TWO) + (other >> THIRTY_TWO)
    return high


@in_blocks
def _multiply_high_s64(a: Array, b: Array) -> Array:
    # Why subtract? A negative a reads as a + 2^64 unsigned, which adds b to the upper half.
    a_sign = (a.view(np.int64) >> 63).view(np.uint64)
    b_sign = (b.view(np.int64) >> 63).view(np.uint64)
    high: Array = multiply_high_u64(a, b) - (a_sign & b) - (b_sign & a)
    return high


def multiply_wide(type_name: str) -> Run:
    width = WIDTH[type_name]
    if not is_signed(type_name):
        wide = UNSIGNED[2 * width]
        return lambda a, b: np.multiply(a, b, dtype=wide)
    narrow, wide, register = SIGNED[width], SIGNED[2 * width], UNSIGNED[2 * width]
    return lambda a, b: np.multiply(a.view(narrow), b.view(narrow), dtype=wide).view(register)


def multiply_high(type_name: str) -> Run:
    if type_name == "u64":
        return multiply_high_u64
    if type_name == "s64":
        return _multiply_high_s64
    wide, width = multiply_wide(type_name), WIDTH[type_name]
    register = UNSIGNED[width]
    return lambda a, b: (wide(a, b) >> width).astype(register)


def _mul(opcode: Opcode) -> Operation | None:
    match opcode[1:]:
        case ("lo", type_name) if type_name in ARITHMETIC:
            return _same(np.multiply, type_name, 2)
        case ("hi", type_name) if type_name in ARITHMETIC:
            return _same(multiply_high(type_name), type_name, 2)
        case ("wide", type_name) if type_name in DOUBLE:
            return Operation(multiply_wide(type_name), (type_name, type_name), (DOUBLE[type_name],))
    return None


def _mad(opcode: Opcode) -> Operation | None:
    match opcode[1:]:
        case ("hi", "sat", "s32"):
            high, add = multiply_high("s32"), _saturating(np.add)
            return _same(lambda a, b, c: add(high(a, b), c), "s32", 3)
        case ("lo", type_name) if type_name in ARITHMETIC:
            return _same(lambda a, b, c: np.add(np.multiply(a, b), c), type_name, 3)
        case ("hi", type_name) if type_name in ARITHMETIC:
            high = multiply_high(type_name)
            return _same(lambda a, b, c: np.add(high(a, b), c), type_name, 3)
        case ("wide", type_name) if type_name in DOUBLE:
            wide, double = multiply_wide(type_name), DOUBLE[type_name]
            return Operation(lambda a, b, c: np.add(wide(a, b), c), (type_name, type_name, double), (double,))
    return None


def _mul24(opcode: Opcode) -> Operation | None:
    """``mul24`` and ``mad24``: bits 0..31 or 16..47 of the product of two 24-bit values."""
    if opcode[1] not in ("lo", "hi") or opcode[-1] not in ("u32", "s32"):
        return None
    add = np.add
    if len(opcode) == 4 and opcode[:3] == ("mad24", "hi", "sat") and opcode[3] == "s32":
        add = _saturating(np.add)  # type: ignore[assignment]
    elif len(opcode) != 3:
        return None
    type_name, shift = opcode[-1], 16 if opcode[1] == "hi" else 0

    def extend(bits: Array) -> Array:
        left = bits << np.uint32(8)
        return (left.view(np.int32) >> 8).astype(np.int64) if type_name == "s32" else (left >> 8).astype(np.int64)

    def product(a: Array, b: Array) -> Array:
        return ((extend(a) * extend(b)) >> shift).astype(np.uint32)

    if opcode[0] == "mul24":
        return _same(product, type_name, 2)
    return _same(lambda a, b, c: add(product(a, b), c), type_name, 3)


def _magnitude(bits: Array, width: int) -> Array:
    negative = signed(bits, width) < 0
    return np.where(negative, np.negative(bits), bits)


def _divide(ufunc: Any, type_name: str) -> Run:
    """Division or remainder that truncates; a zero divisor gives all ones, and MIN / -1 wraps."""
    width = WIDTH[type_name]

    def unsigned(a: Array, b: Array) -> Array:
        zero = b == 0
        if not zero.any():
            return ufunc(a, b)  # type: ignore[no-any-return]
        quotient: Array = ufunc(a, np.where(zero, b.dtype.type(1), b))
        return np.where(zero, np.invert(np.zeros_like(b)), quotient)

    def run(a: Array, b: Array) -> Array:
        magnitude = unsigned(_magnitude(a, width), _magnitude(b, width))
        sign = a if ufunc is np.remainder else a ^ b
        result = np.where((signed(sign, width) < 0) & (b != 0), np.negative(magnitude), magnitude)
        return result.astype(a.dtype, copy=False)

    return run if is_signed(type_name) else unsigned


def _division(opcode: Opcode) -> Operation | None:
    ufunc = {"div": np.floor_divide, "rem": np.remainder}[opcode[0]]
    if len(opcode) != 2 or opcode[1] not in ARITHMETIC:
        return None
    return _same(_divide(ufunc, opcode[1]), opcode[1], 2)


def _sad(opcode: Opcode) -> Operation | None:
    """c + |a - b|."""
    if len(opcode) != 2 or opcode[1] not in ARITHMETIC:
        return None
    high, low = _typed(np.maximum, opcode[1]), _typed(np.minimum, opcode[1])
    return _same(lambda a, b, c: c + (high(a, b) - low(a, b)), opcode[1], 3)


def _min_max(opcode: Opcode) -> Operation | None:
    ufunc = {"min": np.minimum, "max": np.maximum}[opcode[0]]
    match opcode[1:]:
        case (type_name,) if type_name in ARITHMETIC:
            return _same(_typed(ufunc, type_name), type_name, 2)
        case ("relu", "s32"):
            typed = _typed(ufunc, "s32")
            return _same(lambda a, b: np.maximum(typed(a, b).view(np.int32), 0).view(np.uint32), "s32", 2)
        case ("u16x2",):
            return _same(lambda a, b: ufunc(a.view(np.uint16), b.view(np.uint16)).view(np.uint32), "u16x2", 2)
        case ("s16x2",):
            return _same(lambda a, b: ufunc(a.view(np.int16), b.view(np.int16)).view(np.uint32), "s16x2", 2)
        case ("relu", "s16x2"):
            return _same(
                lambda a, b: np.maximum(ufunc(a.view(np.int16), b.view(np.int16)), 0).view(np.uint32), "s16x2", 2
            )
    return None


def _abs(opcode: Opcode) -> Operation | None:
    if len(opcode) != 2 or opcode[1] not in ("s16", "s32", "s64"):
        return None
    width = WIDTH[opcode[1]]
    return _same(lambda a: _magnitude(a, width), opcode[1], 1)


def _neg(opcode: Opcode) -> Operation | None:
    return _same(np.negative, opcode[1], 1) if opcode[1:] in (("s16",), ("s32",), ("s64",)) else None


def _lanes_of(bits: Array, kind: str, count: int) -> Array:
    """``count`` 8- or 16-bit values a 32-bit word, as int64 of shape (n, count)."""
    dtype = {("u32", 4): np.uint8, ("s32", 4): np.int8, ("u32", 2): np.uint16, ("s32", 2): np.int16}[kind, count]
    lanes: Array = np.ascontiguousarray(bits).view(dtype).reshape(-1, count).astype(np.int64)
    return lanes


def _dot_product(opcode: Opcode) -> Operation | None:
    """``dp4a.atype.btype``, ``dp2a.lo|hi.atype.btype``: c plus a dot product, of 4 bytes or of 2 halves and 2 bytes."""
    a_type, b_type = opcode[-2:]
    if not {a_type, b_type} <= {"u32", "s32"}:
        return None
    result = "s32" if "s32" in (a_type, b_type) else "u32"
    if len(opcode) == 3 and opcode[0] == "dp4a":
        count, columns = 4, slice(0, 4)
    elif len(opcode) == 4 and opcode[0] == "dp2a" and opcode[1] in ("lo", "hi"):
        count, columns = 2, slice(0, 2) if opcode[1] == "lo" else slice(2, 4)
    else:
        return None

    def run(a: Array, b: Array, c: Array) -> Array:
        products = _lanes_of(a, a_type, count) * _lanes_of(b, b_type, 4)[:, columns]
        total: Array = products.sum(axis=1).astype(np.uint32) + c
        return total

    return Operation(run, (a_type, b_type, result), (result,))


DECODE = {
    "add": _add_like,
    "sub": _add_like,
    "mul": _mul,
    "mad": _mad,
    "mul24": _mul24,
    "mad24": _mul24,
    "div": _division,
    "rem": _division,
    "sad": _sad,
    "min": _min_max,
    "max": _min_max,
    "abs": _abs,
    "neg": _neg,
    "dp4a": _dot_product,
    "dp2a": _dot_product,
}
