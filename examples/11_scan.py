"""Running sums in one pass over memory: Blelloch's scan within a block, decoupled look-back from block to block."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import kdsl
from kdsl import Array, Ptr, atomic, i32, kernel, shared, sync_threads, thread_idx

BLOCK = 128
TILE = 2 * BLOCK  # elements of a block: two for each thread
EMPTY, SUM, PREFIX = 0, 1, 2  # what a tile has published: nothing, its own sum, the sum of all up to its end


def blelloch(values: Array[i32, 1]) -> i32:
    """Replace each of TILE shared values by the sum of those before it; returns the sum of all.

    Two sweeps over a binary tree of sums that lies in the array itself: 2 * TILE additions in 2 * log2(TILE) steps.
    """
    t = thread_idx.x
    distance = 1
    while distance < TILE:  # upwards: the right child becomes the sum of both
        sync_threads()
        right = (2 * t + 2) * distance - 1
        if right < TILE:
            values[right] += values[right - distance]
        distance *= 2
    sync_threads()
    total: i32 = values[TILE - 1]
    sync_threads()  # everyone has read the total: now the root starts the way down with nothing before it
    if t == 0:
        values[TILE - 1] = 0
    while distance > 1:  # downwards: what is before a node is before its left child; the right one adds the left's sum
        distance //= 2
        sync_threads()
        right = (2 * t + 2) * distance - 1
        if right < TILE:
            left = values[right - distance]
            values[right - distance] = values[right]
            values[right] += left
    sync_threads()
    return total


def look_back(tile: i32, total: i32, status: Ptr[i32], sums: Ptr[i32], prefixes: Ptr[i32]) -> i32:
    """The sum of all tiles before this one, which one thread gathers and then publishes for the tiles after."""
    before = 0
    if tile > 0:
        # Why publish the sum already? The tiles after this one need not wait until it knows what is before it.
        sums[tile] = total
        atomic.store(status, tile, SUM, order="release")  # who sees the flag also sees the sum
        other = tile - 1
        state = EMPTY
        while state != PREFIX:
            state = atomic.load(status, other, order="acquire")
            if state == SUM:
                before += sums[other]
                other -= 1
        before += prefixes[other]  # tile 0 publishes its prefix at once, so every way back ends
    prefixes[tile] = before + total
    atomic.store(status, tile, PREFIX, order="release")
    return before


@kernel
def scan(
    x: Ptr[i32], out: Ptr[i32], ticket: Ptr[i32], status: Ptr[i32], sums: Ptr[i32], prefixes: Ptr[i32], n: i32
) -> None:
    values = shared.array(TILE, i32)
    tile_of_block = shared.array(1, i32)
    before_tile = shared.array(1, i32)
    t = thread_idx.x
    if t == 0:
        # Why not block_idx? Blocks may start in any order. By tickets a tile waits only for tiles that have started.
        tile_of_block[0] = atomic.add(ticket, 0, 1)
    sync_threads()
    tile = tile_of_block[0]

    start = tile * TILE
    for k in range(t, TILE, BLOCK):
        values[k] = x[start + k] if start + k < n else 0
    total = blelloch(values)
    if t == 0:
        before_tile[0] = look_back(tile, total, status, sums, prefixes)
    sync_threads()
    for k in range(t, TILE, BLOCK):
        if start + k < n:
            out[start + k] = before_tile[0] + values[k]


def reference(x: NDArray[np.int32]) -> NDArray[np.int64]:
    return np.cumsum(x, dtype=np.int64) - x


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="exclusive scan: the sum of all elements before each")
    parser.add_argument("--n", type=int, default=1 << 18, help="elements")
    n = parser.parse_args(argv).n

    x = np.random.default_rng(11).integers(-100, 100, n, np.int32)
    out = np.empty_like(x)
    tiles = (n + TILE - 1) // TILE
    ticket, status = kdsl.zeros(1, np.int32), kdsl.zeros(tiles, np.int32)
    sums, prefixes = kdsl.empty(tiles, np.int32), kdsl.empty(tiles, np.int32)
    scan[tiles, BLOCK](x, out, ticket, status, sums, prefixes, n)

    # Exact: additions of integers may be grouped in any way.
    if not np.array_equal(out, reference(x)):
        print("scan: MISMATCH")
        return 1
    print(f"scan: {n} elements in {tiles} tiles verified")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
