"""Keep the elements that pass a test, packed: the lanes of a warp share one atomic addition instead of one each."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import kdsl
from kdsl import (
    Ptr,
    active_mask,
    atomic,
    ballot_sync,
    ffs,
    grid,
    gridsize,
    i32,
    kernel,
    lane_id,
    lanemask_lt,
    popc,
    shfl_sync,
    u32,
)


def place_among(votes: u32, mask: u32, counter: Ptr[i32]) -> i32:
    """The caller's place if it is one of `votes`: the counter goes up by the number of votes, once for the warp."""
    leader = ffs(mask) - 1
    first = 0
    if lane_id() == leader:
        first = atomic.add(counter, 0, popc(votes))
    first = shfl_sync(mask, first, u32(leader))  # what the leader was given, for all
    return first + popc(votes & lanemask_lt())


@kernel
def keep_above(x: Ptr[i32], out: Ptr[i32], kept: Ptr[i32], threshold: i32, n: i32) -> None:
    for i in range(grid(1), n, gridsize(1)):
        # Why not FULL_MASK? In the last turn some lanes have left the loop. A mask of those that are here is right
        # however the warp has split: each part then adds for itself.
        mask = active_mask()
        value = x[i]
        passes = value > threshold
        votes = ballot_sync(mask, passes)
        if votes != 0:  # the same for all lanes of the mask
            place = place_among(votes, mask, kept)
            if passes:
                out[place] = value


def reference(x: NDArray[np.int32], threshold: int) -> NDArray[np.int32]:
    return np.sort(x[x > threshold])


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="stream compaction with an atomic for each warp")
    parser.add_argument("--n", type=int, default=1 << 18, help="elements")
    parser.add_argument("--blocks", type=int, default=64, help="blocks of 256 threads")
    arguments = parser.parse_args(argv)
    n, threshold = arguments.n, 250

    x = np.random.default_rng(19).integers(-1000, 1000, n, np.int32)
    out, kept = kdsl.empty(n, np.int32), kdsl.zeros(1, np.int32)
    keep_above[arguments.blocks, 256](kdsl.to_device(x), out, kept, threshold, n)

    # The warps come in any order, so the two are compared as sets with multiplicity.
    count = int(kept.to_host()[0])
    if not np.array_equal(np.sort(out.to_host()[:count]), reference(x, threshold)):
        print("warp_aggregated_atomics: MISMATCH")
        return 1
    print(f"warp_aggregated_atomics: {count} of {n} elements kept: verified")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
