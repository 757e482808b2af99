"""Functions of a number's bits and kind: counting bits, classifying floats, reinterpreting, angles in degrees."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from llvmlite import ir as llvm

from kdsl.codegen.context import Context
from kdsl.codegen.types import I1, I32, constant
from kdsl.ir import nodes as ir
from kdsl.lang.types import ScalarType

Arguments = Sequence[llvm.Value]


def _clz(context: Context, _: ir.IntrinsicCall, arguments: Arguments) -> Any:
    (x,) = arguments
    return _to_i32(context, context.call(f"llvm.ctlz.{x.type.intrinsic_name}", x.type, [x, llvm.Constant(I1, 0)]))


def _popc(context: Context, _: ir.IntrinsicCall, arguments: Arguments) -> Any:
    (x,) = arguments
    return _to_i32(context, context.call(f"llvm.ctpop.{x.type.intrinsic_name}", x.type, [x]))


def _to_i32(context: Context, value: Any) -> Any:
    return value if value.type == I32 else context.builder.trunc(value, I32)


def _isnan(context: Context, _: ir.IntrinsicCall, arguments: Arguments) -> Any:
    return context.builder.fcmp_unordered("uno", arguments[0], arguments[0])


def _isinf(context: Context, call: ir.IntrinsicCall, arguments: Arguments) -> Any:
    return context.builder.fcmp_ordered("==", _magnitude(context, arguments[0]), _bound(call, math.inf))


def _isfinite(context: Context, call: ir.IntrinsicCall, arguments: Arguments) -> Any:
    return context.builder.fcmp_ordered("<", _magnitude(context, arguments[0]), _bound(call, math.inf))


def _signbit(context: Context, _: ir.IntrinsicCall, arguments: Arguments) -> Any:
    integer = llvm.IntType(32 if isinstance(arguments[0].type, llvm.FloatType) else 64)
    return context.builder.icmp_signed("<", context.builder.bitcast(arguments[0], integer), llvm.Constant(integer, 0))


def _magnitude(context: Context, x: llvm.Value) -> Any:
    return context.call(f"llvm.fabs.{x.type.intrinsic_name}", x.type, [x])


def _degrees(context: Context, call: ir.IntrinsicCall, arguments: Arguments) -> Any:
    return context.builder.fmul(arguments[0], _bound(call, 180.0 / math.pi), flags=context.flags)


def _radians(context: Context, call: ir.IntrinsicCall, arguments: Arguments) -> Any:
    return context.builder.fmul(arguments[0], _bound(call, math.pi / 180.0), flags=context.flags)


def _bound(call: ir.IntrinsicCall, value: float) -> llvm.Constant:
    """A constant of the type that the stub's type variable is bound to."""
    assert call.bound is not None
    return constant(call.bound, value)


def _reinterpret(context: Context, call: ir.IntrinsicCall, arguments: Arguments) -> Any:
    return context.builder.bitcast(arguments[0], context.type(call.type))


def _convert(context: Context, call: ir.IntrinsicCall, arguments: Arguments) -> Any:
    assert isinstance(call.type, ScalarType)
    resize = context.builder.fptrunc if call.type.bits < 32 else context.builder.fpext
    return resize(arguments[0], context.type(call.type))


BITS: Mapping[str, Callable[[Context, ir.IntrinsicCall, Arguments], Any]] = {
    "clz": _clz,
    "popc": _popc,
    "isnan": _isnan,
    "isinf": _isinf,
    "isfinite": _isfinite,
    "signbit": _signbit,
    "degrees": _degrees,
    "radians": _radians,
    "reinterpret": _reinterpret,
    "convert": _convert,
}
