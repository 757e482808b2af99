"""Assignment to parts of arrays: copies and fills, by one thread; NumPy's own is the oracle."""

from __future__ import annotations

import numpy as np
import pytest

import kdsl
from kdsl import Array, DeviceAssertionError, MemoryFault, Ptr, f32, f64, i32, kernel, local, shared, thread_idx, u8

A = np.arange(24, dtype=np.float32).reshape(4, 6)


@kernel
def copies(a: Array[f32, 2], b: Array[f32, 2], n: i32):
    b[0, :] = a[1]
    b[1:3, 2:4] = a[0:2, 0:2]
    b[:, 5] = a[:, 0]
    b[3, 0:3] = a[2, ::2]
    b[2, n:] = a[0, n:]
    b[..., 4] = 7


def test_copies(device: str) -> None:
    b = np.zeros((4, 6), np.float32)
    copies[1, 1](A, b, 5)
    expected = np.zeros((4, 6), np.float32)
    expected[0, :] = A[1]
    expected[1:3, 2:4] = A[0:2, 0:2]
    expected[:, 5] = A[:, 0]
    expected[3, 0:3] = A[2, ::2]
    expected[2, 5:] = A[0, 5:]
    expected[..., 4] = 7
    assert b.tolist() == expected.tolist()


@kernel
def between_memories(p: Ptr[f32], q: Ptr[f64], small: Ptr[u8], n: i32):
    own = local.array(4, f32)
    tile = shared.array((2, 4), f32)
    own[:] = p[0:4]
    tile[1, :] = own
    tile[0, :] = own[::-1]
    q[0:n] = tile.reshape(-1)[:n]
    small[0:3] = True
    cube = local.array((2, 2, 2), i32)
    cube[:] = 3
    cube[1, :, 0] = small[0:2]
    q[8:16] = cube.reshape(8)


def test_between_memories_and_types(device: str) -> None:
    p, q, small = np.arange(4, dtype=np.float32), np.full(16, -1.0), np.zeros(4, np.uint8)
    between_memories[1, 1](p, q, small, 7)
    assert q.tolist() == [3, 2, 1, 0, 0, 1, 2, -1, 3, 3, 3, 3, 1, 3, 1, 3]
    assert small.tolist() == [1, 1, 1, 0]


def next_row(a, counter):
    counter[0] += 1
    return a[counter[0]]


@kernel
def evaluated_once(a: Array[f32, 2], b: Array[f32, 1], counter: Ptr[i32]):
    b[0:6] = next_row(a, counter)
    b[counter[0] + 5 : 8] = f32(counter[0])


def test_what_is_copied_is_evaluated_once(device: str) -> None:
    b, counter = np.zeros(8, np.float32), np.zeros(1, np.int32)
    evaluated_once[1, 1](A, b, counter)
    assert b.tolist() == [*A[1], 1.0, 1.0]
    assert counter.tolist() == [1]


@kernel(debug=True)
def checked(a: Array[f32, 1], b: Array[f32, 1], n: i32, m: i32):
    a[0:n] = b[0:m]


def test_debug_builds_compare_the_extents(device: str) -> None:
    a, b = np.zeros(4, np.float32), np.ones(4, np.float32)
    checked[1, 1](a, b, 2, 2)
    assert a.tolist() == [1, 1, 0, 0]
    if device == "emulator":  # on a GPU it would end the context
        with pytest.raises(DeviceAssertionError, match="copy of arrays that differ in extent along axis 0"):
            checked[1, 1](a, b, 2, 3)
        with pytest.raises(MemoryFault, match="a slice ends at 5, outside of axis 0 of `b`, whose extent is 4"):
            checked[1, 1](a, b, 2, 5)


@kernel
def in_registers(x: Ptr[f32], out: Ptr[f32]):
    own = local.array(8, f32)
    own[:] = x[0:8]
    other = local.array((2, 4), f32)
    other[:] = own.reshape(2, 4)
    other[0, :] = 1.0
    out[thread_idx.x] = other[1, 3] + other[0, 1]


def test_copies_of_small_arrays_stay_in_registers(device: str) -> None:
    ptx = kdsl.compile(in_registers, target="sm_90").ptx
    assert ".local" not in ptx
    assert ptx.count("ld.global") == 1
    x, out = np.arange(8, dtype=np.float32), np.zeros(1, np.float32)
    in_registers[1, 1](x, out)
    assert out.tolist() == [8.0]
