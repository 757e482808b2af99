"""Logic and shifts (PTX ISA 9.7.8) and the bit-field instructions of 9.7.1, prmt included."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, reduce
from typing import Any

import numpy as np

from kdsl.emulator.operation import SIGNED, UNSIGNED, WIDTH, Array, Opcode, Operation, Run, in_blocks, is_signed

BITS = frozenset(("pred", "b16", "b32", "b64"))
REVERSED_BYTE = np.array([int(f"{byte:08b}"[::-1], 2) for byte in range(256)], np.uint8)


def _binary(opcode: Opcode) -> Operation | None:
    ufunc = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[opcode[0]]
    if len(opcode) != 2 or opcode[1] not in BITS:
        return None
    return Operation(ufunc, (opcode[1],) * 2, (opcode[1],))


def _not(opcode: Opcode) -> Operation | None:
    if len(opcode) != 2 or opcode[1] not in BITS:
        return None
    return Operation(np.invert, opcode[1:], opcode[1:])


def _cnot(opcode: Opcode) -> Operation | None:
    """1 where the operand is 0, else 0."""
    if opcode[1:] not in (("b16",), ("b32",), ("b64",)):
        return None
    register = UNSIGNED[WIDTH[opcode[1]]]
    return Operation(lambda a: (a == 0).astype(register), opcode[1:], opcode[1:])


def _shl(opcode: Opcode) -> Operation | None:
    """Amounts past the width give 0, which is what NumPy's left_shift does too."""
    match opcode[1:]:
        case ("b32" | "b64" as type_name,):
            return Operation(np.left_shift, (type_name, "u32"), (type_name,))
        case ("b16",):
            return Operation(lambda a, n: np.left_shift(a, n).astype(np.uint16), ("b16", "u32"), ("b16",))
    return None


def shift_right_signed(width: int) -> Run:
    dtype, register, last = SIGNED[width], UNSIGNED[width], np.uint32(width - 1)
    if width == 32:
        return lambda a, n: np.right_shift(a.view(np.int32), np.minimum(n, last).view(np.int32)).view(np.uint32)
    return lambda a, n: np.right_shift(a.view(dtype), np.minimum(n, last).astype(dtype)).view(register)


def _shr(opcode: Opcode) -> Operation | None:
    if len(opcode) != 2 or opcode[1] not in ("b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64"):
        return None
    type_name, width = opcode[1], WIDTH[opcode[1]]
    if is_signed(type_name):
        return Operation(shift_right_signed(width), (type_name, "u32"), (type_name,))
    if width == 16:
        return Operation(lambda a, n: np.right_shift(a, n).astype(np.uint16), (type_name, "u32"), (type_name,))
    return Operation(np.right_shift, (type_name, "u32"), (type_name,))


def _shf(opcode: Opcode) -> Operation | None:
    """Funnel shifts of the 64-bit value b:a; ``clamp`` shifts by at most 32."""
    if len(opcode) != 4 or opcode[1] not in ("l", "r") or opcode[2] not in ("wrap", "clamp") or opcode[3] != "b32":
        return None
    left, wrap = opcode[1] == "l", opcode[2] == "wrap"

    def run(a: Array, b: Array, n: Array) -> Array:
        amount = (n & np.uint32(31)) if wrap else np.minimum(n, np.uint32(32))
        both = (b.astype(np.uint64) << np.uint64(32)) | a
        shifted = (both << amount) >> np.uint64(32) if left else both >> amount
        return shifted.astype(np.uint32)

    return Operation(run, ("b32", "b32", "u32"), ("b32",))


def _lop3(opcode: Opcode) -> Operation | None:
    """Any function of three bits: bit 4a + 2b + c of the table, an immediate, is the result."""
    if opcode[1:] != ("b32",):
        return None

    def run(a: Array, b: Array, c: Array, table: Array) -> Array:
        shape = np.broadcast_shapes(a.shape, b.shape, c.shape)
        result = np.zeros(shape, np.uint32)
        for index in _exclusive_terms(int(table[0])):
            if index == 0:
                np.invert(result, out=result)
                continue
            result ^= reduce(np.bitwise_and, [x for x, bit in ((a, 4), (b, 2), (c, 1)) if index & bit])
        return result

    return Operation(run, ("b32", "b32", "b32", "u32"), ("b32",))


@cache
def _exclusive_terms(table: int) -> tuple[int, ...]:
    """Which products of operands (bits as in an index of the table) to combine by xor: few for the usual functions."""
    coefficients = [table >> index & 1 for index in range(8)]
    for bit in (1, 2, 4):
        for index in range(8):
            if index & bit:
                coefficients[index] ^= coefficients[index ^ bit]
    return tuple(index for index in range(8) if coefficients[index])


def _popc(opcode: Opcode) -> Operation | None:
    if opcode[1:] not in (("b32",), ("b64",)):
        return None
    return Operation(lambda a: np.bitwise_count(a).astype(np.uint32), opcode[1:], ("u32",))


