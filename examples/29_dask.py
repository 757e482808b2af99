"""A histogram of a long sequence, on every GPU of a cluster: Dask brings the work to the workers, each has a device.

The sequence is computed where it is counted, so that only the counts travel. Needs dask[distributed]; the cluster here
is one of local processes, one for each GPU (or emulator), and a client of another cluster would do as well.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import kdsl
from kdsl import Ptr, atomic, grid, gridsize, i32, kernel, shared, sync_threads, thread_idx, u32

try:
    import distributed
except ImportError:
    distributed = None

BINS = 256
THREADS = 256


def mixed(x: u32) -> u32:
    """A number whose bits look random: each of the argument's bits changes half of them."""
    x ^= x >> 16
    x *= u32(0x7FEB352D)
    x ^= x >> 15
    x *= u32(0x846CA68B)
    return x ^ (x >> 16)


@kernel
def histogram(first: u32, n: i32, counts: Ptr[i32]) -> None:
    """Count the top bytes of the sequence from ``first`` on."""
    mine = shared.array(BINS, i32)
    t = thread_idx.x
    mine[t] = 0
    sync_threads()
    for i in range(grid(1), n, gridsize(1)):
        atomic.add(mine, mixed(first + u32(i)) >> 24, 1)
    sync_threads()
    atomic.add(counts, t, mine[t])


def counted(count: Any, first: int, n: int, blocks: int) -> NDArray[np.int32]:
    """What a worker does with a part of the sequence. ``count`` is the kernel, as it came to the worker."""
    devices = kdsl.devices()
    # A worker that sees one GPU (CUDA_VISIBLE_DEVICES) takes it; where all see all of them, each takes its own.
    mine = devices[int(distributed.get_worker().name) % len(devices)]
    counts = kdsl.zeros(BINS, i32, device=mine)
    count[blocks, THREADS](first, n, counts)
    return counts.to_host()


def reference(n: int) -> NDArray[np.int64]:
    """The histogram of the whole sequence."""
    counts = np.zeros(BINS, np.int64)
    for first in range(0, n, 1 << 20):
        x = np.arange(first, min(first + (1 << 20), n), dtype=np.uint32)
        x ^= x >> 16
        x *= np.uint32(0x7FEB352D)
        x ^= x >> 15
        x *= np.uint32(0x846CA68B)
        x ^= x >> 16
        counts += np.bincount(x >> 24, minlength=BINS)
    return counts


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=1 << 24, help="numbers in the sequence")
    parser.add_argument("--parts", type=int, default=64, help="tasks that the sequence is cut into")
    parser.add_argument("--blocks", type=int, default=528)
    parser.add_argument("--workers", type=int, default=0, help="as many as there are GPUs, and two emulators")
    arguments = parser.parse_args(argv)
    if distributed is None:
        print("this example needs Dask, which is not installed: pip install 'dask[distributed]'")
        return 0

    device = kdsl.current_device()
    workers = arguments.workers or (len(kdsl.devices()) if device.name == "cuda" else 2)
    n, size = arguments.n, -(-arguments.n // arguments.parts)
    with (
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        # Workers choose for themselves, and this is the one place that could tell them to use the emulator.
        client.run(kdsl.set_device, device.name)
        parts = [
            client.submit(counted, histogram, first, min(size, n - first), arguments.blocks, pure=False)
            for first in range(0, n, size)
        ]
        counts = sum(client.gather(parts), np.zeros(BINS, np.int64))
    right = np.array_equal(counts, reference(n))
    print(
        f"histogram of {n} numbers in {len(parts)} parts, {workers} workers with a {device.name} device: "
        f"{'verified' if right else 'WRONG'}"
    )
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
