"""Assignment to several components of a vector at once: ``v.xy = w``, ``a[i].zx += 1.0``."""

from __future__ import annotations

import ast
from collections.abc import Callable

from kdsl.frontend import places
from kdsl.frontend.frame import Frame
from kdsl.frontend.meet import converted
from kdsl.frontend.values import Runtime, Value
from kdsl.frontend.vectors import NAMES, vector_type
from kdsl.ir import nodes as ir
from kdsl.lang.types import VectorType
from kdsl.source import Span


def lanes_of(target: ast.expr, base: Value) -> tuple[int, ...] | None:
    """The lanes that a target such as ``v.zx`` names; None for one component, and for what is no swizzle."""
    type = vector_type(base)
    if type is None or not isinstance(target, ast.Attribute) or not 2 <= len(target.attr) <= 4:
        return None
    lanes = tuple(NAMES[: type.lanes].find(c) for c in target.attr)
    return None if -1 in lanes else lanes


def store(
    frame: Frame,
    target: ast.Attribute | ast.Subscript,
    base: Value,
    lanes: tuple[int, ...],
    value: Value,
    place: ast.expr,
    node: ast.stmt,
) -> None:
    """``v.xy = value``: the value is evaluated before any component changes."""
    owner = _owner(frame, target, base, lanes)
    if owner is not None:
        _write(frame, target, owner, lanes, value, place, node)


def augment(
    frame: Frame,
    target: ast.Attribute | ast.Subscript,
    base: Value,
    lanes: tuple[int, ...],
    compute: Callable[[Value], Value],
    node: ast.AugAssign,
) -> None:
    """``v.xy op= value``: an address is computed once."""
    owner = _owner(frame, target, base, lanes)
    if owner is None:
        frame.value(node.value)
        return
    span = frame.span(target)
    owner = places.computed_once(frame, owner, span)
    _write(frame, target, owner, lanes, compute(Runtime(_read(owner, lanes, span))), node.value, node)


def _owner(
    frame: Frame, target: ast.Attribute | ast.Subscript, base: Value, lanes: tuple[int, ...]
) -> places.Place | None:
    """Where the vector lies; None (reported) for nowhere, and for a component that is named twice."""
    again = next((lane for i, lane in enumerate(lanes) if lane in lanes[:i]), None)
    if again is not None:
        frame.error(target, f"`{frame.text(target)}` names the component `{NAMES[again]}` twice", "name each once")
        return None
    return places.owner_place(frame, target, base)


def _read(owner: places.Place, lanes: tuple[int, ...], span: Span) -> ir.Expr:
    whole = places.read(owner, span)
    assert isinstance(whole.type, VectorType)
    return ir.Swizzle(whole, lanes, VectorType(whole.type.element, len(lanes)), span)


def _write(
    frame: Frame,
    target: ast.Attribute | ast.Subscript,
    owner: places.Place,
    lanes: tuple[int, ...],
    value: Value,
    place: ast.expr,
    node: ast.stmt,
) -> None:
    assert isinstance(owner.type, VectorType)
    made = VectorType(owner.type.element, len(lanes))
    expr = converted(frame, value, made, place, f"`{frame.text(target)}`")
    if expr is None:
        return
    span = frame.span(node)
    local = frame.local("components", made)
    frame.emit(ir.Assign(local, expr, span))
    owner = places.computed_once(frame, owner, span)
    for i, lane in enumerate(lanes):
        component = ir.Swizzle(ir.Read(local, made, span), (i,), made.element, span)
        places.write(frame, places.part(owner, lane, span), component, node)
