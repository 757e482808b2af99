"""What the threads of a cluster of blocks do together, as functions of the kernel language.

Each block does its part, and gives its total to the others through its shared memory. SHARED is written before the
first barrier of the cluster, and read by other blocks between the two: so nobody has left or gone on to the next call.
"""

# mypy: disable-error-code="type-var"

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from kdsl.groups import block
from kdsl.groups.scratch import SHARED, TOTAL, collect, collect_from, deposit
from kdsl.lang.cluster import cluster_rank, cluster_size, cluster_sync
from kdsl.lang.type_names import i32

V = TypeVar("V")
Combine = Callable[[V, V], V]


def rank() -> i32:
    return cluster_rank() * block.size() + block.rank()


def size() -> i32:
    return cluster_size() * block.size()


def wait() -> None:
    cluster_sync()


def _of_blocks(value: V, count: i32, combine: Combine[V]) -> V:
    """What the first ``count`` blocks, at least one, have in SHARED, combined in their order."""
    value = collect_from(SHARED, 0, value, 0)
    for number in range(1, count):
        value = combine(value, collect_from(SHARED, 0, value, number))
    return value


def across(value: V, combine: Combine[V]) -> V:
    """The values of all blocks combined, where ``value`` is the block's."""
    if block.rank() == 0:
        deposit(SHARED, 0, value)
    cluster_sync()
    if block.rank() == 0:
        deposit(TOTAL, 0, _of_blocks(value, cluster_size(), combine))
    cluster_sync()
    return collect(TOTAL, 0, value)


def before(total: V, combine: Combine[V]) -> V:
    """The values of the blocks before this one combined; ``total`` is the last thread's. Of the first any value."""
    if block.rank() == block.size() - 1:
        deposit(SHARED, 0, total)
    cluster_sync()
    if block.rank() == 0 and cluster_rank() > 0:
        deposit(TOTAL, 0, _of_blocks(total, cluster_rank(), combine))
    cluster_sync()
    if cluster_rank() > 0:
        total = collect(TOTAL, 0, total)
    return total


def inclusive_scan(value: V, combine: Combine[V]) -> V:
    value = block.inclusive_scan(value, combine)
    preceding = before(value, combine)
    if cluster_rank() > 0:
        value = combine(preceding, value)
    return value


def exclusive_scan(value: V, combine: Combine[V]) -> V:
    """Of all ranks but the first, whose result is any value."""
    below = block.exclusive_scan(value, combine)
    first = block.rank() == 0
    if not first:
        value = combine(below, value)
    preceding = before(value, combine)
    if cluster_rank() > 0:
        if first:
            below = preceding
        else:
            below = combine(preceding, below)
    return below


def broadcast(value: V, src: i32) -> V:
    if rank() == src:
        deposit(SHARED, 0, value)
    cluster_sync()
    value = collect_from(SHARED, 0, value, src // block.size())
    cluster_sync()
    return value
