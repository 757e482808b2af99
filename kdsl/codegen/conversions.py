"""Casts between scalars: each rounds once, float to int saturates with NaN as 0, ints keep their low bits."""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm

from kdsl.codegen import float8
from kdsl.codegen.context import Context
from kdsl.codegen.types import BFLOAT, DOUBLE, FLOAT, I16, I32, constant, llvm_type
from kdsl.lang import types
from kdsl.lang.types import BF16, F16, F32, F64, Kind, ScalarType


def cast(context: Context, value: llvm.Value, source: ScalarType, target: ScalarType) -> llvm.Value:
    """``value`` converted by value from ``source`` to ``target``."""
    if source == target:
        return value
    if source.is_float8:
        if target == F16:
            return float8.to_half(context, value, source)
        return cast(context, float8.to_float(context, value, source), F32, target)
    if target.is_float8:
        return _to_float8(context, value, source, target)
    if target.kind is Kind.BOOL:
        return _to_bool(context.builder, value, source)
    if source.kind is Kind.BOOL:
        return _from_bool(context.builder, value, target)
    match source.is_float, target.is_float:
        case False, False:
            return resize_int(context.builder, value, source, target)
        case False, True:
            return int_to_float(context, value, source, target)
        case True, False:
            return float_to_int(context, value, source, target)
        case _:
            return float_to_float(context, value, source, target)


def _to_float8(context: Context, value: llvm.Value, source: ScalarType, target: ScalarType) -> Any:
    """Rounded once: what an f32 does not hold is rounded to odd first, which never makes a tie."""
    if source == F16:
        return float8.from_half(context, value, target)
    if source == F64:
        builder = context.builder
        truncated = context.call("llvm.nvvm.d2f.rz", FLOAT, [value])
        inexact = builder.fcmp_unordered("!=", builder.fpext(truncated, DOUBLE), value)
        bits = builder.or_(builder.bitcast(truncated, I32), builder.zext(inexact, I32))
        return float8.from_float(context, builder.bitcast(bits, FLOAT), target)
    if source.is_int and source.bits >= 32:
        return float8.from_float(context, _round_to_odd(context, value, source), target)
    return float8.from_float(context, cast(context, value, source, F32), target)


def _to_bool(builder: llvm.IRBuilder, value: llvm.Value, source: ScalarType) -> llvm.Value:
    zero = constant(source, 0)
    # A NaN is not zero, so it is true, as in Python.
    return builder.fcmp_unordered("!=", value, zero) if source.is_float else builder.icmp_unsigned("!=", value, zero)


def _from_bool(builder: llvm.IRBuilder, value: llvm.Value, target: ScalarType) -> llvm.Value:
    if target.is_float:
        return builder.select(value, constant(target, 1), constant(target, 0))
    return builder.zext(value, llvm_type(target))


def resize_int(builder: llvm.IRBuilder, value: llvm.Value, source: ScalarType, target: ScalarType) -> llvm.Value:
    """An int with the low bits kept, or extended by the source's sign."""
    if target.bits == source.bits:
        return value
    if target.bits < source.bits:
        return builder.trunc(value, llvm_type(target))
    return (builder.sext if source.is_signed else builder.zext)(value, llvm_type(target))


def int_to_float(context: Context, value: llvm.Value, source: ScalarType, target: ScalarType) -> llvm.Value:
    """An int rounded once, half to even."""
    builder = context.builder
    if target == BF16 and source.bits >= 32 and context.target.sm < 90:
        return builder.fptrunc(_round_to_odd(context, value, source), BFLOAT)
    if target == BF16 and source.is_signed and context.target.sm >= 90:
        return _signed_to_bf16(builder, value, source)
    return (builder.sitofp if source.is_signed else builder.uitofp)(value, llvm_type(target))


def _signed_to_bf16(builder: llvm.IRBuilder, value: llvm.Value, source: ScalarType) -> llvm.Value:
    """One ``cvt``, spelt out.

    Why not sitofp? LLVM narrows an int that is 0 or -1 to an i1, which NVPTX converts to bf16 as 0 or 1 (LLVM 22.1).
    """
    wide = value if source.bits >= 32 else builder.sext(value, I32)
    bits, register = (64, "l") if source.bits == 64 else (32, "r")
    signature = llvm.FunctionType(I16, [wide.type])
    pattern = builder.asm(signature, f"cvt.rn.bf16.s{bits} $0, $1;", f"=h,{register}", [wide], side_effect=False)
    return builder.bitcast(pattern, BFLOAT)


