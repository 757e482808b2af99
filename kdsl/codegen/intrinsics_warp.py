"""Shuffles of any value: PTX moves 32 bits between lanes, so a value goes in as many words as it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from llvmlite import ir as llvm

from kdsl.codegen.context import Context
from kdsl.codegen.types import I32
from kdsl.codegen.words import from_words, to_words
from kdsl.ir import nodes as ir
from kdsl.lang.types import ScalarType
from kdsl.source import CompileError

_MODES = {"shfl_sync": "idx", "shfl_up_sync": "up", "shfl_down_sync": "down", "shfl_xor_sync": "bfly"}


def _shuffle(context: Context, call: ir.IntrinsicCall, arguments: Sequence[llvm.Value]) -> Any:
    _check_width(call)
    mode = _MODES[call.intrinsic.name]
    mask, value, lane, width = arguments
    control = _control(context.builder, mode, width)
    words = to_words(context.builder, call.type, value)
    return from_words(context.builder, call.type, [move(context, mode, mask, w, lane, control) for w in words])


def move(context: Context, mode: str, mask: Any, bits: Any, lane: Any, control: Any) -> Any:
    """One shuffle of 32 bits in PTX's ``mode``: idx, up, down or bfly."""
    return context.call(f"llvm.nvvm.shfl.sync.{mode}.i32", I32, [mask, bits, lane, control], convergent=True)


def _control(builder: llvm.IRBuilder, mode: str, width: llvm.Value) -> llvm.Value:
    """PTX's operand c: the bits of a lane that stay within its group above, and the last lane to read from below."""
    clamp = 0 if mode == "up" else 31
    if isinstance(width, llvm.Constant):
        return llvm.Constant(I32, (32 - int(width.constant)) << 8 | clamp)
    segment = builder.shl(builder.sub(llvm.Constant(I32, 32), width), llvm.Constant(I32, 8))
    return builder.or_(segment, llvm.Constant(I32, clamp))


def _check_width(call: ir.IntrinsicCall) -> None:
    width = call.arguments[-1]
    if isinstance(width, ir.Const) and width.value not in (1, 2, 4, 8, 16, 32):
        message = f"{call.intrinsic.name}() works on groups of 1, 2, 4, 8, 16 or 32 lanes, not {width.value}"
        raise CompileError.at(width.span, message)


def bits_of(builder: llvm.IRBuilder, t: ScalarType, value: Any) -> Any:
    """The value as an i32, or an i64 if it has that many bits."""
    if t.is_float:
        value = builder.bitcast(value, llvm.IntType(t.bits))
    return value if t.bits >= 32 else builder.zext(value, I32)


WARP: Mapping[str, Callable[[Context, ir.IntrinsicCall, Sequence[llvm.Value]], Any]] = {"shuffle": _shuffle}
