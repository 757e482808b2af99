"""The language's types as LLVM types: in registers, in memory, and the bfloat that llvmlite.ir lacks."""

from __future__ import annotations

import struct
from functools import cache
from typing import Any

from llvmlite import ir as llvm

from kdsl.lang.types import BF16, F16, F32, F64, ArrayType, Kind, PointerType, ScalarType, Space, TupleType, Type, VoidType


class BFloatType(llvm.types._BaseFloatType):
    """LLVM's ``bfloat``. Its constants are written as the upper half of the f32 with the same value."""

    null = "0.0"
    intrinsic_name = "bf16"

    def __str__(self) -> str:
        return "bfloat"

    def format_constant(self, value: Any) -> str:
        return f"0xR{bf16_bits(float(value)):04X}"


class HalfType(llvm.HalfType):
    """``half`` whose constants are written by their bits: llvmlite rounds them by way of f32."""

    def format_constant(self, value: Any) -> str:
        return f"0xH{half_bits(float(value)):04X}"


class FloatType(llvm.FloatType):
    """``float`` whose constants keep the sign and payload of NaNs, and overflow to infinity as a cast does."""

    def format_constant(self, value: Any) -> str:
        return f"0x{struct.unpack('<Q', struct.pack('<d', single(float(value))))[0]:016X}"


class DoubleType(llvm.DoubleType):
    """``double``, constants by their bits."""

    def format_constant(self, value: Any) -> str:
        return f"0x{struct.unpack('<Q', struct.pack('<d', float(value)))[0]:016X}"


def single(value: float) -> float:
    """``value`` rounded to f32, to infinity where it is too large."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def half_bits(value: float) -> int:
    """The bits of ``value`` rounded once to f16."""
    if value != value:
        return 0x7FFF
    try:
        return int(struct.unpack("<H", struct.pack("<e", value))[0])
    except OverflowError:
        return 0x7C00 if value > 0 else 0xFC00


def bf16_bits(value: float) -> int:
    """The bits of ``value`` rounded once, half to even, to bf16."""
    if value != value:
        return 0x7FFF
    bits = struct.unpack("<Q", struct.pack("<d", value))[0]
    sign, magnitude = bits >> 63 << 15, abs(value)
    if magnitude < 2.0**-126:
        # Why divide? Subnormals are multiples of 2^-133, and the division by a power of two is exact.
        return sign | round(magnitude / 2.0**-133)
    if magnitude == float("inf"):
        return sign | 0x7F80
    exponent = (bits >> 52 & 0x7FF) - 1023 + 127
    fraction = bits & ((1 << 52) - 1)
    kept, rest, half = fraction >> 45, fraction & ((1 << 45) - 1), 1 << 44
    kept += rest > half or (rest == half and kept & 1)
    return sign | min((exponent << 7) + kept, 0x7F80)


I1, I8, I16, I32, I64 = (llvm.IntType(bits) for bits in (1, 8, 16, 32, 64))
HALF, BFLOAT, FLOAT, DOUBLE = HalfType(), BFloatType(), FloatType(), DoubleType()
VOID = llvm.VoidType()
_FLOATS: dict[ScalarType, llvm.Type] = {F16: HALF, BF16: BFLOAT, F32: FLOAT, F64: DOUBLE}
_INTS: dict[int, llvm.Type] = {8: I8, 16: I16, 32: I32, 64: I64}


@cache
def pointer(space: Space) -> llvm.PointerType:
    """An opaque pointer into ``space``."""
    return llvm.PointerType(addrspace=space.value)


@cache
def llvm_type(t: Type) -> llvm.Type:
    """The type of a value in registers. A bool is an i1; an array is its pointer, or a struct of it, extents and strides."""
    match t:
        case ScalarType():
            if t.kind is Kind.BOOL:
                return I1
            return _FLOATS[t] if t.is_float else _INTS[t.bits]
        case PointerType():
            return pointer(t.space)
        case ArrayType():
            if t.shape is not None:
                return pointer(t.space)
            assert t.index is not None
            words = t.ndim * (2 if t.strided else 1)
            return llvm.LiteralStructType([pointer(t.space), *[llvm_type(t.index)] * words])
        case TupleType():
            return llvm.LiteralStructType([llvm_type(element) for element in t.elements])
        case VoidType():
            return VOID


@cache
def memory_type(t: Type) -> llvm.Type:
    """The type of a value in memory: a bool takes one byte, all else is as in registers."""
    return I8 if isinstance(t, ScalarType) and t.kind is Kind.BOOL else llvm_type(t)


def alignment(t: Type) -> int:
    """Bytes that an element in memory is aligned to: its own size, and 8 for a pointer."""
    match t:
        case ScalarType():
            return t.size
        case TupleType():
            return max((alignment(element) for element in t.elements), default=1)
        case _:
            return 8
