"""Clusters: what the emulator finds wrong with them."""

from __future__ import annotations

import numpy as np
import pytest

from kdsl import (
    LaunchConfig,
    MemoryFault,
    Ptr,
    SynchronizationError,
    atomic,
    cluster_arrive,
    cluster_rank,
    cluster_sync,
    cluster_wait,
    i32,
    kernel,
    map_shared_rank,
    shared,
    sync_threads,
    thread_idx,
)


@kernel
def left(out: Ptr[i32], n: i32):
    s = shared.array(32, i32)
    s[thread_idx.x] = 1
    cluster_sync()
    if cluster_rank() == 1:
        return
    for _ in range(n):  # in which the other block returns
        atomic.add(out, 32, 1)
    out[thread_idx.x] = map_shared_rank(s, 1)[thread_idx.x]


def test_memory_of_a_block_that_has_returned_is_an_error() -> None:
    with pytest.raises(MemoryFault) as caught:
        left[LaunchConfig(2, 32, cluster=2)](np.zeros(33, np.int32), 1000)
    said = "read of 4 bytes of shared memory of block rank 1 of the cluster, all threads of which have exited"
    assert said in str(caught.value)
    assert caught.value.block == (0, 0, 0)


@kernel
def reaching(out: Ptr[i32], rank: i32, index: i32):
    s = shared.array(32, i32)
    s[thread_idx.x] = 1
    cluster_sync()
    out[0] = map_shared_rank(s, rank)[index]
    map_shared_rank(s, rank)[index] = 2
    cluster_sync()


def test_ranks_and_indices_are_checked() -> None:
    run = reaching[LaunchConfig(2, 32, cluster=2)]
    run(np.zeros(1, np.int32), 1, 31)
    with pytest.raises(MemoryFault, match="shared memory of block rank 2, and the cluster has 2 blocks"):
        run(np.zeros(1, np.int32), 2, 0)
    with pytest.raises(MemoryFault, match="shared memory of no block of the cluster, which has 2 blocks"):
        run(np.zeros(1, np.int32), -1, 0)
    with pytest.raises(MemoryFault, match="0 bytes after the end of .* of 128 bytes"):
        run(np.zeros(1, np.int32), 1, 32)
    with pytest.raises(MemoryFault, match="4 bytes before .* of 128 bytes"):
        run(np.zeros(1, np.int32), 1, -1)
    with pytest.raises(MemoryFault, match="block rank 1, and the cluster has 1 block "):
        reaching[2, 32](np.zeros(1, np.int32), 1, 0)


def test_a_debug_build_checks_indices_there_too() -> None:
    with pytest.raises(MemoryFault, match=r"index 40 is outside of axis 0 of `there`, whose extent is 32"):
        indexed[LaunchConfig(2, 32, cluster=2)](np.zeros(1, np.int32), 40)


@kernel(debug=True)
def indexed(out: Ptr[i32], k: i32):
    s = shared.array(32, i32)
    s[thread_idx.x] = 1
    cluster_sync()
    there = map_shared_rank(s, 1 - cluster_rank())
    out[0] = there[k]
    cluster_sync()


@kernel
def unwritten(out: Ptr[i32]):
    s = shared.array(32, i32)
    if cluster_rank() == 0:
        s[thread_idx.x] = 1
    cluster_sync()
    out[thread_idx.x] = map_shared_rank(s, 1)[thread_idx.x]
    cluster_sync()


def test_a_read_of_what_another_block_never_wrote_is_an_error() -> None:
    with pytest.raises(MemoryFault, match="were never written"):
        unwritten[LaunchConfig(2, 32, cluster=2)](np.zeros(32, np.int32))


@kernel
def twice(out: Ptr[i32]):
    cluster_arrive()
    cluster_arrive()


@kernel
def unannounced(out: Ptr[i32]):
    cluster_wait()


def test_a_barrier_that_nobody_can_pass_is_an_error() -> None:
    @kernel
    def mixed(out: Ptr[i32]):
        if thread_idx.x < 32:
            cluster_sync()
        else:
            sync_threads()

    config = LaunchConfig(2, 64, cluster=2)
    with pytest.raises(
        SynchronizationError, match=r"deadlock: threads wait at `barrier.cluster.wait` .*others at `bar.sync 0`"
    ):
        mixed[config](np.zeros(1, np.int32))
    with pytest.raises(SynchronizationError, match="arrives at the cluster's barrier twice without waiting"):
        twice[config](np.zeros(1, np.int32))
    with pytest.raises(SynchronizationError, match="waits at the cluster's barrier without having arrived"):
        unannounced[config](np.zeros(1, np.int32))
