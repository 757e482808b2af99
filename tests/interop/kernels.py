"""Kernels that arrays of every library are passed to."""

from __future__ import annotations

from kdsl import Ptr, f32, grid, i32, kernel


@kernel
def axpy(a: f32, x: Ptr[f32], y: Ptr[f32], n: i32) -> None:
    i = grid(1)
    if i < n:
        y[i] = a * x[i] + y[i]


@kernel
def copy_elements(x, y) -> None:  # type: ignore[no-untyped-def]
    i = grid(1)
    if i < x.shape[0]:
        y[i] = x[i]
