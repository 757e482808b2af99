"""Fields of structs that are arrays: `p.w` is the array where it lies, in memory or in a variable of the function.

A struct that a computation made lies nowhere: its array is copied into a local one.
"""

from __future__ import annotations

import ast

from kdsl.frontend.frame import Frame
from kdsl.frontend.values import Runtime, Value
from kdsl.ir import nodes as ir
from kdsl.lang.fixed_array import FixedArrayType
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import ArrayType, PointerType, Space
from kdsl.source import Span

COPY = "copy"
"""What the copies are called."""


def attribute(frame: Frame, value: Runtime, index: int, node: ast.expr) -> Value:
    """The array in a field of a struct."""
    span, whole = frame.span(node), value.type
    assert isinstance(whole, StructType)
    type = whole.fields[index].type
    assert isinstance(type, FixedArrayType)
    owner = address(frame, value.expr)
    if owner is None:
        return Runtime(_copy(frame, value.expr, index, type, node))
    return Runtime(array_at(_field(owner, index, span), type, span))


def address(frame: Frame, struct: ir.Expr) -> ir.Expr | None:
    """Where a struct lies; None for one that a computation made."""
    match struct:
        case ir.Read(local) if frame.locals.get(local.name) is local:
            return ir.LocalAddress(local, PointerType(local.type, Space.LOCAL), struct.span)
        case ir.Load(place, access=None):
            return place
        case ir.FieldValue(whole, index):
            owner = address(frame, whole)
            return None if owner is None else _field(owner, index, struct.span)
    return None


def _field(owner: ir.Expr, index: int, span: Span) -> ir.Expr:
    assert isinstance(owner.type, PointerType)
    assert isinstance(owner.type.element, StructType)
    return ir.FieldAddress(owner, index, PointerType(owner.type.element.fields[index].type, owner.type.space), span)


def array_at(place: ir.Expr, type: FixedArrayType, span: Span) -> ir.Expr:
    """The array at an address."""
    assert isinstance(place.type, PointerType)
    space = place.type.space
    made = array_type(type, space)
    return ir.ArrayExpr(ir.Bitcast(place, PointerType(type.element, space), span), (), (), made, span)


def array_type(type: FixedArrayType, space: Space) -> ArrayType:
    """The type of such an array as a value of a kernel."""
    return ArrayType(type.element, len(type.shape), space, type.shape)  # type: ignore[arg-type]


def _copy(frame: Frame, struct: ir.Expr, index: int, type: FixedArrayType, node: ast.expr) -> ir.Expr:
    """The array of a struct that lies nowhere."""
    span = frame.span(node)
    made = array_type(type, Space.LOCAL)
    arrays = frame.session.arrays
    # The end, too: an attribute of an attribute begins where that begins.
    key = (frame.scope.node, node.lineno, node.col_offset, node.end_lineno, node.end_col_offset, made)
    uid = arrays.setdefault(key, frame.session.first_array + len(arrays) + 1)
    first, again = frame.once(struct, "whole")
    parts = tuple(_element(again if i else first, index, i, span) for i in range(len(type.fields)))
    return ir.ListExpr(ir.LocalArray(uid, COPY, made, span), parts, 1, made, span)


def _element(struct: ir.Expr, index: int, position: int, span: Span) -> ir.Expr:
    match struct:
        case ir.StructExpr(fields) if isinstance(part := fields[index], ir.StructExpr):
            return part.elements[position]
    assert isinstance(struct.type, StructType)
    field = struct.type.fields[index].type
    assert isinstance(field, FixedArrayType)
    return ir.FieldValue(ir.FieldValue(struct, index, field, span), position, field.element, span)


def root(place: ir.Expr) -> ir.Expr:
    """What an address is in: a parameter or another variable, an array, a list."""
    while True:
        match place:
            case ir.ElementAddress(inner) | ir.FieldAddress(inner) | ir.Bitcast(inner):
                place = inner
            case ir.View(inner) | ir.ArrayExpr(inner):
                place = inner
            case _:
                return place
