"""Vectors: construction and conversion, components and swizzles; `vector_operators` has the operators."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from kdsl.frontend.arguments import plain_arguments
from kdsl.frontend.bindings import How
from kdsl.frontend.captures import host_value
from kdsl.frontend.frame import Frame
from kdsl.frontend.meet import cast, is_weak_value
from kdsl.frontend.values import (
    POISON,
    Lattice,
    Poison,
    Runtime,
    Static,
    Value,
    Weak,
    WeakChoice,
    WeakUnknown,
    constant_int,
    describe,
    scalar_type,
    type_of,
    weak_type,
)
from kdsl.ir import nodes as ir
from kdsl.lang.types import F16, F32, ScalarType, VectorType

NAMES = "xyzw"


def vector_type(value: Value) -> VectorType | None:
    """The type of a vector; None for what is none."""
    return value.expr.type if isinstance(value, Runtime) and isinstance(value.expr.type, VectorType) else None


def construct(frame: Frame, type: VectorType, node: ast.Call) -> Value:
    """``f32x4(a, b, c, d)``, vectors among them for several lanes; ``f32x4(a)`` in all lanes; ``f32x4(v)`` converts."""
    name = frame.text(node.func)
    if not plain_arguments(frame, node):
        return POISON
    if node.keywords:
        return frame.error(node.keywords[0], f"{name}() takes its components in order, not by name")
    values = [frame.value(a) for a in node.args]
    if frame.quiet:
        # The type is known even where the values are not yet; a mistake in them is reported later.
        zero = ir.Const(0.0 if type.element.is_float else 0, type.element, frame.span(node))
        return Runtime(ir.VectorExpr((zero,) * type.lanes, type, frame.span(node)))
    if len(values) == 1 and (source := vector_type(values[0])) is not None:
        return _converted(frame, type, source, values[0], node)
    parts: list[ir.Expr] = []
    # 8-bit floats are made two at a time, of scalars that are of one type.
    together = _one_type(values) if type.element.is_float8 else None
    for value, place in zip(values, node.args, strict=True):
        components = _components(frame, value, together or type.element, place, f"{name}()")
        if components is None:
            return POISON
        parts += components
    if len(parts) == len(values) == 1:
        first, again = frame.once(parts[0], "component")
        parts = [first, *[again] * (type.lanes - 1)]
    if len(parts) != type.lanes:
        given = f"{len(parts)} component{'s' if len(parts) != 1 else ''}"
        letters = ", ".join("abcd"[: type.lanes])
        return frame.error(node, f"{name}() has {type.lanes} components, and this gives {given}", f"{name}({letters})")
    if together is not None:
        wide = VectorType(together, type.lanes)
        made = ir.VectorExpr(tuple(parts), wide, frame.span(node))
        return Runtime(ir.VectorCast(made, type, frame.span(node)))
    return Runtime(ir.VectorExpr(tuple(parts), type, frame.span(node)))


def _one_type(values: list[Value]) -> ScalarType | None:
    """f16 or f32, if that is the type of all scalars."""
    types = {scalar_type(value) for value in values}
    return types.pop() if types in ({F16}, {F32}) else None


def _converted(frame: Frame, type: VectorType, source: VectorType, value: Value, node: ast.Call) -> Value:
    assert isinstance(value, Runtime)
    if source.lanes != type.lanes:
        text = frame.text(node.args[0])
        parts = [f"{text}.{NAMES[: type.lanes]}"] if source.lanes > type.lanes else [text, *"cd"[: type.lanes - 2]]
        hint = f"{type}({', '.join(parts)})"
        return frame.error(node, f"{type}() of {source}, which has {source.lanes} components", hint)
    return value if source == type else Runtime(ir.VectorCast(value.expr, type, frame.span(node)))


def _components(frame: Frame, value: Value, element: ScalarType, place: ast.expr, name: str) -> list[ir.Expr] | None:
    """What one argument gives, cast to the element type; None (reported) for what is no scalar and no vector."""
    span = frame.span(place)
    source = vector_type(value)
    if isinstance(value, Static) and isinstance(value.object, np.ndarray):
        return _of_host(frame, value.object, element, place, name)
    if source is None:
        expr = _cast_scalar(frame, value, element, place, name)
        return None if expr is None else [expr]
    assert isinstance(value, Runtime)
    first, again = frame.once(value.expr, "vector")
    lanes = [ir.Swizzle(again if i else first, (i,), source.element, span) for i in range(source.lanes)]
    return [cast(lane, element, span) for lane in lanes]


def _of_host(
    frame: Frame, array: np.ndarray[Any, Any], element: ScalarType, place: ast.expr, name: str
) -> list[ir.Expr] | None:
    """What a small NumPy array of the host holds, as constants; launches notice when it holds something else."""
    if array.ndim != 1 or not 2 <= len(array) <= 4:
        message = f"{name} takes scalars and vectors, and this is an array of the host of shape {array.shape}"
        frame.error(place, message, "constant.array() makes an array of it")
        return None
    frame.session.captures.contents(array)
    found: list[ir.Expr] = []
    for number in array:
        expr = _cast_scalar(frame, host_value(number, frame.span(place)), element, place, name)
        if expr is None:
            return None
        found.append(expr)
    return found


def _cast_scalar(frame: Frame, value: Value, element: ScalarType, place: ast.expr, what: str) -> ir.Expr | None:
    if isinstance(value, Poison):
        return None
    if is_weak_value(value):
        assert isinstance(value, Weak | WeakUnknown | WeakChoice)
        if weak_type(value).is_float and element.is_int:
            frame.error(place, f"this is a float literal, and {what} takes {element}", "write an int")
            return None
        return frame.literal(value, element, place)
    if scalar_type(value) is None:
        kind = type_of(value)
        shown = f", and this is {describe(kind)}" if kind is not None else ""
        frame.error(place, f"{what} takes scalars and vectors{shown}")
        return None
    assert isinstance(value, Runtime)
    return cast(value.expr, element, frame.span(place))


def attribute(frame: Frame, value: Runtime, type: VectorType, node: ast.Attribute) -> Value:
    """``v.x``, ``v.zyxw``."""
    lanes = _lanes(frame, type, node)
    if lanes is None:
        return POISON
    made = type.element if len(lanes) == 1 else VectorType(type.element, len(lanes))
    return Runtime(ir.Swizzle(value.expr, lanes, made, frame.span(node)))


def _lanes(frame: Frame, type: VectorType, node: ast.Attribute) -> tuple[int, ...] | None:
    lanes = tuple(NAMES[: type.lanes].find(c) for c in node.attr)
    if len(lanes) <= 4 and -1 not in lanes:
        return lanes
    names = f"{', '.join(NAMES[: type.lanes - 1])} and {NAMES[type.lanes - 1]}"
    hint = f"its components are {names}; up to four of them make another vector: v.{NAMES[: type.lanes][::-1]}"
    frame.error(node, f"{type} has no component `{node.attr}`", hint)
    return None


def components(frame: Frame, expr: ir.Expr, type: VectorType, node: ast.expr) -> tuple[Value, ...]:
    """The components one by one; the vector is evaluated once."""
    if isinstance(expr, ir.VectorExpr):
        return tuple(Runtime(e) for e in expr.elements)
    first, again = frame.once(expr, "vector")
    span = frame.span(node)
    return tuple(Runtime(ir.Swizzle(again if i else first, (i,), type.element, span)) for i in range(type.lanes))


def element(frame: Frame, value: Runtime, type: VectorType, node: ast.Subscript) -> Value:
    """``v[0]``."""
    lane = _index(frame, type, node)
    return POISON if lane is None else Runtime(ir.Swizzle(value.expr, (lane,), type.element, frame.span(node)))


def _index(frame: Frame, type: VectorType, node: ast.Subscript) -> int | None:
    place = node.slice
    if isinstance(place, ast.Slice):
        frame.error(place, "a vector has no slices", f"name the components: {frame.text(node.value)}.xy")
        return None
    value = frame.value(place)
    if isinstance(value, Poison):
        return None
    index = constant_int(value)
    if index is None:
        hint = f"a local.array({type.lanes}, {type.element}) is indexed at run time"
        if isinstance(place, ast.Name) and any(b.how is How.FOR for b in frame.scope.bindings.get(place.id, ())):
            hint = f"for {place.id} in static_range({type.lanes}) makes it one; {hint}"
        frame.error(place, "a vector is indexed with a constant", hint)
    elif not 0 <= index < type.lanes:
        frame.error(place, f"index {index} is out of range: {type} has {type.lanes} components")
    else:
        return index
    return None


def lane_of(frame: Frame, type: VectorType, target: ast.Attribute | ast.Subscript) -> int | None:
    """The one lane that an assignment names; None (reported) if it names none. Several are those of `swizzles`."""
    if isinstance(target, ast.Subscript):
        return _index(frame, type, target)
    lanes = _lanes(frame, type, target)
    return lanes[0] if lanes is not None else None


def hint(type: Lattice | None, text: str) -> str | None:
    """What to write where a vector stands and a scalar is wanted."""
    return f"take its components: {text}.x" if isinstance(type, VectorType) else None
