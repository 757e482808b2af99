"""f32 and f64 arithmetic (PTX ISA 9.7.3) that IEEE 754 defines: every rounding, .ftz and .sat, bit for bit; and what
works on the sign, or picks an operand. The .approx instructions are in approximate.py.

The plain f32 and f64 forms are one or two ufunc calls. Everything else goes one general way: flush, compute a result in
f64 that rounds to f32 as the exact one does, round, flush, saturate.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from kdsl.emulator.instructions import directed
from kdsl.emulator.instructions.fma import fma_f32, fma_f64
from kdsl.emulator.instructions.formats import (
    INFINITY,
    QUIET,
    ROUNDINGS,
    SIGN,
    canonical,
    canonical_f32,
    flush,
    flush_tiny,
    is_nan,
    narrow,
    payload_f64,
    real,
    relu,
    saturate,
    to_odd,
    two_sum,
    zero_sign,
)
from kdsl.emulator.operation import Array, Opcode, Operation, Run, in_blocks
from kdsl.records import dataclass


@dataclass(frozen=True, slots=True)
class Form:
    """The words between mnemonic and type."""

    mode: str
    ftz: bool
    sat: bool
    relu: bool


def form_of(words: Opcode, default: str | None = "rn") -> Form | None:
    """The form, if these words are a rounding (or none: ``default``), .ftz, .sat and .relu, in that order."""
    mode = default
    if words and words[0] in ROUNDINGS:
        mode, words = words[0], words[1:]
    found = {}
    for flag in ("ftz", "sat", "relu"):
        found[flag] = words[:1] == (flag,)
        words = words[1:] if found[flag] else words
    return None if words or mode is None else Form(mode, **found)


# A result in f64 that rounds to 24 bits or fewer as the exact one does, from operands in f64.


def _sum_exact(a: Array, b: Array, mode: str) -> Array:
    return zero_sign(to_odd(*two_sum(a, b)), a, b, mode)


def _difference_exact(a: Array, b: Array, mode: str) -> Array:
    return _sum_exact(a, -b, mode)


def _product_exact(a: Array, b: Array, mode: str) -> Array:
    return a * b


def _fma_exact(a: Array, b: Array, c: Array, mode: str) -> Array:
    return _sum_exact(a * b, c, mode)


# Why is the nearest f64 good enough for a quotient or root? Those of 24-bit numbers are never closer than 2**-50 of
# their size to an f32 or to the middle of two, unless they are equal to it.


def _quotient(a: Array, b: Array, mode: str) -> Array:
    return a / b


def _reciprocal(a: Array, mode: str) -> Array:
    return np.float64(1.0) / a


def _root(a: Array, mode: str) -> Array:
    return np.sqrt(a)


EXACT: dict[str, tuple[Run, int]] = {
    "add": (_sum_exact, 2),
    "sub": (_difference_exact, 2),
    "mul": (_product_exact, 2),
    "fma": (_fma_exact, 3),
    "mad": (_fma_exact, 3),
    "div": (_quotient, 2),
    "rcp": (_reciprocal, 1),
    "sqrt": (_root, 1),
}
DIRECTED: dict[str, Run] = {
    "add": directed.add,
    "sub": directed.subtract,
    "mul": directed.multiply,
    "fma": directed.fma,
    "mad": directed.fma,
    "div": directed.divide,
    "rcp": directed.reciprocal,
    "sqrt": directed.square_root,
}
NEAREST: dict[str, Any] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "rcp": np.reciprocal,
    "sqrt": np.sqrt,
}


def general(name: str, type_name: str, form: Form) -> Run:
    """Any of EXACT in f16, bf16 or f32, in any form."""
    exact, values, mode = EXACT[name][0], real(type_name), form.mode

    def run(*operands: Array) -> Array:
        if form.ftz:
            operands = tuple(flush(operand, type_name) for operand in operands)
        whole = exact(*(values(x).astype(np.float64) for x in operands), mode)
        result = narrow(whole, type_name, mode)
        if form.ftz:
            result = flush_tiny(result, whole, type_name, mode)
        if form.sat:
            result = saturate(result, type_name)
        return relu(result, type_name) if form.relu else result

    return run


def _plain_f32(name: str) -> Run:
    if name in ("fma", "mad"):
        return fma_f32
    ufunc = NEAREST[name]
    if EXACT[name][1] == 1:
        return lambda a: canonical_f32(ufunc(a.view(np.float32)))
    return lambda a, b: canonical_f32(ufunc(a.view(np.float32), b.view(np.float32)))


# Whose NaN payload an f64 result keeps, from the last choice to the first, where that is not the order of operands.
PAYLOAD_ORDER = {"div": (1, 0), "fma": (0, 2, 1), "mad": (0, 2, 1)}


def _f64(name: str, mode: str) -> Run:
    if mode == "rn" and name in ("fma", "mad"):
        return fma_f64
    compute = NEAREST[name] if mode == "rn" else partial(DIRECTED[name], mode=mode)
    order = PAYLOAD_ORDER.get(name, range(EXACT[name][1]))

    def run(*operands: Array) -> Array:
        result = compute(*(x.view(np.float64) for x in operands))
        return payload_f64(result, *(operands[place] for place in order))

    return run if mode == "rn" else in_blocks(run)


def _arithmetic(opcode: Opcode) -> Operation | None:
    name, type_name = opcode[0], opcode[-1]
    # Only add, sub and mul have a default rounding.
    form = form_of(opcode[1:-1], "rn" if name in ("add", "sub", "mul") else None)
    if form is None or form.relu:
        return None
    types = (type_name,) * EXACT[name][1]
    if type_name == "f64" and not (form.ftz or form.sat):
        return Operation(_f64(name, form.mode), types, (type_name,))
    if type_name != "f32" or (form.sat and name in ("div", "rcp", "sqrt")):
        return None
    if form == Form("rn", False, False, False):
        return Operation(_plain_f32(name), types, (type_name,))
    return Operation(in_blocks(general(name, type_name, form)), types, (type_name,))


def sign_operation(name: str, type_name: str, ftz: bool) -> Run:
    """``abs`` or ``neg``. Hardware adds zero: a NaN becomes the type's, and in f64 keeps its sign too."""
    sign = SIGN[type_name]

    def run(a: Array) -> Array:
        if ftz:
            a = flush(a, type_name)
        result = a & ~sign if name == "abs" else a ^ sign
        if type_name == "f64":
            return payload_f64(result.view(np.float64), a)
        return canonical(result, type_name)

    return run


