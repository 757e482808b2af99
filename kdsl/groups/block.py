"""What the threads of a block do together through shared memory, as functions of the kernel language.

Each warp combines its values, and the first warp what those gave. Why are two barriers enough, for calls that follow
each other, too? PARTIAL is written before the first barrier and read between the two; TOTAL is written between them and
read behind the second. So the next call writes neither while a thread of this one may still read it.
"""

# mypy: disable-error-code="type-var"

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from kdsl.groups.lanes import fold_first, scan
from kdsl.groups.scratch import PARTIAL, TOTAL, collect, deposit
from kdsl.lang.index import block_dim, lane_id, thread_idx
from kdsl.lang.synchronization import FULL_MASK, sync_threads
from kdsl.lang.type_names import i32
from kdsl.lang.warp import shfl_up_sync

V = TypeVar("V")
Combine = Callable[[V, V], V]
Reduction = Callable[[int, V], V]


def rank() -> i32:
    return thread_idx.x + block_dim.x * (thread_idx.y + block_dim.y * thread_idx.z)


def size() -> i32:
    return block_dim.x * block_dim.y * block_dim.z


def tiles(size_of_one: i32) -> i32:
    return (size() + size_of_one - 1) // size_of_one


def tile_number(size_of_one: i32) -> i32:
    return rank() // size_of_one


def wait() -> None:
    sync_threads()


def reduce(value: V, combine: Combine[V]) -> V:
    """All values combined in the order of their ranks."""
    return reduce_some(value, size(), combine)


def reduce_some(value: V, count: i32, combine: Combine[V]) -> V:
    """The values of the first ``count`` threads, at least one, combined in their order, for all threads."""
    warp, warps = rank() // 32, (count + 31) // 32
    value = fold_first(value, count - 32 * warp, combine)
    if lane_id() == 0:
        deposit(PARTIAL, warp, value)
    sync_threads()
    if warp == 0:
        if lane_id() < warps:
            value = collect(PARTIAL, lane_id(), value)
        value = fold_first(value, warps, combine)
        if lane_id() == 0:
            deposit(TOTAL, 0, value)
    sync_threads()
    return collect(TOTAL, 0, value)


def reduce_by(value: V, identity: V, reduction: Reduction[V]) -> V:
    """All values reduced by an instruction that does so for a warp, and passes over lanes that are not there."""
    warp = rank() // 32
    value = reduction(FULL_MASK, value)
    if lane_id() == 0:
        deposit(PARTIAL, warp, value)
    sync_threads()
    if warp == 0:
        value = identity
        if lane_id() < tiles(32):
            value = collect(PARTIAL, lane_id(), value)
        value = reduction(FULL_MASK, value)
        if lane_id() == 0:
            deposit(TOTAL, 0, value)
    sync_threads()
    return collect(TOTAL, 0, value)


def _scan_warps(value: V, warp: i32, combine: Combine[V]) -> None:
    """Put what the warps up to each one give, where ``value`` is the last lane's, into TOTAL."""
    if lane_id() == 31 or rank() == size() - 1:
        deposit(PARTIAL, warp, value)
    sync_threads()
    if warp == 0:
        if lane_id() < tiles(32):
            value = collect(PARTIAL, lane_id(), value)
        value = scan(value, lane_id(), FULL_MASK, 32, combine)
        if lane_id() < tiles(32):
            deposit(TOTAL, lane_id(), value)
    sync_threads()


def inclusive_scan(value: V, combine: Combine[V]) -> V:
    warp = rank() // 32
    value = scan(value, lane_id(), FULL_MASK, 32, combine)
    _scan_warps(value, warp, combine)
    if warp > 0:
        value = combine(collect(TOTAL, warp - 1, value), value)
    return value


def exclusive_scan(value: V, combine: Combine[V]) -> V:
    """Of all ranks but the first, whose result is its own value."""
    warp, lane = rank() // 32, lane_id()
    value = scan(value, lane, FULL_MASK, 32, combine)
    _scan_warps(value, warp, combine)
    value = shfl_up_sync(FULL_MASK, value, 1)
    if warp > 0:
        before = collect(TOTAL, warp - 1, value)
        if lane == 0:
            value = before
        else:
            value = combine(before, value)
    return value


def broadcast(value: V, src: i32) -> V:
    # Why a barrier first? TOTAL may still be read by a thread that is behind.
    sync_threads()
    if rank() == src:
        deposit(TOTAL, 0, value)
    sync_threads()
    return collect(TOTAL, 0, value)
