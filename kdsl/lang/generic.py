"""The type variables of the intrinsic stubs: which scalar types one function takes.

To the kernel compiler the constraints are the overloads; to a type checker they are int, float and bool.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from kdsl.lang.type_names import bf16, f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64

F = TypeVar("F", f32, f64)
"""A float that libdevice has functions for."""

I = TypeVar("I", i32, u32)  # noqa: E741 (beside F, N and S)
"""A 32-bit integer."""

H = TypeVar("H", f16, bf16)
"""A float of 16 bits."""

R = TypeVar("R", i32, u32, f32)
"""32 bits that have an order."""

L = TypeVar("L", i64, u64)
"""A 64-bit integer."""

N = TypeVar("N", i32, u32, i64, u64)
"""A 32- or 64-bit integer."""

S = TypeVar("S", bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64)
"""Any scalar."""

if TYPE_CHECKING:
    V = TypeVar("V")
else:
    V = S
"""What a shuffle moves: any scalar by its signature, and besides, as `kdsl.frontend.shuffles` says, what holds some."""