def sum_nan(bits: Array, type_name: str) -> Array:
    """A NaN as a sum gives it: canonical, and in f64 with its payload, quieted; in place."""
    if type_name != "f64":
        return canonical(bits, type_name)
    nan = np.isnan(bits.view(np.float64))
    if nan.any():
        np.bitwise_or(bits, QUIET, out=bits, where=nan)
    return bits


def _sign(opcode: Opcode) -> Operation | None:
    ftz, type_name = opcode[1:2] == ("ftz",), opcode[-1]
    if type_name not in ("f32", "f64") or len(opcode) != 2 + ftz or (ftz and type_name != "f32"):
        return None
    return Operation(sign_operation(opcode[0], type_name, ftz), (type_name,), (type_name,))


def pick(
    name: str, type_name: str, nan: bool = False, ftz: bool = False, xorsign: bool = False, abs_: bool = False
) -> Run:
    """``min`` or ``max``: the other operand beside one NaN (with .NaN a NaN beside any), and -0 below +0."""
    sign, values = SIGN[type_name], real(type_name)
    smaller = name == "min"

    def two(a: Array, b: Array) -> Array:
        x, y = values(a), values(b)
        a_wins = (x < y) if smaller else (x > y)
        same = (a | b) if smaller else (a & b)  # equal values differ at most in a zero's sign
        # Of two NaN it is b, whose payload an f64 result keeps.
        a_wins |= np.isnan(y) & ~np.isnan(x)
        result = np.where(a_wins, a, np.where(x == y, same, b))
        if nan:
            result = np.where(is_nan(a, type_name), a, np.where(is_nan(b, type_name), b, result))
        return sum_nan(result, type_name)

    def run(*operands: Array) -> Array:
        if ftz:
            operands = tuple(flush(operand, type_name) for operand in operands)
        plain = [operand & ~sign for operand in operands] if xorsign or abs_ else list(operands)
        result = two(plain[0], plain[1])
        for operand in plain[2:]:
            result = two(result, operand)
        if xorsign:
            signs = (operands[0] ^ operands[1]) & sign
            result = np.where(is_nan(result, type_name), result, result | signs)
        return result

    return run


