"""Matrix transpose through a shared tile, so that reads and writes both go along rows of memory."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kdsl import Array, block_idx, f32, kernel, shared, sync_threads, thread_idx

TILE = 32
ROWS = 8  # rows of threads in a block: each thread moves TILE / ROWS = 4 elements


@kernel
def transpose(source: Array[f32, 2], destination: Array[f32, 2]) -> None:
    # Why 33 columns? Shared memory has 32 banks; with 32 columns a column of the tile would lie in one bank, and the
    # reads below would be served one after the other.
    tile = shared.array((TILE, TILE + 1), f32)
    height = source.shape[0]
    width = source.shape[1]

    x = block_idx.x * TILE + thread_idx.x
    y = block_idx.y * TILE + thread_idx.y
    for j in range(0, TILE, ROWS):
        if x < width and y + j < height:
            tile[thread_idx.y + j, thread_idx.x] = source[y + j, x]
    sync_threads()

    # The block moves to the mirrored place; within it the threads stay in order, and the tile is read sideways.
    x = block_idx.y * TILE + thread_idx.x
    y = block_idx.x * TILE + thread_idx.y
    for j in range(0, TILE, ROWS):
        if x < height and y + j < width:
            destination[y + j, x] = tile[thread_idx.x, thread_idx.y + j]


def reference(source: NDArray[np.float32]) -> NDArray[np.float32]:
    return source.T


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="transpose of a matrix")
    parser.add_argument("--height", type=int, default=1000)
    parser.add_argument("--width", type=int, default=500)
    size = parser.parse_args(argv)

    source = np.arange(size.height * size.width, dtype=np.float32).reshape(size.height, size.width)
    destination = np.zeros((size.width, size.height), np.float32)

    grid = ((size.width + TILE - 1) // TILE, (size.height + TILE - 1) // TILE)
    transpose[grid, (TILE, ROWS)](source, destination)

    if not np.array_equal(destination, reference(source)):
        print("transpose: MISMATCH")
        return 1
    print(f"transpose: {size.height} x {size.width} verified")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
