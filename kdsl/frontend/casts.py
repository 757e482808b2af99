"""Casts: ``f32(x)`` converts a value, ``bitcast(x, u32)`` keeps the bits."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from kdsl.frontend import convert, vectors
from kdsl.frontend.arguments import match_arguments, positional
from kdsl.frontend.frame import Frame
from kdsl.frontend.hints import misfit
from kdsl.frontend.meet import cast
from kdsl.frontend.operators import is_operand
from kdsl.frontend.values import POISON, Poison, Runtime, Static, Value, Weak, WeakChoice, describe, weak_type
from kdsl.ir import nodes as ir
from kdsl.lang.types import ArrayType, PointerType, ScalarType, as_type

# How Python spells them as strings, and how a kernel does.
NUMBERS = {"nan": "write math.nan", "inf": "write math.inf", "infinity": "write math.inf"}


def cast_type(value: Any) -> ScalarType | None:
    """The scalar type that a call of this object converts to; None if it is no type."""
    if isinstance(value, ScalarType):
        return value
    is_number = value in (int, float, bool) if isinstance(value, type) else False
    if is_number or (isinstance(value, type) and issubclass(value, np.generic)) or isinstance(value, np.dtype):
        try:
            type_ = as_type(value)
        except (TypeError, ValueError):
            return None
        return type_ if isinstance(type_, ScalarType) else None
    return None


def cast_call(frame: Frame, type: ScalarType, node: ast.Call) -> Value:
    """``type(x)``."""
    name = frame.text(node.func)
    arguments = positional(frame, node, name, 1, 1)
    if arguments is None:
        return POISON
    value = frame.value(arguments[0])
    if isinstance(value, Poison):
        # The type is known even where the value is not yet; a mistake in the value is reported there.
        return frame.const(0.0 if type.is_float else 0, type, node) if frame.quiet else POISON
    if isinstance(value, Static) and isinstance(value.object, str):
        hint = NUMBERS.get(value.object.lower().lstrip("+-"), "write the number")
        return frame.error(arguments[0], f"{name}() takes numbers, and this is the string {value.object!r}", hint)
    if not is_operand(frame, value, arguments[0], f"{name}()", stored=True):
        return POISON
    if isinstance(value, Weak) and not isinstance(value.value, complex):
        try:
            return frame.const(convert.cast_constant(value.value, type), type, node)
        except convert.DoesNotFit:
            return frame.error(arguments[0], *misfit(value.value, type))
    if isinstance(value, WeakChoice):
        expr = frame.literal(value, weak_type(value).default, arguments[0])
    else:
        expr = frame.runtime(value, arguments[0])
    return POISON if expr is None else Runtime(cast(expr, type, frame.span(node), checked=True))


def bitcast(frame: Frame, node: ast.Call) -> Value:
    """``bitcast(value, dtype)``."""
    found = match_arguments(frame, node, "bitcast", ("value", "dtype"))
    if found is None:
        return POISON
    target = frame.value(found["dtype"])
    value = frame.value(found["value"])
    if isinstance(target, Poison) or isinstance(value, Poison):
        return POISON
    type = target.object if isinstance(target, Static) else None
    type = cast_type(type) or type
    expr = frame.runtime(value, found["value"])
    if expr is None:
        return POISON
    if isinstance(type, PointerType) and isinstance(expr.type, ArrayType) and expr.type.strided:
        return frame.error(
            found["value"], "the elements of a strided array do not lie side by side", "pass a contiguous one"
        )
    if isinstance(type, PointerType) and isinstance(expr.type, PointerType | ArrayType):
        return Runtime(ir.Bitcast(expr, PointerType(type.element, expr.type.space), frame.span(node)))
    if not isinstance(type, ScalarType | PointerType):
        return frame.error(found["dtype"], "bitcast() takes a type here", "such as bitcast(x, u32)")
    if isinstance(type, PointerType) or not isinstance(expr.type, ScalarType):
        message = f"bitcast() makes scalars of scalars and pointers of pointers, not {type} of {describe(expr.type)}"
        return frame.error(node, message, vectors.hint(expr.type, frame.text(found["value"])))
    if expr.type.bits != type.bits:
        hint = f"a type of {expr.type.bits} bits, such as u{expr.type.bits}"
        return frame.error(node, f"bitcast() keeps the bits: {expr.type} and {type} differ in size", hint)
    return Runtime(ir.Bitcast(expr, type, frame.span(node)))