def leading_zeros(a: Array, width: int) -> Array:
    """By smearing the top bit down and counting."""
    smeared = a
    for shift in (1, 2, 4, 8, 16, 32)[: width.bit_length() - 1]:
        smeared = smeared | (smeared >> a.dtype.type(shift))
    return np.uint32(width) - np.bitwise_count(smeared)


def _clz(opcode: Opcode) -> Operation | None:
    if opcode[1:] not in (("b32",), ("b64",)):
        return None
    width = WIDTH[opcode[1]]
    return Operation(lambda a: leading_zeros(a, width).astype(np.uint32), opcode[1:], ("u32",))


def _bfind(opcode: Opcode) -> Operation | None:
    """The place of the most significant bit that is not the sign; all ones where there is none.

    ``shiftamt`` gives the left shift that would bring it to the top instead.
    """
    shift_amount = opcode[1:2] == ("shiftamt",)
    if opcode[-1] not in ("u32", "s32", "u64", "s64") or len(opcode) != 2 + shift_amount:
        return None
    type_name, width = opcode[-1], WIDTH[opcode[-1]]

    def run(a: Array) -> Array:
        magnitude = a
        if is_signed(type_name):
            magnitude = a ^ (a.view(SIGNED[width]) >> (width - 1)).view(a.dtype)
        zeros = leading_zeros(magnitude, width).astype(np.uint32)
        found = zeros if shift_amount else np.uint32(width - 1) - zeros
        return np.where(magnitude == 0, np.uint32(0xFFFFFFFF), found)

    return Operation(run, (type_name,), ("u32",))


def _brev(opcode: Opcode) -> Operation | None:
    if opcode[1:] not in (("b32",), ("b64",)):
        return None
    register = UNSIGNED[WIDTH[opcode[1]]]

    def run(a: Array) -> Array:
        reversed_bits = REVERSED_BYTE[np.ascontiguousarray(a).view(np.uint8).reshape(a.size, -1)[:, ::-1]]
        words: Array = np.ascontiguousarray(reversed_bits).view(register)
        return words.reshape(a.shape)

    return Operation(run, opcode[1:], opcode[1:])


def _low_mask(length: Array, register: Any) -> Array:
    """Ones in the low ``length`` bits (NumPy shifts past the width give 0, so a full length gives all ones)."""
    ones: Array = (register(1) << length.astype(register)) - register(1)
    return ones


def _limited(amount: Array, width: int) -> Array:
    """A position or length: the low 8 bits of it, but for 64-bit fields hardware reads all of it, and stops at 64."""
    return np.minimum(amount, np.uint32(64)) if width == 64 else amount & np.uint32(255)


def _bfe(opcode: Opcode) -> Operation | None:
    """``length`` bits from ``start``; the signed form extends the field's last bit, or the operand's past its end."""
    if len(opcode) != 2 or opcode[1] not in ("u32", "s32", "u64", "s64"):
        return None
    type_name, width = opcode[1], WIDTH[opcode[1]]
    register, last = UNSIGNED[width], np.uint32(width - 1)

    def run(a: Array, start: Array, length: Array) -> Array:
        start, length = _limited(start, width), _limited(length, width)
        mask = _low_mask(length, register)
        field: Array = (a >> start.astype(register)) & mask
        if not is_signed(type_name):
            return field
        sign_at = np.minimum(start + length - np.uint32(1), last)
        negative = ((a >> sign_at.astype(register)) & register(1)).astype(bool) & (length != 0)
        # Bits past the operand's end are copies of the sign too, so all of them above what was there are set.
        present = np.minimum(length, np.where(start > last, np.uint32(0), np.uint32(width) - start))
        extended: Array = np.where(negative, field | ~_low_mask(present, register), field)
        return extended

    return Operation(run, (type_name, "u32", "u32"), (type_name,))


def _bfi(opcode: Opcode) -> Operation | None:
    """Put the low ``length`` bits of a into b from ``start``."""
    if opcode[1:] not in (("b32",), ("b64",)):
        return None
    width = WIDTH[opcode[1]]
    register = UNSIGNED[width]

    def run(a: Array, b: Array, start: Array, length: Array) -> Array:
        start = _limited(start, width).astype(register)
        mask = _low_mask(_limited(length, width), register) << start
        merged: Array = (b & ~mask) | ((a << start) & mask)
        return merged

    return Operation(run, (opcode[1], opcode[1], "u32", "u32"), opcode[1:])


def _bmsk(opcode: Opcode) -> Operation | None:
    """``length`` ones from ``start``; amounts past 32 clamp, or wrap at 32."""
    if len(opcode) != 3 or opcode[1] not in ("clamp", "wrap") or opcode[2] != "b32":
        return None
    wrap = opcode[1] == "wrap"

    def run(start: Array, length: Array) -> Array:
        if wrap:
            start, length = start & np.uint32(31), length & np.uint32(31)
        return _low_mask(length, np.uint32) << start

    return Operation(run, ("u32", "u32"), ("b32",))


