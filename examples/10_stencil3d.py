"""One step of heat flow in a cube: a 7-point stencil on three-dimensional arrays, one thread per point."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kdsl import Array, f32, grid, kernel

FLOW = 0.125  # what flows to each neighbour; up to 1/6 the step is stable


@kernel
def heat(u: Array[f32, 3], out: Array[f32, 3]) -> None:
    x, y, z = grid(3)  # x is the fastest index of memory, so it is the last one of the array
    depth = u.shape[0]
    height = u.shape[1]
    width = u.shape[2]
    if 0 < x < width - 1 and 0 < y < height - 1 and 0 < z < depth - 1:
        centre = u[z, y, x]
        around = u[z, y, x - 1] + u[z, y, x + 1] + u[z, y - 1, x] + u[z, y + 1, x] + u[z - 1, y, x] + u[z + 1, y, x]
        out[z, y, x] = centre + FLOW * (around - 6.0 * centre)


def reference(u: NDArray[np.float32]) -> NDArray[np.float32]:
    """In f64 by slices; the faces of the cube keep their values."""
    v = u.astype(np.float64)
    out = v.copy()
    centre = v[1:-1, 1:-1, 1:-1]
    around = v[:-2, 1:-1, 1:-1] + v[2:, 1:-1, 1:-1] + v[1:-1, :-2, 1:-1] + v[1:-1, 2:, 1:-1]
    around += v[1:-1, 1:-1, :-2] + v[1:-1, 1:-1, 2:]
    out[1:-1, 1:-1, 1:-1] = (1 - 6 * FLOW) * centre + FLOW * around
    return out.astype(np.float32)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="7-point stencil")
    parser.add_argument("--n", type=int, default=64, help="points along the longest side")
    n = parser.parse_args(argv).n

    shape = (n * 3 // 4, n // 2 + 1, n)  # three different extents, or a swap of two would go unseen
    u = np.random.default_rng(7).random(shape, np.float32)
    out = u.copy()  # the kernel writes the inside only

    depth, height, width = shape
    # Why 32 along x? The lanes of a warp then read one row, in one piece.
    heat[((width + 31) // 32, (height + 3) // 4, (depth + 1) // 2), (32, 4, 2)](u, out)

    # Sums of up to six values below 1, times 1/8: six roundings of at most half an ulp of 4, and smaller ones.
    if not np.all(np.abs(out - reference(u)) <= 2.0**-20):
        print("stencil3d: MISMATCH")
        return 1
    print(f"stencil3d: {depth} x {height} x {width} points verified")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
