"""Kernels and structs whose names meet each other's, and C's, in a header."""

from __future__ import annotations

from kdsl import FixedArray, Ptr, f8e4m3, f16, f32, grid_sync, i32, kernel, struct


@struct
class Small:
    half: f16
    halves: FixedArray[f16, 2, 3]
    tiny: f8e4m3


@struct
class both_params:
    x: f32


@struct
class size_t:
    int32_t: i32


@kernel(cluster=2)
def clusters(out: Ptr[i32], s: Small, tiny: Ptr[f8e4m3]) -> None:
    out[0] = 1


@kernel(cluster=2)
def both(out: Ptr[i32]) -> None:
    out[0] = 1
    grid_sync()


@kernel
def alone() -> None:
    grid_sync()


@kernel
def Alone(NAMES_H: i32, alone_params: i32, ALONE_ENTRY: i32, out: Ptr[i32]) -> None:
    out[0] = ALONE_ENTRY


@kernel
def straße(a: both_params, b: size_t, out: Ptr[i32]) -> None:
    out[0] = 1


@kernel
def strasse(out: Ptr[i32]) -> None:
    out[0] = 2
