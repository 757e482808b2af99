"""The .approx and .full instructions (PTX ISA 9.7.3): the f64 result rounded once, with the ISA's special cases.

What a GPU gives is not specified to the bit; these results are within the ISA's error bound of the exact ones, and are
the one place where the emulator's bits may differ from a GPU's.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kdsl.emulator.instructions.formats import flush, narrow, payload_f64, real
from kdsl.emulator.operation import Array, Opcode, Operation, Run, in_blocks

UPPER_WORD = np.uint64(0xFFFFFFFF00000000)

ONE_TURN = float(np.float32(0.15915494))


def _turns(x: Array) -> Array:
    """The angle as hardware has it: x times 1 / (2 pi) in f32, cut; far from zero nothing but whole turns is left."""
    turns = narrow(x * ONE_TURN, "f32", "rz").view(np.float32).astype(np.float64)
    return (turns - np.rint(turns)) * (2 * np.pi)


FUNCTIONS: dict[str, Run] = {
    "rcp": lambda x: 1.0 / x,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "sin": lambda x: np.sin(_turns(x)),
    "cos": lambda x: np.cos(_turns(x)),
    "lg2": np.log2,
    "ex2": np.exp2,
    "tanh": np.tanh,
}


def function(name: str, type_name: str, ftz: bool) -> Run:
    """One of FUNCTIONS on f16, bf16 or f32; -0 gives rsqrt and rcp minus infinity, as IEEE division does."""
    compute, values = FUNCTIONS[name], real(type_name)

    def run(a: Array) -> Array:
        if ftz:
            a = flush(a, type_name)
        result = narrow(compute(values(a).astype(np.float64)), type_name)
        return flush(result, type_name) if ftz else result

    return run


def _one(name: str, type_name: str, ftz: bool) -> Operation:
    return Operation(in_blocks(function(name, type_name, ftz)), (type_name,), (type_name,))


def _function(opcode: Opcode) -> Operation | None:
    """``name.approx{.ftz}.f32``, and tanh and ex2 of the half types (packed ones are in half.py)."""
    name, type_name = opcode[0], opcode[-1]
    ftz = opcode[2:3] == ("ftz",)
    if opcode[1:2] != ("approx",) or len(opcode) != 3 + ftz:
        return None
    if type_name == "f64" and name in ("rcp", "rsqrt"):
        return _gross_f64(name, ftz)
    if type_name == "f32" and not (name == "tanh" and ftz):
        return _one(name, type_name, ftz)
    # ex2 has no .ftz for f16 and always has it for bf16.
    if type_name == "f16" and name in ("tanh", "ex2") and not ftz:
        return _one(name, type_name, ftz)
    if type_name == "bf16" and name in ("tanh", "ex2") and ftz == (name == "ex2"):
        return _one(name, type_name, ftz)
    return None


def _gross_f64(name: str, ftz: bool) -> Operation | None:
    """``rcp.approx.ftz.f64`` and ``rsqrt.approx.ftz.f64``, of upper words only; ``rsqrt.approx.f64`` is whole."""
    if not ftz:
        return Operation(_rsqrt_f64, ("f64",), ("f64",)) if name == "rsqrt" else None
    compute = FUNCTIONS[name]

    def run(a: Array) -> Array:
        a = flush(a & UPPER_WORD, "f64")
        result = payload_f64(compute(a.view(np.float64)), a)
        return flush(result & UPPER_WORD, "f64")

    return Operation(in_blocks(run), ("f64",), ("f64",))


def _rsqrt_f64(a: Array) -> Array:
    return payload_f64(1.0 / np.sqrt(a.view(np.float64)), a)


def _div(opcode: Opcode) -> Operation | None:
    """``div.full`` scales; ``div.approx`` is a * (1 / b), which is 0 for |b| between 2^126 and 2^128."""
    if opcode[1:2] not in (("approx",), ("full",)) or opcode[-1] != "f32":
        return None
    ftz = opcode[2:3] == ("ftz",)
    if len(opcode) != 3 + ftz:
        return None
    approx = opcode[1] == "approx"

    def run(a: Array, b: Array) -> Array:
        if ftz:
            a, b = flush(a, "f32"), flush(b, "f32")
        x, y = a.view(np.float32).astype(np.float64), b.view(np.float32).astype(np.float64)
        quotient = x / y
        if approx:
            size = np.abs(y)
            lost = (size > 2.0**126) & np.isfinite(y)
            if lost.any():
                quotient = np.where(lost, x * np.copysign(0.0, y), quotient)
        result = narrow(quotient, "f32")
        return flush(result, "f32") if ftz else result

    return Operation(in_blocks(run), ("f32", "f32"), ("f32",))


DECODE: dict[str, Callable[[Opcode], Operation | None]] = {**dict.fromkeys(FUNCTIONS, _function), "div": _div}
