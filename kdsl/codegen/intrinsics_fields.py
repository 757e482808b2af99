"""Bit fields, logic of three words and wide products: PTX instructions that LLVM has no intrinsic for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from llvmlite import ir as llvm

from kdsl.codegen.context import Context
from kdsl.codegen.types import I32, I64
from kdsl.ir import nodes as ir
from kdsl.lang.types import ScalarType
from kdsl.source import CompileError

Arguments = Sequence[llvm.Value]

_REGISTER = {32: "r", 64: "l"}

_I128 = llvm.IntType(128)


def _bfe(context: Context, call: ir.IntrinsicCall, arguments: Arguments) -> Any:
    assert isinstance(call.type, ScalarType)
    return _instruction(context, f"bfe.{call.type.name.replace('i', 's')}", arguments)


def _bfi(context: Context, call: ir.IntrinsicCall, arguments: Arguments) -> Any:
    assert isinstance(call.type, ScalarType)
    return _instruction(context, f"bfi.b{call.type.bits}", arguments)


def _lop3(context: Context, call: ir.IntrinsicCall, arguments: Arguments) -> Any:
    table = call.arguments[3]
    if not isinstance(table, ir.Const):
        message = "`lut` of lop3() is part of the instruction: it must be known while the kernel is compiled"
        raise CompileError.at(table.span, message)
    if not 0 <= table.value <= 255:
        raise CompileError.at(table.span, f"`lut` of lop3() is a table of 8 bits, 0 to 255, not {table.value}")
    return _instruction(context, "lop3.b32", arguments[:3], f", {int(table.value):#04x}")


def _instruction(context: Context, mnemonic: str, operands: Arguments, immediate: str = "") -> Any:
    """One instruction without side effects whose result has the type of its first operand."""
    names = ", ".join(f"${i}" for i in range(len(operands) + 1))
    registers = [_REGISTER[o.type.width] for o in operands]
    signature = llvm.FunctionType(operands[0].type, [o.type for o in operands])
    constraint = ",".join([f"={registers[0]}", *registers])
    return context.builder.asm(signature, f"{mnemonic} {names}{immediate};", constraint, operands, side_effect=False)


def _mul_wide(context: Context, call: ir.IntrinsicCall, arguments: Arguments) -> Any:
    builder = context.builder
    assert isinstance(call.type, ScalarType)
    extend = builder.sext if call.type.is_signed else builder.zext
    assert all(a.type == I32 for a in arguments)
    x, y = (extend(a, I64) for a in arguments)
    return builder.mul(x, y, flags=("nsw",) if call.type.is_signed else ("nuw",))


def _mul_wide64(context: Context, call: ir.IntrinsicCall, arguments: Arguments) -> Any:
    builder = context.builder
    assert call.bound is not None
    extend = builder.sext if call.bound.is_signed else builder.zext
    return _halves(context, call, builder.mul(*(extend(a, _I128) for a in arguments)))


def _mad_wide64(context: Context, call: ir.IntrinsicCall, arguments: Arguments) -> Any:
    builder = context.builder
    x, y, lo, hi = (builder.zext(a, _I128) for a in arguments)
    added = builder.or_(builder.shl(hi, llvm.Constant(_I128, 64)), lo)
    return _halves(context, call, builder.add(builder.mul(x, y), added))


def _halves(context: Context, call: ir.IntrinsicCall, product: llvm.Value) -> Any:
    builder = context.builder
    result: Any = llvm.Constant(context.type(call.type), llvm.Undefined)
    result = builder.insert_value(result, builder.trunc(product, I64), 0)
    upper = builder.lshr(product, llvm.Constant(_I128, 64))
    return builder.insert_value(result, builder.trunc(upper, I64), 1)


FIELDS: Mapping[str, Callable[[Context, ir.IntrinsicCall, Arguments], Any]] = {
    "bfe": _bfe,
    "bfi": _bfi,
    "lop3": _lop3,
    "mul_wide": _mul_wide,
    "mul_wide64": _mul_wide64,
    "mad_wide64": _mad_wide64,
}
