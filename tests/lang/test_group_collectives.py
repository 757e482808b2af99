"""reduce, scans and broadcast of every group that a block has: exact, of every scalar type and operation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kdsl import Array, Ptr, f32, f32x4, groups, i32, kernel, thread_idx
from kdsl.lang.types import SCALARS, Kind

from .group_reference import (
    OPERATIONS,
    block_exclusive_scan,
    block_scan,
    identity,
    operations_of,
    reduce,
    samples,
    scan,
)

CASES = [(t.numpy, op) for t in SCALARS.values() if t.kind is not Kind.FLOAT8 for op in operations_of(t.numpy)]
IDS = [f"{dtype}-{op}" for dtype, op in CASES]
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def collectives(make: Any, op: Any, init: Any = None) -> Any:
    """A kernel that reduces and scans the group that ``make`` makes; row 0 to 2 of ``out``, a column a thread."""

    @kernel
    def k(a, out):
        i = groups.this_block().rank
        g = make()
        out[0, i] = g.reduce(a[i], op)
        out[1, i] = g.inclusive_scan(a[i], op)
        out[2, i] = g.exclusive_scan(a[i], op, init)

    return k


def expected(values: np.ndarray, members: list[list[int]], f: Any, first: Any) -> np.ndarray:
    """What `collectives` stores, of groups of lanes with these ``members``."""
    out = np.zeros((3, len(values)), values.dtype)
    for group in members:
        inside = [values[i] for i in group]
        out[0, group] = reduce(inside, f)
        out[1, group] = scan(inside, f)
        out[2, group] = [first, *scan(inside, f)[:-1]]
    return out


def expected_of_block(values: np.ndarray, f: Any, first: Any) -> np.ndarray:
    inside = list(values)
    rows = [reduce(inside, f)] * len(inside), block_scan(inside, f), block_exclusive_scan(inside, f, first)
    return np.array(rows, values.dtype)


def same(got: np.ndarray, wanted: np.ndarray) -> None:
    assert got.tobytes() == wanted.tobytes(), f"{got}\n{wanted}"


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_tiles(case: tuple[np.dtype, str], device: str) -> None:
    dtype, op = case
    values, out = samples(dtype, op, 64, 1), np.zeros((3, 64), dtype)
    collectives(lambda: groups.tile(8), op)[1, 64](values, out)
    members = [list(range(i, i + 8)) for i in range(0, 64, 8)]
    same(out, expected(values, members, OPERATIONS[op], identity(op, dtype)))


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_coalesced(case: tuple[np.dtype, str], device: str) -> None:
    dtype, op = case
    values, out = samples(dtype, op, 40, 2), np.zeros((3, 40), dtype)
    # The lanes that a block of 40 threads has.
    collectives(lambda: groups.coalesced(), op)[1, 40](values, out)
    members = [list(range(32)), list(range(32, 40))]
    same(out, expected(values, members, OPERATIONS[op], identity(op, dtype)))


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_blocks(case: tuple[np.dtype, str], device: str) -> None:
    dtype, op = case
    values, out = samples(dtype, op, 150, 3), np.zeros((3, 150), dtype)
    collectives(lambda: groups.this_block(), op)[1, 150](values, out)
    same(out, expected_of_block(values, OPERATIONS[op], identity(op, dtype)))


@pytest.mark.parametrize("op", ["add", "max"])
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint8])
@pytest.mark.parametrize("size", [1, 2, 4, 16, 32])
def test_every_size_of_tile(size: int, dtype: Any, op: str, device: str) -> None:
    dtype = np.dtype(dtype)
    values, out = samples(dtype, op, 64, 4), np.zeros((3, 64), dtype)
    collectives(lambda: groups.tile(size), op)[1, 64](values, out)
    members = [list(range(i, i + size)) for i in range(0, 64, size)]
    same(out, expected(values, members, OPERATIONS[op], identity(op, dtype)))


@pytest.mark.parametrize(
    "shape", [1, 2, 31, 32, 33, 63, 255, 1000, 1024, (5, 7), (3, 4, 5), (1, 1, 64), (16, 16, 4)], ids=str
)
def test_every_shape_of_block(shape: Any, device: str) -> None:
    count = int(np.prod(shape))
    for dtype in (np.dtype(np.float32), np.dtype(np.int32)):
        values, out = samples(dtype, "add", count, 5), np.zeros((3, count), dtype)
        collectives(lambda: groups.this_block(), "add")[1, shape](values, out)
        same(out, expected_of_block(values, OPERATIONS["add"], dtype.type(0)))


LAYOUTS = {
    "odd": lambda i: i % 2 == 1,
    "some": lambda i: bool(0x9A31_40C7 >> i % 32 & 1),
    "one": lambda i: i % 32 == 13,
    "upper half": lambda i: i % 32 >= 16,
}


@kernel
def divergent(a: Array[f32, 1], taken: Array[i32, 1], out: Array[f32, 2]) -> None:
    i = thread_idx.x
    if taken[i] != 0:
        g = groups.coalesced()
        out[0, i] = g.reduce(a[i], "add")
        out[1, i] = g.inclusive_scan(a[i], "add")
        out[2, i] = g.exclusive_scan(a[i], "add")
    else:
        h = groups.coalesced()
        out[0, i] = h.reduce(a[i], "max")
        out[1, i] = h.inclusive_scan(a[i], lambda x, y: x * 0.5 + y)
        out[2, i] = h.broadcast(a[i], h.size - 1)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_lanes_of_a_branch(layout: str, device: str) -> None:
    taken = np.array([LAYOUTS[layout](i) for i in range(70)])
    values, out = samples(np.dtype(np.float32), "add", 70, 6), np.zeros((3, 70), np.float32)
    divergent[1, 70](values, taken.astype(np.int32), out)
    warps = [range(0, 32), range(32, 64), range(64, 70)]
    then = [m for w in warps if (m := [i for i in w if taken[i]])]
    wanted = expected(values, then, OPERATIONS["add"], np.float32(0))
    for group in ([i for i in w if not taken[i]] for w in warps):
        if group:
            inside = [values[i] for i in group]
            wanted[0, group] = max(inside)
            wanted[1, group] = scan(inside, lambda x, y: np.float32(np.float32(x * np.float32(0.5)) + y))
            wanted[2, group] = inside[-1]
    same(out, wanted)


def test_an_order_that_matters(device: str) -> None:
    """A function that is associative, and gives another value for the operands exchanged: affine maps, composed."""

    def compose(f, g):
        return f[0] * g[0], f[1] * g[0] + g[1]

    @kernel
    def k(a, b, out):
        block = groups.this_block()
        i = block.rank
        f = (a[i], b[i])
        out[0, i], out[1, i] = groups.tile(32).reduce(f, compose)
        out[2, i], out[3, i] = groups.coalesced().reduce(f, compose)
        out[4, i], out[5, i] = block.reduce(f, compose)
        out[6, i], out[7, i] = block.inclusive_scan(f, compose)
        out[8, i], out[9, i] = block.exclusive_scan(f, compose, init=(1, 7))
        out[10, i], out[11, i] = groups.tile(8).exclusive_scan(f, compose, (1, 7))

    rng = np.random.default_rng(8)
    a, b = rng.integers(0, 2**32, (2, 96), np.uint32)
    out = np.zeros((12, 96), np.uint32)
    k[1, 96](a, b, out)

    def folded(indices: Any, start: tuple[int, int] = (1, 0)) -> np.ndarray:
        f = start
        for i in indices:
            f = f[0] * int(a[i]), f[1] * int(a[i]) + int(b[i])
        return np.array([f[0] & 0xFFFF_FFFF, f[1] & 0xFFFF_FFFF], np.uint32)

    for i in range(96):
        warp = range(i - i % 32, i - i % 32 + 32)
        assert (out[0:2, i] == folded(warp)).all()
        assert (out[2:4, i] == folded(warp)).all()
        assert (out[4:6, i] == folded(range(96))).all()
        assert (out[6:8, i] == folded(range(i + 1))).all()
        assert (out[8:10, i] == folded(range(i), (1, 7))).all()
        assert (out[10:12, i] == folded(range(i - i % 8, i), (1, 7))).all()


def test_vectors(device: str) -> None:
    @kernel
    def k(a: Ptr[f32x4], out: Array[f32x4, 2]):
        i = thread_idx.x
        block = groups.this_block()
        out[0, i] = groups.tile(16).reduce(a[i], "add")
        out[1, i] = groups.coalesced().inclusive_scan(a[i], "max")
        out[2, i] = block.reduce(a[i], "add")
        out[3, i] = block.exclusive_scan(a[i], "add")
        out[4, i] = block.broadcast(a[i], 33)

    values = samples(np.dtype(np.float32), "add", 4 * 48, 9).reshape(48, 4)
    out = np.zeros((5, 48, 4), np.float32)
    k[1, 48](values, out)
    add = OPERATIONS["add"]
    for lane in range(4):
        column = list(values[:, lane])
        for start in range(0, 48, 16):
            assert (out[0, start : start + 16, lane] == reduce(column[start : start + 16], add)).all()
        for start in (0, 32):
            assert (out[1, start : start + 32, lane] == np.maximum.accumulate(column[start : start + 32])).all()
        assert (out[2, :, lane] == reduce(column, add)).all()
        assert (out[3, :, lane] == block_exclusive_scan(column, add, 0)).all()
    assert (out[4] == values[33]).all()


def test_calls_that_follow_each_other(device: str) -> None:
    """In loops and one after the other: no call disturbs what an earlier one still reads."""

    @kernel
    def k(out, n):
        block = groups.this_block()
        i = block.rank
        total = 0
        for step in range(n):
            total += block.reduce(i + step, "max")
            total += block.broadcast(i * step, step)
            total += block.exclusive_scan(i, "add") - block.inclusive_scan(i, "add") + i
            x = block.reduce((i + 1.5, step), lambda a, b: (max(a[0], b[0]), a[1] + b[1]))
            total += i32(x[0]) + x[1]
        out[i] = total

    out = np.zeros(100, np.int32)
    k[1, 100](out, 6)
    wanted = sum(99 + step + step * step + 100 + step * 100 for step in range(6))
    assert (out == wanted).all()


@pytest.mark.parametrize("n", [1, 7, 32, 45])
def test_part_of_a_block_does_not_take_part(n: int, device: str) -> None:
    """A tile under a branch: whole tiles take it, others do not."""

    @kernel
    def k(out, n):
        i = thread_idx.x
        if i < n * 4:
            out[i] = groups.tile(4).reduce(i, "add")

    out = np.zeros(256, np.int32)
    k[1, 256](out, n)
    wanted = np.repeat(np.arange(256).reshape(64, 4).sum(1), 4)
    assert (out == np.where(np.arange(256) < 4 * n, wanted, 0)).all()
