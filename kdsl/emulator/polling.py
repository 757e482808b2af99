"""Waiting for the whole grid: loops that only read a cooperative launch's workspace, and when nobody can end them.

Such a loop is one block that branches to itself, has no effect, and computes everything anew from what it loads. So a
turn of it that finds the workspace as it was leaves all as it was, and where every lane of the launch that could still
run is in one, the launch never ends. Loops on other memory are not judged: the step limit ends them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from kdsl.backend import DeviceError, SynchronizationError
from kdsl.emulator.memory import WINDOW_BITS, Array
from kdsl.emulator.syntax import Instruction

if TYPE_CHECKING:
    from kdsl.emulator.batch import Batch
    from kdsl.emulator.code import Step
    from kdsl.emulator.fragment import Fragment

PURE = frozenset({"mov", "xor", "and", "or", "not", "shl", "shr", "add", "sub", "setp", "bra"})


def polled(steps: Sequence[tuple[Step, Instruction]], pc: int, successors: tuple[int, ...]) -> tuple[int, ...]:
    """The registers of the addresses that a block reads while it waits; none if it is no such loop."""
    if pc not in successors:
        return ()
    defined: set[int] = set()
    used: set[int] = set()
    addresses: list[int] = []
    for step, instruction in steps:
        word = instruction.opcode[0]
        if word == "ld" and step.spins:
            addresses.append(step.uses[0])
        elif word not in PURE or (word == "mov" and not step.uses):  # a clock is moved from no register
            return ()
        used.update(set(step.uses) - defined)
        defined.update(step.defines)
    return () if used & defined else tuple(addresses)


def only_polls(batch: Batch) -> bool:
    """Whether all lanes that could run are in loops that only read the workspace."""
    workspace = batch.launch.workspace
    if workspace is None:
        return False
    window = workspace.address >> WINDOW_BITS
    return all(polls(fragment, window) for fragments in batch.waiting.values() for fragment in fragments)


def polls(fragment: Fragment, window: int) -> bool:
    addresses = fragment.code.blocks[fragment.pc].polled
    fragment.force(addresses)
    shift = np.uint64(WINDOW_BITS)
    return bool(addresses) and all((fragment.registers[a] >> shift == window).all() for a in addresses)


def never_released(batches: Sequence[Batch]) -> DeviceError:
    """The error of a launch of which ``batches`` are left, with nobody who could release those that poll."""
    batch, total = batches[0], batches[0].launch.total
    first = min((f for pieces in batch.waiting.values() for f in pieces), key=lambda f: int(f.lanes[0]))
    here = sum(int(np.count_nonzero(come(b))) for b in batches)
    returned = total - sum(int(np.count_nonzero(b.live)) for b in batches)
    others = [f"{returned} {'has' if returned == 1 else 'have'} returned"] if returned else []
    others += elsewhere(batches)
    reason = f"deadlock: {here} of the grid's {total} blocks {waiting(here)} in grid_sync() for those that never come"
    if others:
        reason += f": {', '.join(others)}"
    return batch.error(SynchronizationError, reason, first.code.located(first.pc), int(first.lanes[0]))


def waiting(blocks: int) -> str:
    return "waits" if blocks == 1 else "wait"


def come(batch: Batch) -> Array:
    """The blocks of a batch that wait for the grid."""
    result: Array = np.zeros(batch.blocks, np.bool_)
    for fragments in batch.waiting.values():
        for fragment in fragments:
            result[batch.block_of_lane[fragment.lanes]] = True
    return result


def elsewhere(batches: Sequence[Batch]) -> list[str]:
    """What the blocks do that have neither come nor returned, with how many they are."""
    places: dict[str, int] = {}
    for batch in batches:
        seen = come(batch)
        for fragment, instruction in batch.waits():
            blocks = np.unique(batch.block_of_lane[fragment.lanes])
            count = int(np.count_nonzero(~seen[blocks]))
            if count:
                text = f"at `{instruction.text}` ({instruction.place})"
                places[text] = places.get(text, 0) + count
    return [f"{count} {waiting(count)} {text}" for text, count in places.items()]
