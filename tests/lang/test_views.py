"""Views: rows, slices, transposes and reshaped arrays, of every kind of memory; NumPy's own slices are the oracle."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import (
    Array,
    CompileError,
    Ptr,
    atomic,
    constant,
    f32,
    f32x2,
    f32x4,
    i32,
    i64,
    kernel,
    local,
    shared,
    sync_threads,
    thread_idx,
    u8,
    u32,
)

A = np.arange(24, dtype=np.float32).reshape(4, 6)
CUBE = np.arange(60, dtype=np.int32).reshape(3, 4, 5)
TABLE = np.arange(12, dtype=np.int32).reshape(3, 4) * 10


def digits(v):
    """A number that tells the elements of a view and their order."""
    total = 0
    for i in range(len(v)):
        total = total * 31 + i32(v[i]) + 1
    return total


def of(v: Any) -> int:
    """The same in Python, with i32's wrapping."""
    total = 0
    for x in v:
        total = (total * 31 + int(x) + 1) & 0xFFFFFFFF
    return total - (1 << 32) if total >> 31 else total


@kernel
def rows_and_columns(a: Array[f32, 2], out: Array[i32, 2]):
    i = thread_idx.x
    row = a[i]
    out[i, 0] = digits(row)
    out[i, 1] = digits(a[i, :])
    out[i, 2] = digits(a[:, i])
    out[i, 3] = digits(a[:, i][1:3])
    out[i, 4] = digits(row[i:])
    out[i, 5] = digits(a[i, ...])
    out[i, 6] = digits(a[..., i])
    out[i, 7] = digits(a[1:3, 2:5][1])
    out[i, 8] = digits(a[1:3, 2:5][:, 1])
    out[i, 9] = digits(a[...][i])


def expected_rows(a: Any, i: int) -> list[int]:
    views = [a[i], a[i], a[:, i], a[:, i][1:3], a[i, i:], a[i], a[..., i], a[1:3, 2:5][1], a[1:3, 2:5][:, 1], a[i]]
    return [of(v) for v in views]


@pytest.mark.parametrize("layout", ["C", "F"])
def test_rows_and_columns(device: str, layout: Any) -> None:
    a, out = np.asarray(A, order=layout), np.zeros((4, 10), np.int32)
    k = rows_and_columns if layout == "C" else strided_rows
    k[1, 4](a, out)
    assert out.tolist() == [expected_rows(A, i) for i in range(4)]


@kernel
def strided_rows(a, out: Array[i32, 2]):
    i = thread_idx.x
    row = a[i]
    out[i, 0] = digits(row)
    out[i, 1] = digits(a[i, :])
    out[i, 2] = digits(a[:, i])
    out[i, 3] = digits(a[:, i][1:3])
    out[i, 4] = digits(row[i:])
    out[i, 5] = digits(a[i, ...])
    out[i, 6] = digits(a[..., i])
    out[i, 7] = digits(a[1:3, 2:5][1])
    out[i, 8] = digits(a[1:3, 2:5][:, 1])
    out[i, 9] = digits(a[...][i])


@kernel
def bounds(a: Array[i32, 1], starts: Ptr[i32], stops: Ptr[i32], out: Array[i32, 2]):
    i = thread_idx.x
    lo, hi = starts[i], stops[i]
    out[i, 0] = digits(a[lo:hi])
    out[i, 1] = digits(a[lo:])
    out[i, 2] = digits(a[:hi])
    out[i, 3] = digits(a[lo:hi:2])
    out[i, 4] = digits(a[lo::3])
    out[i, 5] = digits(a[::-1])
    out[i, 6] = digits(a[::-2])
    out[i, 7] = digits(a[lo:hi][::-1])
    out[i, 8] = digits(a[lo : hi : 1 + lo])
    out[i, 9] = len(a[lo:hi:2])
    out[i, 10] = digits(a[lo:hi][0:][: len(a[lo:hi])])
    if lo < len(a):
        out[i, 11] = digits(a[lo::-1])
        out[i, 12] = digits(a[lo:hi:-1])
        out[i, 13] = digits(a[lo:hi:-2])


def test_bounds_known_at_run_time(device: str) -> None:
    a = np.array([3, 1, 4, 1, 5, 9, 2], np.int32)
    pairs = list(itertools.product(range(8), range(8)))
    starts, stops = (np.array(x, np.int32) for x in zip(*pairs, strict=True))
    out = np.zeros((len(pairs), 14), np.int32)
    bounds[1, len(pairs)](a, starts, stops, out)
    for got, (lo, hi) in zip(out.tolist(), pairs, strict=True):
        views = [a[lo:hi], a[lo:], a[:hi], a[lo:hi:2], a[lo::3], a[::-1], a[::-2], a[lo:hi][::-1], a[lo : hi : 1 + lo]]
        expected = [of(v) for v in views] + [len(a[lo:hi:2]), of(a[lo:hi])]
        expected += [of(a[lo::-1]), of(a[lo:hi:-1]), of(a[lo:hi:-2])] if lo < 7 else [0, 0, 0]
        assert got == expected, (lo, hi)


