"""Clusters and grids: reduce, scans and broadcast over several blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import Array, CompileError, LaunchConfig, Ptr, f32, groups, i32, kernel, struct, u32

from .group_reference import OPERATIONS, block_scan, reduce, samples


def in_order(values: list[Any], f: Any) -> Any:
    total = values[0]
    for v in values[1:]:
        total = f(total, v)
    return total


@kernel
def in_cluster(a: Ptr[f32], b: Ptr[i32], out: Array[f32, 2], ints: Array[i32, 2]) -> None:
    c = groups.this_cluster()
    i = groups.this_grid().rank
    out[0, i] = c.reduce(a[i], "add")
    out[1, i] = c.inclusive_scan(a[i], "add")
    out[2, i] = c.exclusive_scan(a[i], "add")
    out[3, i] = c.broadcast(a[i], c.size - 1)
    ints[0, i] = c.rank
    ints[1, i] = c.size
    ints[2, i] = c.leader
    ints[3, i] = c.reduce(b[i], "add")
    ints[4, i] = c.exclusive_scan(b[i], "max")
    p, q = c.reduce((b[i], a[i]), lambda x, y: (x[0] ^ y[0], max(x[1], y[1])))
    ints[5, i] = p
    out[4, i] = q
    c.sync()


@pytest.mark.parametrize("cluster", [1, 2, 4])
def test_clusters(cluster: int, device: str) -> None:
    n, blocks = 50, 8
    a = samples(np.dtype(np.float32), "add", n * blocks, 3)
    b = samples(np.dtype(np.int32), "add", n * blocks, 4)
    out, ints = np.zeros((5, n * blocks), np.float32), np.zeros((6, n * blocks), np.int32)
    in_cluster[LaunchConfig(blocks, n, cluster=cluster)](a, b, out, ints)
    add = OPERATIONS["add"]
    for start in range(0, n * blocks, n * cluster):
        inside = slice(start, start + n * cluster)
        parts = [list(a[start + n * k : start + n * (k + 1)]) for k in range(cluster)]
        assert (out[0, inside] == in_order([reduce(p, add) for p in parts], add)).all()
        totals = [block_scan(p, add)[-1] for p in parts]
        before = [None] + [in_order(totals[:k], add) for k in range(1, cluster)]
        scanned = [v if k == 0 else add(before[k], v) for k, p in enumerate(parts) for v in block_scan(p, add)]
        assert (out[1, inside] == scanned).all()
        assert (out[3, inside] == a[start + n * cluster - 1]).all()
        whole = b[inside]
        assert (ints[0, inside] == np.arange(n * cluster)).all()
        assert (ints[1, inside] == n * cluster).all()
        assert (ints[2, inside] == (np.arange(n * cluster) == 0)).all()
        assert (ints[3, inside] == whole.sum(dtype=np.int32)).all()
        assert (ints[4, inside] == [np.iinfo(np.int32).min, *np.maximum.accumulate(whole)[:-1]]).all()
        assert (ints[5, inside] == np.bitwise_xor.reduce(whole)).all()
        assert (out[4, inside] == a[inside].max()).all()
        assert np.allclose(out[2, inside], np.cumsum(a[inside], dtype=np.float64) - a[inside], atol=1e-2)


def test_clusters_need_sm_90() -> None:
    with pytest.raises(CompileError, match=r"test_groups_of_blocks.py:\d+:\d+.*needs sm_90 or newer"):
        kdsl.compile(in_cluster, target="sm_80")


@struct
class Affine:
    scale: u32
    shift: u32

    def __mul__(self, other: Affine) -> Affine:
        return Affine(self.scale * other.scale, self.shift * other.scale + other.shift)


@kernel
def over_grid(
    a: Ptr[f32], b: Ptr[i32], out: Array[f32, 2], ints: Array[i32, 2], room: Array[f32, 1], more: Ptr[i32]
) -> None:
    g = groups.this_grid()
    i = g.rank
    out[0, i] = g.reduce(a[i], "add", workspace=room)
    out[1, i] = g.inclusive_scan(a[i], "add", workspace=room)
    out[2, i] = g.exclusive_scan(a[i], "max", 3.5, workspace=room)
    ints[0, i] = g.reduce(b[i], "min", workspace=more)
    ints[1, i] = g.exclusive_scan(b[i], "add", workspace=more)
    ints[2, i] = g.broadcast(b[i], 61, workspace=more)
    g.sync()


@pytest.mark.parametrize(("grid", "block"), [(1, 64), (5, 40), ((3, 2), (8, 4)), (150, 33), (70, 2)], ids=str)
def test_grids(grid: Any, block: Any, device: str) -> None:
    n, blocks = int(np.prod(block)), int(np.prod(grid))
    a = samples(np.dtype(np.float32), "add", n * blocks, 5)
    b = samples(np.dtype(np.int32), "add", n * blocks, 6)
    out, ints = np.zeros((3, n * blocks), np.float32), np.zeros((3, n * blocks), np.int32)
    over_grid[grid, block](a, b, out, ints, np.zeros(blocks, np.float32), np.zeros(blocks, np.int32))
    add = OPERATIONS["add"]

    def across(totals: list[Any]) -> Any:
        """A thread's totals one after the other, then those of the threads as in a block."""
        each = -(-len(totals) // n)
        return reduce([in_order(totals[i : i + each], add) for i in range(0, len(totals), each)], add)

    parts = [list(a[n * k : n * (k + 1)]) for k in range(blocks)]
    assert (out[0] == across([reduce(p, add) for p in parts])).all()
    totals = [block_scan(p, add)[-1] for p in parts]
    scanned = [v if k == 0 else add(across(totals[:k]), v) for k, p in enumerate(parts) for v in block_scan(p, add)]
    assert (out[1] == scanned).all()
    assert (out[2] == np.maximum.accumulate([np.float32(3.5), *a])[:-1]).all()
    assert (ints[0] == b.min()).all()
    assert (ints[1] == [0, *np.cumsum(b, dtype=np.int32)[:-1]]).all()
    assert (ints[2] == b[61]).all()


def test_an_order_that_matters(device: str) -> None:
    @kernel
    def k(f: Ptr[Affine], out: Array[Affine, 2], room: Ptr[Affine]):
        g = groups.this_grid()
        i = g.rank
        out[0, i] = g.reduce(f[i], lambda p, q: p * q, workspace=room)
        out[1, i] = g.inclusive_scan(f[i], lambda p, q: p * q, workspace=room)
        out[2, i] = g.exclusive_scan(f[i], lambda p, q: p * q, Affine(1, 7), workspace=room)

    n = 7 * 40
    f = np.zeros(n, Affine.dtype)
    f["scale"], f["shift"] = np.random.default_rng(1).integers(0, 2**32, (2, n), np.uint32)
    out = np.zeros((3, n), Affine.dtype)
    k[7, 40](f, out, np.zeros(7, Affine.dtype))
    composed, from_seven = [(1, 0)], [(1, 7)]
    for scale, shift in f.tolist():
        for so_far in composed, from_seven:
            x, y = so_far[-1]
            so_far.append((x * scale & 0xFFFF_FFFF, (y * scale + shift) & 0xFFFF_FFFF))
    assert out[0].tolist() == [composed[-1]] * n
    assert out[1].tolist() == composed[1:]
    assert out[2].tolist() == from_seven[:-1]


def test_a_workspace_that_is_too_small(device: str) -> None:
    @kernel
    def k(a: Ptr[i32], room: Array[i32, 1]):
        g = groups.this_grid()
        a[g.rank] = g.reduce(1, "add", workspace=room)

    a = np.zeros(4 * 32, np.int32)
    k[4, 32](a, np.zeros(4, np.int32))
    assert (a == 128).all()
    if device == "emulator":  # on a GPU the context would be lost
        with pytest.raises(kdsl.DeviceAssertionError, match="the workspace of a grid has an element for each block"):
            k[4, 32](a, np.zeros(3, np.int32))
