"""Warp operations (PTX ISA 9.0, 9.7.9.6 and 9.7.14): shfl, vote, match, redux, elect, activemask, bar.warp.sync."""

from __future__ import annotations

from typing import Any

import numpy as np

from kdsl.emulator.code import Op, Step
from kdsl.emulator.decode import Scope, pair
from kdsl.emulator.fragment import Fragment
from kdsl.emulator.memory import Array
from kdsl.emulator.syntax import Instruction, Operand
from kdsl.emulator.warp import ballot, matching, member_gate, positions_of, present, reduce_members


def decode(scope: Scope, instruction: Instruction) -> Step | None:
    match instruction.opcode:
        case ("bar", "warp", "sync"):
            (mask,) = scope.operands(instruction, 1)
            slot = scope.source(instruction, mask, "u32")
            return Step(gate=member_gate(slot), uses=(slot,))
        case ("shfl", "sync", "up" | "down" | "bfly" | "idx" as mode, "b32"):
            return shuffle(scope, instruction, mode)
        case ("vote", "sync", "all" | "any" | "uni" as mode, "pred"):
            return vote(scope, instruction, mode)
        case ("vote", "sync", "ballot", "b32"):
            return vote(scope, instruction, "ballot")
        case ("match", "any" | "all" as mode, "sync", "b32" | "b64" as kind):
            return match_step(scope, instruction, mode, kind)
        case ("redux", "sync", *words):
            return redux(scope, instruction, words)
        case ("elect", "sync"):
            return elect(scope, instruction)
        case ("activemask", "b32"):
            (target,) = scope.operands(instruction, 1)
            result = scope.destination(instruction, target, "b32")
            return Step(active_mask(result), defines=(result,))
    return None


def active_mask(result: int) -> Op:
    def run(f: Fragment) -> None:
        f.registers[result] = present(f)

    return run


def shuffle(scope: Scope, instruction: Instruction, mode: str) -> Step:
    target, *sources = scope.operands(instruction, 5)
    a, b, c, mask = (scope.source(instruction, operand, "b32") for operand in sources)
    first, second = pair(target)
    value_slot = scope.destination(instruction, first, "b32")
    predicate_slot = scope.destination(instruction, second, "pred")

    def run(f: Fragment) -> None:
        r = f.registers
        value = r[a]
        where, there, inside = shuffle_sources(f, mode, r[b], r[c])
        r[predicate_slot] = inside
        found = value if value.shape[0] == 1 else value.take(where)
        # The ISA leaves open what a lane that is not there gives; an H200 gives 0.
        r[value_slot] = found if there is None else np.where(there, found, np.uint32(0))

    return Step(run, gate=member_gate(mask), uses=(a, b, c, mask), defines=(value_slot, predicate_slot))


def shuffle_sources(f: Fragment, mode: str, b: Array, c: Array) -> tuple[Array, Array | None, Array]:
    """The position each lane reads from, whether a lane is there, and whether it is in range; kept for constants."""
    if b.shape[0] > 1 or c.shape[0] > 1:
        return find_sources(f, mode, b, c)
    name = ("shfl", mode, int(b[0]), int(c[0]))
    found = f.shuffles.get(name)
    if found is None:
        found = f.shuffles[name] = find_sources(f, mode, b, c)
    return found


def find_sources(f: Fragment, mode: str, b: Array, c: Array) -> tuple[Array, Array | None, Array]:
    lane = f.of_lanes("lane", f.batch.lane_index).astype(np.int64)
    amount = b.astype(np.int64) & 31
    clamp = c.astype(np.int64) & 31
    segment = c.astype(np.int64) >> 8 & 31
    lowest = lane & segment
    limit = lowest | (clamp & ~segment)
    match mode:
        case "up":
            source = lane - amount
            inside = source >= limit
        case "down":
            source = lane + amount
            inside = source <= limit
        case "bfly":
            source = lane ^ amount
            inside = source <= limit
        case _:
            source = lowest | (amount & ~segment)
            inside = source <= limit
    where, there = positions_of(f, np.where(inside, source, lane))
    return where, there, inside


def masked(scope: Scope, instruction: Instruction, kind: str) -> tuple[Operand, int, int]:
    """The operands ``d, a, membermask``: the destination, and the slots of a value of type ``kind`` and the mask."""
    target, value, mask = scope.operands(instruction, 3)
    return target, scope.source(instruction, value, kind), scope.source(instruction, mask, "b32")


