"""Rows: scalar types, vectors, pointers, arrays, tuples."""

import ml_dtypes
import numpy as np

from kdsl import (
    Array,
    Ptr,
    bf16,
    bf16x2,
    bf16x4,
    f16,
    f16x2,
    f16x4,
    f32,
    f32x2,
    f32x4,
    f64,
    f64x2,
    grid,
    i8,
    i8x4,
    i16,
    i16x2,
    i16x4,
    i32,
    i32x2,
    i32x4,
    i64,
    i64x2,
    kernel,
    u8,
    u8x4,
    u16,
    u16x2,
    u16x4,
    u32,
    u32x2,
    u32x4,
    u64,
    u64x2,
)

from .capability import Capability, row

N = np.arange(32)
BF16 = ml_dtypes.bfloat16


def scalar(T: object, dtype: object, load: str, what: str) -> Capability:
    values = (N * 7 - 50).astype(dtype)

    @row("Types", np.dtype(dtype).name.replace("int", "i").replace("ui", "u").replace("bfloat", "bf")
         .replace("float", "f"), what, out=values[::-1], inputs=(values,), instructions=(load,))  # fmt: skip
    @kernel
    def reverse(out: Ptr[T], x: Ptr[T]):
        i = grid(1)
        out[31 - i] = x[i]

    return reverse


SCALARS = [
    scalar(bool, np.bool_, "ld.global.b8", "true and false, one byte in memory; any byte but 0 is true"),
    scalar(i8, np.int8, "ld.global.b8", "8 bits, signed"),
    scalar(i16, np.int16, "ld.global.b16", "16 bits, signed"),
    scalar(i32, np.int32, "ld.global.b32", "32 bits, signed"),
    scalar(i64, np.int64, "ld.global.b64", "64 bits, signed"),
    scalar(u8, np.uint8, "ld.global.b8", "8 bits, unsigned"),
    scalar(u16, np.uint16, "ld.global.b16", "16 bits, unsigned"),
    scalar(u32, np.uint32, "ld.global.b32", "32 bits, unsigned"),
    scalar(u64, np.uint64, "ld.global.b64", "64 bits, unsigned"),
    scalar(f16, np.float16, "ld.global.b16", "IEEE half precision"),
    scalar(bf16, BF16, "ld.global.b16", "bfloat16: f32's exponent, 8 bits of precision"),
    scalar(f32, np.float32, "ld.global.b32", "IEEE single precision"),
    scalar(f64, np.float64, "ld.global.b64", "IEEE double precision"),
]


def vector(V: object, dtype: object, lanes: int, load: str, store: str) -> Capability:
    values = np.arange(32 * lanes).astype(dtype).reshape(32, lanes)
    name = V.__name__ if hasattr(V, "__name__") else str(V)

    @row("Types", name, "a vector; loaded and stored by one access", out=values[:, ::-1], inputs=(values,),
         instructions=(load, store))  # fmt: skip
    @kernel
    def reverse(out: Array[V, 1], x: Array[V, 1]):
        i = grid(1)
        v = x[i]
        out[i] = v.yx if lanes == 2 else v.wzyx

    return reverse


VECTORS = [
    vector(*v)
    for v in (
        (f32x2, np.float32, 2, "ld.global.v2.b32", "st.global.v2.b32"),
        (f32x4, np.float32, 4, "ld.global.v4.b32", "st.global.v4.b32"),
        (f64x2, np.float64, 2, "ld.global.v2.b64", "st.global.v2.b64"),
        (i32x2, np.int32, 2, "ld.global.v2.b32", "st.global.v2.b32"),
        (i32x4, np.int32, 4, "ld.global.v4.b32", "st.global.v4.b32"),
        (u32x2, np.uint32, 2, "ld.global.v2.b32", "st.global.v2.b32"),
        (u32x4, np.uint32, 4, "ld.global.v4.b32", "st.global.v4.b32"),
        (i64x2, np.int64, 2, "ld.global.v2.b64", "st.global.v2.b64"),
        (u64x2, np.uint64, 2, "ld.global.v2.b64", "st.global.v2.b64"),
        (i8x4, np.int8, 4, "ld.global.b32", "st.global.b32"),
        (u8x4, np.uint8, 4, "ld.global.b32", "st.global.b32"),
        (i16x2, np.int16, 2, "ld.global.v2.b16", "st.global.v2.b16"),
        (u16x2, np.uint16, 2, "ld.global.v2.b16", "st.global.v2.b16"),
        (i16x4, np.int16, 4, "ld.global.v4.b16", "st.global.v4.b16"),
        (u16x4, np.uint16, 4, "ld.global.v4.b16", "st.global.v4.b16"),
        (f16x2, np.float16, 2, "ld.global.v2.b16", "st.global.v2.b16"),
        (bf16x2, BF16, 2, "ld.global.v2.b16", "st.global.v2.b16"),
        (f16x4, np.float16, 4, "ld.global.v4.b16", "st.global.v4.b16"),
        (bf16x4, BF16, 4, "ld.global.v4.b16", "st.global.v4.b16"),
    )
]
