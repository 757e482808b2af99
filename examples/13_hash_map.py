"""A hash map that all threads fill and search at once: open addressing, with one compare-and-swap for each new key."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import kdsl
from kdsl import Ptr, atomic, grid, i32, kernel, u32, u64

EMPTY = 0xFFFF_FFFF_FFFF_FFFF  # would be a pair of the key 0xFFFF_FFFF, which is therefore not used
ABSENT = 0


def first_slot(key: u32, mask: u32) -> u32:
    """Where the search for a key begins: multiplied by 2**32 over the golden ratio, near keys lie far apart."""
    spread = key * 0x9E37_79B1
    return (spread ^ spread >> 15) & mask


def insert(table: Ptr[u64], mask: u32, key: u32, value: u32) -> None:
    """Store the value under the key, or keep the one that is there if it is larger."""
    # Why one word for both? It is written at once: whoever sees the key sees a value, too.
    pair = u64(key) << 32 | value
    slot = first_slot(key, mask)
    while True:
        old = atomic.cas(table, slot, EMPTY, pair)  # of all threads that want this empty slot, one gets it
        if old == EMPTY:
            return
        if old >> 32 == key:
            atomic.max(table, slot, pair)  # the keys are equal, so the values decide
            return
        slot = (slot + 1) & mask


def find(table: Ptr[u64], mask: u32, key: u32) -> u32:
    """The value under the key, or ABSENT. A key never moves, so the search may run beside insertions."""
    slot = first_slot(key, mask)
    while True:
        pair: u64 = atomic.load(table, slot)
        if pair == EMPTY:
            return ABSENT
        if pair >> 32 == key:
            return u32(pair & 0xFFFFFFFF)
        slot = (slot + 1) & mask


@kernel
def insert_and_find(table: Ptr[u64], mask: u32, keys: Ptr[u32], values: Ptr[u32], seen: Ptr[u32], n: i32) -> None:
    i = grid(1)
    if i < n:
        insert(table, mask, keys[i], values[i])
        seen[i] = find(table, mask, keys[i])  # while other threads still insert


@kernel
def find_all(table: Ptr[u64], mask: u32, keys: Ptr[u32], found: Ptr[u32], n: i32) -> None:
    i = grid(1)
    if i < n:
        found[i] = find(table, mask, keys[i])


def reference(keys: NDArray[np.uint32], values: NDArray[np.uint32], queries: NDArray[np.uint32]) -> NDArray[np.uint32]:
    largest: dict[int, int] = {}
    for key, value in zip(keys.tolist(), values.tolist(), strict=True):
        largest[key] = max(value, largest.get(key, value))
    return np.array([largest.get(query, ABSENT) for query in queries.tolist()], np.uint32)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="a concurrent hash map")
    parser.add_argument("--n", type=int, default=1 << 16, help="insertions")
    n = parser.parse_args(argv).n

    rng = np.random.default_rng(13)
    pool = rng.integers(0, 0xFFFF_FFFF, n, np.uint32)
    keys = rng.choice(pool, n)  # many keys come several times, about a third of the pool never
    values = rng.integers(1, 1 << 32, n, np.uint32)

    # A power of two, so that `& mask` takes the remainder; at most half full, so that searches are short.
    capacity = 1 << (2 * n - 1).bit_length()
    table = kdsl.to_device(np.full(capacity, EMPTY, np.uint64))
    seen, found = np.empty(n, np.uint32), np.empty(n, np.uint32)
    blocks = (n + 255) // 256
    insert_and_find[blocks, 256](table, capacity - 1, keys, values, seen, n)
    find_all[blocks, 256](table, capacity - 1, pool, found, n)

    # What a thread finds early is at least what it has inserted itself, and at most what there is in the end.
    early = np.all(values <= seen) and np.all(seen <= reference(keys, values, keys))
    if not (early and np.array_equal(found, reference(keys, values, pool))):
        print("hash_map: MISMATCH")
        return 1
    print(f"hash_map: {n} insertions and {n} searches in {capacity} slots verified")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