def vote(scope: Scope, instruction: Instruction, mode: str) -> Step:
    target, slot, mask_slot = masked(scope, instruction, "pred")
    result = scope.destination(instruction, target, "b32" if mode == "ballot" else "pred")

    def run(f: Fragment) -> None:
        r = f.registers
        mask = r[mask_slot] & present(f)
        votes = ballot(f, r[slot]) & mask
        if mode == "ballot":
            r[result] = votes
        elif mode == "any":
            r[result] = votes != 0
        elif mode == "all":
            r[result] = votes == mask
        else:
            r[result] = (votes == mask) | (votes == 0)

    return Step(run, gate=member_gate(mask_slot), uses=(slot, mask_slot), defines=(result,))


def match_step(scope: Scope, instruction: Instruction, mode: str, kind: str) -> Step:
    target, slot, mask_slot = masked(scope, instruction, kind)
    first, second = pair(target)
    result = scope.destination(instruction, first, "b32")
    predicate = scope.destination(instruction, second, "pred")

    def run(f: Fragment) -> None:
        r = f.registers
        mask = r[mask_slot] & present(f)
        same = matching(f, r[slot]) & mask
        if mode == "any":
            r[result] = same
            return
        agree = same == mask
        r[predicate] = agree
        r[result] = np.where(agree, mask, np.uint32(0))

    defines = (result,) if mode == "any" else (result, predicate)
    return Step(run, gate=member_gate(mask_slot), uses=(slot, mask_slot), defines=defines)


REDUCTIONS: dict[tuple[str, ...], tuple[Any, str]] = {
    ("add", "u32"): (np.add, "u4"), ("add", "s32"): (np.add, "u4"),
    ("min", "u32"): (np.minimum, "u4"), ("min", "s32"): (np.minimum, "i4"),
    ("max", "u32"): (np.maximum, "u4"), ("max", "s32"): (np.maximum, "i4"),
    ("and", "b32"): (np.bitwise_and, "u4"), ("or", "b32"): (np.bitwise_or, "u4"),
    ("xor", "b32"): (np.bitwise_xor, "u4"),
}  # fmt: skip


def redux(scope: Scope, instruction: Instruction, words: list[str]) -> Step:
    if words[-1] == "f32" and words[0] in {"min", "max"}:
        return redux_float(scope, instruction, words)
    if tuple(words) not in REDUCTIONS:
        scope.fail(instruction, "unknown form of redux")
    ufunc, view = REDUCTIONS[tuple(words)]
    target, slot, mask_slot = masked(scope, instruction, "b32")
    result = scope.destination(instruction, target, "b32")

    def run(f: Fragment) -> None:
        r = f.registers
        r[result] = reduce_members(f, r[mask_slot], r[slot].view(view), ufunc).view(np.uint32)

    return Step(run, gate=member_gate(mask_slot), uses=(slot, mask_slot), defines=(result,))


def redux_float(scope: Scope, instruction: Instruction, words: list[str]) -> Step:
    """``redux.sync.min.abs.NaN.f32``: by order of sign and magnitude, so that -0 is below +0."""
    target, slot, mask_slot = masked(scope, instruction, "f32")
    result = scope.destination(instruction, target, "f32")
    smallest, absolute, keep_nan = words[0] == "min", "abs" in words, "NaN" in words

    def run(f: Fragment) -> None:
        r = f.registers
        bits = r[slot] & np.uint32(0x7FFFFFFF) if absolute else r[slot]
        nan = bits & np.uint32(0x7FFFFFFF) > 0x7F800000
        signed = bits.view(np.int32)
        order = np.where(signed < 0, signed ^ np.int32(0x7FFFFFFF), signed)
        order = np.where(nan, np.int32(0x7FFFFFFF if smallest else -0x80000000), order)
        best = reduce_members(f, r[mask_slot], order, np.minimum if smallest else np.maximum)
        back = np.where(best < 0, best ^ np.int32(0x7FFFFFFF), best).view(np.uint32)
        nans = reduce_members(f, r[mask_slot], nan, np.logical_or if keep_nan else np.logical_and)
        r[result] = np.where(nans, np.uint32(0x7FFFFFFF), back)

    return Step(run, gate=member_gate(mask_slot), uses=(slot, mask_slot), defines=(result,))


def elect(scope: Scope, instruction: Instruction) -> Step:
    """The lowest lane of the mask is the leader."""
    target, mask_operand = scope.operands(instruction, 2)
    mask_slot = scope.source(instruction, mask_operand, "b32")
    first, second = pair(target)
    result = scope.destination(instruction, first, "b32")
    predicate = scope.destination(instruction, second, "pred")

    def run(f: Fragment) -> None:
        r = f.registers
        mask = r[mask_slot] & present(f)
        lowest = mask & (~mask + np.uint32(1))
        bit = f.of_lanes("lane bit", f.batch.lane_bit)
        r[result] = np.bitwise_count(lowest - np.uint32(1)).astype(np.uint32)
        r[predicate] = bit == lowest

    return Step(run, gate=member_gate(mask_slot), uses=(mask_slot,), defines=(result, predicate))
