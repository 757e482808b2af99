"""What all threads of the grid do together through global memory, as functions of the kernel language.

Each block does its part, and gives its total to the others in ``workspace``, an element a block, which is written
before the first barrier of the grid and read between the two.
"""

# mypy: disable-error-code="type-var, operator"

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from kdsl.groups import block
from kdsl.lang.index import block_idx, grid_dim
from kdsl.lang.type_names import Ptr, i32, i64
from kdsl.lang.whole_grid import grid_sync

V = TypeVar("V")
R = TypeVar("R")
Combine = Callable[[V, V], V]


UNKNOWN = -1
"""The ``room`` of a pointer, whose memory nobody knows."""


def blocks() -> i32:
    return grid_dim.x * grid_dim.y * grid_dim.z


def number() -> i32:
    """Of the block."""
    return block_idx.x + grid_dim.x * (block_idx.y + grid_dim.y * block_idx.z)


def rank() -> i64:
    return i64(number()) * block.size() + block.rank()


def size() -> i64:
    return i64(blocks()) * block.size()


def wait() -> None:
    grid_sync()


def _require(room: R) -> None:
    """``room`` is how many elements the workspace has."""
    if room != UNKNOWN:
        assert room >= blocks(), "the workspace of a grid has an element for each block"


def _of_blocks(value: V, count: i32, combine: Combine[V], workspace: Ptr[V]) -> V:
    """The first ``count`` elements of ``workspace``, at least one, combined in their order, for every thread."""
    each = (count + block.size() - 1) // block.size()
    threads = (count + each - 1) // each
    if block.rank() < threads:
        first = block.rank() * each
        value = workspace[first]
        for i in range(first + 1, min(first + each, count)):
            value = combine(value, workspace[i])
    return block.reduce_some(value, threads, combine)


def across(value: V, combine: Combine[V], workspace: Ptr[V], room: R) -> V:
    """The values of all blocks combined, where ``value`` is the block's."""
    _require(room)
    if block.rank() == 0:
        workspace[number()] = value
    grid_sync()
    value = _of_blocks(value, blocks(), combine, workspace)
    grid_sync()
    return value


def before(total: V, combine: Combine[V], workspace: Ptr[V], room: R) -> V:
    """The values of the blocks before this one combined; ``total`` is the last thread's. Of the first any value."""
    _require(room)
    if block.rank() == block.size() - 1:
        workspace[number()] = total
    grid_sync()
    if number() > 0:
        total = _of_blocks(total, number(), combine, workspace)
    grid_sync()
    return total


def inclusive_scan(value: V, combine: Combine[V], workspace: Ptr[V], room: R) -> V:
    value = block.inclusive_scan(value, combine)
    preceding = before(value, combine, workspace, room)
    if number() > 0:
        value = combine(preceding, value)
    return value


def exclusive_scan(value: V, combine: Combine[V], workspace: Ptr[V], room: R) -> V:
    """Of all ranks but the first, whose result is any value."""
    below = block.exclusive_scan(value, combine)
    first = block.rank() == 0
    if not first:
        value = combine(below, value)
    preceding = before(value, combine, workspace, room)
    if number() > 0:
        if first:
            below = preceding
        else:
            below = combine(preceding, below)
    return below


def broadcast(value: V, src: i64, workspace: Ptr[V], room: R) -> V:
    _require(room)
    if rank() == src:
        workspace[0] = value
    grid_sync()
    value = workspace[0]
    grid_sync()
    return value
