"""Conversions of 8-bit floats: ``cvt`` from sm_89, arithmetic below; to 8 bits they round to nearest and saturate.

A NaN becomes 0x7f, and the canonical NaN of the wider type. Two at a time is one instruction, as is one.
"""

from __future__ import annotations

import struct
from typing import Any

from llvmlite import ir as llvm

from kdsl.codegen.context import Context
from kdsl.codegen.types import FLOAT, HALF, I8, I16, I32, single
from kdsl.lang.float8 import FORMATS, NAN
from kdsl.lang.types import F8E4M3, ScalarType

# PTX ISA 9.0, 9.7.9.22: cvt of .e4m3x2 and .e5m2x2 is of sm_89, there from PTX 8.1.
_FIRST_SM = 89
_PTX_OF_SM_89 = 81
_HALVES = llvm.VectorType(HALF, 2)
_PACKED = {"f8e4m3": "e4m3x2", "f8e5m2": "e5m2x2"}
_ZERO = llvm.Constant(FLOAT, 0.0)


def has_instructions(context: Context) -> bool:
    """Whether the target converts by one instruction."""
    if context.target.sm < _FIRST_SM:
        return False
    if context.target.sm < 90:
        context.require_ptx(_PTX_OF_SM_89)
    return True


def pair_to_halves(context: Context, pair: llvm.Value, t: ScalarType) -> Any:
    """The two f16 that 16 bits hold as 8-bit floats, exactly; the low one first."""
    return context.call(f"llvm.nvvm.{_PACKED[t.name]}.to.f16x2.rn", _HALVES, [pair])


def pair_of_floats(context: Context, low: llvm.Value, high: llvm.Value, t: ScalarType) -> Any:
    """Two f32 as 8-bit floats in 16 bits."""
    return context.call(f"llvm.nvvm.ff.to.{_PACKED[t.name]}.rn", I16, [high, low])


def pair_of_halves(context: Context, pair: llvm.Value, t: ScalarType) -> Any:
    """Two f16 as 8-bit floats in 16 bits."""
    return context.call(f"llvm.nvvm.f16x2.to.{_PACKED[t.name]}.rn", I16, [pair])


def to_half(context: Context, byte: llvm.Value, t: ScalarType) -> Any:
    """One 8-bit float as an f16, exactly."""
    builder = context.builder
    if has_instructions(context):
        pair = pair_to_halves(context, builder.zext(byte, I16), t)
        return builder.extract_element(pair, llvm.Constant(I32, 0))
    if t == F8E4M3:
        return builder.fptrunc(_widened(context, byte), HALF)
    word = builder.shl(builder.zext(byte, I16), llvm.Constant(I16, 8))
    size = builder.and_(word, llvm.Constant(I16, 0x7FFF))
    is_nan = builder.icmp_unsigned(">", size, llvm.Constant(I16, 0x7C00))
    return builder.bitcast(builder.select(is_nan, llvm.Constant(I16, 0x7FFF), word), HALF)


def to_float(context: Context, byte: llvm.Value, t: ScalarType) -> Any:
    """One 8-bit float as an f32, exactly."""
    if t == F8E4M3 and not has_instructions(context):
        return _widened(context, byte)
    return context.builder.fpext(to_half(context, byte, t), FLOAT)


def _widened(context: Context, byte: llvm.Value) -> Any:
    """An f8e4m3 as an f32, without the instruction: its bits moved, and the exponent with another bias."""
    builder, form = context.builder, FORMATS["f8e4m3"]
    word = builder.zext(byte, I32)
    size = builder.and_(word, llvm.Constant(I32, 0x7F))
    shift = 23 - form.fraction
    moved = builder.shl(size, llvm.Constant(I32, shift))
    normal = builder.add(moved, llvm.Constant(I32, (127 - form.bias) << 23))
    # A product, as fast math flushes an f32 that is below its own smallest normal number, but this one is not.
    small = builder.fmul(builder.uitofp(size, FLOAT), llvm.Constant(FLOAT, form.quantum))
    is_small = builder.icmp_unsigned("<", size, llvm.Constant(I32, 1 << form.fraction))
    bits = builder.select(is_small, builder.bitcast(small, I32), normal)
    sign = builder.shl(builder.and_(word, llvm.Constant(I32, 0x80)), llvm.Constant(I32, 24))
    is_nan = builder.icmp_unsigned("==", size, llvm.Constant(I32, NAN))
    bits = builder.select(is_nan, llvm.Constant(I32, 0x7FFFFFFF), builder.or_(bits, sign))
    return builder.bitcast(bits, FLOAT)


def from_half(context: Context, value: llvm.Value, t: ScalarType) -> Any:
    """An f16 rounded to 8 bits."""
    builder = context.builder
    if not has_instructions(context):
        return from_float(context, builder.fpext(value, FLOAT), t)
    pair = builder.insert_element(llvm.Constant(_HALVES, None), value, llvm.Constant(I32, 0))
    return builder.trunc(pair_of_halves(context, pair, t), I8)


def from_float(context: Context, value: llvm.Value, t: ScalarType) -> Any:
    """An f32 rounded to 8 bits."""
    builder = context.builder
    if has_instructions(context):
        return builder.trunc(pair_of_floats(context, value, _ZERO, t), I8)
    form = FORMATS[t.name]
    word = builder.bitcast(value, I32)
    size = builder.and_(word, llvm.Constant(I32, 0x7FFFFFFF))
    is_nan = builder.icmp_unsigned(">", size, llvm.Constant(I32, 0x7F800000))
    largest = llvm.Constant(I32, _bits(form.largest))
    clamped = builder.select(builder.icmp_unsigned(">", size, largest), largest, size)
    # Half to even: what is dropped is rounded up by adding just less than half of it, or half if the last bit is set.
    dropped = 23 - form.fraction
    odd = builder.and_(builder.lshr(clamped, llvm.Constant(I32, dropped)), llvm.Constant(I32, 1))
    up = builder.add(builder.add(clamped, llvm.Constant(I32, (1 << dropped - 1) - 1)), odd)
    normal = builder.lshr(up, llvm.Constant(I32, dropped))
    normal = builder.sub(normal, llvm.Constant(I32, (127 - form.bias) << form.fraction))
    # Below the smallest normal number: a sum with a number whose last bit is the quantum is rounded to the quantum.
    base = form.quantum * 2**23
    total = builder.fadd(builder.bitcast(clamped, FLOAT), llvm.Constant(FLOAT, base))
    small = builder.sub(builder.bitcast(total, I32), llvm.Constant(I32, _bits(base)))
    is_small = builder.icmp_unsigned("<", clamped, llvm.Constant(I32, _bits(form.smallest_normal)))
    code = builder.trunc(builder.select(is_small, small, normal), I8)
    sign = builder.and_(builder.trunc(builder.lshr(word, llvm.Constant(I32, 24)), I8), llvm.Constant(I8, 0x80))
    return builder.select(is_nan, llvm.Constant(I8, NAN), builder.or_(code, sign))


def _bits(value: float) -> int:
    """The bits of an f32."""
    return int(struct.unpack("<I", struct.pack("<f", single(value)))[0])
