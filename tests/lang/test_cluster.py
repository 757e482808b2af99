"""Clusters: where a block is in its cluster, the cluster's barrier, and the shared memory of the other blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import (
    Array,
    LaunchConfig,
    Ptr,
    Target,
    asm,
    atomic,
    block_dim,
    block_idx,
    cluster_arrive,
    cluster_block_idx,
    cluster_dim,
    cluster_grid_dim,
    cluster_idx,
    cluster_rank,
    cluster_size,
    cluster_sync,
    cluster_wait,
    f32,
    f32x4,
    grid_dim,
    i32,
    i64,
    kernel,
    load,
    map_shared_rank,
    shared,
    shared_rank_of,
    store,
    thread_idx,
    u32,
)


def instructions(kernel: Any, *words: str, target: str = "sm_90") -> list[str]:
    """The mnemonics in the PTX that begin with one of ``words``, in their order; ptxas takes the whole."""
    compilation = kdsl.compile(kernel, target=Target.parse(target))
    assert compilation.cubin
    lines = (line.strip().split()[0].rstrip(";") for line in compilation.ptx.splitlines() if line.strip())
    return [line for line in lines if line.startswith(words)]


@kernel
def registers(out: Array[i32, 2]):
    block = block_idx.x + grid_dim.x * (block_idx.y + grid_dim.y * block_idx.z)
    if thread_idx.x == 0:
        out[block, 0], out[block, 1], out[block, 2] = cluster_idx.x, cluster_idx.y, cluster_idx.z
        out[block, 3], out[block, 4], out[block, 5] = cluster_dim.x, cluster_dim.y, cluster_dim.z
        out[block, 6], out[block, 7], out[block, 8] = cluster_block_idx.x, cluster_block_idx.y, cluster_block_idx.z
        out[block, 9], out[block, 10], out[block, 11] = cluster_grid_dim.x, cluster_grid_dim.y, cluster_grid_dim.z
        out[block, 12], out[block, 13] = cluster_rank(), cluster_size()


@pytest.mark.parametrize(
    ("grid", "cluster"),
    [((8, 1, 1), (2, 1, 1)), ((4, 6, 2), (2, 3, 1)), ((4, 4, 4), (2, 2, 2)), ((2, 3, 4), (1, 1, 4)), ((6, 2, 3), None)],
)
def test_where_a_block_is(device: str, grid: tuple[int, int, int], cluster: tuple[int, int, int] | None) -> None:
    out = np.zeros((np.prod(grid), 14), np.int32)
    registers[LaunchConfig(grid, 64, cluster=cluster)](out)
    dim = np.array(cluster or (1, 1, 1))
    z, y, x = np.meshgrid(*(np.arange(n) for n in reversed(grid)), indexing="ij")
    index = np.stack([x, y, z], -1).reshape(-1, 3)
    inside = index % dim
    rank = inside @ [1, dim[0], dim[0] * dim[1]]
    whole = np.broadcast_to
    parts = [index // dim, whole(dim, index.shape), inside, whole(np.array(grid) // dim, index.shape)]
    expected = np.concatenate([*parts, rank[:, None], np.full((len(index), 1), dim.prod())], 1)
    assert out.tolist() == expected.tolist()


@kernel
def ring(x: Ptr[f32], out: Ptr[f32], steps: i32):
    """Each block passes its 96 numbers to the next of its cluster, ``steps`` times, reversed each time."""
    here = shared.array((2, 96), f32)
    i = thread_idx.x
    place = block_idx.x * 96 + i
    here[0, i] = x[place]
    cluster_sync()
    following = map_shared_rank(here, (cluster_rank() + 1) % cluster_size())
    for k in range(steps):
        following[(k + 1) % 2, 95 - i] = here[k % 2, i]
        cluster_sync()
    out[place] = here[steps % 2, i]


@pytest.mark.parametrize(("blocks", "cluster"), [(8, 2), (8, 8), (9, 3), (16, 16), (4, 1)])
def test_blocks_write_into_each_other(device: str, blocks: int, cluster: int) -> None:
    x = np.random.default_rng(2).random(blocks * 96, np.float32)
    for steps in (1, 3, 4):
        out = np.zeros_like(x)
        ring[LaunchConfig(blocks, 96, cluster=cluster)](x, out, steps)
        rows = np.roll(x.reshape(-1, cluster, 96), steps, 1)
        expected = rows[..., ::-1] if steps % 2 else rows
        assert out.tolist() == expected.ravel().tolist()


@kernel(cluster=(4, 1, 1))
def histogram(x: Ptr[u32], counts: Ptr[u32], n: i32):
    """256 bins, 64 of them in each block of a cluster: atomics on the other blocks' shared memory."""
    bins = shared.array(64, u32)
    i = thread_idx.x
    if i < 64:
        bins[i] = 0
    cluster_sync()
    for k in range(block_idx.x * block_dim.x + i, n, grid_dim.x * block_dim.x):
        value = x[k]
        atomic.add(map_shared_rank(bins, value // 64), i64(value % 64), 1)
    cluster_sync()
    if i < 64:
        atomic.add(counts, 64 * cluster_rank() + i, bins[i])


def test_atomics_on_another_blocks_memory(device: str) -> None:
    x = np.random.default_rng(5).integers(0, 256, 5003).astype(np.uint32)
    counts = np.zeros(256, np.uint32)
    histogram[8, 128](x, counts, len(x))
    assert counts.tolist() == np.bincount(x, minlength=256).tolist()
    assert "red.shared::cluster.add.u32" in instructions(histogram, "atom", "red")


@kernel
def own(out: Ptr[i32]):
    s = shared.array(64, i32)
    i = thread_idx.x
    s[i] = 1
    mine = map_shared_rank(s, cluster_rank())
    mine[i] = 5
    out[block_idx.x * 64 + i] = s[i]
    s[i] = 7
    out[block_idx.x * 64 + i] += 10 * mine[i]


def test_a_blocks_own_memory_by_its_rank_is_the_same_memory(device: str) -> None:
    out = np.zeros(256, np.int32)
    own[LaunchConfig(4, 64, cluster=2)](out)
    assert out.tolist() == [75] * 256


@kernel
def forms(x: Ptr[f32x4], out: Ptr[f32x4], ranks: Ptr[u32]):
    """A pointer into dynamic shared memory, vectors, pointer arithmetic, volatile and inline PTX, helper functions."""
    room = shared.dynamic(f32x4)
    i = thread_idx.x
    room[i] = x[block_idx.x * 32 + i]
    cluster_sync()
    there = map_shared_rank(room, 1 - cluster_rank())
    v = (there + 31)[-i]
    v.x = first(there, i)
    p = kdsl.bitcast(there, Ptr[f32])
    v.y = load(p, 4 * i + 1, volatile=True)
    v.z = asm("ld.shared::cluster.f32 {d}, [{p}];", p=p + 4 * i + 2, out=f32, volatile=True)
    out[block_idx.x * 32 + i] = v
    ranks[2 * block_idx.x] = shared_rank_of(there)
    ranks[2 * block_idx.x + 1] = shared_rank_of(room)
    cluster_sync()


def first(p, i):
    return p[i].x


def test_pointers_vectors_and_helpers(device: str) -> None:
    x = np.random.default_rng(7).random((4, 32, 4), np.float32)
    out, ranks = np.zeros_like(x), np.zeros(8, np.uint32)
    forms[LaunchConfig(4, 32, shared=512, cluster=2)](x, out, ranks)
    there = x[[1, 0, 3, 2]]
    expected = there[:, ::-1].copy()
    expected[..., :3] = there[..., :3]
    assert out.tolist() == expected.tolist()
    assert ranks.tolist() == [1, 0, 0, 1, 1, 0, 0, 1]


@kdsl.struct
class Pair:
    x: f32
    y: i32


@kernel(cluster=2)
def structs_and_views(out: Ptr[i32]):
    s = shared.array((4, 8), Pair)
    i = thread_idx.x
    s[i // 8, i % 8] = Pair(f32(i), 100 * block_idx.x + i)
    cluster_sync()
    row = map_shared_rank(s, 1 - cluster_rank())[2]
    out[block_idx.x * 32 + i] = row[i % 8].y
    cluster_sync()
    row[i % 8].y = 5
    cluster_sync()
    out[block_idx.x * 32 + i] += 1000 * s[i // 8, i % 8].y


def test_structs_and_views(device: str) -> None:
    out = np.zeros(64, np.int32)
    structs_and_views[2, 32](out)
    i = np.arange(32)
    changed = i // 8 == 2
    rows = [100 * (1 - b) + 16 + i % 8 + 1000 * np.where(changed, 5, 100 * b + i) for b in range(2)]
    assert out.tolist() == np.concatenate(rows).tolist()


@kernel
def overlapped(x: Ptr[i32], out: Ptr[i32]):
    """Between arriving and waiting a block works on what is its own; the second barrier is for leaving."""
    s = shared.array(32, i32)
    i = thread_idx.x
    s[i] = x[block_idx.x * 32 + i]
    cluster_arrive()
    mine = 3 * x[block_idx.x * 32 + i]
    cluster_wait()
    total = mine
    for rank in range(cluster_size()):
        total += map_shared_rank(s, rank)[31 - i]
    cluster_arrive("relaxed")
    out[block_idx.x * 32 + i] = total
    cluster_wait()


def test_arrive_and_wait(device: str) -> None:
    x = np.arange(256, dtype=np.int32) ** 2 % 97
    out = np.zeros_like(x)
    overlapped[LaunchConfig(8, 32, cluster=4)](x, out)
    rows = x.reshape(2, 4, 32)
    assert out.tolist() == (3 * rows + rows.sum(1, keepdims=True)[..., ::-1]).ravel().tolist()
    assert instructions(overlapped, "barrier.cluster") == ["barrier.cluster.arrive", "barrier.cluster.wait", "barrier.cluster.arrive.relaxed",
                     "barrier.cluster.wait"]  # fmt: skip


@kernel
def parted(out: Ptr[i32]):
    """Lanes of a warp come to the barrier in different places, and half of the threads have returned."""
    i = thread_idx.x
    if i % 4 >= 2:
        return
    s = shared.array(1, i32)
    if i == 0:
        s[0] = 10 + cluster_rank()
    if i % 4 == 0:
        cluster_sync()
    else:
        cluster_arrive()
        cluster_wait()
    out[block_idx.x * 32 + i] = map_shared_rank(s, 1 - cluster_rank())[0]
    cluster_sync()


def test_threads_may_part_and_return() -> None:
    out = np.zeros(64, np.int32)
    parted[LaunchConfig(2, 32, cluster=2)](out)
    assert out.reshape(2, 8, 4).tolist() == [[[11, 11, 0, 0]] * 8, [[10, 10, 0, 0]] * 8]


@kernel
def apart(x: Ptr[i32], out: Ptr[i32], flags: Ptr[i32]):
    """The first block waits for what the others write, each at a barrier of its own place in the source, and they do
    not begin before it has come."""
    s = shared.array(32, i32)
    i = thread_idx.x
    if cluster_rank() == 0:
        atomic.add(flags, cluster_idx.x, 1)
        cluster_sync()
        total = 0
        for rank in range(1, cluster_size()):
            total += map_shared_rank(s, rank)[i]
        out[block_idx.x * 32 + i] = total
        cluster_sync()
    else:
        while atomic.load(flags, cluster_idx.x) < 32:
            pass
        s[i] = x[block_idx.x * 32 + i]
        cluster_arrive()
        out[block_idx.x * 32 + i] = -1
        cluster_wait()
        cluster_sync()


def test_blocks_wait_for_each_other_in_different_places(device: str) -> None:
    x = np.arange(6 * 32, dtype=np.int32) ** 2 % 101
    out = np.zeros_like(x)
    apart[LaunchConfig(6, 32, cluster=3)](x, out, np.zeros(2, np.int32))
    rows = x.reshape(2, 3, 32)
    expected = np.full_like(rows, -1)
    expected[:, 0] = rows[:, 1:].sum(1)
    assert out.tolist() == expected.ravel().tolist()


@pytest.mark.parametrize("target", ["sm_90", "sm_100", "sm_120"])
def test_ptx(target: str) -> None:
    found = instructions(forms, "mapa", "ld.shared", "st.shared", "getctarank", "ld.volatile", target=target)
    assert [f for f in found if f.startswith(("mapa", "getctarank"))] == [
        "mapa.shared::cluster.u32", "getctarank.shared::cluster.u32", "getctarank.shared::cluster.u32",
    ]  # fmt: skip
    assert "ld.volatile.shared::cluster.b32" in found and "ld.shared::cluster.v4.b32" in found


@kernel
def atomics(x: Ptr[u32]):
    s = shared.array(32, u32)
    s[thread_idx.x] = 0
    cluster_sync()
    t = map_shared_rank(s, 1)
    if cluster_rank() == 0 and thread_idx.x == 0:
        atomic.exch(t, 0, 1, order="acq_rel", scope="cluster")
        atomic.cas(t, 0, 1, 2, scope="cluster")
        atomic.store(t, 1, atomic.load(t, 0, order="acquire", scope="cluster"), order="release", scope="cluster")
        store(t, 2, 3, volatile=True)
    cluster_sync()
    x[block_idx.x] = s[0] + 10 * s[1] + 100 * s[2]


def test_ordered_atomics_of_another_block(device: str) -> None:
    out = np.zeros(2, np.uint32)
    atomics[LaunchConfig(2, 32, cluster=2)](out)
    assert out.tolist() == [0, 322]
    assert instructions(atomics, "atom", "ld.acquire", "st.release", "st.volatile") == [
        "atom.acq_rel.cluster.shared::cluster.exch.b32",
        "atom.relaxed.cluster.shared::cluster.cas.b32",
        "ld.acquire.cluster.shared::cluster.b32",
        "st.release.cluster.shared::cluster.b32",
        "st.volatile.shared::cluster.b32",
    ]
