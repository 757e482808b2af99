"""Matrix multiplication with tiles in shared memory: each element read from memory is used TILE times.

Any sizes: tiles that hang over an edge are filled up with zeros, which add nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kdsl import Array, block_idx, f32, kernel, shared, sync_threads, thread_idx

TILE = 16


@kernel
def matmul(a: Array[f32, 2], b: Array[f32, 2], c: Array[f32, 2]) -> None:
    tile_a = shared.array((TILE, TILE), f32)
    tile_b = shared.array((TILE, TILE), f32)
    tx = thread_idx.x
    ty = thread_idx.y
    row = block_idx.y * TILE + ty
    column = block_idx.x * TILE + tx
    rows = a.shape[0]
    inner = a.shape[1]
    columns = b.shape[1]

    total = 0.0
    for start in range(0, inner, TILE):
        # Threads outside of `c` load too (zeros): every thread of the block has to reach the barriers.
        tile_a[ty, tx] = a[row, start + tx] if row < rows and start + tx < inner else 0.0
        tile_b[ty, tx] = b[start + ty, column] if start + ty < inner and column < columns else 0.0
        sync_threads()  # the tiles are full
        for k in range(TILE):
            total += tile_a[ty, k] * tile_b[k, tx]
        sync_threads()  # everyone is done with the tiles: the next turn overwrites them
    if row < rows and column < columns:
        c[row, column] = total


def reference(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float64]:
    return a.astype(np.float64) @ b.astype(np.float64)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="c = a @ b")
    parser.add_argument("--m", type=int, default=150, help="rows of a and c")
    parser.add_argument("--n", type=int, default=100, help="columns of b and c")
    parser.add_argument("--k", type=int, default=75, help="columns of a, rows of b")
    size = parser.parse_args(argv)

    rng = np.random.default_rng(4)
    a = rng.random((size.m, size.k), np.float32)
    b = rng.random((size.k, size.n), np.float32)
    c = np.empty((size.m, size.n), np.float32)

    grid = ((size.n + TILE - 1) // TILE, (size.m + TILE - 1) // TILE)
    matmul[grid, (TILE, TILE)](a, b, c)

    # A chain of k fused multiply-adds of positive numbers: at most half an ulp (2^-24) each.
    expected = reference(a, b)
    if not np.all(np.abs(c - expected) <= size.k * 2.0**-24 * expected):
        print("matmul: MISMATCH")
        return 1
    print(f"matmul: {size.m} x {size.k} times {size.k} x {size.n} verified")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
