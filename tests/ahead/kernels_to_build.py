"""Kernels of every kind of parameter, for the builds of the tests."""

from __future__ import annotations

from typing import NamedTuple

from kdsl import (
    Array,
    Constexpr,
    FixedArray,
    Ptr,
    atomic,
    bf16,
    complex64,
    f16,
    f32,
    f32x4,
    f64,
    grid,
    i8,
    i32,
    i64,
    kernel,
    struct,
    u8,
    u64,
)  # fmt: skip


@struct
class Vec:
    x: f32
    y: f32


@struct
class Body:
    tag: i8
    position: Vec
    weight: f32x4
    history: FixedArray[f32, 3]
    register: i32  # a keyword of C


class Pair(NamedTuple):
    first: i32
    second: f32


@kernel
def scale(x: Ptr[f32], out: Ptr[f32], factor: f32, n: i32) -> None:
    """out = factor * x."""
    i = grid(1)
    if i < n:
        out[i] = factor * x[i]


@kernel
def rows(a: Array[f64, 2], out: Array[i64, 1]) -> None:
    i = grid(1)
    if i < a.shape[0]:
        total = f64(0)
        for j in range(a.shape[1]):
            total += a[i, j]
        out[i] = i64(total)


@kernel
def scalars(out: Ptr[f64], flag: bool, small: i8, byte: u8, big: u64, half: f16, brain: bf16, double: f64) -> None:
    out[0] = f64(1) if flag else f64(0)
    out[1] = f64(small)
    out[2] = f64(byte)
    out[3] = f64(big)
    out[4] = f64(half)
    out[5] = f64(brain)
    out[6] = double


@kernel
def records(out: Ptr[f32], v: Vec, z: complex64, lanes: f32x4, bodies: Ptr[Body], default: i32) -> None:
    out[0] = v.x + v.y
    out[1] = z.real
    out[2] = z.imag
    out[3] = lanes.w
    out[4] = bodies[1].position.y + bodies[1].weight.z + bodies[1].history[2]
    bodies[0].register = default


@kernel
def pairs(out: Ptr[f32], p: Pair, t: tuple[i32, f32]) -> None:
    out[0] = f32(p.first) + p.second
    out[1] = f32(t[0]) + t[1]


@kernel(launch_bounds=64)
def count(total: Ptr[i32], step: Constexpr[int]) -> None:
    atomic.add(total, 0, step)


@kernel
def brains(x: Ptr[bf16], out: Ptr[f32]) -> None:
    out[0] = f32(x[0])


@kernel(requires=("x.size >= n", "n >= 0", "grid.x * 64 >= n"), block=64, grid="ceil(n / 64)")
def guarded(x: Ptr[f32], n: i32) -> None:
    i = grid(1)
    if i < n:
        x[i] += 1.0
