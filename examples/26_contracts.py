"""A dot product whose kernel says what it requires: launches are checked, need no brackets, and run better code."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import kdsl
from kdsl import (
    Ptr,
    atomic,
    block_dim,
    f32,
    f64,
    grid,
    gridsize,
    i32,
    kernel,
    shared,
    static_range,
    sync_threads,
    thread_idx,
)

BLOCK, MOST_BLOCKS, LANES = 256, 64, 4


@kernel(
    # Checked in every launch, and relied on by the compiler: four neighbours are one access of 16 bytes.
    requires=("n % LANES == 0 and n >= 0", "x.size >= n and y.size >= n", "x.ptr % 16 == 0 and y.ptr % 16 == 0"),
    block=BLOCK,  # a constant in the kernel: the loop over `block_dim` below is unrolled
    grid="min(ceil(n / (LANES * BLOCK)), MOST_BLOCKS)",
    restrict=True,
)
def dot(x: Ptr[f32], y: Ptr[f32], total: Ptr[f64], n: i32) -> None:
    partial = f64(0)
    for i in range(grid(1), n // LANES, gridsize(1)):
        for k in static_range(LANES):
            partial += f64(x[LANES * i + k]) * y[LANES * i + k]

    sums = shared.array(BLOCK, f64)
    t = thread_idx.x
    sums[t] = partial
    sync_threads()
    width = block_dim.x // 2
    while width > 0:
        if t < width:
            sums[t] += sums[t + width]
        sync_threads()
        width //= 2
    if t == 0:
        atomic.add(total, 0, sums[0])


def reference(x: NDArray[np.float32], y: NDArray[np.float32]) -> float:
    return float(np.dot(x.astype(np.float64), y.astype(np.float64)))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="the dot product of two vectors")
    parser.add_argument("--n", type=int, default=1 << 22, help="elements, a multiple of 4")
    n = parser.parse_args(argv).n

    # Small whole numbers, whose products and sums are exact in any order.
    rng = np.random.default_rng(26)
    x, y = rng.integers(-8, 9, (2, n)).astype(np.float32)
    expected = reference(x, y)
    device_x, device_y, total = kdsl.to_device(x), kdsl.to_device(y), kdsl.zeros(1, f64)

    dot.launch(device_x, device_y, total, n)
    if total.to_host()[0] != expected:
        print("dot: MISMATCH")
        return 1

    # What breaks the contract is told before anything runs.
    try:
        dot.launch(device_x, device_y, total, n + LANES)
    except kdsl.LaunchContractError as error:
        print(f"refused, as it should be: {error}")
    else:
        print("dot: MISMATCH, a launch past the end of x was not refused")
        return 1
    print(f"dot: {n} products verified")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
