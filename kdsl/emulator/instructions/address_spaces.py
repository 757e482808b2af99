"""Addresses between state spaces and between blocks of a cluster: cvta, isspacep, mapa (PTX ISA 9.0, 9.7.9)."""

from __future__ import annotations

import numpy as np

from kdsl.emulator.clusters import mapped, rank_field, ranks_of
from kdsl.emulator.code import Step
from kdsl.emulator.decode import Scope
from kdsl.emulator.fragment import Fragment
from kdsl.emulator.instructions.data_movement import SPACES, copy, two_operands, whole_constant
from kdsl.emulator.memory import LOCAL_WINDOW, SHARED_WINDOW, WINDOW_BITS
from kdsl.emulator.syntax import Instruction

WINDOWS = {
    "shared": SHARED_WINDOW, "shared::cta": SHARED_WINDOW, "shared::cluster": SHARED_WINDOW, "local": LOCAL_WINDOW,
}  # fmt: skip


def decode(scope: Scope, instruction: Instruction) -> Step | None:
    match instruction.opcode[0]:
        case "cvta":
            return convert_address(scope, instruction)
        case "isspacep":
            return is_space(scope, instruction)
        case "mapa" | "getctarank":
            return cluster_address(scope, instruction)
    return None


def convert_address(scope: Scope, instruction: Instruction) -> Step:
    """``cvta`` to and from generic addresses. Global, constant and parameter addresses are generic ones here."""
    words = instruction.opcode[1:]
    to_space = words[0] == "to"
    space = words[1] if to_space else words[0]
    if space not in SPACES or words[-1] not in {"u32", "u64"}:
        scope.fail(instruction, "unknown form of cvta")
    target, source = scope.operands(instruction, 2)
    slot = scope.source(instruction, source, words[-1])
    if space == "const" and not to_space:
        slot = whole_constant(scope, slot)
    result = scope.destination(instruction, target, words[-1])
    if space not in WINDOWS:
        return Step(copy(result, slot), uses=(slot,), defines=(result,))
    window = np.array([(WINDOWS[space] << WINDOW_BITS)], np.uint64)

    def run(f: Fragment) -> None:
        value = f.registers[slot]
        f.registers[result] = value - window if to_space else value + window

    return Step(run, uses=(slot,), defines=(result,))


def is_space(scope: Scope, instruction: Instruction) -> Step:
    target, source = scope.operands(instruction, 2)
    space = instruction.opcode[1]
    slot = scope.source(instruction, source, "u64")
    result = scope.destination(instruction, target, "pred")
    shift = np.uint64(WINDOW_BITS)
    if space in WINDOWS:
        window = WINDOWS[space]

        in_block = space in {"shared", "shared::cta"}

        def run(f: Fragment) -> None:
            address = f.registers[slot]
            inside = address >> shift == window
            if in_block and rank_field(address).any():
                inside = inside & (ranks_of(f, address) == ranks_of(f, np.zeros(1, np.uint64)))
            f.registers[result] = inside

        return Step(run, uses=(slot,), defines=(result,))
    if space not in {"global", "const", "param"}:
        scope.fail(instruction, "unknown state space")

    def run_global(f: Fragment) -> None:
        allocations = f.batch.memory.allocations
        windows, inverse = np.unique(f.registers[slot] >> shift, return_inverse=True)
        found = [allocations.get(w) for w in windows.tolist()]
        inside = [a is not None and a.writable == (space == "global") for a in found]
        f.registers[result] = np.array(inside)[inverse]

    return Step(run_global, uses=(slot,), defines=(result,))


def cluster_address(scope: Scope, instruction: Instruction) -> Step:
    """``mapa``, a shared address in another block of the cluster, and ``getctarank``, the block of an address."""
    target, source = two_operands(scope, instruction)
    kind = instruction.opcode[-1]
    slot = scope.source(instruction, source, kind)
    if instruction.opcode[0] == "getctarank":
        found = scope.destination(instruction, target, "u32")

        def get_rank(f: Fragment) -> None:
            f.registers[found] = ranks_of(f, f.registers[slot])

        return Step(get_rank, uses=(slot,), defines=(found,))
    if len(instruction.operands) != 3:
        scope.fail(instruction, "expected an address and a rank")
    rank = scope.source(instruction, instruction.operands[2], "u32")
    result = scope.destination(instruction, target, kind)
    # A generic address keeps its window.
    window = np.uint64(0xFFFF_FFFF_0000_0000) if instruction.opcode[1] != "shared::cluster" else np.uint64(0)

    def run(f: Fragment) -> None:
        address = f.registers[slot]
        f.registers[result] = mapped(address, f.registers[rank]) | address & address.dtype.type(window)

    return Step(run, uses=(slot, rank), defines=(result,))
