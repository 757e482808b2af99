"""Shared memory of the functions in `kdsl.groups`: a value is put there part by part, each of a type has its slots."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kdsl.frontend.arguments import match_arguments
from kdsl.frontend.arrays import charge_shared
from kdsl.frontend.clusters import in_block
from kdsl.frontend.frame import Frame
from kdsl.frontend.intrinsics import constant_of
from kdsl.frontend.values import POISON, Poison, Runtime, Static, Value
from kdsl.groups.scratch import SLOTS
from kdsl.ir import nodes as ir
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import ArrayType, PointerType, ScalarType, Space, TupleType, Type, VectorType
from kdsl.source import Span


def deposit(frame: Frame, node: ast.Call) -> Value:
    """``deposit(place, slot, value)``."""
    found = match_arguments(frame, node, "deposit", ("place", "slot", "value"))
    assert found is not None
    place, slot, value = (frame.value(found[name]) for name in ("place", "slot", "value"))
    index, expr = frame.runtime(slot, node), frame.runtime(value, node)
    span = frame.span(node)
    if frame.quiet or index is None or expr is None:
        return Static(None)
    local = frame.local("deposited", expr.type)
    frame.emit(ir.Assign(local, expr, span))
    whole = ir.Read(local, expr.type, span)
    for number, part in enumerate(_parts(whole, span)):
        address = _slot(frame, str(constant_of(place)), number, part.type, index, span, node)
        if address is None:
            return POISON
        frame.emit(ir.Store(address, part, span))
    return Static(None)


def collect(frame: Frame, node: ast.Call) -> Value:
    """``collect(place, slot, like)``."""
    return _collected(frame, node, ("place", "slot", "like"))


def collect_from(frame: Frame, node: ast.Call) -> Value:
    """``collect_from(place, slot, like, block)``."""
    return _collected(frame, node, ("place", "slot", "like", "block"))


def _collected(frame: Frame, node: ast.Call, parameters: tuple[str, ...]) -> Value:
    found = match_arguments(frame, node, "collect", parameters)
    assert found is not None
    place, slot, like, *others = (frame.value(found[name]) for name in parameters)
    if isinstance(like, Poison) or isinstance(slot, Poison):
        return POISON
    index, expr = frame.runtime(slot, node), frame.runtime(like, node)
    block = frame.runtime(others[0], node) if others else None
    if frame.quiet or index is None or expr is None:
        return like
    span = frame.span(node)
    addresses = [
        _slot(frame, str(constant_of(place)), number, part.type, index, span, node, block)
        for number, part in enumerate(_parts(expr, span))
    ]
    loads = [ir.Load(a, a.type.element, span) for a in addresses if a is not None]
    if len(loads) < len(addresses):
        return POISON
    return Runtime(_whole(expr.type, iter(loads), span))


def _parts(value: ir.Expr, span: Span) -> Iterator[ir.Expr]:
    if not isinstance(value.type, TupleType):
        yield value
        return
    for i, type in enumerate(value.type.elements):
        yield from _parts(ir.TupleElement(value, i, type, span), span)


def _whole(type: Type, parts: Iterator[ir.Expr], span: Span) -> ir.Expr:
    if not isinstance(type, TupleType):
        return next(parts)
    return ir.TupleExpr(tuple(_whole(element, parts, span) for element in type.elements), type, span)


def _slot(
    frame: Frame,
    place: str,
    number: int,
    type: Type,
    index: ir.Expr,
    span: Span,
    node: ast.Call,
    block: ir.Expr | None = None,
) -> ir.ElementAddress | None:
    assert isinstance(type, ScalarType | VectorType | StructType)
    array_type = ArrayType(type, 1, Space.SHARED, (SLOTS,))
    arrays = frame.session.arrays
    uid = arrays.setdefault(("groups", place, number, type), frame.session.first_array + len(arrays) + 1)
    array = ir.SharedArray(uid, f"groups_{place}", array_type, span, common=True)
    if not charge_shared(frame, array, node):
        return None
    if block is None:
        return ir.ElementAddress(array, (index,), PointerType(type, Space.SHARED), span)
    there = in_block(array, block, span)
    return ir.ElementAddress(there, (index,), PointerType(type, Space.CLUSTER), span)
