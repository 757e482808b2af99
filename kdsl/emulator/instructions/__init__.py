"""The pure instructions of PTX, a file per subject; `pure_operation` finds what an opcode computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from kdsl.emulator.instructions import (
    approximate,
    comparison,
    conversion,
    extended,
    floating,
    half,
    integer,
    logic,
    packed,
)
from kdsl.emulator.operation import Opcode, Operation, UnknownInstruction

__all__ = ["Operation", "UnknownInstruction", "pure_operation"]

Decode = Callable[[Opcode], Operation | None]

FILES: tuple[Mapping[str, Decode], ...] = (
    integer.DECODE,
    extended.DECODE,
    logic.DECODE,
    half.DECODE,
    packed.DECODE,
    floating.DECODE,
    approximate.DECODE,
    comparison.DECODE,
    conversion.DECODE,
)


@cache
def pure_operation(opcode: Opcode, both: bool = False, count: int | None = None) -> Operation | None:
    """The operation of an opcode such as ``("add", "s32")``; None when its first word is not a pure instruction's.

    ``both`` asks for the two results of a ``p|q`` destination (setp); ``count`` is how many operands the text has, and
    need only be given where that is open (three for min and max). Raises UnknownInstruction for an unknown form.
    """
    decoders = [file[opcode[0]] for file in FILES if opcode[0] in file]
    for decode in decoders:
        operation = decode(opcode)
        if operation is None:
            continue
        if both:
            operation = comparison.with_complement(opcode)
        elif count == 3 and len(operation.operands) == 2:
            operation = floating.of_three(opcode)
        if operation is not None:
            return operation
    if decoders:
        raise UnknownInstruction(opcode)
    return None
