"""Sum of an array in three levels: a thread's own elements, a warp by shuffles, a block through shared memory."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import kdsl
from kdsl import (
    FULL_MASK,
    Ptr,
    block_dim,
    block_idx,
    f32,
    grid,
    gridsize,
    i32,
    kernel,
    shared,
    shfl_down_sync,
    sync_threads,
    thread_idx,
    warp_size,
)


def warp_sum(value: f32) -> f32:
    """The sum over a warp, in lane 0. A plain function: kernels that call it compile it as a device function."""
    for distance in (16, 8, 4, 2, 1):  # over a tuple: unrolled
        value += shfl_down_sync(FULL_MASK, value, distance)
    return value


@kernel
def block_sums(x: Ptr[f32], sums: Ptr[f32], n: i32) -> None:
    partial = shared.array(32, f32)  # one slot a warp; no block has more than 32 warps
    lane = thread_idx.x % warp_size
    warp = thread_idx.x // warp_size

    total = 0.0
    for i in range(grid(1), n, gridsize(1)):
        total += x[i]

    total = warp_sum(total)
    if lane == 0:
        partial[warp] = total
    sync_threads()

    if warp == 0:  # the first warp adds up what the warps left
        total = partial[lane] if lane < block_dim.x // warp_size else 0.0
        total = warp_sum(total)
        if lane == 0:
            sums[block_idx.x] = total


def reference(x: NDArray[np.float32]) -> float:
    return float(np.sum(x, dtype=np.float64))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="sum of an array")
    parser.add_argument("--n", type=int, default=1 << 20, help="elements")
    parser.add_argument("--blocks", type=int, default=256, help="blocks of 256 threads")
    arguments = parser.parse_args(argv)
    n, blocks, block = arguments.n, arguments.blocks, 256

    x = np.random.default_rng(3).random(n, np.float32)

    sums = kdsl.empty(blocks, np.float32)  # stays on the device: only the next launch reads it
    total = kdsl.empty(1, np.float32)
    # Why twice instead of atomics? The order of the additions is fixed, so every run gives the same bits.
    block_sums[blocks, block](kdsl.to_device(x), sums, n)
    block_sums[1, block](sums, total, blocks)
    result = float(total.to_host()[0])

    # All terms are positive, so the relative error is at most half an ulp (2^-24) for each addition on the longest
    # chain: a thread's own elements and ten shuffle steps, in both launches.
    expected = reference(x)
    chain = n // (blocks * block) + 1 + 10 + blocks // block + 1 + 10
    if not abs(result - expected) <= chain * 2.0**-24 * expected:
        print(f"reduction: got {result}, expected {expected}")
        return 1
    print(f"reduction: the sum of {n} elements is {result:.2f}: verified")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
