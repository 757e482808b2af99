"""Rows: slices, views, copies between arrays, and lists."""

import numpy as np

from kdsl import (
    Array,
    Ptr,
    f32,
    f32x4,
    f64,
    grid,
    i64,
    kernel,
)

from .capability import row

N = np.arange(32)
GRID = np.arange(32 * 8, dtype=np.float32).reshape(32, 8)


@row("Memory", "slices", "`a[i]`, `a[i, 1:5]`, `a[:, j]`, `a[::-1]` are views: nothing is copied", inputs=(GRID,),
     out=GRID[:, 1:5].sum(1) + GRID[::-1, 2] + 4, without=(r"\.local",))  # fmt: skip
@kernel
def slices(out: Ptr[f32], a: Array[f32, 2]):
    i = grid(1)
    part = a[i, 1:5]
    total = part[0]
    for k in range(1, 4):
        total += part[k]
    out[i] = total + a[::-1][i, 2] + len(part)


@row("Memory", "transpose, reshape and view", "`a.T`, `a.reshape(rows, -1)`, `a.view(f32x4)`", inputs=(GRID,),
     out=GRID.T[3] + GRID.reshape(64, 4)[::2, 1] + GRID[:, 7])  # fmt: skip
@kernel
def reshaped(out: Ptr[f32], a: Array[f32, 2]):
    i = grid(1)
    quads = a.reshape(-1).view(f32x4)
    out[i] = a.T[3, i] + a.reshape(64, 4)[2 * i, 1] + quads[2 * i + 1].w


@row("Memory", "copies between arrays", "`a[i, :] = b[j, :]`, `a[:] = x`", out=np.where(N[:, None] % 2, 7, GRID[::-1]),
     inputs=(GRID,))  # fmt: skip
@kernel
def copies(out: Array[f32, 2], a: Array[f32, 2]):
    i = grid(1)
    if i % 2:
        out[i, :] = 7.0
    else:
        out[i, :] = a[31 - i, :]


@row("Memory", "slices of a pointer", "`p[lo:hi]` is an array of one dimension", out=N + 2.0, inputs=(N + 0.0,))
@kernel
def of_a_pointer(out: Ptr[f64], x: Ptr[f64]):
    i = grid(1)
    part = x[i : i + 2]
    out[i] = part[0] + len(part)


@row("Statements", "list literals", "local arrays of fixed length, in registers where indices are constant", out=N * 6.0 + 3,
     without=(r"\.local",))  # fmt: skip
@kernel
def lists(out: Ptr[f64]):
    w = [1.0, f64(2.0), 3.0]
    acc = [f64(0.0)] * 3
    for k in range(3, unroll=True):
        acc[k] = w[k] * grid(1)
    out[grid(1)] = acc[0] + acc[1] + acc[2] + len(w)


@row("Statements", "comprehensions", "lists of constant ranges; sum, any, all, min and max of generator expressions",
     out=sum(k * k for k in range(5)) * N + 10)  # fmt: skip
@kernel
def comprehensions(out: Ptr[i64]):
    squares = [k * k * grid(1) for k in range(5)]
    out[grid(1)] = sum(s for s in squares) + sum(k for k in range(5))


@row(
    "Statements",
    "for over an array",
    "its elements, or its rows",
    inputs=(GRID[:4].copy(),),
    out=np.full(32, GRID[:4].sum()),
)
@kernel
def over_rows(out: Ptr[f32], a: Array[f32, 2]):
    total = 0.0
    for line in a:
        for x in line:
            total += x
    out[grid(1)] = total


@row("Statements", "starred unpacking", "`first, *rest = t`", out=N + 2 + 3 * 10)
@kernel
def starred(out: Ptr[i64]):
    first, *rest = (grid(1), 2, 3)
    out[grid(1)] = first + rest[0] + rest[1] * 10
