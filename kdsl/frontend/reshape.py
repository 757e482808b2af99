"""The same memory as an array of another shape or element type: `a.T`, `a.reshape(rows, columns)`, `a.view(f32x4)`."""

from __future__ import annotations

import ast
from math import prod

from kdsl.frontend.arguments import positional
from kdsl.frontend.casts import cast_type
from kdsl.frontend.frame import Frame
from kdsl.frontend.meet import cast
from kdsl.frontend.memory import elements
from kdsl.frontend.memory_index import int_of
from kdsl.frontend.values import POISON, Poison, Runtime, Static, Value, constant_int
from kdsl.ir import nodes as ir
from kdsl.lang.types import I32, ArrayType, PointerType, ScalarType, VectorType
from kdsl.source import Span

METHODS = ("reshape", "view")
NOT_DENSE = "the elements of a strided array do not lie side by side"


def method(frame: Frame, array: Runtime, name: str, node: ast.Call) -> Value:
    """``array.reshape(...)`` or ``array.view(dtype)``."""
    t = array.type
    assert isinstance(t, ArrayType)
    arguments = positional(frame, node, f"{name}", 1, 4 if name == "reshape" else 1)
    if arguments is None:
        return POISON
    if t.strided:
        return frame.error(node.func, NOT_DENSE, "copy it into an array that is contiguous")
    return (
        _reshaped(frame, array.expr, t, arguments, node)
        if name == "reshape"
        else _viewed(frame, array, arguments, node)
    )


def transposed(frame: Frame, array: ir.Expr, t: ArrayType, node: ast.expr) -> Runtime:
    """``array.T``: the axes in reverse order."""
    if t.ndim == 1:
        return Runtime(array)
    axes = range(t.ndim - 1, -1, -1)
    index, span = t.index or I32, frame.span(node)
    first, again = frame.once(array, "array")
    pointer = ir.Bitcast(first, PointerType(t.element, t.space), span)
    shape = None if t.shape is None else t.shape[::-1]
    extents = () if shape is not None else tuple(ir.Extent(again, axis, index, span) for axis in axes)
    strides = tuple(_stride(again, t, axis, frame, node) for axis in axes)
    type = ArrayType(t.element, t.ndim, t.space, shape, t.index, True)
    return Runtime(ir.ArrayExpr(pointer, extents, strides, type, span))


def _stride(array: ir.Expr, t: ArrayType, axis: int, frame: Frame, node: ast.expr) -> ir.Expr:
    index, span = t.index or I32, frame.span(node)
    if t.shape is not None and not t.strided:
        return ir.Const(prod(t.shape[axis + 1 :]), index, span)
    return ir.Stride(array, axis, index, span)


def _reshaped(frame: Frame, array: ir.Expr, t: ArrayType, arguments: list[ast.expr], node: ast.Call) -> Value:
    values = [(frame.value(place), place) for place in arguments]
    if len(values) == 1:
        parts = elements(frame, *values[0])
        values = [(part, arguments[0]) for part in parts] if parts is not None else values
    if any(isinstance(value, Poison) for value, _ in values):
        return POISON
    index, span = t.index or I32, frame.span(node)
    numbers = [constant_int(value) for value, _ in values]
    open_axes = [i for i, number in enumerate(numbers) if number == -1]
    wrong = next((i for i, n in enumerate(numbers) if n is not None and n < (0 if i not in open_axes else -1)), None)
    if wrong is not None or len(open_axes) > 1:
        place = values[wrong if wrong is not None else open_axes[1]][1]
        return frame.error(place, "an extent is not negative, but one -1 stands for what is left")
    extents: list[ir.Expr | None] = []
    for value, place in values:
        expr = int_of(frame, value, place, "an extent is an int")
        if expr is None:
            return POISON
        extents.append(cast(expr, index, frame.span(place)))
    total = prod(t.shape) if t.shape is not None else None
    shape = _known_shape(numbers, total)
    if shape is not None and total is not None and prod(shape) != total:
        return frame.error(node, f"an array of {total} elements has no shape {tuple(numbers)}")
    first, again = frame.once(array, "array")
    size = ir.Const(total, index, span) if total is not None else _size(again, t, span)
    if open_axes and shape is None:
        extents[open_axes[0]] = None
        rest = _product([e for e in extents if e is not None], index, span)
        extents[open_axes[0]] = ir.Binary(ir.BinaryOp.FLOORDIV, size, rest, index, span)
    made = tuple(e for e in extents if e is not None) if shape is None else ()
    type = ArrayType(t.element, len(values), t.space, shape, t.index, False)
    pointer = ir.Bitcast(first, PointerType(t.element, t.space), span)
    return Runtime(ir.ArrayExpr(pointer, made, (), type, span, size if shape is None else None))


def _known_shape(numbers: list[int | None], total: int | None) -> tuple[int, ...] | None:
    """The shape, if all of it is known; of one that does not divide the size, one that does not fit."""
    if None in numbers or (total is None and -1 in numbers):
        return None
    rest = prod(n for n in numbers if n is not None and n != -1)
    return tuple((total or 0) // max(rest, 1) if n == -1 else n for n in numbers if n is not None)


def _size(array: ir.Expr, t: ArrayType, span: Span) -> ir.Expr:
    return _product([ir.Extent(array, axis, t.index or I32, span) for axis in range(t.ndim)], t.index or I32, span)


def _product(factors: list[ir.Expr], index: ScalarType, span: Span) -> ir.Expr:
    result: ir.Expr = factors[0] if factors else ir.Const(1, index, span)
    for factor in factors[1:]:
        result = ir.Binary(ir.BinaryOp.MUL, result, factor, index, span)
    return result


def _viewed(frame: Frame, array: Runtime, arguments: list[ast.expr], node: ast.Call) -> Value:
    t, place = array.type, arguments[0]
    assert isinstance(t, ArrayType)
    value = frame.value(place)
    found = value.object if isinstance(value, Static) else None
    element = cast_type(found) or (found if isinstance(found, VectorType) else None)
    if element is None:
        return (
            POISON if isinstance(value, Poison) else frame.error(place, "view() takes a scalar or vector type", "f32x4")
        )
    old, new = t.element.size, element.size
    index, span = t.index or I32, frame.span(node)
    last = t.shape[-1] if t.shape is not None else None
    if max(old, new) % min(old, new) or (last is not None and last * old % new):
        much = f"{last} {t.element}" if last is not None else str(t.element)
        return frame.error(place, f"elements of {element} do not fill {much}")
    shape = None if last is None else (*t.shape[:-1], last * old // new)  # type: ignore[index]
    first, again = frame.once(array.expr, "array")
    type = ArrayType(element, t.ndim, t.space, shape, t.index, False)
    pointer = ir.Bitcast(first, PointerType(element, t.space), span)
    if shape is not None:
        return Runtime(ir.ArrayExpr(pointer, (), (), type, span))
    extents: list[ir.Expr] = [ir.Extent(again, axis, index, span) for axis in range(t.ndim)]
    ratio = ir.Const(max(old, new) // min(old, new), index, span)
    if old != new:
        op = ir.BinaryOp.FLOORDIV if new > old else ir.BinaryOp.MUL
        extents[-1] = ir.Binary(op, extents[-1], ratio, index, span)
    return Runtime(ir.ArrayExpr(pointer, tuple(extents), (), type, span))
