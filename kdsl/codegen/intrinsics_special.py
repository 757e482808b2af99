"""Clocks, read where the program says: LLVM's own intrinsics may move across memory accesses. Cache policies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from llvmlite import ir as llvm

from kdsl.codegen.context import Context
from kdsl.codegen.types import FLOAT, I64
from kdsl.ir import nodes as ir
from kdsl.lang.types import ScalarType


def _clock(context: Context, call: ir.IntrinsicCall, _: Sequence[llvm.Value]) -> Any:
    assert isinstance(call.type, ScalarType)
    register = {32: "r", 64: "l"}[call.type.bits]
    signature = llvm.FunctionType(context.type(call.type), [])
    read = f"mov.{call.type} $0, {call.intrinsic.ptx};"
    return context.builder.asm(signature, read, f"={register},~{{memory}}", [], side_effect=True)


def _createpolicy_fractional(context: Context, call: ir.IntrinsicCall, arguments: Sequence[llvm.Value]) -> Any:
    constants = dict(call.constants)
    context.require_ptx(74)
    words = f"L2::{constants['primary']}.L2::{constants['secondary']}"
    signature = llvm.FunctionType(I64, [FLOAT])
    return context.builder.asm(
        signature, f"createpolicy.fractional.{words}.b64 $0, $1;", "=l,f", [arguments[0]], side_effect=False
    )


SPECIAL: Mapping[str, Callable[[Context, ir.IntrinsicCall, Sequence[llvm.Value]], Any]] = {
    "clock": _clock,
    "createpolicy_fractional": _createpolicy_fractional,
}
