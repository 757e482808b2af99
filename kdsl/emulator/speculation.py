"""Loads that LLVM may have moved above the condition that guards them.

LLVM runs a load early, or for nothing, where it knows that the address is valid: a fixed place in a shared or local
array. What such a load finds unwritten is a mistake of the kernel only if the value is used for certain: by a store, a
branch, an atomic or an address that control must come to next, and not just as one of the two values of a select.
"""

from __future__ import annotations

from collections.abc import Sequence

from kdsl.emulator.code import Step
from kdsl.emulator.syntax import Address, Function, Instruction, Integer, Operand, Pair, Register, Symbol, Vector

NO_RESULT = {"st", "red", "bar", "barrier", "bra", "brx", "call", "ret", "exit", "prefetch", "membar", "fence"}
CHOOSES = {"selp", "slct", "and", "or", "lop3"}
USES = {"st", "atom", "red", "bra", "brx", "ld"}


class Definitions:
    """Which instructions of a function write each register."""

    def __init__(self, function: Function) -> None:
        self.writers: dict[str, list[Instruction]] = {}
        for instruction in function.instructions:
            if instruction.opcode[0] not in NO_RESULT and instruction.operands:
                for name in registers(instruction.operands[0]):
                    self.writers.setdefault(name, []).append(instruction)

    def is_fixed(self, operand: Operand) -> bool:
        """Whether an address is a variable's, at a constant offset."""
        if isinstance(operand, Address):
            return self.is_fixed(operand.base)
        if not isinstance(operand, Register):
            return isinstance(operand, Symbol)
        writers = self.writers.get(operand.name, [])
        if len(writers) != 1 or writers[0].guard is not None:
            return False
        _, *sources = writers[0].operands
        match writers[0].opcode[0]:
            case "mov" | "cvta":
                return self.is_fixed(sources[0])
            case "add" | "or":
                return self.is_fixed(sources[0]) and isinstance(sources[1], Integer)
        return False


def registers(operand: Operand) -> list[str]:
    """The registers that an operand writes where it is the destination."""
    match operand:
        case Register(name):
            return [name]
        case Vector(items):
            return [name for item in items for name in registers(item)]
        case Pair(first, second):
            return registers(first) + registers(second)
    return []


Steps = Sequence[tuple[Step, Instruction]]


def uncheck_speculated(blocks: Sequence[Steps], successors: Sequence[tuple[int, ...]]) -> None:
    """Tell the loads that may be speculated, and whose value is not used for certain, not to check."""
    loads = [
        (step, pc, position)
        for pc, steps in enumerate(blocks)
        for position, (step, _) in enumerate(steps)
        if step.uncheck
    ]
    for step, pc, position in loads:
        # What is widened to its register after the load is followed as a whole.
        widened = len(step.defines) > len(step.uncheck)
        for result, uncheck in step.uncheck:
            values = set(step.defines) if widened else {result}
            if not certainly_used(values, blocks, successors, pc, position + 1):
                uncheck()


def certainly_used(
    values: set[int], blocks: Sequence[Steps], successors: Sequence[tuple[int, ...]], pc: int, position: int
) -> bool:
    """Follows the values of a load as far as control has only one way to go."""
    seen = {pc}
    rest = blocks[pc][position:]
    while True:
        for step, instruction in rest:
            if uses_for_certain(values, step, instruction):
                return True
        if len(successors[pc]) != 1 or successors[pc][0] in seen or not values:
            return False
        pc = successors[pc][0]
        seen.add(pc)
        rest = blocks[pc]


def uses_for_certain(values: set[int], step: Step, instruction: Instruction) -> bool:
    """Whether the step is such a use; otherwise ``values`` follows what it computes from them."""
    word = instruction.opcode[0]
    if values.isdisjoint(step.uses):
        values -= set(step.defines)
        return False
    if instruction.opcode[1:2] == ("param",):
        values |= set(step.defines)
    elif word in USES or (instruction.guard is not None and step.end is not None):
        return True
    elif word not in CHOOSES:
        values |= set(step.defines)
    return False
