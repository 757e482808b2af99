"""Pointer arithmetic, differences, comparisons and casts: counted in elements, as C does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import (
    Array,
    MemoryFault,
    Ptr,
    atomic,
    bitcast,
    constant,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    kernel,
    local,
    shared,
    sync_threads,
    thread_idx,
    u8,
    u16,
    u32,
    u64,
)

BYTES = np.arange(16, dtype=np.uint8)


@kernel
def moves(x: Ptr[i32], out: Ptr[i32], n: i32, u: u32, w: i64, b: i8):
    p = x + n
    out[0] = p[0]
    out[1] = (p - 2)[0]
    out[2] = (2 + x)[1]
    out[3] = (p - u)[0]
    out[4] = (p + w)[0]
    out[5] = (p - b)[0]
    p += 1
    p -= n
    out[6] = p[0]
    (out + 7)[0] = (p + 1)[-1]
    atomic.add(out + 8, 0, 5)
    x += 4
    out[9] = x[0]


def test_moves(device: str) -> None:
    x, out = np.arange(100, 150, dtype=np.int32), np.zeros(10, np.int32)
    moves[1, 1](x, out, 10, 3, 2**33 // 2**33, -4)
    assert out.tolist() == [110, 108, 103, 107, 111, 114, 101, 101, 5, 104]


@kernel
def differences(x: Ptr[f64], s: Ptr[i16], out: Ptr[i64], a: i32, b: i32):
    p = x + a
    q = x + b
    room = shared.array(8, f32)
    inside = bitcast(room, Ptr[f32])
    own = local.array(8, i32)
    mine = bitcast(own, Ptr[i32])
    out[0] = p - q
    out[1] = q - p
    out[2] = (s + a) - (s - b)
    out[3] = (inside + a) - (inside + b)
    out[4] = (mine + 5) - mine
    out[5] = (p < q) + 2 * (p <= q) + 4 * (p == q) + 8 * (p != q) + 16 * (p > q) + 32 * (p >= q)
    out[6] = 1 if inside < inside + 1 < inside + 2 else 0


@pytest.mark.parametrize(("a", "b"), [(3, 7), (7, 3), (4, 4)])
def test_differences_and_comparisons(device: str, a: int, b: int) -> None:
    out = np.zeros(7, np.int64)
    differences[1, 1](np.zeros(16), np.zeros(16, np.int16), out, a, b)
    tests = (a < b) + 2 * (a <= b) + 4 * (a == b) + 8 * (a != b) + 16 * (a > b) + 32 * (a >= b)
    assert out.tolist() == [a - b, b - a, a + b, a - b, 5, tests, 1]


@kernel
def smallest(x: Ptr[u8], out: Ptr[i64], n: i32, u: u32):
    out[0] = (x - n) - x
    out[1] = (x - u) - x


def test_a_count_without_a_negative_of_its_own(device: str) -> None:
    out = np.zeros(2, np.int64)
    smallest[1, 1](np.zeros(4, np.uint8), out, -(2**31), 2**32 - 1)
    assert out.tolist() == [2**31, 1 - 2**32]


@kernel
def casts(x: Ptr[f32], a: Array[u32, 2], out: Ptr[u32], bytes: Ptr[u8]):
    i = thread_idx.x
    room = shared.array(8, f32)
    room[i] = x[i]
    sync_threads()
    words = bitcast(room, Ptr[u32])
    out[i] = words[7 - i]
    out[8 + i] = bitcast(x, Ptr[u32])[i]
    bytes[i] = u8(bitcast(bitcast(x, Ptr[u8]) + 4, Ptr[u16])[i] >> 8)
    bitcast(a, Ptr[i16])[2 * i + 1] = i16(i)
    if i < 2:
        out[16 + i] = u32(bitcast(constant.array(BYTES), Ptr[u64])[i] >> 32)


def test_casts(device: str) -> None:
    x = np.random.default_rng(8).normal(size=8).astype(np.float32)
    a, out, data = np.zeros((2, 4), np.uint32), np.zeros(18, np.uint32), np.zeros(8, np.uint8)
    casts[1, 8](x, a, out, data)
    bits = x.view(np.uint32)
    assert out.tolist() == [*bits[::-1], *bits, *BYTES.view(np.uint32)[[1, 3]]]
    assert data.tolist() == [v >> 8 for v in x.view(np.uint16)[2:10]]
    assert a.ravel().tolist() == [i << 16 for i in range(8)]


@kernel
def along(rows: Ptr[f32], out: Ptr[f32], width: i32, height: i32):
    """Row by row with a moving pointer, through a device function."""
    column = rows + thread_idx.x
    end = column + width * height
    total = 0.0
    while column < end:
        total += first(column)
        column += width
    out[thread_idx.x] = total


def first(p):
    return (p + 1)[-1]


def test_a_pointer_that_moves_in_a_loop(device: str) -> None:
    rows = np.random.default_rng(9).integers(0, 100, (5, 32)).astype(np.float32)
    out = np.zeros(32, np.float32)
    along[1, 32](rows, out, 32, 5)
    assert out.tolist() == rows.sum(0).tolist()


@kernel
def in_order(x: Ptr[i32], out: Ptr[i32]):
    out[0] = (2 * atomic.add(x, 0, 1) + (x + atomic.add(x, 0, 1)))[0]


def test_a_count_before_its_pointer_is_evaluated_first(device: str) -> None:
    x, out = np.array([1, 20, 30, 40, 50, 60], np.int32), np.zeros(1, np.int32)
    in_order[1, 1](x, out)
    assert (x[0], out[0]) == (3, 50)


@kernel
def read_only(x: Ptr[i32], y: Ptr[i32], out: Ptr[i32], n: i32):
    out[0] = (x + n)[0] + i32(bitcast(y, Ptr[u8])[n])


def test_reading_at_a_moved_pointer_writes_nothing() -> None:
    (tree,) = kdsl.compile(read_only).tree.kernels
    assert tree.written == {p.uid for p in tree.parameters if p.name == "out"}


@kernel
def misaligned(x: Ptr[u8], out: Ptr[u32]):
    out[0] = bitcast(x + 2, Ptr[u32])[0]


def test_a_misaligned_pointer_is_a_fault_where_it_is_read() -> None:
    with pytest.raises(MemoryFault, match="misaligned read of 4 bytes"):
        misaligned[1, 1](np.zeros(8, np.uint8), np.zeros(1, np.uint32))


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
@pytest.mark.parametrize("k", [moves, differences, casts, along], ids=lambda k: k.name)
def test_ptxas_takes_them(k: Any, arch: str) -> None:
    assert kdsl.compile(k, target=kdsl.Target.parse(arch)).cubin


def test_the_tree_shows_them() -> None:
    text = str(kdsl.compile(differences).tree)
    assert "p: Ptr[f64] = &x[a]" in text and "out[0] = (p - q)" in text and "&s[-i64(b)]" in text
