"""f16, bf16, f16x2 and bf16x2 arithmetic (PTX ISA 9.7.4): rounded once, as if each result were exact first."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kdsl.emulator.instructions import approximate, floating
from kdsl.emulator.operation import Array, Opcode, Operation, Run

HALVES = frozenset(("f16", "bf16"))


def _each_half(run: Run) -> Run:
    """An operation of 16-bit values, on both halves of words."""

    def both(*words: Array) -> Array:
        halves = (np.ascontiguousarray(word).view(np.uint16).reshape(-1, 2) for word in words)
        return np.ascontiguousarray(run(*halves)).view(np.uint32).reshape(-1)

    return both


def _element(opcode: Opcode) -> Operation | None:
    """An instruction whose type is f16 or bf16."""
    name, type_name, words = opcode[0], opcode[-1], opcode[1:-1]
    match name:
        case "add" | "sub" | "mul" | "fma":
            form = floating.form_of(words, None if name == "fma" else "rn")
            if form is None or form.mode != "rn" or (form.relu and (name != "fma" or form.sat)):
                return None
            if type_name == "bf16" and (form.ftz or form.sat):
                return None
            count = 3 if name == "fma" else 2
            return Operation(floating.general(name, type_name, form), (type_name,) * count, (type_name,))
        case "neg" | "abs":
            if words not in ((), ("ftz",)) or (words and type_name == "bf16"):
                return None
            return Operation(floating.sign_operation(name, type_name, bool(words)), (type_name,), (type_name,))
        case "min" | "max":
            return floating.min_max(opcode)
        case "ex2" | "tanh":
            return approximate.DECODE[name](opcode)
    return None


def _decode(opcode: Opcode) -> Operation | None:
    if opcode[-1] in HALVES:
        return _element(opcode)
    element = opcode[-1].removesuffix("x2")
    if element not in HALVES:
        return None
    scalar = _element((*opcode[:-1], element))
    if scalar is None:
        return None
    return Operation(_each_half(scalar.run), (opcode[-1],) * len(scalar.operands), (opcode[-1],))


DECODE: dict[str, Callable[[Opcode], Operation | None]] = dict.fromkeys(
    ("add", "sub", "mul", "fma", "neg", "abs", "min", "max", "ex2", "tanh"), _decode
)
