"""Block barriers and fences (PTX ISA 9.0, 9.7.14): bar, barrier, membar, fence. Warp barriers are in `warp_ops`."""

from __future__ import annotations

import numpy as np

from kdsl.backend import SynchronizationError
from kdsl.emulator.barriers import Arrival, Finish
from kdsl.emulator.code import End, Step
from kdsl.emulator.decode import Scope
from kdsl.emulator.fragment import Fragment, Lazy
from kdsl.emulator.memory import Array, LaneFault
from kdsl.emulator.syntax import Instruction, Integer, Operand

FENCE_WORDS = {
    "acq_rel", "sc", "cta", "cluster", "gpu", "sys", "gl", "acquire", "release", "proxy", "async", "async::generic",
    "alias", "mbarrier_init", "async::global", "async::shared::cta", "sync_restrict::shared::cta",
}  # fmt: skip
CLUSTER_WORDS = {"aligned", "release", "relaxed", "acquire"}


def decode(scope: Scope, instruction: Instruction) -> Step | None:
    words = tuple(w for w in instruction.opcode if w != "cta" or instruction.opcode[0] in {"membar", "fence"})
    match words:
        case ("membar" | "fence", *rest) if FENCE_WORDS.issuperset(rest):
            # Lanes see each other's stores in the order they were made; a fence has nothing to add.
            return Step(run=lambda f: None)
        case ("bar", "sync") | ("barrier", "sync", "aligned"):
            return barrier(scope, instruction, aligned=True)
        case ("barrier", "sync"):
            return barrier(scope, instruction, aligned=False)
        case ("bar", "arrive") | ("barrier", "arrive") | ("barrier", "arrive", "aligned"):
            return arrive(scope, instruction)
        case ("bar", "red", operation, _) | ("barrier", "red", operation, "aligned", _):
            return reduction(scope, instruction, operation, aligned=True)
        case ("barrier", "red", operation, _):
            return reduction(scope, instruction, operation, aligned=False)
        case ("barrier", "cluster", "arrive" | "wait", *rest) if CLUSTER_WORDS.issuperset(rest):
            return cluster_barrier(scope, instruction)
        case ("griddepcontrol", "wait" | "launch_dependents"):
            # A launch begins here when the one ahead of it has ended.
            return Step(run=lambda f: None)
    return None


def thread_count(scope: Scope, instruction: Instruction, operands: tuple[Operand, ...]) -> int | None:
    return scope.source(instruction, operands[0], "u32") if operands else None


def uniform(f: Fragment, slot: int) -> int | None:
    """The value that all lanes of a fragment have, or None."""
    value = f.registers[slot]
    first = value[0]
    return int(first) if value.shape[0] == 1 or (value == first).all() else None


def arrive_each(f: Fragment, slots: tuple[int, ...], arrive_at: End) -> bool:
    """Lanes that name different barriers arrive one barrier after the other."""
    values = np.stack([np.broadcast_to(f.registers[s], (f.count,)) for s in slots])
    distinct, inverse = np.unique(values, axis=1, return_inverse=True)
    for which in range(distinct.shape[1]):
        chosen = np.flatnonzero(inverse.reshape(-1) == which)
        child = f.child(chosen, f.pc)
        for slot, value in enumerate(f.registers):
            if not isinstance(value, Lazy):
                child.registers[slot] = value if value.shape[0] == 1 else value[chosen]
        if arrive_at(child):
            f.batch.park(child)
    return False


def barrier(scope: Scope, instruction: Instruction, aligned: bool) -> Step:
    operands = instruction.operands or (Integer(0),)
    number = scope.source(instruction, operands[0], "u32")
    threads = thread_count(scope, instruction, operands[1:])
    return waiting_step(scope, instruction, number, threads, aligned)


def waiting_step(
    scope: Scope, instruction: Instruction, number: int, threads: int | None, aligned: bool,
    predicate: int | None = None, complement: bool = False, finish: Finish | None = None,
) -> Step:  # fmt: skip
    target = scope.next_pc
    slots = (number,) if threads is None else (number, threads)

    def end(f: Fragment) -> bool:
        which = uniform(f, number)
        count = None if threads is None else uniform(f, threads)
        if which is None or (threads is not None and count is None):
            return arrive_each(f, slots, end)
        check(f, which, count)
        values: Array | None = None
        if predicate is not None:
            values = np.broadcast_to(f.registers[predicate] ^ complement, (f.count,))
        f.pc = target
        return f.batch.barriers.arrive(f, Arrival(which, count, instruction, aligned, values, finish))

    uses = slots if predicate is None else (*slots, predicate)
    return Step(end=end, uses=uses, successors=(target,))


def check(f: Fragment, number: int, threads: int | None) -> None:
    """LaneFault for a barrier that does not exist, or that would wait for a part of a warp."""
    why = ""
    if number > 15:
        why = f"barrier {number} does not exist; there are 0 to 15"
    elif threads is not None and (threads % 32 or not threads):
        why = f"barrier {number} counts {threads} threads; whole warps come, so it is a multiple of 32"
    if why:
        raise LaneFault(SynchronizationError, why, 0, int(f.lanes[0]))


def arrive(scope: Scope, instruction: Instruction) -> Step:
    operands = scope.operands(instruction, 2)
    slots = tuple(scope.source(instruction, operand, "u32") for operand in operands)
    target = scope.next_pc

    def end(f: Fragment) -> bool:
        which, count = (uniform(f, slot) for slot in slots)
        if which is None or count is None:
            return arrive_each(f, slots, end)
        check(f, which, count)
        f.pc = target
        f.batch.barriers.signal(f, which, count)
        return True

    return Step(end=end, uses=slots, successors=(target,))


def reduction(scope: Scope, instruction: Instruction, operation: str, aligned: bool) -> Step:
    """``bar.red.popc d, a, {b,} p``: the sum, or whether all or any of the block's predicates hold."""
    if len(instruction.operands) not in {3, 4}:
        scope.fail(instruction, "expected a result, a barrier and a predicate")
    target, number, *middle, predicate = instruction.operands
    slot = scope.source(instruction, predicate, "pred")
    barrier_slot = scope.source(instruction, number, "u32")
    threads = thread_count(scope, instruction, tuple(middle))
    result = scope.destination(instruction, target, "u32" if operation == "popc" else "pred")

    def finish(f: Fragment, totals: Array) -> None:
        if operation == "popc":
            f.registers[result] = totals.astype(np.uint32)
        elif operation == "or":
            f.registers[result] = totals > 0
        else:
            f.registers[result] = totals == 0

    # All hold when no complement holds, however many threads there are.
    complement = operation == "and"
    step = waiting_step(scope, instruction, barrier_slot, threads, aligned, slot, complement, finish)
    step.defines = (result,)
    return step


def cluster_barrier(scope: Scope, instruction: Instruction) -> Step:
    """``barrier.cluster.arrive`` and ``barrier.cluster.wait``, by any part of a warp."""
    target = scope.next_pc
    waits = instruction.opcode[2] == "wait"

    def end(f: Fragment) -> bool:
        # What is wrong is found before the fragment moves on.
        if not waits:
            f.batch.cluster_barrier.arrive(f)
        f.pc = target
        return f.batch.cluster_barrier.wait(f, instruction) if waits else True

    return Step(end=end, successors=(target,))
