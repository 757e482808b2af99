"""How a kernel that was built ahead of time is launched: grid, block, stream and shared memory, checked."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from kdsl.runtime.standalone.streams import handle_of

MOST_THREADS = 1024
MOST_OF_BLOCK = (1024, 1024, 64)
MOST_OF_GRID = (2**31 - 1, 65535, 65535)
"""On every architecture so far (CUDA C++ Programming Guide, compute capabilities)."""
MOST_ALONG_AXIS = 2**31 - 1
"""Threads: kernels are compiled for indexes of 32 bits."""


def extents(what: str, value: Any) -> tuple[int, int, int]:
    """Three positive extents from an int or up to three of them."""
    given = value if isinstance(value, tuple | list) else (value,)
    if any(isinstance(extent, bool) or not hasattr(type(extent), "__index__") for extent in given):
        raise TypeError(f"{what} = {value!r} takes 1 to 3 ints")
    found = [operator.index(extent) for extent in given]
    if not 1 <= len(found) <= 3 or min(found) < 1:
        raise ValueError(f"{what} = {value!r} takes 1 to 3 numbers of at least 1")
    x, y, z = found + [1] * (3 - len(found))
    return x, y, z


def check_limits(grid: Sequence[int], block: Sequence[int]) -> None:
    """ValueError for what no device launches, or no kernel is compiled for."""
    if block[0] * block[1] * block[2] > MOST_THREADS:
        raise ValueError(f"block = {block} has more than {MOST_THREADS} threads")
    for axis in range(3):
        if block[axis] > MOST_OF_BLOCK[axis] or grid[axis] > MOST_OF_GRID[axis]:
            raise ValueError(f"grid = {grid}, block = {block}: at most {MOST_OF_GRID} and {MOST_OF_BLOCK} fit")
        if grid[axis] * block[axis] > MOST_ALONG_AXIS:
            raise ValueError(f"grid = {grid}, block = {block} are more than 2**31 - 1 threads along {'xyz'[axis]}")


def shared_bytes(value: Any) -> int:
    """Bytes of dynamic shared memory."""
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        raise TypeError(f"shared takes a number of bytes, got {value!r}")
    count = operator.index(value)
    if not 0 <= count < 2**31:
        raise ValueError(f"shared = {count} is no number of bytes that a block has")
    return count


def stream_handle(stream: Any) -> int:
    """The handle in a stream of another library, or an int; 0 for None."""
    if stream is None:
        return 0
    handle = handle_of(stream)
    if handle is None:
        raise TypeError(f"stream takes a stream, its handle or None, got {stream!r}; shared bytes are the fourth value")
    return handle
