"""What the lanes of a warp do together, as functions of the kernel language.

Reductions combine neighbours: ((v0 v1) (v2 v3)) ((v4 v5) v6). Scans combine each value with the one 1, 2, 4, 8 and 16
ranks below. ``mask`` names the lanes; ``size`` is a constant, of the tile.
"""

# mypy: disable-error-code="type-var"

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from kdsl.lang.collective import match_all_sync, match_any_sync
from kdsl.lang.index import lane_id, lanemask_gt, lanemask_lt
from kdsl.lang.math import clz, ffs, popc
from kdsl.lang.static import static_range
from kdsl.lang.synchronization import FULL_MASK, sync_warp
from kdsl.lang.type_names import Constexpr, i32, u32
from kdsl.lang.warp import all_sync, any_sync, ballot_sync, shfl_down_sync, shfl_sync, shfl_up_sync, shfl_xor_sync

V = TypeVar("V")
Combine = Callable[[V, V], V]


def tile_mask(size: Constexpr[int]) -> u32:
    return FULL_MASK if size == 32 else u32((1 << size) - 1) << (lane_id() & (32 - size))


def tile_rank(size: Constexpr[int]) -> i32:
    return lane_id() & (size - 1)


def rank(mask: u32) -> i32:
    return popc(mask & lanemask_lt())


def size(mask: u32) -> i32:
    return popc(mask)


def reduce_by(value: V, mask: u32, reduction: Callable[[int, V], V]) -> V:
    """By one instruction."""
    return reduction(mask, value)


def nth_lane(mask: u32, n: i32) -> i32:
    """The lane of rank ``n``: where the n-th bit from below, of those that are set, is."""
    lane = 0
    for width in (16, 8, 4, 2, 1):
        below = popc((mask >> lane) & ((1 << width) - 1))
        if n >= below:
            n -= below
            lane += width
    return lane


def exchange(value: V, mask: u32, size: Constexpr[int], combine: Combine[V]) -> V:
    """The tile's values combined, in every lane. Only where the order of the two operands does not matter."""
    for step in static_range(5):
        if 1 << step < size:
            value = combine(value, shfl_xor_sync(mask, value, 1 << step))
    return value


def fold(value: V, mask: u32, size: Constexpr[int], combine: Combine[V]) -> V:
    """The tile's values combined in the order of their ranks, in every lane."""
    for step in static_range(5):
        if 1 << step < size:
            value = combine(value, shfl_down_sync(mask, value, 1 << step, size))
    return shfl_sync(mask, value, 0, size)


def fold_first(value: V, count: i32, combine: Combine[V]) -> V:
    """The values of a warp's first ``count`` lanes combined in their order, in lane 0."""
    lane = lane_id()
    for step in static_range(5):
        other = shfl_down_sync(FULL_MASK, value, 1 << step)
        if lane + (1 << step) < count:
            value = combine(value, other)
    return value


def scan(value: V, rank: i32, mask: u32, size: Constexpr[int], combine: Combine[V]) -> V:
    """The values of the tile's ranks up to the lane's own, combined."""
    for step in static_range(5):
        if 1 << step < size:
            other = shfl_up_sync(mask, value, 1 << step, size)
            if rank >= 1 << step:
                value = combine(other, value)
    return value


def fold_scattered(value: V, mask: u32, combine: Combine[V]) -> V:
    """The values of the lanes of ``mask`` combined in their order, in every one."""
    lane = lane_id()
    # The lane 1, 2, 4, 8 and 16 ranks above; -1 where there is none.
    following = ffs(mask & lanemask_gt()) - 1
    for _ in static_range(5):
        source = lane if following < 0 else following
        other = shfl_sync(mask, value, source)
        further = shfl_sync(mask, following, source)
        if following >= 0:
            value = combine(value, other)
            following = further
    return shfl_sync(mask, value, ffs(mask) - 1)


