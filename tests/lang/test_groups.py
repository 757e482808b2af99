"""Groups: who they are, what lanes tell each other, and how a group is handed on; launches that do not fit."""

from __future__ import annotations

import numpy as np
import pytest

import kdsl
from kdsl import Array, LaunchConfigError, Ptr, bf16, f32, f64, groups, i32, i64, kernel, popc, struct, thread_idx

THREADS = np.arange(96)


@kernel
def about(out: Array[i64, 3]) -> None:
    block, whole = groups.this_block(), groups.this_grid()
    i, b = block.rank, whole.rank // block.size
    t, single, warp = groups.tile(8), groups.tile(1), groups.tile(32)
    out[b, 0, i] = block.size
    out[b, 1, i] = t.rank
    out[b, 2, i] = t.size
    out[b, 3, i] = t.meta_group_rank
    out[b, 4, i] = t.meta_group_size
    out[b, 5, i] = t.mask
    out[b, 6, i] = t.leader
    out[b, 7, i] = single.rank + single.size * 10 + single.leader * 100
    out[b, 8, i] = warp.mask
    out[b, 9, i] = whole.rank
    out[b, 10, i] = whole.size
    out[b, 11, i] = block.leader + whole.leader * 10
    block.sync()
    warp.sync()


@pytest.mark.parametrize("shape", [96, (8, 12), (4, 3, 8)], ids=str)
def test_ranks_and_sizes(shape: object, device: str) -> None:
    out = np.zeros((6, 12, 96), np.int64)
    about[(2, 3), shape](out)
    for b in range(6):
        wanted = [
            THREADS * 0 + 96,
            THREADS % 8,
            THREADS * 0 + 8,
            THREADS // 8,
            THREADS * 0 + 12,
            0xFF << (THREADS % 32 // 8 * 8),
            THREADS % 8 == 0,
            THREADS * 0 + 110,
            THREADS * 0 + 0xFFFF_FFFF,
            THREADS + 96 * b,
            THREADS * 0 + 96 * 6,
            (THREADS == 0) * 1 + (THREADS + 96 * b == 0) * 10,
        ]
        assert (out[b] == np.array(wanted)).all()


@kernel
def told(a: Array[f64, 1], taken: Ptr[i32], out: Array[f64, 2]) -> None:
    i = thread_idx.x
    t = groups.tile(8)
    out[0, i] = t.shfl(a[i], (t.rank * 3) % 8)
    out[1, i] = t.shfl_up(a[i], 3)
    out[2, i] = t.shfl_down(a[i], 3)
    out[3, i] = t.shfl_xor(a[i], 5)
    out[4, i] = t.broadcast(a[i], 6)
    out[5, i] = t.ballot(taken[i] != 0)
    out[6, i] = t.any(taken[i] == 2) + t.all(taken[i] < 2) * 10
    out[7, i] = t.match_any(taken[i])
    out[8, i] = i32(t.match_all(taken[i]))
    if taken[i] == 1:
        g = groups.coalesced()
        out[9, i] = g.shfl(a[i], (g.rank * 3) % g.size)
        out[10, i] = g.shfl_up(a[i], 3)
        out[11, i] = g.shfl_down(a[i], 3)
        out[12, i] = g.broadcast(a[i], g.size // 2)
        out[13, i] = g.broadcast(a[i])
        out[14, i] = g.ballot(i % 3 == 0)
        out[15, i] = g.any(i == 5) + g.all(i < 96) * 10
        out[16, i] = g.match_any(i % 4)
        out[17, i] = i32(g.match_all(i % 4))
        out[18, i] = g.rank + 100 * g.size + 10000 * g.leader
        out[19, i] = g.shfl(a[i], 31 * (g.rank - 1))
        h = g.partition(i % 3)
        out[20, i] = h.reduce(a[i], "add") + 1000 * h.size
        p = g.partition(i % 5 == 0)
        out[21, i] = p.reduce(a[i], "max") + 1000 * p.rank
        g.sync()


def test_what_lanes_tell_each_other(device: str) -> None:
    rng = np.random.default_rng(2)
    a = np.round(rng.uniform(-50, 50, 96), 3)
    taken = rng.integers(0, 3, 96).astype(np.int32)
    taken[8:16] = 1
    out, wanted = np.zeros((22, 96)), np.zeros((22, 96))
    told[1, 96](a, taken, out)
    for i in range(96):
        start, r = i - i % 8, i % 8
        tile = range(start, start + 8)
        wanted[:9, i] = [
            a[start + r * 3 % 8],
            a[i - 3] if r >= 3 else a[i],
            a[i + 3] if r + 3 < 8 else a[i],
            a[start + (r ^ 5)],
            a[start + 6],
            sum((taken[j] != 0) << k for k, j in enumerate(tile)),
            any(taken[j] == 2 for j in tile) + 10 * all(taken[j] < 2 for j in tile),
            sum(int(taken[j] == taken[i]) << k for k, j in enumerate(tile)),
            len({taken[j] for j in tile}) == 1,
        ]
        if taken[i] != 1:
            continue
        group = [j for j in range(i - i % 32, i - i % 32 + 32) if taken[j] == 1]
        r, n = group.index(i), len(group)
        far = 31 * (r - 1)
        labelled = [j for j in group if j % 3 == i % 3]
        parted = [j for j in group if (j % 5 == 0) == (i % 5 == 0)]
        wanted[9:, i] = [
            a[group[r * 3 % n]],
            a[group[r - 3]] if r >= 3 else a[i],
            a[group[r + 3]] if r + 3 < n else a[i],
            a[group[n // 2]],
            a[group[0]],
            sum((j % 3 == 0) << k for k, j in enumerate(group)),
            (5 in group) + 10,
            sum((j % 4 == i % 4) << k for k, j in enumerate(group)),
            len({j % 4 for j in group}) == 1,
            r + 100 * n + 10000 * (r == 0),
            a[group[far]] if 0 <= far < n else a[i],
            np.nan,
            max(a[j] for j in parted) + 1000 * parted.index(i),
        ]
        assert abs(out[20, i] - sum(a[j] for j in labelled) - 1000 * len(labelled)) < 1e-9
        out[20, i] = np.nan
    assert out.tobytes() == wanted.tobytes(), np.argwhere((out != wanted) & ~np.isnan(wanted))


def twice(g: groups.Tile, x: f32) -> f32:
    return g.reduce(x, "add") * g.size


def total(g: groups.Collective, x: f32) -> f32:
    return g.reduce(x, "add")


def ranked(g: groups.Group) -> i64:
    return i64(g.rank)


def with_hint(g, x):
    return g.reduce(x, "max")


def upper() -> groups.Lanes:
    return groups.coalesced()


def quarter() -> groups.Tile:
    half: groups.Tile = groups.tile(8)
    return half


@kernel
def handed(a: Ptr[f32], out: Array[f32, 2]) -> None:
    i = thread_idx.x
    small, large = groups.tile(4), groups.tile(16)
    pair = small, large
    assert quarter().size == 8
    out[0, i] = twice(small, a[i]) + twice(large, a[i])
    out[1, i] = total(small, a[i]) + total(groups.this_block(), a[i])
    out[2, i] = ranked(small) + ranked(groups.this_grid()) * 100
    out[3, i] = with_hint(pair[1], a[i])
    if i % 2 == 1:
        g = upper()
        out[4, i] = total(g, a[i])
        for _ in range(2):
            g = g.partition(g.rank % 2 == 0)
        out[5, i] = g.size


def test_groups_are_handed_on(device: str) -> None:
    a, out = np.arange(64, dtype=np.float32), np.zeros((6, 64), np.float32)
    handed[1, 64](a, out)
    sums = {n: np.repeat(a.reshape(-1, n).sum(1), n) for n in (4, 16, 64)}
    odd = np.arange(64) % 2 == 1
    assert (out[0] == sums[4] * 4 + sums[16] * 16).all()
    assert (out[1] == sums[4] + sums[64]).all()
    assert (out[2] == np.arange(64) % 4 + np.arange(64) * 100).all()
    assert (out[3] == np.repeat(a.reshape(-1, 16).max(1), 16)).all()
    assert (out[4] == np.where(odd, np.repeat(a.reshape(2, 32)[:, 1::2].sum(1), 32), 0)).all()
    assert (out[5] == np.where(odd, 4, 0)).all()


@kernel
def aggregated(counter: Ptr[i32], where: Ptr[i32], n: i32) -> None:
    i = thread_idx.x
    if i % 3 == 0 and i < n:
        g = groups.coalesced()
        start = 0
        if g.leader:
            start = kdsl.atomic.add(counter, 0, g.size)
        where[i] = g.broadcast(start) + g.rank


def test_an_atomic_for_all_lanes_of_a_branch(device: str) -> None:
    counter, where = np.zeros(1, np.int32), np.full(96, -1, np.int32)
    aggregated[1, 96](counter, where, 90)
    places = where[where >= 0]
    assert counter[0] == 30
    assert sorted(places.tolist()) == list(range(30))


@kernel
def in_tiles(out: Ptr[i32]) -> None:
    out[thread_idx.x] = groups.tile(16).reduce(1, "add")


def test_blocks_that_tiles_do_not_divide(device: str) -> None:
    out = np.zeros(64, np.int32)
    in_tiles[1, 48](out)
    assert out.tolist() == [16] * 48 + [0] * 16
    with pytest.raises(
        LaunchConfigError, match=r"block = \(40, 1, 1\) has 40 threads, and in_tiles works in tiles of 16"
    ):
        in_tiles[1, 40](out)


@kernel
def weighted(x: Ptr[f32], y: Ptr[f32], out: Ptr[f32]) -> None:
    i = thread_idx.x
    out[i] = groups.tile(32).reduce(x[i] * y[i], "add")


def test_every_lane_has_the_same_sum(device: str) -> None:
    """A product before the sum is not fused with it: that would round differently in each lane."""
    rng = np.random.default_rng(1)
    x, y = rng.uniform(-1, 1, (2, 32)).astype(np.float32)
    out = np.zeros(32, np.float32)
    weighted[1, 32](x, y, out)
    products = x * y
    while len(products) > 1:
        products = products[0::2] + products[1::2]
    assert (out == products[0]).all()


@kernel
def mixed(a: Ptr[bf16], out: Ptr[bf16], counts: Ptr[i32]) -> None:
    i = thread_idx.x
    largest, where = groups.this_block().reduce((a[i], i), lambda p, q: p if p[0] > q[0] else q)
    out[i] = largest
    counts[i] = popc(groups.tile(32).ballot(i == where))


def test_the_place_of_the_largest(device: str) -> None:
    import ml_dtypes

    a = np.random.default_rng(4).permutation(64).astype(ml_dtypes.bfloat16)
    out, counts = np.zeros_like(a), np.zeros(64, np.int32)
    mixed[1, 64](a, out, counts)
    assert (out == a.max()).all()
    assert counts.tolist() == [int(np.argmax(a) // 32 == i // 32) for i in range(64)]


def test_a_group_is_nothing_on_the_host() -> None:
    with pytest.raises(TypeError, match="call it inside a @kernel function"):
        groups.this_block()


@struct
class Extremes:
    low: f32
    high: f32
    count: i32

    def __or__(self, other: Extremes) -> Extremes:
        return Extremes(min(self.low, other.low), max(self.high, other.high), self.count + other.count)


@kernel
def extremes(a: Ptr[f32], out: Array[Extremes, 2]) -> None:
    i = thread_idx.x
    one = Extremes(a[i], a[i], 1)
    out[0, i] = groups.tile(8).reduce(one, lambda p, q: p | q)
    out[1, i] = groups.this_block().inclusive_scan(one, lambda p, q: p | q)
    out[2, i] = groups.this_block().broadcast(one, 17)


def test_structs(device: str) -> None:
    a = np.random.default_rng(1).permutation(72).astype(np.float32)
    out = np.zeros((3, 72), Extremes.dtype)
    extremes[1, 72](a, out)
    for i in range(72):
        tile = a[i - i % 8 : i - i % 8 + 8]
        assert out[0, i].tolist() == (tile.min(), tile.max(), 8)
        assert out[1, i].tolist() == (a[: i + 1].min(), a[: i + 1].max(), i + 1)
        assert out[2, i].tolist() == (a[17], a[17], 1)
