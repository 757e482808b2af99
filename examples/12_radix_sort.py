"""Stable sort of pairs by key, four bits a pass: count the digits, scan the counts, move each pair to its place."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import kdsl
from kdsl import (
    FULL_MASK,
    Ptr,
    atomic,
    block_idx,
    grid,
    grid_dim,
    i32,
    kernel,
    lanemask_lt,
    match_any_sync,
    popc,
    shared,
    shfl_up_sync,
    sync_threads,
    thread_idx,
    u32,
    warp_size,
)

BLOCK = 256  # keys of a block, one for each thread
WARPS = BLOCK // 32
BITS = 4
RADIX = 1 << BITS


def digit_of(key: u32, shift: i32) -> i32:
    return i32(key >> shift & RADIX - 1)


@kernel
def count_digits(keys: Ptr[u32], counts: Ptr[i32], shift: i32, n: i32) -> None:
    bins = shared.array(RADIX, i32)
    t = thread_idx.x
    if t < RADIX:
        bins[t] = 0
    sync_threads()
    i = grid(1)
    if i < n:
        atomic.add(bins, digit_of(keys[i], shift), 1)
    sync_threads()
    # Why digit by digit, and block by block within? In this order the places come that the sorted keys have.
    if t < RADIX:
        counts[t * grid_dim.x + block_idx.x] = bins[t]


@kernel
def scan_counts(counts: Ptr[i32], n: i32) -> None:
    """Replace each count by the sum of those before it. One block: there are few counts."""
    warp_totals = shared.array(WARPS, i32)
    t = thread_idx.x
    lane = t % warp_size
    warp = t // warp_size

    # A thread adds up a run of neighbours, so that only one number a thread has to be scanned.
    run = (n + BLOCK - 1) // BLOCK
    total = 0
    for i in range(t * run, min((t + 1) * run, n)):
        total += counts[i]

    inclusive = total
    for distance in (1, 2, 4, 8, 16):
        below = shfl_up_sync(FULL_MASK, inclusive, distance)
        if lane >= distance:
            inclusive += below
    if lane == 31:
        warp_totals[warp] = inclusive
    sync_threads()

    before = inclusive - total
    for w in range(warp):
        before += warp_totals[w]
    for i in range(t * run, min((t + 1) * run, n)):
        count = counts[i]
        counts[i] = before
        before += count


@kernel
def move(
    keys: Ptr[u32], values: Ptr[i32], keys_out: Ptr[u32], values_out: Ptr[i32], offsets: Ptr[i32], shift: i32, n: i32
) -> None:
    ranks = shared.array((WARPS, RADIX), i32)
    t = thread_idx.x
    warp = t // warp_size
    if t < RADIX:
        for w in range(WARPS):
            ranks[w, t] = 0
    sync_threads()

    i = grid(1)
    # Past the end: a digit that no key has. These threads too have to come to the match and the barriers.
    digit = digit_of(keys[i], shift) if i < n else RADIX
    peers = match_any_sync(FULL_MASK, digit)
    rank = popc(peers & lanemask_lt())  # how many lanes before this one have the same digit
    if rank == 0 and i < n:
        ranks[warp, digit] = popc(peers)
    sync_threads()

    if t < RADIX:  # from the counts of the warps to the ranks of their first keys
        total = 0
        for w in range(WARPS):
            count = ranks[w, t]
            ranks[w, t] = total
            total += count
    sync_threads()

    if i < n:
        place = offsets[digit * grid_dim.x + block_idx.x] + ranks[warp, digit] + rank
        keys_out[place] = keys[i]
        values_out[place] = values[i]


def reference(keys: NDArray[np.uint32]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """The sorted keys, and where each came from."""
    return np.sort(keys), np.argsort(keys, kind="stable")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="stable radix sort of 32-bit keys with values")
    parser.add_argument("--n", type=int, default=1 << 16, help="pairs")
    n = parser.parse_args(argv).n

    # Half of the keys occur several times: their values tell whether equal keys keep their order.
    rng = np.random.default_rng(12)
    keys = np.where(rng.random(n) < 0.5, rng.integers(0, 100, n), rng.integers(0, 1 << 32, n)).astype(np.uint32)

    blocks = (n + BLOCK - 1) // BLOCK
    counts = kdsl.empty(RADIX * blocks, np.int32)
    source = kdsl.to_device(keys), kdsl.to_device(np.arange(n, dtype=np.int32))
    target = kdsl.empty(n, np.uint32), kdsl.empty(n, np.int32)
    # From the lowest digit up: each pass keeps the order of equal digits, and so what the passes before have sorted.
    for shift in range(0, 32, BITS):
        count_digits[blocks, BLOCK](source[0], counts, shift, n)
        scan_counts[1, BLOCK](counts, RADIX * blocks)
        move[blocks, BLOCK](*source, *target, counts, shift, n)
        source, target = target, source

    sorted_keys, order = reference(keys)
    if not (np.array_equal(source[0].to_host(), sorted_keys) and np.array_equal(source[1].to_host(), order)):
        print("radix_sort: MISMATCH")
        return 1
    print(f"radix_sort: {n} pairs in {32 // BITS} passes verified")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
