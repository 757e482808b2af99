"""y = a * x + y with a grid-stride loop: the number of threads no longer follows the number of elements."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kdsl import Ptr, f32, grid, gridsize, i32, kernel


@kernel
def saxpy(a: f32, x: Ptr[f32], y: Ptr[f32], n: i32) -> None:
    # Thread t takes elements t, t + T, t + 2T, ... of T threads, so neighbours still read neighbouring addresses,
    # and any grid is right for any n.
    for i in range(grid(1), n, gridsize(1)):
        y[i] = a * x[i] + y[i]


def reference(a: float, x: NDArray[np.float32], y: NDArray[np.float32]) -> NDArray[np.float32]:
    return (a * x.astype(np.float64) + y).astype(np.float32)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="y = a * x + y")
    parser.add_argument("--n", type=int, default=1 << 20, help="elements")
    parser.add_argument("--blocks", type=int, default=512, help="blocks of 256 threads")
    arguments = parser.parse_args(argv)
    n = arguments.n

    rng = np.random.default_rng(2)
    a = 2.5
    x = rng.standard_normal(n, np.float32)
    y = rng.standard_normal(n, np.float32)
    expected = reference(a, x, y)

    saxpy[arguments.blocks, 256](a, x, y, n)

    # Why one ulp? The kernel's multiply and add are one fma, rounded once; the reference rounds to f64, then to f32.
    if not np.all(np.abs(y - expected) <= np.spacing(np.abs(expected))):
        print("saxpy: MISMATCH")
        return 1
    print(f"saxpy: {n} elements on {arguments.blocks * 256} threads verified")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
