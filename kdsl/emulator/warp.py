"""Warps: waiting until the lanes that a mask names are there, and values taken across a warp."""

from __future__ import annotations

from typing import Any

import numpy as np

from kdsl.backend import SynchronizationError
from kdsl.emulator.code import Gate
from kdsl.emulator.fragment import Fragment, merge
from kdsl.emulator.memory import Array, LaneFault

FULL = 0xFFFFFFFF


def member_gate(mask_slot: int) -> Gate:
    """Lets lanes go on whose mask's lanes have all arrived; the others wait in ``batch.gated``."""

    def gate(f: Fragment) -> Fragment | None:
        if f.lazy:
            f.force((mask_slot,))
        mask = f.registers[mask_slot]
        if f.count == f.batch.size and mask.shape[0] == 1 and mask[0] == FULL:
            return f
        return gather_members(f, mask_slot)

    return gate


def gather_members(f: Fragment, mask_slot: int) -> Fragment | None:
    batch = f.batch
    other = batch.gated.pop(f.key, None)
    if other is not None:
        f = merge([other, f])
        f.force((mask_slot,))
    ready = ready_lanes(f, f.registers[mask_slot])
    count = np.count_nonzero(ready)
    if count == f.count:
        return f
    if count == 0:
        batch.gated[f.key] = f
        return None
    waiting = f.child(np.flatnonzero(~ready), f.pc)
    batch.gated[waiting.key] = waiting
    return f.child(np.flatnonzero(ready), f.pc)


def ready_lanes(f: Fragment, mask: Array) -> Array:
    """Which lanes have all the lanes of their mask beside them, with the same mask."""
    batch = f.batch
    bit = f.of_lanes("lane bit", batch.lane_bit)
    outside = mask & bit == 0
    if outside.any():
        position = int(np.flatnonzero(outside)[0])
        named, lane = int(mask[position if mask.shape[0] > 1 else 0]), int(f.lanes[position])
        raise LaneFault(SynchronizationError, f"this lane is not in its own member mask {named:#010x}", position, lane)
    warp = f.of_lanes("warp", batch.warp_of_lane)
    exited = batch.exited_in_warp(warp)
    if exited is not None and (mask & exited).any():
        position = int(np.flatnonzero(mask & exited)[0])
        named = int(mask[position if mask.shape[0] > 1 else 0])
        gone = (named & int(exited[position])).bit_length() - 1
        why = f"member mask {named:#010x} names lane {gone}, which has exited"
        raise LaneFault(SynchronizationError, why, position, int(f.lanes[position]))
    wanted = mask & batch.existing_in_warp[warp]
    if mask.shape[0] == 1:
        complete: Array = wanted & ~present(f) == 0
        return complete
    _, inverse = np.unique(warp.astype(np.uint64) << np.uint64(32) | mask, return_inverse=True)
    together = np.zeros(int(inverse.max()) + 1, np.uint32)
    np.bitwise_or.at(together, inverse, bit)
    same: Array = together[inverse] == wanted
    return same


def warp_starts(f: Fragment) -> Array:
    """Positions where a new warp begins; lanes are in order, so a warp's lanes are neighbours."""
    starts = f.cache.get("warp starts")
    if starts is None:
        warp = f.of_lanes("warp", f.batch.warp_of_lane)
        starts = f.cache["warp starts"] = np.flatnonzero(np.concatenate(([True], warp[1:] != warp[:-1])))
    return starts


def spread(f: Fragment, per_warp: Array) -> Array:
    """A value of each warp to its lanes; one element when all warps agree."""
    if (per_warp == per_warp[0]).all():
        return per_warp[:1].copy()
    starts = warp_starts(f)
    return np.repeat(per_warp, np.diff(np.append(starts, f.count)))


def whole_warps(f: Fragment) -> bool:
    return f.count == f.batch.size and f.batch.threads % 32 == 0


def present(f: Fragment) -> Array:
    """For each lane (or all), the lanes of its warp that run with it."""
    found = f.cache.get("present")
    if found is None:
        bit = f.of_lanes("lane bit", f.batch.lane_bit)
        found = f.cache["present"] = spread(f, np.bitwise_or.reduceat(bit, warp_starts(f)))
    return found


def ballot(f: Fragment, predicate: Array) -> Array:
    """For each lane (or all), the lanes of its warp whose predicate holds."""
    if predicate.shape[0] == 1:
        return present(f) if predicate[0] else np.zeros(1, np.uint32)
    if whole_warps(f):
        packed = np.packbits(np.ascontiguousarray(predicate), bitorder="little").view(np.uint32)
        return spread(f, packed)
    bit = f.of_lanes("lane bit", f.batch.lane_bit)
    return spread(f, np.bitwise_or.reduceat(np.where(predicate, bit, np.uint32(0)), warp_starts(f)))


def positions_of(f: Fragment, source_lane: Array) -> tuple[Array, Array | None]:
    """The position in ``f`` of another lane of each lane's warp, and which of these lanes are there (None: all)."""
    batch = f.batch
    lane = f.of_lanes("lane", batch.lane_index).astype(np.int64)
    source = f.lanes + (source_lane - lane)
    if whole_warps(f):
        return source, None
    inside = (source >= 0) & (source < batch.size)
    source = np.where(inside, source, 0)
    rank = np.full(batch.size, -1, np.int64)
    rank[f.lanes] = np.arange(f.count)
    found = rank[source]
    warp = batch.warp_of_lane
    there = inside & (found >= 0) & (warp[source] == f.of_lanes("warp", warp))
    return (found, None) if there.all() else (np.where(there, found, 0), there)


def reduce_members(f: Fragment, mask: Array, value: Array, ufunc: Any) -> Array:
    """``ufunc`` over the values of the lanes that share a warp and a mask."""
    wide = np.ascontiguousarray(np.broadcast_to(value, (f.count,)))
    if mask.shape[0] == 1:
        return spread(f, ufunc.reduceat(wide, warp_starts(f), dtype=wide.dtype))
    warp = f.of_lanes("warp", f.batch.warp_of_lane)
    _, inverse = np.unique(warp.astype(np.uint64) << np.uint64(32) | mask, return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    groups = inverse[order]
    starts = np.flatnonzero(np.concatenate(([True], groups[1:] != groups[:-1])))
    result: Array = ufunc.reduceat(wide[order], starts, dtype=wide.dtype)[inverse]
    return result


def matching(f: Fragment, value: Array) -> Array:
    """For each lane (or all), the lanes of its warp that hold the same value."""
    if value.shape[0] == 1:
        return present(f)
    bit = f.of_lanes("lane bit", f.batch.lane_bit)
    warp = f.of_lanes("warp", f.batch.warp_of_lane)
    order = np.lexsort((value, warp))
    same_warp = warp[order][1:] == warp[order][:-1]
    same_value = value[order][1:] == value[order][:-1]
    first = np.concatenate(([True], ~(same_warp & same_value)))
    masks = np.bitwise_or.reduceat(bit[order], np.flatnonzero(first))
    result = np.empty(f.count, np.uint32)
    result[order] = masks[np.cumsum(first) - 1]
    return result
