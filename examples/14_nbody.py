"""Gravity between all pairs of bodies: a tile of bodies in shared memory serves every thread of the block."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kdsl import Array, f32, grid, kernel, math, shared, sync_threads, thread_idx

TILE = 128  # bodies of a tile, and threads of a block
SOFTENING = 0.05**2  # added to squared distances: bodies that meet do not fly apart, and none pulls on itself


@kernel
def accelerations(bodies: Array[f32, 2], out: Array[f32, 2]) -> None:
    """Rows of ``bodies`` are x, y, z and mass, and of ``out`` the acceleration along x, y and z."""
    # Why rows of coordinates? Neighbouring threads then read neighbouring addresses.
    tile = shared.array((4, TILE), f32)
    i = grid(1)
    t = thread_idx.x
    n = bodies.shape[1]
    mine = min(i, n - 1)  # threads past the end compute a result that nobody needs: they help to load
    x = bodies[0, mine]
    y = bodies[1, mine]
    z = bodies[2, mine]

    ax = ay = az = 0.0
    for start in range(0, n, TILE):
        for row in range(4):
            tile[row, t] = bodies[row, start + t] if start + t < n else 0.0  # a mass of 0 pulls on nothing
        sync_threads()
        for j in range(TILE):
            dx = tile[0, j] - x
            dy = tile[1, j] - y
            dz = tile[2, j] - z
            inverse = math.rsqrt(dx * dx + dy * dy + dz * dz + SOFTENING)
            pull = tile[3, j] * inverse * inverse * inverse
            ax += pull * dx
            ay += pull * dy
            az += pull * dz
        sync_threads()  # everyone is done with the tile: the next turn overwrites it
    if i < n:
        out[0, i] = ax
        out[1, i] = ay
        out[2, i] = az


def reference(bodies: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The accelerations in f64, and the sums of the absolute values of their terms."""
    position, mass = bodies[:3].astype(np.float64), bodies[3].astype(np.float64)
    difference = position[:, None, :] - position[:, :, None]
    distance = np.sqrt(np.sum(difference**2, axis=0) + SOFTENING)
    terms = mass * difference / distance**3
    return terms.sum(axis=2), np.abs(terms).sum(axis=2)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="gravitational accelerations of n bodies")
    parser.add_argument("--n", type=int, default=1000, help="bodies")
    n = parser.parse_args(argv).n

    bodies = np.random.default_rng(14).random((4, n), np.float32)
    bodies[3] /= n  # a total mass of about 1/2, whatever n is
    out = np.empty((3, n), np.float32)
    accelerations[(n + TILE - 1) // TILE, TILE](bodies, out)

    # In units of 2^-24, half an ulp: up to 20 for a term (its roundings, and rsqrt's error three times), and one for
    # each addition. Relative to the sum of the absolute values, as terms of both signs cancel.
    expected, magnitude = reference(bodies)
    if not np.all(np.abs(out - expected) <= (n + 20) * 2.0**-24 * magnitude):
        print("nbody: MISMATCH")
        return 1
    print(f"nbody: {n} bodies verified")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