@kernel
def steps_that_are_none(a: Array[i32, 1], step: i32, out: Ptr[i32]):
    out[0] = len(a[0 : len(a) : step])
    out[1] = len(a[5:2])
    out[2] = len(a[5 : step + 1])


def test_an_empty_view(device: str) -> None:
    a, out = np.arange(8, dtype=np.int32), np.full(3, -1, np.int32)
    for step in (0, -1, -(2**31)):
        steps_that_are_none[1, 1](a, step, out)
        assert out.tolist() == [0, 0, 0]


@kernel
def cubes(c: Array[i32, 3], i: i32, j: i32, out: Ptr[i32]):
    plane = c[i]
    out[0] = digits(plane[j])
    out[1] = digits(c[i, j])
    out[2] = digits(c[i, :, j])
    out[3] = digits(c[:, i, j])
    out[4] = plane.shape[0] * 100 + plane.shape[1]
    out[5] = digits(c[:, 1:3][i, j])
    out[6] = digits(c[..., j][i])
    out[7] = digits(c[i, ..., j])
    out[8] = digits(c.T[j, :, i])
    out[9] = c[0:2, 1:].size
    out[10] = c[0:2, 1:].ndim
    out[11] = digits(c[1:, j, ::2][i - 1])


def test_three_dimensions(device: str) -> None:
    c, i, j, out = CUBE, 1, 1, np.zeros(12, np.int32)
    cubes[1, 1](c, i, j, out)
    views = [c[i][j], c[i, j], c[i, :, j], c[:, i, j]]
    later = [c[:, 1:3][i, j], c[..., j][i], c[i, ..., j], c.T[j, :, i]]
    sizes = [c[0:2, 1:].size, 3]
    expected = [*map(of, views), 405, *map(of, later), *sizes, of(c[1:, j, ::2][i - 1])]
    assert out.tolist() == expected


@kernel
def memories(p: Ptr[i32], n: i32, out: Array[i32, 2]):
    i = thread_idx.x
    tile = shared.array((4, 4), i32)
    own = local.array((2, 4), i32)
    table = constant.array(TABLE)
    dynamic = shared.dynamic(i32)[0:16].reshape(4, 4)
    for j in range(4):
        tile[i, j] = i * 4 + j
        dynamic[i, j] = 100 + i * 4 + j
        own[0, j] = j
        own[1, j] = i + j
    sync_threads()
    row, column = tile[i], tile[:, i]
    out[i, 0] = digits(row)
    out[i, 1] = digits(column)
    out[i, 2] = digits(own[1])
    out[i, 3] = digits(own[:, 2])
    out[i, 4] = digits(table[2, 1:])
    out[i, 5] = digits(dynamic[:, i])
    out[i, 6] = digits(p[0:n])
    out[i, 7] = digits((p + 1)[i : i + 3 : 2])
    out[i, 8] = len(row) * 10 + len(column)
    atomic.add(row, 1, 1000)
    sync_threads()
    out[i, 9] = tile[i, 1]


def test_every_kind_of_memory(device: str) -> None:
    p, out = np.arange(5, 15, dtype=np.int32), np.zeros((4, 10), np.int32)
    memories[1, 4, None, 64](p, 7, out)
    tile = np.arange(16).reshape(4, 4)
    for i in range(4):
        own = np.array([[0, 1, 2, 3], [i, i + 1, i + 2, i + 3]])
        views = [tile[i], tile[:, i], own[1], own[:, 2], TABLE[2, 1:], tile[:, i] + 100, p[:7], p[1 + i : 4 + i : 2]]
        assert out[i].tolist() == [*map(of, views), 44, tile[i, 1] + 1000]


@kernel
def known_extents(a: Array[i32, 1], i: i32, out: Ptr[i32]):
    tile = shared.array((4, 8), i32)
    kdsl.static_assert(len(tile[i]) == 8)
    kdsl.static_assert(tile[:, 3].shape == (4,)) if False else None
    kdsl.static_assert(len(tile[:, i]) == 4)
    kdsl.static_assert(len(a[i : i + 4]) == 4)
    kdsl.static_assert(len(a[4 * i + 1 : 4 * i + 3]) == 2)
    kdsl.static_assert(len(a[2:7:2]) == 3)
    kdsl.static_assert(tile.T.shape[0] == 8)
    kdsl.static_assert(tile.reshape(2, -1).shape[1] == 16)
    kdsl.static_assert(tile[0:2, 1:3].size == 4)
    four = a[i : i + 4]
    total = 0
    for k in kdsl.static_range(len(four)):
        total += four[k]
    out[0] = total


def test_extents_that_are_constants(device: str) -> None:
    out = np.zeros(1, np.int32)
    known_extents[1, 1](np.arange(10, dtype=np.int32), 3, out)
    assert out.tolist() == [3 + 4 + 5 + 6]


