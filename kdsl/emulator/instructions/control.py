"""Control flow (PTX ISA 9.0, 9.7.13): bra, brx.idx, ret, exit, trap. Calls are in `calls`."""

from __future__ import annotations

import numpy as np

from kdsl.backend import DeviceError, LaunchFailedError
from kdsl.emulator.code import End, Step
from kdsl.emulator.decode import Scope
from kdsl.emulator.fragment import Fragment, Frame
from kdsl.emulator.memory import LaneFault
from kdsl.emulator.syntax import Guard, Instruction, Symbol


def decode(scope: Scope, instruction: Instruction) -> Step | None:
    match instruction.opcode:
        case ("bra",) | ("bra", "uni"):
            return branch(scope, instruction)
        case ("brx", "idx") | ("brx", "idx", "uni"):
            return branch_by_index(scope, instruction)
        case ("ret",) | ("ret", "uni"):
            return Step(end=finish(scope.function.entry), successors=())
        case ("exit",):
            return Step(end=finish(True), successors=())
        case ("trap",):
            return Step(end=trap(), successors=())
        case ("nanosleep", "u32"):
            return Step(run=lambda f: None, spins=True)
        case ("brkpt",) | ("pmevent", *_) | ("griddepcontrol", *_) | ("setmaxnreg", *_):
            return Step(run=lambda f: None)
    return None


def guard_slot(scope: Scope, guard: Guard) -> int:
    return scope.slots[("register", guard.register)]


def branch(scope: Scope, instruction: Instruction) -> Step:
    (label,) = scope.operands(instruction, 1)
    target = scope.target(instruction, label)
    if instruction.guard is None:
        return Step(end=jump(target), successors=(target,))
    slot = guard_slot(scope, instruction.guard)
    negated = instruction.guard.negated
    end = branch_if(slot, scope.next_pc, target) if negated else branch_if(slot, target, scope.next_pc)
    return Step(end=end, uses=(slot,), successors=(target, scope.next_pc))


def skip(scope: Scope, instruction: Instruction) -> Step:
    """The branch around a guarded instruction, which is the next block."""
    guard = instruction.guard
    assert guard is not None
    slot = guard_slot(scope, guard)
    inside, after = scope.next_pc, scope.next_pc + 1
    end = branch_if(slot, after, inside) if guard.negated else branch_if(slot, inside, after)
    return Step(end=end, uses=(slot,), successors=(inside, after))


def jump(target: int) -> End:
    def end(f: Fragment) -> bool:
        f.pc = target
        return True

    return end


def branch_if(slot: int, when_true: int, when_false: int) -> End:
    """Lanes part by a predicate; those with the lower target go on here."""

    def end(f: Fragment) -> bool:
        predicate = f.registers[slot]
        taken = np.count_nonzero(predicate)
        if taken == predicate.shape[0]:
            f.pc = when_true
            return True
        if taken == 0:
            f.pc = when_false
            return True
        f.batch.park(f.child(np.flatnonzero(predicate), when_true))
        f.batch.park(f.child(np.flatnonzero(~predicate), when_false))
        return False

    return end


def branch_by_index(scope: Scope, instruction: Instruction) -> Step:
    index, table = scope.operands(instruction, 2)
    labels = scope.function.targets.get(table.name) if isinstance(table, Symbol) else None
    if labels is None:
        scope.fail(instruction, "unknown branch targets")
    places = np.array([scope.target(instruction, label) for label in labels])
    slot = scope.source(instruction, index, "u32")

    def end(f: Fragment) -> bool:
        chosen = f.registers[slot]
        outside = chosen >= places.shape[0]
        if outside.any():
            position = int(np.flatnonzero(outside)[0])
            raise LaneFault(DeviceError, f"branch index {int(chosen[position])} of {places.shape[0]} targets", position)
        targets = places[chosen]
        distinct = np.unique(targets)
        if distinct.shape[0] == 1:
            f.pc = int(distinct[0])
            return True
        for target in distinct.tolist():
            f.batch.park(f.child(np.flatnonzero(targets == target), target))
        return False

    return Step(end=end, uses=(slot,), successors=tuple(sorted(set(places.tolist()))))


def finish(entry: bool) -> End:
    """``exit``, and ``ret`` in a kernel; ``ret`` in a function goes back to its caller."""

    def leave(f: Fragment) -> bool:
        f.batch.exit(f)
        return False

    def go_back(f: Fragment) -> bool:
        frame: Frame = f.frames[-1]
        returned = f.registers
        f.code, f.registers, f.pc, f.local_base = frame.code, frame.registers, frame.pc, frame.local_base
        f.frames = f.frames[:-1]
        f.prefix = f.prefix[:-2]
        for target, build in frame.results:
            f.registers[target] = build(returned)
        return True

    return leave if entry else go_back


def trap() -> End:
    def end(f: Fragment) -> bool:
        raise LaneFault(LaunchFailedError, "trap", 0)

    return end
