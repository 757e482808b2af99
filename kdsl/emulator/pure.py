"""Instructions that only compute: the arithmetic half's operations, wired to registers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kdsl.emulator.code import Op, Step
from kdsl.emulator.decode import Scope
from kdsl.emulator.fragment import Fragment
from kdsl.emulator.instructions import pure_operation
from kdsl.emulator.operation import Operation, UnknownInstruction
from kdsl.emulator.syntax import Instruction, Operand, Pair, Vector

CARRY = ("carry",)


def decode_pure(scope: Scope, instruction: Instruction) -> Step | None:
    """The step of a pure instruction; None if it is not one."""
    if not instruction.operands:
        return None
    result = instruction.operands[0]
    try:
        count = len(instruction.operands) - 1
        operation = pure_operation(instruction.opcode, isinstance(result, Pair), count)
    except UnknownInstruction as error:
        scope.fail(instruction, str(error))
    return None if operation is None else wire(scope, instruction, operation)


def wire(scope: Scope, instruction: Instruction, operation: Operation) -> Step:
    named = [t for t in operation.operands if t != "cc"]
    operands = list(instruction.operands[1:])
    if len(operands) != len(named):
        scope.fail(instruction, f"expected {len(named) + 1} operands, found {len(operands) + 1}")
    sources = [source(scope, instruction, o, t) for o, t in zip(operands, named, strict=True)]
    if "cc" in operation.operands:
        sources.append(scope.add_slot(CARRY, 0))
    targets = destinations(scope, instruction, [t for t in operation.results if t != "cc"])
    if "cc" in operation.results:
        targets.append(scope.add_slot(CARRY, 0))
    return Step(connect(operation.run, targets, sources), uses=tuple(sources), defines=tuple(targets))


def source(scope: Scope, instruction: Instruction, operand: Operand, kind: str) -> int:
    if isinstance(operand, Vector):
        scope.fail(instruction, "unexpected vector operand")
    return scope.source(instruction, operand, kind)


def destinations(scope: Scope, instruction: Instruction, kinds: list[str]) -> list[int]:
    operand = instruction.operands[0]
    named = [operand.first, operand.second] if isinstance(operand, Pair) else [operand]
    if len(named) != len(kinds):
        scope.fail(instruction, f"expected {len(kinds)} results")
    return [scope.destination(instruction, o, t) for o, t in zip(named, kinds, strict=True)]


def connect(run: Callable[..., Any], targets: list[int], sources: list[int]) -> Op:
    """A closure for each common shape: the call is all that a hot loop pays for."""
    if len(targets) > 1:
        return connect_several(run, targets, sources)
    target = targets[0]
    match sources:
        case [a]:

            def one(f: Fragment) -> None:
                r = f.registers
                r[target] = run(r[a])

            return one
        case [a, b]:

            def two(f: Fragment) -> None:
                r = f.registers
                r[target] = run(r[a], r[b])

            return two
        case [a, b, c]:

            def three(f: Fragment) -> None:
                r = f.registers
                r[target] = run(r[a], r[b], r[c])

            return three
    return connect_many(run, target, sources)


def connect_many(run: Callable[..., Any], target: int, sources: list[int]) -> Op:
    def many(f: Fragment) -> None:
        r = f.registers
        r[target] = run(*[r[s] for s in sources])

    return many


def connect_several(run: Callable[..., Any], targets: list[int], sources: list[int]) -> Op:
    def several(f: Fragment) -> None:
        r = f.registers
        results: tuple[np.ndarray[Any, Any], ...] = run(*[r[s] for s in sources])
        for target, result in zip(targets, results, strict=True):
            r[target] = result

    return several
