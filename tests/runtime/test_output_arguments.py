"""What is said of an array that does not fit: the advice for one that the kernel writes keeps the result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import Array, Ptr, f8e4m3, f32, i32, kernel, struct, u32


@struct
class Particle:
    x: f32
    y: f32


@kernel
def copied(a: Ptr[f32], c: Ptr[f32], n: i32) -> None:
    for i in range(n):
        c[i] = a[i]


@kernel
def rows(a: Array[f32, 2], c: Array[f32, 2]) -> None:
    c[0, 0] = a[0, 0]


@kernel
def small(a: Ptr[f8e4m3], c: Ptr[u32]) -> None:
    c[0] = u32(f32(a[0]))


@kernel
def moved(p: Array[Particle, 1]) -> None:
    p[0].x += 1.0


def advice(kernel: Any, *arguments: Any) -> str:
    with pytest.raises(kdsl.ArgumentError) as caught:
        kernel[1, 1](*arguments)
    return str(caught.value).partition("; ")[2]


FIT, WIDE = np.zeros(4, np.float32), np.zeros(4)
GRID = np.zeros((4, 4), np.float32)
KEPT = ", and keep it: the kernel may write it"
STRIDED = (
    ", or leave out the annotation of the parameter, which then takes strided arrays (prepare or capture the launch "
    "with one)"
)


def test_only_what_is_written_is_kept(device: str) -> None:
    assert advice(copied, WIDE, FIT, 4) == "pass a.astype(np.float32)"
    assert advice(copied, FIT, WIDE, 4) == "pass c.astype(np.float32)" + KEPT
    assert advice(copied, FIT[::2], FIT, 2) == "pass np.ascontiguousarray(a)"
    assert advice(copied, FIT, FIT[::2], 2) == "pass np.ascontiguousarray(c)" + KEPT
    assert advice(rows, GRID[:, ::2], GRID) == "pass np.ascontiguousarray(a)" + STRIDED
    assert advice(rows, GRID, GRID.T) == "pass np.ascontiguousarray(c)" + KEPT + STRIDED
    assert advice(copied, FIT, [0.0] * 4, 4) == "pass np.array(..., np.float32)" + KEPT
    assert advice(copied, [0.0] * 4, FIT, 4) == "pass np.array(..., np.float32)"
    assert advice(copied, FIT, kdsl.zeros(4, kdsl.f64), 4) == (
        "pass kdsl.to_device(c.to_host().astype(np.float32))" + KEPT
    )


def test_bytes_are_viewed(device: str) -> None:
    out = np.zeros(1, np.uint32)
    assert advice(small, np.zeros(4, np.uint8), out) == "pass a.view(ml_dtypes.float8_e4m3fn), which has the same bytes"
    assert advice(small, kdsl.zeros(4, kdsl.u8), out) == "pass a.view(f8e4m3), which has the same bytes"
    assert advice(small, FIT, out) == "pass a.astype(ml_dtypes.float8_e4m3fn)"
    fits = kdsl.zeros(4, f8e4m3)
    assert advice(small, fits, np.zeros(1, np.int32)) == "pass c.view(np.uint32), which has the same bytes"
    small[1, 1](kdsl.zeros(4, kdsl.u8).view(f8e4m3), np.zeros(1, np.int32).view(np.uint32))


def test_structs_are_made_by_their_fields(device: str) -> None:
    assert advice(moved, FIT) == (
        "float32 has no fields: make it np.zeros(shape, Particle.dtype) before, and set its fields, p['x'] = ..."
    )
    swapped = np.zeros(2, [("y", "f4"), ("x", "f4")])
    swapped["x"], swapped["y"] = 1, 2
    assert advice(moved, swapped) == (
        "its fields are in the order y, x: pass p[['x', 'y']].astype(Particle.dtype)" + KEPT
    )
    kept = swapped[["x", "y"]].astype(Particle.dtype)
    moved[1, 1](kept)
    assert kept.tolist() == [(2, 2), (1, 2)]
