"""Pi from random points: the generator has no state, so every thread makes its own numbers, equal on all devices."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import kdsl
from kdsl import FULL_MASK, Ptr, atomic, f32, grid, gridsize, i32, kernel, lane_id, reduce_add_sync, u32, u64, unroll
from kdsl.random import philox4x32, uniform


def inside(x: f32, y: f32) -> i32:
    """1 if the point lies in the quarter of the unit circle, else 0."""
    return 1 if x * x + y * y < 1.0 else 0


# Why fmad=False? At the circle's edge the last bit decides. Rounded as NumPy rounds, both count the same points.
@kernel(fmad=False)
def count_inside(hits: Ptr[u64], seed: u32, pairs: i32) -> None:
    count = 0
    for i in unroll(range(grid(1), pairs, gridsize(1)), 4):
        # The counter is the pair's own number: no two threads draw the same, however many threads there are.
        a, b, c, d = philox4x32((u32(i), 0, 0, 0), (seed, 0))
        count += inside(uniform(a), uniform(b)) + inside(uniform(c), uniform(d))
    count = reduce_add_sync(FULL_MASK, count)
    if lane_id() == 0:
        atomic.add(hits, 0, u64(count))


def reference(seed: int, pairs: int) -> NDArray[np.int64]:
    """The number of points inside, with Philox4x32-10 as its paper writes it, on 64-bit integers."""
    low = np.uint64(0xFFFF_FFFF)
    half = np.uint64(32)
    words = [np.arange(pairs, dtype=np.uint64), *np.zeros((3, pairs), np.uint64)]
    for step in range(10):
        first = words[0] * np.uint64(0xD251_1F53)
        second = words[2] * np.uint64(0xCD9E_8D57)
        keys = [np.uint64((seed + step * 0x9E37_79B9) % 2**32), np.uint64(step * 0xBB67_AE85 % 2**32)]
        words = [second >> half ^ words[1] ^ keys[0], second & low, first >> half ^ words[3] ^ keys[1], first & low]
    a, b, c, d = ((word >> np.uint64(8)).astype(np.float32) / np.float32(2**24) for word in words)
    return np.array(np.count_nonzero(a * a + b * b < 1) + np.count_nonzero(c * c + d * d < 1))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="pi by the Monte Carlo method")
    parser.add_argument("--pairs", type=int, default=1 << 18, help="pairs of points: four random words make two points")
    parser.add_argument("--blocks", type=int, default=64, help="blocks of 256 threads")
    arguments = parser.parse_args(argv)
    seed, pairs = 2024, arguments.pairs

    hits = kdsl.zeros(1, np.uint64)
    count_inside[arguments.blocks, 256](hits, seed, pairs)
    count, points = int(hits.to_host()[0]), 2 * pairs
    estimate = 4 * count / points

    # The count is exact. The estimate is a mean of 0s and 4s: beyond five standard deviations, once in 1.7 million.
    deviation = math.sqrt(math.pi * (4 - math.pi) / points)
    if count != reference(seed, pairs) or abs(estimate - math.pi) > 5 * deviation:
        print(f"monte_carlo_pi: MISMATCH, {count} points inside")
        return 1
    print(f"monte_carlo_pi: {estimate:.5f} from {points} points, +- {deviation:.5f}: verified")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
