"""Named barriers: groups of warps that wait for each other, and producers that wait for nobody."""

from __future__ import annotations

import numpy as np
import pytest

import kdsl
from kdsl import (
    Ptr,
    SynchronizationError,
    Target,
    barrier,
    barrier_arrive,
    block_idx,
    i32,
    kernel,
    shared,
    thread_idx,
    u32,
    warp_id,
)


@kernel
def groups(x: Ptr[i32], rounds: Ptr[i32]):
    """Each group of two warps rotates its own 64 values, as often as is asked of it."""
    room = shared.array((3, 64), i32)
    group, i = thread_idx.x // 64, thread_idx.x % 64
    place = block_idx.x * 192 + thread_idx.x
    value = x[place]
    for _ in range(rounds[group]):
        room[group, i] = value
        barrier(group + 1, 64)
        value = room[group, (i + 1) % 64]
        barrier(group + 1, 64)
    x[place] = value


def test_groups_wait_apart(device: str) -> None:
    x = np.arange(2 * 192, dtype=np.int32)
    groups[2, 192](x, np.array([1, 5, 2], np.int32))
    parts = np.arange(2 * 192).reshape(2, 3, 64)
    expected = np.stack([np.roll(parts[:, g], -n, 1) for g, n in enumerate((1, 5, 2))], 1)
    assert x.tolist() == expected.ravel().tolist()


@kernel
def pipeline(x: Ptr[i32], out: Ptr[i32], tiles: i32):
    """The first warp brings tiles, and waits only for room; the second adds them up."""
    room = shared.array((2, 32), i32)
    lane = thread_idx.x % 32
    if warp_id() == 0:
        for t in range(tiles):
            if t >= 2:
                barrier(3 + t % 2, 64)
            room[t % 2, lane] = x[32 * t + lane]
            barrier_arrive(1 + t % 2, 64)
    else:
        total = 0
        for t in range(tiles):
            barrier(1 + t % 2, 64)
            total += room[t % 2, 31 - lane]
            if t + 2 < tiles:
                barrier_arrive(3 + t % 2, 64)
        out[lane] = total


@pytest.mark.parametrize("tiles", [1, 2, 3, 10])
def test_a_producer_does_not_wait(device: str, tiles: int) -> None:
    x = np.random.default_rng(3).integers(-1000, 1000, (tiles, 32)).astype(np.int32)
    out = np.zeros(32, np.int32)
    pipeline[1, 64](x, out, tiles)
    assert out.tolist() == x[:, ::-1].sum(0).tolist()


@kernel
def chosen(out: Ptr[i32], id: u32, count: u32):
    barrier(id, count)
    barrier_arrive(id, count)
    out[thread_idx.x] = 1


@pytest.mark.parametrize(
    ("id", "count", "why"),
    [(16, 64, "barrier 16 does not exist"), (1, 40, "counts 40 threads"), (1, 0, "counts 0 threads"), (1, 96, "wait")],
)
def test_what_no_barrier_can_do_is_an_error(id: int, count: int, why: str) -> None:
    with pytest.raises(SynchronizationError, match=why):
        chosen[1, 64](np.zeros(64, np.int32), id, count)


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_ptx(arch: str) -> None:
    compilation = kdsl.compile(pipeline, target=Target.parse(arch))
    assert compilation.cubin
    assert compilation.ptx.count("barrier.arrive") >= 2 and compilation.ptx.count("barrier.sync") >= 2
