"""Where a thread is in the whole grid, as functions of the kernel language."""

from __future__ import annotations

from kdsl.groups import block
from kdsl.lang.index import block_idx, grid_dim
from kdsl.lang.types import i64


def rank() -> i64:
    y = block_idx.y + i64(grid_dim.y) * block_idx.z
    return (block_idx.x + grid_dim.x * y) * block.size() + block.rank()


def size() -> i64:
    return i64(grid_dim.x) * grid_dim.y * grid_dim.z * block.size()
