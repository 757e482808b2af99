"""Layer normalisation: each row is moved to mean 0 and scaled to variance 1, read in vectors of four elements."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kdsl import Array, f32, f32x4, grid, groups, kernel, math

WARP, BLOCK = 32, 128  # four warps, so four rows
EPSILON = 1e-5  # added to the variance: a row of equal elements becomes zeros, not NaN


def lane_sum(v: f32x4) -> f32:
    total: f32 = (v.x + v.y) + (v.z + v.w)
    return total


@kernel
def layer_norm(x: Array[f32x4, 2], weight: Array[f32x4, 1], bias: Array[f32x4, 1], out: Array[f32x4, 2]) -> None:
    warp = groups.tile(WARP)
    row = grid(1) // WARP
    columns = x.shape[1]  # of four elements each: one load or store of 16 bytes
    if row < x.shape[0]:  # the same for all lanes of a warp, which add together
        total = 0.0
        for column in range(warp.rank, columns, WARP):
            total += lane_sum(x[row, column])
        mean = warp.reduce(total, "add") / (4 * columns)

        # Why not the mean of the squares, in the same loop? Of a row far from 0 it would leave rounding errors alone.
        total = 0.0
        for column in range(warp.rank, columns, WARP):
            difference = x[row, column] - mean
            total += lane_sum(difference * difference)
        scale = math.rsqrt(warp.reduce(total, "add") / (4 * columns) + EPSILON)

        for column in range(warp.rank, columns, WARP):
            out[row, column] = (x[row, column] - mean) * scale * weight[column] + bias[column]


def reference(
    x: NDArray[np.float32], weight: NDArray[np.float32], bias: NDArray[np.float32]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The result in f64, and the standard deviation of each row."""
    wide = x.astype(np.float64)
    deviation: NDArray[np.float64] = np.sqrt(wide.var(axis=1, keepdims=True) + EPSILON)
    return (wide - wide.mean(axis=1, keepdims=True)) / deviation * weight + bias, deviation


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="layer normalisation of the rows of a matrix")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--vectors", type=int, default=96, help="vectors of four elements in a row")
    size = parser.parse_args(argv)

    # Rows far from 0, and of different widths.
    rng = np.random.default_rng(24)
    columns = 4 * size.vectors
    centre, width = rng.uniform(-9, 9, (size.rows, 1)), rng.uniform(1, 8, (size.rows, 1))
    x = (centre + width * rng.standard_normal((size.rows, columns))).astype(np.float32)
    weight, bias = rng.uniform(-2, 2, (2, columns)).astype(np.float32)
    out = np.empty_like(x)

    def vectors(a: NDArray[np.float32]) -> NDArray[np.float32]:
        """A view of the same memory, four elements each."""
        return a.reshape(*a.shape[:-1], -1, 4)

    grid_size = (32 * size.rows + BLOCK - 1) // BLOCK
    layer_norm[grid_size, BLOCK](vectors(x), vectors(weight), vectors(bias), vectors(out))

    # In units of 2^-24, half an ulp. The mean errs by a chain of so many additions of elements up to `largest`, which
    # the deviation divides; so does the rounding of each difference. The scale errs by that many relative to itself.
    expected, deviation = reference(x, weight, bias)
    chain = 3 * (size.vectors // 32 + 1) + 5 + 6
    largest = np.abs(x).max(axis=1, keepdims=True)
    bound = 2.0**-24 * chain * (2 * np.abs(weight) * largest / deviation + np.abs(expected) + np.abs(bias))
    if not np.all(np.abs(out - expected) <= bound):
        print("layer_norm: MISMATCH")
        return 1
    print(f"layer_norm: {size.rows} rows of {columns} elements verified")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
