"""The language's types as LLVM types: in registers, in memory, and the bfloat that llvmlite.ir lacks."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from functools import cache
from typing import Any

from llvmlite import ir as llvm

from kdsl.lang import float8
from kdsl.lang.fixed_array import FixedArrayType
from kdsl.lang.group_type import GroupType
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import (
    BF16,
    F16,
    F32,
    F64,
    ArrayType,
    Kind,
    PointerType,
    ScalarType,
    Space,
    TupleType,
    Type,
    VectorType,
    VoidType,
)


class BFloatType(llvm.types._BaseFloatType):  # type: ignore[misc]  # llvmlite is untyped
    """LLVM's ``bfloat``. A constant is written as the f64 of its value, which LLVM reads for every float type."""

    null = "0.0"
    intrinsic_name = "bf16"

    def __str__(self) -> str:
        return "bfloat"

    def format_constant(self, value: Any) -> str:
        return str(llvm.DoubleType().format_constant(value))


BFloatType._create_instance()


def single(value: float) -> float:
    """``value`` rounded to f32, to infinity where it is too large."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def half(value: float) -> float:
    """``value`` rounded once to f16, to infinity where it is too large."""
    try:
        return float(struct.unpack("<e", struct.pack("<e", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def brain(value: float) -> float:
    """``value`` rounded once, half to even, to bf16."""
    if value == 0 or not math.isfinite(value):
        return value
    # A bf16 has 8 significant bits; its subnormals are multiples of 2^-133. Scaling by powers of two is exact here.
    unit = max(math.frexp(value)[1] - 8, -133)
    rounded = round(math.ldexp(value, -unit))
    return math.copysign(math.ldexp(rounded, unit) if abs(rounded) < 2.0 ** (128 - unit) else math.inf, value)


ROUND: dict[ScalarType, Callable[[float], float]] = {F16: half, BF16: brain, F32: single, F64: float}
"""A Python float rounded once to a float type."""

I1, I8, I16, I32, I64 = (llvm.IntType(bits) for bits in (1, 8, 16, 32, 64))
HALF, BFLOAT, FLOAT, DOUBLE = llvm.HalfType(), BFloatType(), llvm.FloatType(), llvm.DoubleType()
VOID = llvm.VoidType()
_FLOATS: dict[ScalarType, llvm.Type] = {F16: HALF, BF16: BFLOAT, F32: FLOAT, F64: DOUBLE}
_INTS: dict[int, llvm.Type] = {8: I8, 16: I16, 32: I32, 64: I64}


@cache
def pointer(space: Space) -> llvm.PointerType:
    """An opaque pointer into ``space``."""
    return llvm.PointerType(addrspace=space.value)


@cache
def llvm_type(t: Type) -> llvm.Type:
    """The type of a value in registers. A bool is an i1; an array a pointer, or a struct of it, extents and strides."""
    match t:
        case ScalarType():
            if t.kind is Kind.BOOL:
                return I1
            return _FLOATS[t] if t.is_float else _INTS[t.bits]  # 8-bit floats are bits
        case VectorType():
            return llvm.VectorType(llvm_type(t.element), t.lanes)
        case PointerType():
            return pointer(t.space)
        case ArrayType():
            words = (t.ndim if t.shape is None else 0) + (t.ndim if t.strided else 0)
            if not words:
                return pointer(t.space)
            index = I32 if t.index is None else llvm_type(t.index)
            return llvm.LiteralStructType([pointer(t.space), *[index] * words])
        case TupleType():
            return llvm.LiteralStructType([llvm_type(element) for element in t.elements])
        case FixedArrayType():
            return llvm.ArrayType(llvm_type(t.element), len(t.fields))
        case StructType():
            return llvm.LiteralStructType([llvm_type(field.type) for field in t.fields])
        case GroupType():
            return I32
        case VoidType():
            return VOID


@cache
def memory_type(t: Type) -> llvm.Type:
    """The type of a value in memory: a bool takes one byte, a struct as many as it has, all else is as in registers."""
    if isinstance(t, StructType):
        return llvm.ArrayType(I8, t.size)
    if isinstance(t, VectorType) and t.lanes == 3:
        return llvm.ArrayType(llvm_type(t.element), 3)  # LLVM's own vector of three takes the room of four
    return I8 if isinstance(t, ScalarType) and t.kind is Kind.BOOL else llvm_type(t)


def constant(t: ScalarType, value: bool | int | float) -> llvm.Constant:
    """The constant ``value`` of a scalar type in registers: ints keep their low bits, floats are rounded once."""
    if t.is_float:
        return llvm.Constant(llvm_type(t), ROUND[t](float(value)))
    if t.is_float8:
        return llvm.Constant(I8, float8.bits(float(value), t))
    if t.kind is Kind.BOOL:
        return llvm.Constant(I1, int(bool(value)))
    return llvm.Constant(llvm_type(t), int(value) & ((1 << t.bits) - 1))


def alignment(t: Type) -> int:
    """Bytes that an element in memory is aligned to: its own size, of three components one's, and 8 for a pointer."""
    match t:
        case ScalarType() | VectorType() | StructType():
            return t.align
        case TupleType():
            return max((alignment(element) for element in t.elements), default=1)
        case _:
            return 8