def scan_scattered(value: V, mask: u32, combine: Combine[V]) -> V:
    """The values of the lanes of ``mask`` up to the lane's own, combined."""
    lane = lane_id()
    preceding = 31 - clz(mask & lanemask_lt())
    for _ in static_range(5):
        source = lane if preceding < 0 else preceding
        other = shfl_sync(mask, value, source)
        further = shfl_sync(mask, preceding, source)
        if preceding >= 0:
            value = combine(other, value)
            preceding = further
    return value


def below(value: V, mask: u32, size: Constexpr[int]) -> V:
    """The value one rank below in the tile."""
    return shfl_up_sync(mask, value, 1, size)


def below_scattered(value: V, mask: u32) -> V:
    preceding = 31 - clz(mask & lanemask_lt())
    return shfl_sync(mask, value, lane_id() if preceding < 0 else preceding)


def from_first(value: V, leads: bool, first: V) -> V:
    """``first`` for rank 0, and ``value`` for the others."""
    if leads:
        value = first
    return value


def behind(value: V, leads: bool, init: V, combine: Combine[V]) -> V:
    """``init`` for rank 0, and ``init`` combined with ``value`` for the others."""
    if leads:
        value = init
    else:
        value = combine(init, value)
    return value


def shfl(value: V, mask: u32, src: i32, size: Constexpr[int]) -> V:
    return shfl_sync(mask, value, src, size)


def shfl_up(value: V, mask: u32, delta: i32, size: Constexpr[int]) -> V:
    return shfl_up_sync(mask, value, delta, size)


def shfl_down(value: V, mask: u32, delta: i32, size: Constexpr[int]) -> V:
    return shfl_down_sync(mask, value, delta, size)


def shfl_xor(value: V, mask: u32, lane_mask: i32, size: Constexpr[int]) -> V:
    return shfl_xor_sync(mask, value, lane_mask, size)


def shfl_scattered(value: V, mask: u32, src: i32) -> V:
    is_there = src >= 0 and src < popc(mask)
    return shfl_sync(mask, value, nth_lane(mask, src) if is_there else lane_id())


def shfl_up_scattered(value: V, mask: u32, delta: i32) -> V:
    return shfl_scattered(value, mask, rank(mask) - delta)


def shfl_down_scattered(value: V, mask: u32, delta: i32) -> V:
    return shfl_scattered(value, mask, rank(mask) + delta)


def first(value: V, mask: u32) -> V:
    """The value of rank 0."""
    return shfl_sync(mask, value, ffs(mask) - 1)


def any_(mask: u32, predicate: bool) -> bool:
    return any_sync(mask, predicate)


def all_(mask: u32, predicate: bool) -> bool:
    return all_sync(mask, predicate)


def ballot(mask: u32, predicate: bool, size: Constexpr[int]) -> u32:
    return ballot_sync(mask, predicate) >> (lane_id() & (32 - size))


def match_any(mask: u32, value: V, size: Constexpr[int]) -> u32:
    return match_any_sync(mask, value) >> (lane_id() & (32 - size))


def match_all(mask: u32, value: V) -> bool:
    return match_all_sync(mask, value)[1]


def labelled(mask: u32, label: V) -> u32:
    return match_any_sync(mask, label)


def wait(mask: u32) -> None:
    sync_warp(mask)


def packed(lanes: u32, mask: u32) -> u32:
    """The bits of lanes that ``mask`` names, each at its rank."""
    ranks = u32(0)
    while lanes != 0:
        lowest = ffs(lanes) - 1
        ranks |= u32(1) << popc(mask & ((u32(1) << lowest) - 1))
        lanes &= lanes - 1
    return ranks


def ballot_packed(mask: u32, predicate: bool) -> u32:
    return packed(ballot_sync(mask, predicate), mask)


def match_any_packed(mask: u32, value: V) -> u32:
    return packed(match_any_sync(mask, value), mask)


def split(mask: u32, predicate: bool) -> u32:
    """The lanes of ``mask`` whose ``predicate`` is the lane's own."""
    those = ballot_sync(mask, predicate)
    return those if predicate else mask & ~those
