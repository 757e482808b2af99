"""Arithmetic of pointers, counted in elements as in C: ``p + n``, ``p - n``, ``p - q`` and comparisons."""

from __future__ import annotations

import ast

from kdsl.frontend.convert import wrapped
from kdsl.frontend.effects import has_effects
from kdsl.frontend.frame import Frame
from kdsl.frontend.meet import cast
from kdsl.frontend.memory_index import int_of
from kdsl.frontend.operands import Operands
from kdsl.frontend.values import POISON, Runtime, Value
from kdsl.ir import nodes as ir
from kdsl.ir.nodes import BinaryOp, CompareOp
from kdsl.lang.types import I64, PointerType, TupleType, boolean


def is_pointer(value: Value) -> bool:
    return isinstance(value, Runtime) and isinstance(value.type, PointerType)


def arithmetic(frame: Frame, op: BinaryOp, operands: Operands) -> Value | None:
    """``left op right``, one of them a pointer; None if no pointer has this operator."""
    left, right = operands.values
    if op is BinaryOp.SUB and is_pointer(left) and is_pointer(right):
        return _difference(frame, operands)
    if op is BinaryOp.ADD and is_pointer(left) and is_pointer(right):
        return frame.error(operands.whole, "two pointers have no sum", "p - q counts the elements between them")
    if op in (BinaryOp.ADD, BinaryOp.SUB) and is_pointer(left):
        return _moved(frame, left, right, operands.node, operands.places[1], backwards=op is BinaryOp.SUB)
    if op is BinaryOp.ADD:
        return _moved(frame, right, left, operands.node, operands.places[0], is_first=True)
    return None


def compare(frame: Frame, op: CompareOp, operands: Operands) -> Value:
    """``left op right`` of two pointers: of their addresses."""
    pair = _alike(frame, operands, op.value)
    return POISON if pair is None else Runtime(ir.Compare(op, *pair, boolean, frame.span(operands.node)))


def _difference(frame: Frame, operands: Operands) -> Value:
    pair = _alike(frame, operands, "-")
    return POISON if pair is None else Runtime(ir.PointerDifference(*pair, I64, frame.span(operands.node)))


def _alike(frame: Frame, operands: Operands, op: str) -> tuple[ir.Expr, ir.Expr] | None:
    """Both pointers; None (reported) if they point to different types or into different memory."""
    left, right = operands.values
    assert isinstance(left, Runtime)
    assert isinstance(right, Runtime)
    a, b = left.type, right.type
    assert isinstance(a, PointerType)
    assert isinstance(b, PointerType)
    if a == b:
        return left.expr, right.expr
    if a.space is not b.space:
        spaces = f"{a.space.name.lower()} and {b.space.name.lower()} memory"
        frame.error(operands.whole, f"`{op}` of pointers into {spaces}, which nothing relates")
    else:
        hint = f"bitcast({frame.text(operands.places[1])}, {a})"
        frame.error(operands.whole, f"`{op}` of {a} and {b}, which count different elements", hint)
    return None


def _moved(
    frame: Frame,
    pointer: Value,
    count: Value,
    node: ast.expr | ast.stmt,
    place: ast.expr,
    *,
    backwards: bool = False,
    is_first: bool = False,
) -> Value:
    """A pointer ``count`` elements on or back; ``is_first``: the count is written before it."""
    assert isinstance(pointer, Runtime)
    assert isinstance(pointer.type, PointerType)
    index = int_of(frame, count, place, "a pointer moves by ints")
    if index is None:
        return POISON
    base, span = pointer.expr, frame.span(node)
    if is_first and has_effects(count):
        # The count is evaluated first, as it is written first.
        local = frame.local("count", index.type)
        kept = ir.AssignExpr(local, index, index.type, index.span)
        pair = TupleType((index.type, base.type))
        base = ir.TupleElement(ir.TupleExpr((kept, base), pair, span), 1, base.type, span)
        index = ir.Read(local, local.type, index.span)
    if backwards:
        index = _negative(frame, index, place)
    return Runtime(ir.ElementAddress(base, (index,), pointer.type, span))


def _negative(frame: Frame, index: ir.Expr, place: ast.expr) -> ir.Expr:
    """In 64 bits, as unsigned counts and the smallest int of 32 bits have no negative of their own."""
    span = frame.span(place)
    if isinstance(index, ir.Const):
        return ir.Const(wrapped(-int(index.value), I64), I64, span)
    return ir.Unary(ir.UnaryOp.NEG, cast(index, I64, span), I64, span)
