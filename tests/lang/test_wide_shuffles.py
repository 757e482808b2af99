"""Shuffles of vectors and tuples: every lane's bytes arrive whole, in as few 32-bit shuffles as there are words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import (
    FULL_MASK,
    Array,
    Ptr,
    f32,
    f64,
    i8,
    i32,
    kernel,
    shfl_down_sync,
    shfl_sync,
    shfl_up_sync,
    shfl_xor_sync,
    struct,
    thread_idx,
    u8,
    u16,
    u64,
)
from kdsl.lang import vectors
from kdsl.lang.types import VectorType

VECTORS = [v for v in vars(vectors).values() if isinstance(v, VectorType)]
LANES = np.arange(32)
SOURCES: dict[str, tuple[Callable[..., Any], np.ndarray]] = {
    "idx": (shfl_sync, LANES // 8 * 8 + 3),
    "up": (shfl_up_sync, np.where(LANES % 8 >= 3, LANES - 3, LANES)),
    "down": (shfl_down_sync, np.where(LANES % 8 + 3 < 8, LANES + 3, LANES)),
    "xor": (shfl_xor_sync, LANES ^ 3),
}


@pytest.mark.parametrize("mode", SOURCES)
@pytest.mark.parametrize("vector", VECTORS, ids=str)
def test_vectors(vector: VectorType, mode: str, device: str) -> None:
    shuffle, source = SOURCES[mode]
    words = np.random.default_rng(3).integers(0, 256, 32 * vector.size, np.uint8)
    # Whole numbers: a NaN might not keep its bits in NumPy's hands.
    values = (words[: 32 * vector.lanes] % 100).astype(vector.element.numpy).reshape(32, vector.lanes)

    def move(a):
        i = thread_idx.x
        a[i] = shuffle(FULL_MASK, a[i], 3, 8)

    move.__annotations__["a"] = Ptr[vector]
    move = kernel(move)
    got = values.copy()
    move[1, 32](got)
    assert got.tobytes() == values[source].tobytes()
    assert kdsl.compile(move).ptx.count("shfl.sync") == -(-vector.size // 4)


@kernel
def tuples(x: Array[f64, 1], y: Array[u16, 1], z: Array[i8, 1], out: Array[f64, 2]) -> None:
    i = thread_idx.x
    whole = (x[i], (y[i], i % 3 == 0), z[i], i, u8(i))
    (a, (b, c), d, e, f) = shfl_xor_sync(FULL_MASK, whole, 5)
    out[i, 0] = a
    out[i, 1] = b
    out[i, 2] = i32(c)
    out[i, 3] = d
    out[i, 4] = e
    out[i, 5] = f


def test_tuples_of_every_size(device: str) -> None:
    x, y, z = LANES * 0.37, (LANES * 2000).astype(np.uint16), (LANES * 7 - 100).astype(np.int8)
    out = np.zeros((32, 6))
    tuples[1, 32](x, y, z, out)
    o = LANES ^ 5
    expected = np.stack([x[o], y[o].astype(float), (o % 3 == 0) * 1.0, z[o].astype(float), o * 1.0, o * 1.0], axis=1)
    assert (out == expected).all()


def test_small_parts_share_a_word() -> None:
    # An f64, an i32, and 16 + 8 + 8 + 8 bits in two words.
    assert kdsl.compile(tuples).ptx.count("shfl.sync") == 2 + 1 + 2


@kernel
def literals(out: Ptr[f32]) -> None:
    n, x = shfl_sync(FULL_MASK, (1, 2.5), 0)
    out[0] = n + x


def test_literals_in_a_tuple() -> None:
    out = np.zeros(1, np.float32)
    literals[1, 32](out)
    assert out[0] == 3.5


@kernel
def swizzled(a: Ptr[kdsl.f32x4], out: Ptr[f32]) -> None:
    i = thread_idx.x
    v = shfl_down_sync(FULL_MASK, a[i].zyx, 1)
    out[i] = v.x * 100 + v.y * 10 + v.z


def test_a_vector_of_three(device: str) -> None:
    a, out = np.arange(128, dtype=np.float32).reshape(32, 4), np.zeros(32, np.float32)
    swizzled[1, 32](a, out)
    source = a[np.minimum(LANES + 1, 31)]
    assert (out == source[:, 2] * 100 + source[:, 1] * 10 + source[:, 0]).all()


@kernel
def of_64_bits(mask: u64, a: Ptr[u64]) -> None:
    a[thread_idx.x] = shfl_sync(FULL_MASK, a[thread_idx.x] ^ mask, 31 - thread_idx.x)


def test_a_scalar_of_64_bits(device: str) -> None:
    a = np.arange(32, dtype=np.uint64) << np.uint64(35)
    got = a.copy()
    of_64_bits[1, 32](7, got)
    assert (got == (a ^ np.uint64(7))[::-1]).all()


@struct
class Sample:
    weight: f64
    id: i8
    flags: u16
    place: kdsl.f32x2


@struct
class Pair:
    first: Sample
    valid: bool


@kernel
def structs(a: Ptr[Pair], out: Ptr[Pair]) -> None:
    i = thread_idx.x
    out[i] = shfl_sync(FULL_MASK, a[i], i // 2)


def test_structs(device: str) -> None:
    values = np.zeros(32, Pair.dtype)
    values["first"]["weight"] = LANES * 0.1
    values["first"]["id"] = LANES - 16
    values["first"]["flags"] = LANES * 999
    values["first"]["place"] = np.stack([LANES, -LANES], axis=1)
    values["valid"] = LANES % 5 == 0
    out = np.zeros_like(values)
    structs[1, 32](values, out)
    for name in Sample.dtype.names:
        assert (out["first"][name] == values["first"][name][LANES // 2]).all()
    assert (out["valid"] == values["valid"][LANES // 2]).all()
    # An f64, two f32, and 16 + 8 + 8 bits in one.
    assert kdsl.compile(structs).ptx.count("shfl.sync") == 2 + 2 + 1