def rebind_half(builder: llvm.IRBuilder, value: llvm.Value, target: llvm.Type) -> llvm.Value:
    """The bits of an f16 as a bf16, or the other way round.

    Why a ``mov`` that ptxas drops again? Where an int was converted to the one and the other compared, LLVM takes both
    for one type and ends the process on an assertion (22.1).
    """
    signature = llvm.FunctionType(I16, [I16])
    moved = builder.asm(signature, "mov.b16 $0, $1;", "=h,h", [builder.bitcast(value, I16)], side_effect=False)
    return builder.bitcast(moved, target)


def _round_to_odd(context: Context, value: llvm.Value, source: ScalarType) -> llvm.Value:
    """An int as f32, truncated, with the lowest bit set where that was not exact.

    Before sm_90 there is no conversion from int to bf16. LLVM rounds to f32 and then to bf16, which is off where the
    first rounding ends on a tie of the second; rounding to odd first never does.
    """
    builder = context.builder
    there = ("i2f" if source.is_signed else "ui2f") if source.bits == 32 else ("ll2f" if source.is_signed else "ull2f")
    back = {"i2f": "f2i", "ui2f": "f2ui", "ll2f": "f2ll", "ull2f": "f2ull"}[there]
    truncated = context.call(f"llvm.nvvm.{there}.rz", FLOAT, [value])
    again = context.call(f"llvm.nvvm.{back}.rz", value.type, [truncated])
    inexact = builder.zext(builder.icmp_unsigned("!=", again, value), I32)
    return builder.bitcast(builder.or_(builder.bitcast(truncated, I32), inexact), FLOAT)


def float_to_int(context: Context, value: llvm.Value, source: ScalarType, target: ScalarType) -> llvm.Value:
    """A float truncated and saturated, NaN as 0: one ``cvt.rzi``, and a clamp for 8 and 16 bits.

    Why not llvm.fptosi.sat? NVPTX expands it to compares and selects, although ``cvt.rzi`` saturates by itself.
    """
    builder = context.builder
    if source.bits == 16:
        value = float_to_float(context, value, source, F32)
    wide = target.bits == 64
    letter = "d" if value.type == DOUBLE else "f"
    if target.bits < 32:
        number = float_to_int(context, value, F64 if letter == "d" else F32, types.I32)
        number = context.call("llvm.smax.i32", I32, [number, llvm.Constant(I32, target.minimum)])
        number = context.call("llvm.smin.i32", I32, [number, llvm.Constant(I32, target.maximum)])
        return builder.trunc(number, llvm_type(target))
    kind = ("ll" if wide else "i") if target.is_signed else ("ull" if wide else "ui")
    number = context.call(f"llvm.nvvm.{letter}2{kind}.rz", llvm_type(target), [value])
    if letter == "f" and not wide:
        return number
    # PTX ISA 9.0, 9.7.9.22: a NaN from f64 or to 64 bits is not 0 but 1 << (width - 1).
    return builder.select(builder.fcmp_ordered("ord", value, value), number, constant(target, 0))


def float_to_float(context: Context, value: llvm.Value, source: ScalarType, target: ScalarType) -> llvm.Value:
    """A float of another width, rounded once; f16 to bf16 and back goes through f32, which holds both exactly."""
    builder = context.builder
    if source == BF16:
        # Why not fpext? Under ftz it is a slow cvt.ftz; the upper half of an f32 is the same value.
        bits = builder.shl(builder.zext(builder.bitcast(value, I16), I32), llvm.Constant(I32, 16))
        wide = builder.bitcast(bits, FLOAT)
        return wide if target == F32 else float_to_float(context, wide, F32, target)
    if source.bits == 16 and target == BF16:
        return builder.fptrunc(builder.fpext(value, FLOAT), BFLOAT)
    if target.bits < source.bits:
        return builder.fptrunc(value, llvm_type(target))
    return builder.fpext(value, llvm_type(target))
