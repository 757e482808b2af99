"""How often each byte occurs: atomics in shared memory first, one atomic per block and bin in global memory last."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import kdsl
from kdsl import Ptr, atomic, block_dim, grid, gridsize, i32, kernel, shared, sync_threads, thread_idx, u8

BINS = 256


@kernel
def histogram(data: Ptr[u8], bins: Ptr[i32], n: i32) -> None:
    # Why shared? Threads of one block then collide only with each other, and close to the core; the busy bins of
    # global memory see one addition per block instead of one per byte.
    counts = shared.array(BINS, i32)
    for b in range(thread_idx.x, BINS, block_dim.x):
        counts[b] = 0
    sync_threads()

    for i in range(grid(1), n, gridsize(1)):
        atomic.add(counts, data[i], 1)
    sync_threads()

    for b in range(thread_idx.x, BINS, block_dim.x):
        atomic.add(bins, b, counts[b])


def reference(data: NDArray[np.uint8]) -> NDArray[np.int64]:
    return np.bincount(data, minlength=BINS)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="histogram of bytes")
    parser.add_argument("--n", type=int, default=1 << 20, help="bytes")
    parser.add_argument("--blocks", type=int, default=64, help="blocks of 256 threads")
    arguments = parser.parse_args(argv)

    # Bytes around 128, so that some bins are busy and some stay empty.
    normal = np.random.default_rng(5).normal(128, 30, arguments.n)
    data = np.clip(normal, 0, 255).astype(np.uint8)

    bins = kdsl.zeros(BINS, np.int32)
    histogram[arguments.blocks, 256](data, bins, arguments.n)

    # Exact: additions of integers commute, whichever thread comes first.
    if not np.array_equal(bins.to_host(), reference(data)):
        print("histogram: MISMATCH")
        return 1
    print(f"histogram: {arguments.n} bytes in {BINS} bins verified")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