def _szext(opcode: Opcode) -> Operation | None:
    """Extend the value in the low n bits; n is clamped to 32, or wraps at 32."""
    if len(opcode) != 3 or opcode[1] not in ("clamp", "wrap") or opcode[2] not in ("u32", "s32"):
        return None
    wrap, type_name = opcode[1] == "wrap", opcode[2]

    def run(a: Array, n: Array) -> Array:
        n = n & np.uint32(31) if wrap else np.minimum(n, np.uint32(32))
        mask = _low_mask(n, np.uint32)
        field = a & mask
        if type_name == "u32":
            return field
        negative = ((a >> (np.maximum(n, np.uint32(1)) - np.uint32(1))) & np.uint32(1)).astype(bool) & (n != 0)
        return np.where(negative, field | ~mask, field)

    return Operation(run, (type_name, "u32"), (type_name,))


def _fns(opcode: Opcode) -> Operation | None:
    """The place of the n-th set bit from ``base`` up (n > 0) or down (n < 0); all ones if there is none."""
    if opcode[1:] != ("b32",):
        return None

    def run(mask: Array, base: Array, offset: Array) -> Array:
        n = offset.view(np.int32)
        shape = np.broadcast_shapes(mask.shape, base.shape, n.shape)
        mask, base, n = (np.broadcast_to(x, shape) for x in (mask, base, n))
        found = np.full(shape, 0xFFFFFFFF, np.uint32)
        for step, wanted in ((1, n), (-1, -n.astype(np.int64))):
            seen = np.zeros(shape, np.int64)
            for place in range(32) if step > 0 else range(31, -1, -1):
                inside = base <= place if step > 0 else base >= place
                is_set = ((mask >> np.uint32(place)) & np.uint32(1)).astype(bool) & inside
                seen += is_set
                np.copyto(found, np.uint32(place), where=is_set & (wanted > 0) & (seen == wanted))
        at_base = (n == 0) & (base < 32) & ((mask >> np.minimum(base, np.uint32(31))) & np.uint32(1)).astype(bool)
        return np.where(at_base, base, found)

    return Operation(run, ("b32", "b32", "s32"), ("b32",))


def _prmt(opcode: Opcode) -> Operation | None:
    """Pick four of the eight bytes of b:a, by the four nibbles of c or by one of the special modes' tables."""
    if len(opcode) not in (2, 3) or opcode[1] != "b32":
        return None
    mode = opcode[2] if len(opcode) == 3 else None
    if mode is not None and mode not in PRMT_MODES:
        return None

    def run(a: Array, b: Array, c: Array) -> Array:
        source = (b.astype(np.uint64) << np.uint64(32)) | a
        result = np.zeros(np.broadcast_shapes(source.shape, c.shape), np.uint32)
        for place in range(4):
            if mode is None:
                selector = (c >> np.uint32(4 * place)) & np.uint32(15)
            else:
                selector = PRMT_MODES[mode][c & np.uint32(3), place]
            byte = (source >> ((selector & np.uint32(7)) << np.uint32(3))).astype(np.uint32) & np.uint32(255)
            # Bit 3 of a selector asks for eight copies of the byte's sign instead.
            if (selector >= 8).any():
                byte = np.where(selector >= 8, (byte >> np.uint32(7)) * np.uint32(255), byte)
            result |= byte << np.uint32(8 * place)
        return result

    return Operation(in_blocks(run), ("b32", "b32", "b32"), ("b32",))


PRMT_MODES = {
    mode: np.array(rows, np.uint32)
    for mode, rows in {
        # Rows by the two low bits of c; columns from the least significant byte (PTX ISA 9.7.9, prmt).
        "f4e": [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5], [3, 4, 5, 6]],
        "b4e": [[0, 7, 6, 5], [1, 0, 7, 6], [2, 1, 0, 7], [3, 2, 1, 0]],
        "rc8": [[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3]],
        "ecl": [[0, 1, 2, 3], [1, 1, 2, 3], [2, 2, 2, 3], [3, 3, 3, 3]],
        "ecr": [[0, 0, 0, 0], [0, 1, 1, 1], [0, 1, 2, 2], [0, 1, 2, 3]],
        "rc16": [[0, 1, 0, 1], [2, 3, 2, 3], [0, 1, 0, 1], [2, 3, 2, 3]],
    }.items()
}

DECODE: dict[str, Callable[[Opcode], Operation | None]] = {
    "and": _binary,
    "or": _binary,
    "xor": _binary,
    "not": _not,
    "cnot": _cnot,
    "shl": _shl,
    "shr": _shr,
    "shf": _shf,
    "lop3": _lop3,
    "popc": _popc,
    "clz": _clz,
    "bfind": _bfind,
    "brev": _brev,
    "bfe": _bfe,
    "bfi": _bfi,
    "bmsk": _bmsk,
    "szext": _szext,
    "fns": _fns,
    "prmt": _prmt,
}
