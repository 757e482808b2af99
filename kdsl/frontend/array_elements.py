"""The elements of an array whose length is known, as the values that loops and Python's functions of tuples take."""

from __future__ import annotations

import ast

from kdsl.frontend.frame import Frame
from kdsl.frontend.memory import elements
from kdsl.frontend.values import Runtime, Value
from kdsl.ir import nodes as ir
from kdsl.lang.types import I32, ArrayType, PointerType

LONGEST = 1024


def array_elements(frame: Frame, value: Value, node: ast.expr) -> tuple[Value, ...] | None:
    """What an array holds: its elements, or the arrays along its first axis; None if its length is not known.

    The elements are loads, made where they are used; the array itself must be repeatable.
    """
    if not isinstance(value, Runtime) or not isinstance(value.type, ArrayType) or value.type.shape is None:
        return None
    if value.type.shape[0] > LONGEST:
        return None
    index = value.type.index or I32
    span = frame.span(node)
    first, again = frame.once(value.expr, "array")
    return tuple(
        element(frame, again if i else first, ir.Const(i, index, span), node) for i in range(value.type.shape[0])
    )


def parts_of(frame: Frame, value: Value, node: ast.expr) -> tuple[Value, ...] | None:
    """The elements of a tuple, or of an array of known length."""
    parts = elements(frame, value, node)
    return array_elements(frame, value, node) if parts is None else parts


def element(frame: Frame, array: ir.Expr, index: ir.Expr, node: ast.expr) -> Runtime:
    """``array[index]``."""
    t = array.type
    assert isinstance(t, ArrayType)
    span = frame.span(node)
    if t.ndim == 1:
        address = ir.ElementAddress(array, (index,), PointerType(t.element, t.space), span)
        return Runtime(ir.Load(address, t.element, span))
    none = (None,) * t.ndim
    shape = None if t.shape is None else t.shape[1:]
    row = ArrayType(t.element, t.ndim - 1, t.space, shape, t.index, t.strided)
    kept = (False, *[True] * (t.ndim - 1))
    return Runtime(ir.View(array, (index, *none[1:]), none, none, kept, row, span))
