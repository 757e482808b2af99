"""Softmax of each row: a warp for each row, whose lanes read four elements at once and exchange what they find."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kdsl import Array, f32x4, grid, groups, kernel

WARP, BLOCK = 32, 128  # four warps, so four rows


@kernel
def softmax(x: Array[f32x4, 2], out: Array[f32x4, 2]) -> None:
    warp = groups.tile(WARP)
    row = grid(1) // WARP
    columns = x.shape[1]  # of four elements each: one load or store of 16 bytes
    if row < x.shape[0]:  # the same for all lanes of a warp, which reduce together
        largest = -math.inf
        for column in range(warp.rank, columns, WARP):
            v = x[row, column]
            largest = max(largest, v.x, v.y, v.z, v.w)
        largest = warp.reduce(largest, "max")

        # Why subtract the largest? It cancels in the quotient, and no exponential overflows.
        total = 0.0
        for column in range(warp.rank, columns, WARP):
            v = x[row, column] - largest
            power = f32x4(math.exp(v.x), math.exp(v.y), math.exp(v.z), math.exp(v.w))
            out[row, column] = power  # read again below by the lane that wrote it, so no barrier is needed
            total += power.x + power.y + power.z + power.w
        scale = 1.0 / warp.reduce(total, "add")
        for column in range(warp.rank, columns, WARP):
            out[row, column] *= scale


def reference(x: NDArray[np.float32]) -> NDArray[np.float64]:
    power: NDArray[np.float64] = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    total: NDArray[np.float64] = power.sum(axis=1, keepdims=True)
    return power / total


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="softmax of the rows of a matrix")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--columns", type=int, default=300)
    size = parser.parse_args(argv)

    # Rows at very different heights: softmax is the same for all of them, exp itself would overflow.
    rng = np.random.default_rng(20)
    heights = rng.uniform(-500, 500, (size.rows, 1))
    x = (rng.uniform(-8, 8, (size.rows, size.columns)) + heights).astype(np.float32)
    # Rows of whole vectors: what fills them up, minus infinity, is neither the largest nor part of a sum.
    padded = np.pad(x, ((0, 0), (0, -size.columns % 4)), constant_values=-np.inf)
    vectors = padded.reshape(size.rows, -1, 4)
    powers = np.empty_like(vectors)
    softmax[(32 * size.rows + BLOCK - 1) // BLOCK, BLOCK](vectors, powers)
    out = powers.reshape(padded.shape)[:, : size.columns]

    # Relative: the difference to the largest is at most 16, so its rounding is 2^-21 of the power, and exp's 2 ulps are
    # 2^-22; both occur above and below the line. Each step of the sum's chain, the quotient and the product add 2^-24:
    # four for each vector of a lane.
    expected = reference(x)
    bound = 2 * (2.0**-21 + 2.0**-22) + (4 * (size.columns // 128 + 1) + 5 + 2) * 2.0**-24
    if not np.all(np.abs(out - expected) <= bound * expected):
        print("softmax: MISMATCH")
        return 1
    print(f"softmax: {size.rows} rows of {size.columns} elements verified")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
