"""Kernels of odd parameters and names, for the tests of what loaders pass and headers declare."""

from __future__ import annotations

import kdsl
from kdsl import (
    Array,
    FixedArray,
    Ptr,
    bf16,
    complex64,
    f16,
    f32,
    f32x2,
    f32x3,
    f64,
    grid,
    i8,
    i16,
    i32,
    i32x2,
    i64,
    kernel,
    struct,
    u8,
    u32,
    u32x4,
)  # fmt: skip


@struct
class Halves:
    tag: u8
    brain: bf16
    number: f64


@struct
class Padded:
    small: i8
    three: f32x3
    double: f64


@struct
class Node:
    next: Ptr[Node]
    value: i32
    parts: FixedArray[Padded, 2]


@kernel
def integers(out: Ptr[i64], a: i8, b: i16, c: i32, d: u32, e: i64) -> None:
    out[0] = i64(a)
    out[1] = i64(b)
    out[2] = i64(c)
    out[3] = i64(d)
    out[4] = e


@kernel
def floats(out: Ptr[f64], half: f16, brain: bf16, single: f32, double: f64) -> None:
    out[0] = f64(half)
    out[1] = f64(brain)
    out[2] = f64(single)
    out[3] = double


@kernel
def vectors(out: Ptr[f64], a: f32x2, b: u32x4, c: kdsl.f16x2, d: kdsl.bf16x2, e: f32x3, z: complex64) -> None:
    out[0] = f64(a.x)
    out[1] = f64(b.w)
    out[2] = f64(c.y)
    out[3] = f64(d.y)
    out[4] = f64(e.z)
    out[5] = f64(z.real)
    out[6] = f64(z.imag)


@kernel
def structs(out: Ptr[f64], one: Halves, two: Padded) -> None:
    out[0] = f64(one.tag)
    out[1] = f64(one.brain)
    out[2] = one.number
    out[3] = f64(two.small)
    out[4] = f64(two.three.z)
    out[5] = two.double


@kernel
def records(out: Ptr[f64], many: Ptr[Halves], padded: Array[Padded, 1]) -> None:
    out[0] = f64(many[1].brain) + padded[0].double


@kernel
def double(x: Ptr[f32], n: i32) -> None:
    i = grid(1)
    if i < n:
        x[i] = x[i] * 2.0


@kernel
def plane(x: Array[f32, 2]) -> None:
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[i, j] = x[i, j] + f32(10 * i + j)


@kernel
def strided(x) -> None:  # type: ignore[no-untyped-def]
    for i in range(x.shape[0]):
        x[i] = x[i] + 1


@kernel
def bytes_of(x: Array[u8, 2], out: Ptr[i64]) -> None:
    out[0] = i64(x.shape[0])


@kernel
def lanes(x: Ptr[i32x2], y: Array[i32x2, 1]) -> None:
    x[0] = y[0]


@kernel
def filled(out: Ptr[f64], n: i32 = 5, *, scale: f32 = 2.5, pair: tuple[i32, i32] = (3, 4)) -> None:
    out[0] = f64(n) * f64(scale) + f64(pair[0]) + f64(pair[1])


@kernel
def nested(out: Ptr[i32], p: tuple[i32, tuple[i32, i32]], p_0: i32) -> None:
    out[0] = p[0] + 10 * p[1][0] + 100 * p[1][1] + 1000 * p_0


@kernel
def named(self: i32, arguments: i32, keywords: i32, out: Ptr[i32]) -> None:
    out[0] = self + 10 * arguments + 100 * keywords


@kernel
def Named(module: i32, launch: i32, stream: i32, params: i32, function: i32, values: i32, out: Ptr[i32]) -> None:
    out[0] = module


@kernel
def words(
    x: i32, _x: i32, xor: i32, bitand: i32, char8_t: i32, NULL: i32, linux: i32, default: i32, default_: i32,
    int32_t: i32, é: i32, _Bool: i32, a: Array[f32, 1], a_extent0: i32,
) -> None:  # fmt: skip
    a[0] = f32(_x)


@kernel
def pointers(node: Ptr[Node], one: Node, halves: Ptr[Halves], lists: Ptr[Ptr[f32]]) -> None:
    node[0].value = one.value


@kernel(requires=("x.size >= n", "s < 0.5", "x.ptr % 16 == 0"), block=64, grid="ceil(n / 64)", shared="4 * n")
def contracted(x: Ptr[f32], n: i32, s: f32, flag: bool) -> None:
    i = grid(1)
    if i < n:
        x[i] += 1.0


@kernel(requires="n % k == 0", block=32, grid="n // k")
def divided(x: Ptr[f32], n: i32, k: i32) -> None:
    x[0] = 1.0
