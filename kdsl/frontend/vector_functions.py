"""Mathematical functions of vectors: on each lane as on a scalar, with a result of the vector's own element type."""

from __future__ import annotations

import ast
from collections.abc import Callable

from kdsl.frontend.frame import Frame
from kdsl.frontend.meet import cast
from kdsl.frontend.values import POISON, Poison, Runtime, Value
from kdsl.frontend.vectors import vector_type
from kdsl.ir import nodes as ir
from kdsl.lang.intrinsic import Intrinsic
from kdsl.lang.types import Kind, ScalarType, VectorType

Given = dict[str, tuple[Value, ast.expr]]
MODULES = ("kdsl.lang.math", "kdsl.lang.bits")


def takes_vectors(intrinsic: Intrinsic, given: Given) -> bool:
    """Whether this is a function of numbers, and one of them is a vector."""
    return intrinsic.stub.__module__.startswith(MODULES) and any(vector_type(v) for v, _ in given.values())


def on_lanes(frame: Frame, given: Given, node: ast.Call, call: Callable[[Given], Value]) -> Value:
    """The function on each lane; a scalar stands for all lanes. ``call`` is that of one lane."""
    types = [(t, place) for value, place in given.values() if (t := vector_type(value)) is not None]
    first, _ = types[0]
    for type, place in types:
        if type.lanes != first.lanes:
            return frame.error(place, f"{first} and {type} have not as many components")
        if type.element.is_float8:
            hint = f"convert it: f32x{type.lanes}({frame.text(place)})"
            return frame.error(place, f"{frame.text(node.func)}() does not take {type}, which is only stored", hint)
    shared = {name: (_twice(frame, value, name), place) for name, (value, place) in given.items()}
    lanes: list[ir.Expr] = []
    for lane in range(first.lanes):
        result = call({name: (_lane(frame, pair, lane, place), place) for name, (pair, place) in shared.items()})
        if isinstance(result, Poison):
            return POISON
        assert isinstance(result, Runtime)
        if not isinstance(result.type, ScalarType) or result.type.kind is Kind.BOOL:
            name = frame.text(node.func)
            return frame.error(node, f"{name}() of a vector gives no vector", f"take its components: {name}(v.x)")
        lanes.append(_kept(result.expr, first.element, frame, node))
    element = lanes[0].type
    assert isinstance(element, ScalarType)
    return Runtime(ir.VectorExpr(tuple(lanes), VectorType(element, first.lanes), frame.span(node)))


def _kept(expr: ir.Expr, element: ScalarType, frame: Frame, node: ast.Call) -> ir.Expr:
    """What f16 and bf16 were computed in, f32, is rounded to them again."""
    is_widened = isinstance(expr.type, ScalarType) and expr.type.is_float and element.is_float
    return cast(expr, element, frame.span(node)) if is_widened else expr


def _twice(frame: Frame, value: Value, name: str) -> tuple[Value, Value]:
    """A value for the first lane, and for all others, evaluated once."""
    if not isinstance(value, Runtime):
        return value, value
    first, again = frame.once(value.expr, name, others_between=True)
    return Runtime(first), Runtime(again)


def _lane(frame: Frame, pair: tuple[Value, Value], lane: int, place: ast.expr) -> Value:
    value = pair[min(lane, 1)]
    type = vector_type(value)
    if type is None:
        return value
    assert isinstance(value, Runtime)
    return Runtime(ir.Swizzle(value.expr, (lane,), type.element, frame.span(place)))
