"""Clocks, read where the program says: LLVM's own intrinsics for them may move across memory accesses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from llvmlite import ir as llvm

from kdsl.codegen.context import Context
from kdsl.ir import nodes as ir
from kdsl.lang.types import ScalarType


def _clock(context: Context, call: ir.IntrinsicCall, _: Sequence[llvm.Value]) -> Any:
    assert isinstance(call.type, ScalarType)
    register = {32: "r", 64: "l"}[call.type.bits]
    signature = llvm.FunctionType(context.type(call.type), [])
    read = f"mov.{call.type} $0, {call.intrinsic.ptx};"
    return context.builder.asm(signature, read, f"={register},~{{memory}}", [], side_effect=True)


SPECIAL: Mapping[str, Callable[[Context, ir.IntrinsicCall, Sequence[llvm.Value]], Any]] = {"clock": _clock}
