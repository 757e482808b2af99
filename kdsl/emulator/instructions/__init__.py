"""The pure instructions of PTX: `pure_operation` finds what an opcode computes, by its first word. A file per subject."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from kdsl.emulator.instructions import approximate, comparison, conversion, extended, floating, half, integer, logic
from kdsl.emulator.operation import Opcode, Operation, UnknownInstruction

__all__ = ["Operation", "UnknownInstruction", "pure_operation"]

Decode = Callable[[Opcode], Operation | None]

FILES: tuple[dict[str, Decode], ...] = (
    integer.DECODE,
    extended.DECODE,
    logic.DECODE,
    half.DECODE,
    floating.DECODE,
    approximate.DECODE,
    comparison.DECODE,
    conversion.DECODE,
)


@cache
def pure_operation(opcode: Opcode, both: bool = False) -> Operation | None:
    """The operation of an opcode such as ``("add", "s32")``; None when its first word is not a pure instruction's.

    ``both`` asks for the two results of a ``p|q`` destination (setp). Raises UnknownInstruction for an unknown form of a
    known instruction.
    """
    decoders = [file[opcode[0]] for file in FILES if opcode[0] in file]
    for decode in decoders:
        operation = decode(opcode)
        if operation is not None:
            return comparison.with_complement(opcode) if both else operation
    if decoders:
        raise UnknownInstruction(opcode)
    return None