def _pick_f32(name: str) -> Run:
    """The plain form, fast: NumPy's fmin and fmax, then the zeros and NaN that they leave open."""
    ufunc, smaller = (np.fmin, True) if name == "min" else (np.fmax, False)

    def run(a: Array, b: Array) -> Array:
        result = ufunc(a.view(np.float32), b.view(np.float32))
        bits = result.view(np.uint32)
        zero = result == 0
        if zero.any():
            both = zero & (a.view(np.float32) == b.view(np.float32))
            bits = np.where(both, (a | b) if smaller else (a & b), bits)
            return canonical(bits, "f32")
        return canonical_f32(result)

    return run


def _pick_words(opcode: Opcode) -> Run | None:
    """The operation of ``min{.ftz}{.NaN}{.xorsign.abs}`` and its three-operand form, ``.abs``."""
    name, type_name, words = opcode[0], opcode[-1], opcode[1:-1]
    if type_name not in INFINITY:
        return None
    ftz = words[:1] == ("ftz",)
    words = words[1:] if ftz else words
    nan = words[:1] == ("NaN",)
    words = words[1:] if nan else words
    if words not in ((), ("xorsign", "abs"), ("abs",)) or (type_name == "f64" and (ftz or nan or words)):
        return None
    if (ftz and type_name == "bf16") or (words == ("abs",) and type_name != "f32"):
        return None
    return pick(name, type_name, nan, ftz, xorsign="xorsign" in words, abs_="abs" in words)


def min_max(opcode: Opcode) -> Operation | None:
    """``min`` and ``max`` of two f16, bf16, f32 or f64."""
    if opcode[1:] == ("f32",):
        return Operation(_pick_f32(opcode[0]), ("f32", "f32"), ("f32",))
    run = None if opcode[-2] == "abs" and "xorsign" not in opcode else _pick_words(opcode)
    return None if run is None else Operation(in_blocks(run), (opcode[-1],) * 2, (opcode[-1],))


def of_three(opcode: Opcode) -> Operation | None:
    """``min`` and ``max`` of three f32, which have the words of the form with two."""
    run = None if opcode[-1] != "f32" or "xorsign" in opcode or opcode[0] not in ("min", "max") else _pick_words(opcode)
    return None if run is None else Operation(run, ("f32",) * 3, ("f32",))


def _copysign(opcode: Opcode) -> Operation | None:
    """b with the sign of a."""
    if opcode[1:] not in (("f32",), ("f64",)):
        return None
    sign = SIGN[opcode[1]]
    return Operation(lambda a, b: (a & sign) | (b & ~sign), opcode[1:] * 2, opcode[1:])


def _testp(opcode: Opcode) -> Operation | None:
    if len(opcode) != 3 or opcode[2] not in ("f32", "f64"):
        return None
    type_name = opcode[2]
    infinity, magnitude = INFINITY[type_name], ~SIGN[type_name]
    tests: dict[str, Run] = {
        "finite": lambda a: (a & magnitude) < infinity,
        "infinite": lambda a: (a & magnitude) == infinity,
        "number": lambda a: (a & magnitude) <= infinity,
        "notanumber": lambda a: (a & magnitude) > infinity,
        # Zeros count as normal (PTX ISA 9.7.3.1).
        "normal": lambda a: (((a & infinity) != 0) & ((a & infinity) != infinity)) | ((a & magnitude) == 0),
        "subnormal": lambda a: ((a & infinity) == 0) & ((a & magnitude) != 0),
    }
    return Operation(tests[opcode[1]], (type_name,), ("pred",)) if opcode[1] in tests else None


DECODE: dict[str, Callable[[Opcode], Operation | None]] = {
    **dict.fromkeys(EXACT, _arithmetic),
    "abs": _sign,
    "neg": _sign,
    "min": min_max,
    "max": min_max,
    "copysign": _copysign,
    "testp": _testp,
}
