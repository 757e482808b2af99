"""Where a thread is, when that takes more than one special register; and fences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from llvmlite import ir as llvm

from kdsl.codegen.context import Context
from kdsl.codegen.types import I32
from kdsl.ir import nodes as ir

_AXES = "xyz"
_SCOPES = {"block": "block", "cluster": "cluster", "gpu": "device", "system": None}


def _grid(context: Context, call: ir.IntrinsicCall, _: Sequence[llvm.Value]) -> Any:
    return _along_axes(context, call, grid_index)


def _gridsize(context: Context, call: ir.IntrinsicCall, _: Sequence[llvm.Value]) -> Any:
    return _along_axes(context, call, _grid_size)


def grid_index(context: Context, axis: str) -> Any:
    """The thread's index along an axis of the whole grid."""
    # No launch has more than 2^31 - 1 threads along an axis: nothing here wraps, signed. The product must not say so,
    # or LLVM makes index arithmetic unsigned, which ptxas schedules worse.
    register, builder = context.special_register, context.builder
    threads, blocks_before, thread = register(f"ntid.{axis}"), register(f"ctaid.{axis}"), register(f"tid.{axis}")
    return builder.add(builder.mul(blocks_before, threads), thread, flags=("nsw",))


def _grid_size(context: Context, axis: str) -> Any:
    threads, blocks = context.special_register(f"ntid.{axis}"), context.special_register(f"nctaid.{axis}")
    return context.builder.mul(blocks, threads, flags=("nsw",))


def _along_axes(context: Context, call: ir.IntrinsicCall, component: Callable[[Context, str], Any]) -> Any:
    ndim = dict(call.constants)["ndim"]
    assert isinstance(ndim, int)
    values = [component(context, axis) for axis in _AXES[:ndim]]
    if ndim == 1:
        return values[0]
    result: Any = llvm.Constant(context.type(call.type), llvm.Undefined)
    for i, value in enumerate(values):
        result = context.builder.insert_value(result, value, i)
    return result


def _warp_id(context: Context, _: ir.IntrinsicCall, __: Sequence[llvm.Value]) -> Any:
    builder, register = context.builder, context.special_register
    row = builder.add(builder.mul(register("tid.z"), register("ntid.y")), register("tid.y"))
    linear = builder.add(builder.mul(row, register("ntid.x")), register("tid.x"))
    return builder.lshr(linear, llvm.Constant(I32, 5))


def _fence(context: Context, call: ir.IntrinsicCall, _: Sequence[llvm.Value]) -> Any:
    scope = str(dict(call.constants)["scope"])
    if scope == "cluster":
        context.require_sm(90, 'fence(scope="cluster")', call.span)
    return context.builder.fence("seq_cst", _SCOPES[scope])


INDEX: Mapping[str, Callable[[Context, ir.IntrinsicCall, Sequence[llvm.Value]], Any]] = {
    "grid": _grid,
    "gridsize": _gridsize,
    "warp_id": _warp_id,
    "fence": _fence,
}
