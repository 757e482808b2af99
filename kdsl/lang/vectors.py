"""The vector types: ``f32x4`` is four f32, called x, y, z and w."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kdsl.lang.types import BF16, F8E4M3, F8E5M2, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, VectorType

if TYPE_CHECKING:
    # Why Any? A type checker would look for operators and swizzles in a class; and so it accepts `Ptr[f32x4]`, too.
    i8x4: Any
    i16x2: Any
    i16x4: Any
    i32x2: Any
    i32x3: Any
    i32x4: Any
    i64x2: Any
    u8x3: Any
    u8x4: Any
    u16x2: Any
    u16x4: Any
    u32x2: Any
    u32x3: Any
    u32x4: Any
    u64x2: Any
    f8e4m3x2: Any
    f8e4m3x4: Any
    f8e5m2x2: Any
    f8e5m2x4: Any
    f16x2: Any
    f16x4: Any
    bf16x2: Any
    bf16x4: Any
    f32x2: Any
    f32x3: Any
    f32x4: Any
    f64x2: Any
    f64x3: Any
else:
    i8x4 = VectorType(I8, 4)
    i16x2 = VectorType(I16, 2)
    i16x4 = VectorType(I16, 4)
    i32x2 = VectorType(I32, 2)
    i32x3 = VectorType(I32, 3)
    i32x4 = VectorType(I32, 4)
    i64x2 = VectorType(I64, 2)
    u8x3 = VectorType(U8, 3)
    u8x4 = VectorType(U8, 4)
    u16x2 = VectorType(U16, 2)
    u16x4 = VectorType(U16, 4)
    u32x2 = VectorType(U32, 2)
    u32x3 = VectorType(U32, 3)
    u32x4 = VectorType(U32, 4)
    u64x2 = VectorType(U64, 2)
    f8e4m3x2 = VectorType(F8E4M3, 2)
    f8e4m3x4 = VectorType(F8E4M3, 4)
    f8e5m2x2 = VectorType(F8E5M2, 2)
    f8e5m2x4 = VectorType(F8E5M2, 4)
    f16x2 = VectorType(F16, 2)
    f16x4 = VectorType(F16, 4)
    bf16x2 = VectorType(BF16, 2)
    bf16x4 = VectorType(BF16, 4)
    f32x2 = VectorType(F32, 2)
    f32x3 = VectorType(F32, 3)
    f32x4 = VectorType(F32, 4)
    f64x2 = VectorType(F64, 2)
    f64x3 = VectorType(F64, 3)
