"""Named tuples: made by calling their class, read by their fields' names."""

from __future__ import annotations

import ast
from typing import Any

from kdsl.frontend.arguments import match_arguments
from kdsl.frontend.captures import host_value
from kdsl.frontend.frame import Frame
from kdsl.frontend.meet import converted
from kdsl.frontend.memory import element_of
from kdsl.frontend.values import POISON, Poison, Runtime, Static, Tuple, Value, is_constant
from kdsl.ir import nodes as ir
from kdsl.lang.named import field_types
from kdsl.lang.types import TupleType


def construct(frame: Frame, named: Any, node: ast.Call) -> Value:
    """``Point(x, y)``: each field converted to the type of its annotation, if it has one."""
    defaults: dict[str, Any] = named._field_defaults
    found = match_arguments(frame, node, named.__name__, named._fields, frozenset(defaults))
    if found is None:
        return POISON
    try:
        types = field_types(named)
    except TypeError as error:
        return frame.error(node.func, str(error))
    # In the order in which the call writes them, which is that of their evaluation.
    given = {name: frame.value(place) for name, place in found.items()}
    values: dict[str, Value] = {}
    for name, type in types.items():
        place = found.get(name, node)
        value = given[name] if name in given else host_value(defaults[name], frame.span(node))
        if type is not None and not isinstance(value, Poison):
            expr = converted(frame, value, type, place, f"`{name}` of `{named.__name__}`")
            value = POISON if expr is None else Runtime(expr)
        values[name] = value
    if any(isinstance(v, Poison) for v in values.values()):
        return POISON
    if list(given) != [n for n in types if n in given] and not all(map(is_constant, given.values())):
        return _in_order(frame, named, values, list(given), node)
    return Tuple(tuple(values.values()), named)


def _in_order(frame: Frame, named: Any, values: dict[str, Value], order: list[str], node: ast.Call) -> Value:
    """Fields that a call names in another order than the class: evaluated in the call's."""
    exprs = {name: frame.runtime(values[name], node) for name in [*order, *(n for n in values if n not in order)]}
    if None in exprs.values():
        return POISON
    kept = {name: frame.local(name, e.type) for name, e in exprs.items() if e is not None}
    span = frame.span(node)
    evaluated = tuple(ir.AssignExpr(kept[n], e, e.type, span) for n, e in exprs.items() if e is not None)
    whole = ir.TupleExpr(evaluated, TupleType(tuple(e.type for e in evaluated)), span)
    first = next(iter(values))
    opening: ir.Expr = ir.TupleElement(whole, list(exprs).index(first), kept[first].type, span)
    parts = [Runtime(opening if n == first else ir.Read(kept[n], kept[n].type, span)) for n in values]
    return Tuple(tuple(parts), named)


def attribute(frame: Frame, owner: Value, type: TupleType, node: ast.Attribute) -> Value:
    """``point.x``."""
    assert type.python is not None
    fields: tuple[str, ...] = type.python._fields  # type: ignore[attr-defined]
    if node.attr in fields:
        return element_of(frame, owner, fields.index(node.attr), node, node.value)
    if node.attr == "_fields":
        return Tuple(tuple(Static(name) for name in fields))
    message = f"`{frame.text(node.value)}` is {type}, which has no field `{node.attr}`"
    return frame.error(node, message, f"it has {', '.join(fields)}")
