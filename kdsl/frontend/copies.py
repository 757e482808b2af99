"""Assignment to a part of an array: `a[i, :] = b[j, :]` copies the elements, `a[:] = 0.0` fills them.

One thread does it, element by element in order; arrays that overlap in another place are not what Python makes of them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from math import prod

from kdsl.frontend import views
from kdsl.frontend.frame import Frame
from kdsl.frontend.meet import converted
from kdsl.frontend.memory import lasts
from kdsl.frontend.memory_index import Part
from kdsl.frontend.values import Poison, Runtime, Value, describe, type_of
from kdsl.ir import nodes as ir
from kdsl.lang.types import I32, ArrayType, PointerType, Space, boolean
from kdsl.source import Span

LARGEST_UNROLL = 64
"""Elements of a copy that is written out, so that arrays of constant indices stay in registers."""


def assign_part(
    frame: Frame,
    base: Runtime,
    target: ast.Subscript,
    parts: tuple[Part, ...],
    value: Value,
    place: ast.expr,
    node: ast.stmt,
) -> None:
    """``base[parts] = value``."""
    name = frame.text(target.value)
    if not any(part.is_slice or part.is_ellipsis for part in parts):
        assert isinstance(base.type, ArrayType)
        indices = ", ".join(frame.text(part.place) for part in parts)
        hint = f"write {name}[{indices}, ...] = for all elements of it, or all {base.type.ndim} indices for one"
        frame.error(target, f"`{frame.text(target)}` is not one element, but a part of `{name}`", hint)
        return
    view = views.view(frame, base, target, parts)
    if isinstance(view, Poison) or isinstance(value, Poison):
        return
    assert isinstance(view, Runtime)
    t = view.type
    assert isinstance(t, ArrayType)
    if t.space is Space.CONSTANT:
        frame.error(target, "a kernel cannot write constant memory", "copy it into a shared or local array first")
        return
    if not lasts(frame, view.expr, target):
        return
    source = type_of(value)
    if isinstance(source, ArrayType):
        assert isinstance(value, Runtime)
        _copy(frame, view.expr, t, value.expr, source, target, place, node)
        return
    if isinstance(source, PointerType):
        text = frame.text(place)
        frame.error(place, f"`{text}` is a Ptr, whose end nobody knows", f"say it: {text}[0:n]")
        return
    number = converted(frame, value, t.element, place, f"`{name}`")
    if number is not None:
        span = frame.span(node)
        filled = _kept(frame, number, "value", span)
        _loops(frame, _kept(frame, view.expr, "target", span), t, lambda _: filled, t.shape, span)


def _copy(
    frame: Frame,
    view: ir.Expr,
    t: ArrayType,
    value: ir.Expr,
    source: ArrayType,
    target: ast.Subscript,
    place: ast.expr,
    node: ast.stmt,
) -> None:
    span = frame.span(node)
    if source.ndim != t.ndim:
        message = f"this has {source.ndim} dimensions, and `{frame.text(target)}` has {t.ndim}"
        frame.error(place, message.replace(" 1 dimensions", " 1 dimension"), "a part of each with the same dimensions")
        return
    if t.shape is not None and source.shape is not None and t.shape != source.shape:
        frame.error(place, f"{describe(source)} is copied to {describe(t)}", "extents must be equal")
        return
    probe = converted(
        frame, Runtime(_element(value, (), source, span)), t.element, place, f"`{frame.text(target.value)}`"
    )
    if probe is None:
        return
    origin = value if _is_plain(value) else _kept(frame, value, "source", span)
    destination = _kept(frame, view, "target", span)
    if frame.session.options.debug and (t.shape is None or source.shape is None):
        check_extents(frame, destination, t, origin, source, span)

    def element(indices: tuple[ir.Expr, ...]) -> ir.Expr:
        made = converted(frame, Runtime(_element(origin, indices, source, span)), t.element, place, "")
        assert made is not None
        return made

    _loops(frame, destination, t, element, t.shape or source.shape, span)


def _element(array: ir.Expr, indices: tuple[ir.Expr, ...], t: ArrayType, span: Span) -> ir.Load:
    pointer = PointerType(t.element, t.space)
    return ir.Load(ir.ElementAddress(array, indices, pointer, span), t.element, span)


def _is_plain(e: ir.Expr | None) -> bool:
    """Whether an array is the same whenever it is evaluated, whatever is stored meanwhile."""
    match e:
        case None | ir.Const() | ir.Read() | ir.SharedArray() | ir.ConstantArray() | ir.LocalArray():
            return True
        case ir.View():
            return all(map(_is_plain, (e.base, *e.starts, *e.stops, *e.steps)))
        case ir.Binary(_, left, right):
            return _is_plain(left) and _is_plain(right)
        case ir.Cast(operand):
            return _is_plain(operand)
        case ir.IntrinsicCall():
            return e.intrinsic.register
        case _:
            return False


def _kept(frame: Frame, value: ir.Expr, name: str, span: Span) -> ir.Expr:
    if isinstance(value, ir.Const):
        return value
    local = frame.local(name, value.type)
    frame.emit(ir.Assign(local, value, span))
    return ir.Read(local, local.type, span)


def check_extents(frame: Frame, a: ir.Expr, t: ArrayType, b: ir.Expr, source: ArrayType, span: Span) -> None:
    """In a debug build: the extents are equal."""
    for axis in range(t.ndim):
        x, y = _extent(a, t, axis, span), _extent(b, source, axis, span)
        if x.type != y.type:
            continue  # one of an array too large for 31 bits, whose elements are checked one by one
        message = f"copy of arrays that differ in extent along axis {axis}"
        frame.emit(ir.Assert(ir.Compare(ir.CompareOp.EQ, x, y, boolean, span), message, span, message))


def _extent(array: ir.Expr, t: ArrayType, axis: int, span: Span) -> ir.Expr:
    index = t.index or I32
    return ir.Const(t.shape[axis], index, span) if t.shape is not None else ir.Extent(array, axis, index, span)


def _loops(
    frame: Frame,
    array: ir.Expr,
    t: ArrayType,
    element: Callable[[tuple[ir.Expr, ...]], ir.Expr],
    shape: tuple[int, ...] | None,
    span: Span,
) -> None:
    """Store what ``element`` gives for each place, one loop inside of another."""
    index = t.index or I32
    counters = [frame.local("ijkl"[axis], index) for axis in range(t.ndim)]
    indices = tuple(ir.Read(counter, index, span) for counter in counters)
    pointer = PointerType(t.element, t.space)
    body: tuple[ir.Stmt, ...] = (ir.Store(ir.ElementAddress(array, indices, pointer, span), element(indices), span),)
    unroll = True if shape is not None and prod(shape) <= LARGEST_UNROLL else None
    zero, one = ir.Const(0, index, span), ir.Const(1, index, span)
    for axis in range(t.ndim - 1, -1, -1):
        stop = ir.Const(shape[axis], index, span) if shape is not None else _extent(array, t, axis, span)
        body = (ir.ForRange(counters[axis], zero, stop, one, body, (), span, unroll),)
    frame.emit(body[0])
