"""Vector addition, one thread per element: indices, the guard, and a launch on NumPy arrays."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kdsl import Ptr, block_dim, block_idx, f32, i32, kernel, thread_idx


@kernel
def vadd(a: Ptr[f32], b: Ptr[f32], c: Ptr[f32], n: i32) -> None:
    i = block_idx.x * block_dim.x + thread_idx.x
    if i < n:
        c[i] = a[i] + b[i]


def reference(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32]:
    return a + b


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="c = a + b")
    parser.add_argument("--n", type=int, default=1 << 20, help="elements")
    n = parser.parse_args(argv).n

    a = np.linspace(-1, 1, n, dtype=np.float32)
    b = np.sin(a)
    c = np.empty_like(a)

    block = 256
    grid = (n + block - 1) // block  # rounded up: why the kernel asks `i < n`
    vadd[grid, block](a, b, c, n)  # returns with the result in `c`, because `c` lives on the host

    # Exact: one addition of two f32 is rounded the same way on every device.
    if not np.array_equal(c, reference(a, b)):
        print("vadd: MISMATCH")
        return 1
    print(f"vadd: {n} elements verified")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
