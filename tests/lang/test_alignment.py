"""assume_aligned, is_aligned, and copies by a whole block; what they widen is looked up in the PTX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import (
    Array,
    MemoryFault,
    Ptr,
    assume_aligned,
    copy_block,
    f32,
    f64,
    i32,
    is_aligned,
    kernel,
    shared,
    sync_threads,
    thread_idx,
    u8,
)


@kernel
def four(x: Ptr[f32], out: Ptr[f32]):
    p = assume_aligned(x, 16) + thread_idx.x * 4
    out[thread_idx.x] = p[0] + p[1] + p[2] + p[3]


@kernel
def four_unpromised(x: Ptr[f32], out: Ptr[f32]):
    p = x + thread_idx.x * 4
    out[thread_idx.x] = p[0] + p[1] + p[2] + p[3]


@kernel
def four_of_a_row(x: Array[f32, 2], out: Ptr[f32]):
    row = assume_aligned(x[thread_idx.x], 16)
    out[thread_idx.x] = row[0] + row[1] + row[2] + row[3]


def loads(k: Any) -> list[str]:
    text = kdsl.compile(k, target="sm_90").ptx
    return [line.split()[0] for line in text.splitlines() if line.strip().startswith("ld.global")]


def test_neighbours_are_one_access() -> None:
    assert loads(four) == ["ld.global.v4.b32"]
    assert loads(four_of_a_row) == ["ld.global.v4.b32"]
    assert len(loads(four_unpromised)) == 4


def test_the_same_values(device: str) -> None:
    x = np.arange(32, dtype=np.float32)
    for k, given in ((four, x), (four_of_a_row, x.reshape(8, 4))):
        out = np.zeros(8, np.float32)
        k[1, 8](given, out)
        assert out.tolist() == x.reshape(8, 4).sum(axis=1).tolist()


@kernel
def broken(x: Ptr[f32], out: Ptr[f32]):
    p = assume_aligned(x + 1, 16)
    out[0] = p[0] + p[1] + p[2] + p[3]


@kernel(debug=True)
def broken_and_checked(x: Ptr[f32], out: Ptr[f32]):
    p = assume_aligned(x + 1, 16)
    out[0] = p[0] + p[1] + p[2] + p[3]


def test_a_broken_promise() -> None:
    x, out = np.zeros(8, np.float32), np.zeros(1, np.float32)
    with pytest.raises(MemoryFault, match=r"misaligned read of 16 bytes .*assume_aligned"):
        broken[1, 1](x, out)
    with pytest.raises(
        MemoryFault, match=r"assume_aligned\(\) of the array: address 0x[0-9a-f]+4 is no multiple of 16"
    ):
        broken_and_checked[1, 1](x, out)


@kernel
def asked(x: Ptr[u8], out: Ptr[i32]):
    i = thread_idx.x
    tile = shared.array(4, f32)
    out[i] = is_aligned(x + i, 4) * 100 + is_aligned(x + i, 2) * 10 + is_aligned(tile, 16)


def test_is_aligned(device: str) -> None:
    out = np.zeros(8, np.int32)
    asked[1, 8](np.zeros(16, np.uint8), out)
    assert out.tolist() == [111, 1, 11, 1] * 2


@kernel
def through_shared(a: Array[f32, 2], b: Array[f32, 2]):
    tile = shared.array((8, 12), f32)
    copy_block(tile, a[0:8, 0:12])
    sync_threads()
    copy_block(b, tile)


@kernel
def dense(a: Array[f32, 1], b: Array[f32, 1], n: i32, m: i32):
    copy_block(b[n : n + m], a[n : n + m])


@kernel
def converts(a: Array[i32, 1], b: Array[f64, 1], c: Array[u8, 3], d: Array[u8, 3]):
    copy_block(b, a)
    copy_block(d.T, c.T)


@pytest.mark.parametrize("block", [32, (8, 4), (4, 2, 4)])
def test_block_copies(device: str, block: Any) -> None:
    a = np.arange(200, dtype=np.float32).reshape(10, 20)
    b = np.zeros((8, 12), np.float32)
    through_shared[1, block](a, b)
    assert b.tolist() == a[:8, :12].tolist()
    for n, m in ((0, 200), (1, 37), (4, 64), (3, 0), (199, 1), (4, 7)):
        got, expected = np.zeros(200, np.float32), np.zeros(200, np.float32)
        dense[1, block](a.ravel(), got, n, m)
        expected[n : n + m] = a.ravel()[n : n + m]
        assert got.tolist() == expected.tolist()
    ints, doubles = np.arange(50, dtype=np.int32), np.zeros(50)
    cube, copied = np.arange(60, dtype=np.uint8).reshape(3, 4, 5), np.zeros((3, 4, 5), np.uint8)
    converts[1, block](ints, doubles, cube, copied)
    assert doubles.tolist() == ints.tolist()
    assert copied.tolist() == cube.tolist()


def test_block_copies_take_16_bytes_at_a_time() -> None:
    text = kdsl.compile(dense, target="sm_90").ptx
    assert "ld.global.v4.b32" in text
    assert "st.global.v4.b32" in text
    assert ".local" not in text
