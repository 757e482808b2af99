"""What a pure PTX instruction is to the emulator: a function of arrays of raw bits, and the PTX types of both ends.

Every value is a NumPy array of raw bits, of shape (n,) or (1,): ``pred`` and ``cc`` are bool, 8- and 16-bit types
uint16 (an 8-bit value in the low bits), 32-bit types uint32, 64-bit types uint64. Registers and memory are elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kdsl.records import dataclass

Array = np.ndarray[Any, np.dtype[Any]]
Run = Callable[..., Any]
Opcode = tuple[str, ...]


class UnknownInstruction(ValueError):
    """A mnemonic that is known in a form that is not; ``opcode`` is the instruction's words between dots."""

    def __init__(self, opcode: Opcode) -> None:
        super().__init__(f"the emulator does not know the instruction {'.'.join(opcode)}")
        self.opcode = opcode


@dataclass(frozen=True, slots=True)
class Operation:
    """``run`` takes one array per operand and returns one array, or a tuple where there are several results.

    The type ``cc`` stands for the condition-code register's carry flag: an operand or result that the text does not
    name, always the last one.
    """

    run: Run
    operands: tuple[str, ...]
    results: tuple[str, ...]


WIDTH = {"pred": 1, "cc": 1} | {
    name: bits
    for bits, names in {
        8: "b8 u8 s8",
        16: "b16 u16 s16 f16 bf16",
        32: "b32 u32 s32 f32 f16x2 bf16x2 u16x2 s16x2",
        64: "b64 u64 s64 f64 f32x2",
    }.items()
    for name in names.split()
}
"""Bits of each type."""

UNSIGNED: dict[int, Any] = {1: np.bool_, 8: np.uint16, 16: np.uint16, 32: np.uint32, 64: np.uint64}
"""The dtype that holds a value of that many bits."""

SIGNED: dict[int, Any] = {8: np.int16, 16: np.int16, 32: np.int32, 64: np.int64}

INTEGERS = frozenset(("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"))


BLOCK = 8192
"""Lanes that `in_blocks` works on at once: a temporary f64 array of so many stays in the cache and in the heap."""


def in_blocks(run: Run, block: int = BLOCK) -> Run:
    """``run``, which has one result and makes many temporary arrays, on a part of the lanes at a time.

    Why? Past 128 KiB an array's memory comes from the kernel and goes back to it, which costs more than the arithmetic.
    """

    def blocked(*operands: Array) -> Array:
        size = max(len(operand) for operand in operands)
        if size <= block:
            return run(*operands)  # type: ignore[no-any-return]
        parts = ((start, min(start + block, size)) for start in range(0, size, block))
        whole: Array | None = None
        for start, stop in parts:
            part = run(*(operand if len(operand) == 1 else operand[start:stop] for operand in operands))
            if whole is None:
                whole = np.empty((size, *part.shape[1:]), part.dtype)
            whole[start:stop] = part
        assert whole is not None
        return whole

    return blocked


def is_signed(type_name: str) -> bool:
    return type_name in ("s8", "s16", "s32", "s64")


def signed(bits: Array, width: int) -> Array:
    """The two's complement value of ``width`` bits; an 8-bit value, held in 16, has its sign extended."""
    if width == 8:
        return np.right_shift(np.left_shift(bits, 8).view(np.int16), 8)
    return bits.view(SIGNED[width])


def value(bits: Array, type_name: str) -> Array:
    """The integer array that these bits mean as ``type_name``."""
    return signed(bits, WIDTH[type_name]) if is_signed(type_name) else bits
