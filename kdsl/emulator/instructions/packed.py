"""An operation on each part of a word (f16x2, bf16x2, f32x2), and f32 arithmetic with f16 or bf16 operands (sm_100)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kdsl.emulator.instructions import floating, half
from kdsl.emulator.instructions.formats import real
from kdsl.emulator.operation import BLOCK, UNSIGNED, WIDTH, Array, Opcode, Operation, Run, in_blocks

ELEMENTS = {"f16x2": "f16", "bf16x2": "bf16", "f32x2": "f32"}


def _in_parts(run: Run, part: Any, word: Any) -> Run:
    def both(*words: Array) -> Array:
        parts = (np.ascontiguousarray(bits).view(part).reshape(-1, 2) for bits in words)
        joined: Array = np.ascontiguousarray(run(*parts)).view(word)
        return joined.reshape(-1)

    return in_blocks(both, BLOCK // 2)


def _pair(opcode: Opcode) -> Operation | None:
    element = ELEMENTS[opcode[-1]]
    if element == "f32" and (opcode[0] not in ("add", "sub", "mul", "fma") or "sat" in opcode):
        return None
    decode = (floating if element == "f32" else half).DECODE[opcode[0]]
    scalar = decode((*opcode[:-1], element))
    if scalar is None:
        return None
    run = _in_parts(scalar.run, UNSIGNED[WIDTH[element]], UNSIGNED[WIDTH[opcode[-1]]])
    return Operation(run, (opcode[-1],) * len(scalar.operands), (opcode[-1],))


def _mixed(opcode: Opcode) -> Operation | None:
    """``add.rn.f32.f16 d, a, c`` and ``fma.rn.f32.bf16 d, a, b, c``: all but the last operand are of the short type."""
    source = opcode[-1]
    if opcode[0] not in ("add", "sub", "fma") or "ftz" in opcode:
        return None
    plain = floating.DECODE[opcode[0]](opcode[:-1])
    if plain is None:
        return None
    values, run = real(source), plain.run

    def widened(*operands: Array) -> Array:
        return run(*(values(x).view(np.uint32) for x in operands[:-1]), operands[-1])  # type: ignore[no-any-return]

    return Operation(widened, (source,) * (len(plain.operands) - 1) + ("f32",), ("f32",))


def _decode(opcode: Opcode) -> Operation | None:
    if opcode[-1] in ELEMENTS:
        return _pair(opcode)
    return _mixed(opcode) if opcode[-2] == "f32" and opcode[-1] in half.HALVES else None


DECODE: dict[str, Callable[[Opcode], Operation | None]] = dict.fromkeys(half.DECODE, _decode)