@kernel
def joined(a: Array[f32, 2], n: i32, out: Ptr[i32]):
    v = a[0, 0:2]
    out[0] = digits(v)
    for i in range(n):
        v = a[:, i] if i % 2 else a[i]
        out[1 + i] = digits(v)
    w = v[1:] if n > 3 else v
    out[6] = digits(w)
    pair = (w, n)
    out[7] = digits(pair[0]) + pair[1]


def test_one_variable_of_several_views(device: str) -> None:
    out = np.zeros(8, np.int32)
    joined[1, 1](A, 4, out)
    last = A[:, 3]
    expected = [of(A[0, :2]), of(A[0]), of(A[:, 1]), of(A[2]), of(last), 0, of(last[1:]), of(last[1:]) + 4]
    assert out.tolist() == expected


def scale(v: Array[f32, 1], factor: f32) -> None:
    for i in range(len(v)):
        v[i] *= factor


def outer(m: Array[f32, 2]):
    return m[1:]


@kernel
def passed(a: Array[f32, 2]):
    scale(a[1], 2.0)
    scale(a[:, 2], 10.0)
    scale(outer(a)[1, ::2], -1.0)


def test_views_are_passed_returned_and_written(device: str) -> None:
    a, expected = A.copy(), A.copy()
    passed[1, 1](a)
    expected[1] *= 2
    expected[:, 2] *= 10
    expected[1:][1, ::2] *= -1
    assert a.tolist() == expected.tolist()


@kernel
def shapes(a: Array[f32, 2], n: i32, out: Array[i32, 1]):
    out[0] = digits(a.reshape(-1))
    out[1] = digits(a.reshape(n, 3)[1])
    out[2] = digits(a.reshape((2, -1, 3))[1, :, 2])
    out[3] = digits(a.T[1])
    out[4] = digits(a.T.T[1])
    out[5] = digits(a[1:3].reshape(3, 4)[:, 1])
    out[6] = digits(a.view(u32)[1])
    pairs = a.view(f32x2)
    out[7] = i32(pairs[1, 2].y) * 100 + pairs.shape[1]
    out[8] = a.view(u8).shape[1]
    out[9] = digits(a.reshape(n, 3).T[2])


def test_shapes(device: str) -> None:
    out = np.zeros(10, np.int32)
    shapes[1, 1](A, 8, out)
    views = [A.reshape(-1), A.reshape(8, 3)[1], A.reshape(2, -1, 3)[1, :, 2], A.T[1], A[1], A[1:3].reshape(3, 4)[:, 1]]
    bits = A.view(np.int32)[1]
    expected = [*map(of, views), of(bits), 1103, 24, of(A.reshape(8, 3).T[2])]
    assert out.tolist() == expected


@kernel
def wide_bounds(p: Ptr[u8], lo: i64, hi: i64, out: Ptr[i64]):
    v = p[lo:hi]
    out[0] = len(v)
    out[1] = v[hi - lo - 1]
    w = v[i64(2) :]
    out[2] = len(w)
    out[3] = w[0]


def test_bounds_of_64_bits(device: str) -> None:
    p, out = np.arange(200, dtype=np.uint8), np.zeros(4, np.int64)
    wide_bounds[1, 1](p, 100, 190, out)
    assert out.tolist() == [90, 189, 88, 102]


def test_a_parameter_that_is_only_read_through_views_is_not_copied_back(device: str) -> None:
    a, out = A.copy(), np.zeros((4, 10), np.int32)
    a.flags.writeable = False
    rows_and_columns[1, 4](a, out)  # a written one would be refused
    assert out[0, 0] == of(A[0])


@kernel
def written_through(a: Array[f32, 2], b: Array[f32, 2], c: Array[f32, 2]):
    a.T[2, 1] = -1.0
    flat = b.reshape(-1)
    flat[7] = -2.0
    c.view(u32)[0, 0] = u32(0)
    c.view(f32x2)[1, 1] = f32x2(5.0)


def test_what_is_written_through_another_shape_is_copied_back(device: str) -> None:
    a, b, c = A.copy(), A.copy(), A + 1
    written_through[1, 1](a, b, c)
    assert (a[1, 2], b[1, 1], c[0, 0], c[1, 2], c[1, 3]) == (-1, -2, 0, 5, 5)


@kernel
def vector_rows(a: Array[f32x4, 2], out: Array[f32x4, 1]):
    i = thread_idx.x
    out[i] = a[:, i][1] + a[0][i]


def test_views_of_vectors(device: str) -> None:
    a = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    out = np.zeros((3, 4), np.float32)
    vector_rows[1, 3](a, out)
    assert out.tolist() == (a[1] + a[0]).tolist()


def test_kernels_that_take_views_as_types_are_refused_on_the_host() -> None:
    with pytest.raises(CompileError, match="2 dimensions"):
        kdsl.compile(three_indices, target="sm_90")


@kernel
def three_indices(a: Array[f32, 2], out: Ptr[f32]):
    out[0] = a[0, 1, 2]
