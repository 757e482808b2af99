"""The nearest neighbour of every point in its group: tiles of points travel around the ring of a cluster's blocks.

Needs sm_90: each block writes into the shared memory of the next one.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import kdsl
from kdsl import (
    Ptr,
    Target,
    block_idx,
    cluster_rank,
    cluster_size,
    cluster_sync,
    grid,
    i32,
    i32x2,
    kernel,
    map_shared_rank,
    shared,
    thread_idx,
)

BLOCKS, THREADS = 4, 128
GROUP = BLOCKS * THREADS
FAR = 2**31 - 1


@kernel(cluster=BLOCKS)
def nearest(points: Ptr[i32x2], distance: Ptr[i32], n: i32) -> None:
    """`distance[i]` is the squared distance from point i to the nearest other one of its group of GROUP points."""
    tiles = shared.array((2, THREADS), i32x2)
    i = grid(1)
    t = thread_idx.x
    own = points[min(i, n - 1)]
    tiles[0, t] = own
    next_tiles = map_shared_rank(tiles, (cluster_rank() + 1) % cluster_size())
    best = FAR
    # Every block has begun, and has its own tile.
    cluster_sync()
    for step in range(BLOCKS):
        here = step % 2
        # The tile goes on while it is used here. It lands in the buffer that the next block has done with.
        if step + 1 < BLOCKS:
            next_tiles[1 - here, t] = tiles[here, t]
        # The block that the tile came from.
        origin = (cluster_rank() + BLOCKS - step) % BLOCKS
        first = (block_idx.x - cluster_rank() + origin) * THREADS
        for k in range(min(THREADS, n - first)):
            dx = tiles[here, k].x - own.x
            dy = tiles[here, k].y - own.y
            if first + k != i:
                best = min(best, dx * dx + dy * dy)
        # Also for the last step: a block stays until nobody needs its shared memory.
        cluster_sync()
    if i < n:
        distance[i] = best


def reference(points: NDArray[np.int32]) -> NDArray[np.int32]:
    distance = np.empty(len(points), np.int32)
    for start in range(0, len(points), GROUP):
        group = points[start : start + GROUP].astype(np.int64)
        square = ((group[:, None] - group[None]) ** 2).sum(2)
        np.fill_diagonal(square, FAR)
        distance[start : start + GROUP] = square.min(1)
    return distance


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="nearest neighbours in groups, by a ring of blocks")
    parser.add_argument("--n", type=int, default=4000, help="points")
    n = parser.parse_args(argv).n
    target = kdsl.current_device().target
    if Target.parse(target).sm < 90:
        print(f"cluster_ring: clusters of blocks need sm_90 or newer, and this is {target}")
        return 1

    points = np.random.default_rng(23).integers(-10_000, 10_000, (n, 2), np.int32)
    distance = np.zeros(n, np.int32)
    # The grid is a multiple of the cluster.
    blocks = (n + GROUP - 1) // GROUP * BLOCKS
    nearest[blocks, THREADS](points, distance, n)

    if not np.array_equal(distance, reference(points)):
        print("cluster_ring: MISMATCH")
        return 1
    print(f"cluster_ring: {n} points in groups of {GROUP}: verified")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
