"""Comparison and selection (PTX ISA 9.7.6 and 9.7.7): setp, set, selp, slct; half types too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kdsl.emulator.instructions.formats import flush, real
from kdsl.emulator.operation import INTEGERS, UNSIGNED, WIDTH, Array, Opcode, Operation, Run, is_signed, value

INTEGER_COMPARES: dict[str, Any] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lo": np.less,
    "ls": np.less_equal,
    "hi": np.greater,
    "hs": np.greater_equal,
}
FLOAT_COMPARES: dict[str, Run] = {
    "eq": np.equal,
    "ne": lambda a, b: np.less(a, b) | np.greater(a, b),
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "equ": lambda a, b: ~(np.less(a, b) | np.greater(a, b)),
    "neu": np.not_equal,
    "ltu": lambda a, b: ~np.greater_equal(a, b),
    "leu": lambda a, b: ~np.greater(a, b),
    "gtu": lambda a, b: ~np.less_equal(a, b),
    "geu": lambda a, b: ~np.less(a, b),
    "num": lambda a, b: ~(np.isnan(a) | np.isnan(b)),
    "nan": lambda a, b: np.isnan(a) | np.isnan(b),
}
BOOLEAN: dict[str, Any] = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}
BIT_TYPES = frozenset(("b16", "b32", "b64"))
FLOATS = frozenset(("f16", "bf16", "f32", "f64"))


def _compare_floats(name: str, type_name: str, ftz: bool) -> Run | None:
    test = FLOAT_COMPARES.get(name)
    if test is None or (ftz and type_name not in ("f32", "f16")):
        return None
    holds, values = test, real(type_name)
    if ftz:
        return lambda a, b: holds(values(flush(a, type_name)), values(flush(b, type_name)))
    return lambda a, b: holds(values(a), values(b))


def _compare_integers(name: str, type_name: str) -> Run | None:
    test: Run | None = INTEGER_COMPARES.get(name)
    if test is None:
        return None
    holds = test
    if type_name in BIT_TYPES:
        return holds if name in ("eq", "ne") else None
    if type_name not in INTEGERS or WIDTH[type_name] == 8:
        return None
    if not is_signed(type_name):
        return holds
    if name in ("lo", "ls", "hi", "hs"):
        return None
    return lambda a, b: holds(value(a, type_name), value(b, type_name))


def _compare(name: str, type_name: str, ftz: bool) -> Run | None:
    """The test of two operands of the type, giving bool; None where PTX has no such test."""
    if type_name in FLOATS:
        return _compare_floats(name, type_name, ftz)
    return None if ftz else _compare_integers(name, type_name)


def _test(words: Opcode, types: int) -> tuple[Run, str, str | None] | None:
    """Of ``cmp[.boolop][.ftz]`` and ``types`` type words: the test, its source type, and the boolean word."""
    words, tail = words[:-types], words[-types:]
    ftz = words[-1:] == ("ftz",)
    if ftz:
        words = words[:-1]
    if len(words) not in (1, 2) or (len(words) == 2 and words[1] not in BOOLEAN):
        return None
    test = _compare(words[0], tail[-1], ftz)
    return None if test is None else (test, tail[-1], words[1] if len(words) == 2 else None)


def _packed(opcode: Opcode) -> Operation | None:
    """setp of f16x2 and bf16x2: two predicates, of the low and the high halves."""
    element = opcode[-1].removesuffix("x2")
    found = _test((*opcode[1:-1], element), 1)
    if found is None:
        return None
    test, _, boolean = found

    def run(a: Array, b: Array, *c: Array) -> tuple[Array, Array]:
        low = test(a.astype(np.uint16), b.astype(np.uint16))
        high = test((a >> np.uint32(16)).astype(np.uint16), (b >> np.uint32(16)).astype(np.uint16))
        if boolean is None:
            return low, high
        return BOOLEAN[boolean](low, c[0]), BOOLEAN[boolean](high, c[0])

    operands = (opcode[-1],) * 2 + (("pred",) if boolean else ())
    return Operation(run, operands, ("pred", "pred"))


def _setp(opcode: Opcode, both: bool = False) -> Operation | None:
    if opcode[-1] in ("f16x2", "bf16x2"):
        return _packed(opcode)
    found = _test(opcode[1:], 1)
    if found is None:
        return None
    test, type_name, boolean = found
    if boolean is None:
        if not both:
            return Operation(test, (type_name,) * 2, ("pred",))

        def pair(a: Array, b: Array) -> tuple[Array, Array]:
            holds = test(a, b)
            return holds, ~holds

        return Operation(pair, (type_name,) * 2, ("pred", "pred"))
    combine = BOOLEAN[boolean]
    operands = (type_name, type_name, "pred")
    if not both:
        return Operation(lambda a, b, c: combine(test(a, b), c), operands, ("pred",))

    def combined_pair(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
        holds = test(a, b)
        return combine(holds, c), combine(~holds, c)

    return Operation(combined_pair, operands, ("pred", "pred"))


def with_complement(opcode: Opcode) -> Operation | None:
    """A setp whose destination is ``p|q``: q is the same with the test's complement."""
    return _setp(opcode, both=True)


TRUE = {"u32": np.uint32(0xFFFFFFFF), "s32": np.uint32(0xFFFFFFFF), "f32": np.uint32(0x3F800000)} | {
    "u16": np.uint16(0xFFFF),
    "s16": np.uint16(0xFFFF),
    "f16": np.uint16(0x3C00),
    "bf16": np.uint16(0x3F80),
}


def _set(opcode: Opcode) -> Operation | None:
    """Like setp, with all ones or 1.0 for true."""
    if len(opcode) < 4 or opcode[-2] not in TRUE:
        return None
    found = _test(opcode[1:], 2)
    if found is None:
        return None
    test, type_name, boolean = found
    result, true = opcode[-2], TRUE[opcode[-2]]
    zero = true.dtype.type(0)
    if boolean is None:
        return Operation(lambda a, b: np.where(test(a, b), true, zero), (type_name,) * 2, (result,))
    combine = BOOLEAN[boolean]
    operands = (type_name, type_name, "pred")
    return Operation(lambda a, b, c: np.where(combine(test(a, b), c), true, zero), operands, (result,))


def _selp(opcode: Opcode) -> Operation | None:
    if len(opcode) != 2 or WIDTH.get(opcode[1], 0) < 16:
        return None
    return Operation(lambda a, b, p: np.where(p, a, b), (opcode[1], opcode[1], "pred"), opcode[1:])


def _slct(opcode: Opcode) -> Operation | None:
    """a where c >= 0 (minus zero included), else b (a NaN included)."""
    ftz = opcode[1:2] == ("ftz",)
    words = opcode[2:] if ftz else opcode[1:]
    if len(words) != 2 or WIDTH.get(words[0], 0) < 16 or words[1] not in ("s32", "f32") or (ftz and words[1] != "f32"):
        return None
    register = UNSIGNED[WIDTH[words[0]]]
    dtype = np.int32 if words[1] == "s32" else np.float32

    def run(a: Array, b: Array, c: Array) -> Array:
        chooser = flush(c, "f32") if ftz else c
        return np.where(chooser.view(dtype) >= 0, a, b).astype(register, copy=False)

    return Operation(run, (words[0], words[0], words[1]), (words[0],))


DECODE: dict[str, Callable[[Opcode], Operation | None]] = {"setp": _setp, "set": _set, "selp": _selp, "slct": _slct}
