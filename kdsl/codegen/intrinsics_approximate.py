"""Approximate instructions of f32 as the program asks for them, whatever the kernel's options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from llvmlite import ir as llvm

from kdsl.codegen.context import Context
from kdsl.ir import nodes as ir


def _approximate(context: Context, call: ir.IntrinsicCall, arguments: Sequence[llvm.Value]) -> Any:
    # Why not LLVM's intrinsics? There is none for rcp.approx that keeps subnormal numbers.
    flush = ".ftz" if context.options.fastmath else ""
    signature = llvm.FunctionType(context.type(call.type), [a.type for a in arguments])
    instruction = f"{call.intrinsic.ptx}{flush}.f32 $0, $1;"
    return context.builder.asm(signature, instruction, "=f,f", arguments, side_effect=False)


APPROXIMATE: Mapping[str, Callable[[Context, ir.IntrinsicCall, Sequence[llvm.Value]], Any]] = {
    "approximate": _approximate
}
