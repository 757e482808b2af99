"""Sparse matrix times vector: compressed rows, a warp for each row, so that its lanes read neighbouring elements."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kdsl import FULL_MASK, Ptr, f32, grid, i32, kernel, lane_id, shfl_down_sync, warp_size

BLOCK = 128  # four warps, so four rows


def warp_sum(value: f32) -> f32:
    """The sum over a warp, in lane 0."""
    for distance in (16, 8, 4, 2, 1):
        value += shfl_down_sync(FULL_MASK, value, distance)
    return value


@kernel
def spmv(starts: Ptr[i32], columns: Ptr[i32], values: Ptr[f32], x: Ptr[f32], y: Ptr[f32], rows: i32) -> None:
    # Row r has the elements starts[r] to starts[r + 1]. Why not a thread for each row? Its neighbours would read
    # other rows, far away, and the longest row of a warp would hold up 31 lanes.
    row = grid(1) // warp_size
    if row < rows:  # the same for all lanes of a warp: the shuffles find every lane
        total = 0.0
        for k in range(starts[row] + lane_id(), starts[row + 1], warp_size):
            total += values[k] * x[columns[k]]
        total = warp_sum(total)
        if lane_id() == 0:
            y[row] = total


def reference(
    lengths: NDArray[np.int64], columns: NDArray[np.int32], values: NDArray[np.float32], x: NDArray[np.float32]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The product in f64, and the sums of the absolute values of its terms."""
    rows = np.repeat(np.arange(len(lengths)), lengths)
    terms = values.astype(np.float64) * x[columns]
    product, magnitude = np.zeros((2, len(lengths)))
    np.add.at(product, rows, terms)
    np.add.at(magnitude, rows, np.abs(terms))
    return product, magnitude


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="y = A @ x with a sparse A")
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--columns", type=int, default=2000)
    parser.add_argument("--longest", type=int, default=100, help="elements of the longest rows")
    size = parser.parse_args(argv)

    rng = np.random.default_rng(16)
    lengths = rng.integers(0, size.longest + 1, size.rows)  # some rows are empty, and their result is 0
    starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    columns = rng.integers(0, size.columns, starts[-1], np.int32)
    values = rng.standard_normal(starts[-1], np.float32)
    x = rng.standard_normal(size.columns, np.float32)
    y = np.empty(size.rows, np.float32)
    spmv[(32 * size.rows + BLOCK - 1) // BLOCK, BLOCK](starts, columns, values, x, y, size.rows)

    # Half an ulp (2^-24) for each step of the longest chain: a lane's own elements, then five additions.
    expected, magnitude = reference(lengths, columns, values, x)
    if not np.all(np.abs(y - expected) <= (size.longest // 32 + 1 + 5) * 2.0**-24 * magnitude):
        print("spmv_csr: MISMATCH")
        return 1
    print(f"spmv_csr: {size.rows} rows, {starts[-1]} elements verified")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
