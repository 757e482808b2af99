"""Operators on each lane of a vector. Their meaning on scalars is that of `operators`, which calls what is here."""

from __future__ import annotations

import ast
from typing import Protocol, TypeVar

import numpy as np

from kdsl.frontend import convert
from kdsl.frontend.frame import Frame
from kdsl.frontend.meet import cast
from kdsl.frontend.operands import Operands
from kdsl.frontend.values import (
    POISON,
    Poison,
    Runtime,
    Value,
    Weak,
    WeakChoice,
    WeakUnknown,
    describe,
    scalar_type,
    type_of,
    weak_meets,
    weak_type,
)
from kdsl.frontend.vectors import vector_type
from kdsl.ir import nodes as ir
from kdsl.ir.nodes import BinaryOp, CompareOp, UnaryOp
from kdsl.lang.types import F32, ScalarType, TupleType, VectorType

Op = TypeVar("Op", contravariant=True)
BITS = frozenset({BinaryOp.AND, BinaryOp.OR, BinaryOp.XOR})
BOTH = frozenset({BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL, BinaryOp.MIN, BinaryOp.MAX})
FLOAT, INT = BOTH | {BinaryOp.DIV}, BOTH | BITS
SHIFTS = frozenset({BinaryOp.SHL, BinaryOp.SHR})
ROUNDING = frozenset({UnaryOp.ROUND, UnaryOp.FLOOR, UnaryOp.CEIL})


class OnScalars(Protocol[Op]):
    """What an operator does to scalars: `operators.binary` and `operators.compare`, which need this file themselves."""

    def __call__(self, frame: Frame, op: Op, operands: Operands, /) -> Value: ...


def binary(frame: Frame, op: BinaryOp, operands: Operands, scalar: OnScalars[BinaryOp]) -> Value:
    """``left op right``, one of them a vector and the other one of its type, or a scalar for all lanes.

    ``scalar`` is what the operator does to scalars.
    """
    type = vector_type(operands.left) or vector_type(operands.right)
    assert type is not None
    if type.element.is_float8:
        return _only_stored(frame, type, operands.whole, f"`{op.value}`")
    if op in BITS and type.element.is_float:
        hint = "take the bits of each component: bitcast(v.x, u32)"
        return frame.error(operands.whole, f"`{op.value}` is no operator of {type}", hint)
    if op not in (FLOAT if type.element.is_float else INT):
        return _by_lane(frame, op, operands, scalar)
    span = frame.span(operands.node)
    exprs = [_operand(frame, v, type, p, f"`{op.value}`") for v, p in operands.sides]
    if None in exprs:
        return POISON
    return Runtime(ir.Lanewise(op, tuple(e for e in exprs if e is not None), type, span))


def _by_lane(frame: Frame, op: BinaryOp, operands: Operands, scalar: OnScalars[BinaryOp]) -> Value:
    """What scalars do, in each lane; 8- and 16-bit ints do not widen, and a quotient of ints is of floats."""
    left, right = operands.values
    type = vector_type(left) or vector_type(right)
    assert type is not None
    if op in SHIFTS and vector_type(left) is None:
        return frame.error(operands.places[0], f"`{op.value}` moves the bits of its left operand, which is no vector")
    lanes = _lanes_of(frame, type, operands, f"`{op.value}`", same=op not in SHIFTS)
    if lanes is None:
        return POISON
    made: list[ir.Expr] = []
    for first, second in lanes:
        value = scalar(frame, op, operands.of(first, second))
        if not isinstance(value, Runtime):
            return value
        made.append(value.expr)
    span = frame.span(operands.node)
    computed = made[0].type
    assert isinstance(computed, ScalarType)
    element = computed if op is BinaryOp.DIV else type.element
    return Runtime(ir.VectorExpr(tuple(cast(e, element, span) for e in made), VectorType(element, type.lanes), span))


def compare(frame: Frame, op: CompareOp, operands: Operands, scalar: OnScalars[CompareOp]) -> Value:
    """A tuple of bools, one for each lane."""
    type = vector_type(operands.left) or vector_type(operands.right)
    assert type is not None
    if type.element.is_float8:
        return _only_stored(frame, type, operands.whole, f"`{op.value}`")
    lanes = _lanes_of(frame, type, operands, f"`{op.value}`", same=True)
    if lanes is None:
        return POISON
    values = [scalar(frame, op, operands.of(first, second)) for first, second in lanes]
    exprs = tuple(value.expr for value in values if isinstance(value, Runtime))
    if len(exprs) < len(values):
        return POISON
    return Runtime(ir.TupleExpr(exprs, TupleType(tuple(e.type for e in exprs)), frame.span(operands.node)))


def _lanes_of(
    frame: Frame,
    type: VectorType,
    operands: Operands,
    what: str,
    *,
    same: bool,
) -> list[tuple[Value, Value]] | None:
    """Both operands' values in each lane, evaluated once; None (reported) if they do not meet.

    ``same``: both have to be of ``type``, or to convert to its elements.
    """
    columns: list[list[Value]] = []
    for value, place in operands.sides:
        found = vector_type(value)
        if found is not None and (found == type or (not same and found.lanes == type.lanes)):
            assert isinstance(value, Runtime)
            first, again = frame.once(value.expr, "vector", others_between=True)
            lanes = [
                ir.Swizzle(again if i else first, (i,), found.element, frame.span(place)) for i in range(type.lanes)
            ]
            columns.append([Runtime(lane) for lane in lanes])
        elif found is None and isinstance(value, Weak | WeakUnknown | WeakChoice):
            columns.append([value] * type.lanes)
        elif found is None and not same and scalar_type(value) is not None:
            assert isinstance(value, Runtime)
            first, again = frame.once(value.expr, "scalar", others_between=True)
            columns.append([Runtime(first), *[Runtime(again)] * (type.lanes - 1)])
        else:
            expr = _operand(frame, value, type, place, what)
            if expr is None:
                return None
            assert isinstance(expr, ir.VectorExpr)
            columns.append([Runtime(part) for part in expr.elements])
    return list(zip(*columns, strict=True))


def _only_stored(frame: Frame, type: VectorType, node: ast.expr | ast.stmt, what: str) -> Value:
    hint = f"convert it: {VectorType(F32, type.lanes)}(...)"
    return frame.error(node, f"{what} does not take {type}, which is only stored", hint)


def _operand(frame: Frame, value: Value, type: VectorType, place: ast.expr, what: str) -> ir.Expr | None:
    """An operand as a vector of this type; None (reported) if it is of another, or does not convert."""
    text = frame.text(place)
    match value:
        case Poison():
            return None
        case Runtime(expr) if expr.type == type:
            return expr
        case Runtime(expr) if isinstance(expr.type, VectorType):
            if expr.type.lanes == type.lanes:
                message, hint = f"{type} and {expr.type} have no common type", f"convert one: {type}({text})"
            else:
                message, hint = f"{type} and {expr.type} have not as many components", None
            frame.error(place, message, hint)
            return None
        case Weak() | WeakUnknown() | WeakChoice():
            if not weak_meets(weak_type(value), type.element):
                frame.error(place, f"this is a float literal, and {what} takes {type} or {type.element}")
                return None
            scalar = frame.literal(value, type.element, place)
        case Runtime(expr) if isinstance(expr.type, ScalarType):
            if expr.type != type.element and not convert.converts(expr.type, type.element):
                message = f"this is {expr.type}, and {what} takes {type} or {type.element}"
                frame.error(place, message, f"cast it: {type.element}({text})")
                return None
            scalar = cast(expr, type.element, frame.span(place))
        case _:
            kind = type_of(value)
            shown = f"this is {describe(kind)}, and " if kind is not None else ""
            hint = f"write {type}({text})" if isinstance(getattr(value, "object", None), np.ndarray) else None
            frame.error(place, f"{shown}{what} takes {type} or {type.element}", hint)
            return None
    return None if scalar is None else splat(frame, scalar, type, place)


def splat(frame: Frame, scalar: ir.Expr, type: VectorType, node: ast.expr) -> ir.Expr:
    """A scalar in all lanes, evaluated once."""
    first, again = frame.once(scalar, "scalar")
    return ir.VectorExpr((first, *[again] * (type.lanes - 1)), type, frame.span(node))


def unary(frame: Frame, op: UnaryOp, value: Runtime, type: VectorType, node: ast.expr) -> Value:
    """``-v``, ``~v``, and abs, round, floor and ceil."""
    if type.element.is_float8:
        return _only_stored(frame, type, node, f"`{op.value}`")
    if op is UnaryOp.INVERT and type.element.is_float:
        return frame.error(node, f"`~` is no operator of {type}", "take the bits of each component: bitcast(v.x, u32)")
    if op in ROUNDING and not type.element.is_float:
        return value
    return Runtime(ir.Lanewise(op, (value.expr,), type, frame.span(node)))


def fused(frame: Frame, given: list[tuple[Value, ast.expr]], node: ast.Call) -> Value:
    """``fma(a, b, c)`` of vectors and scalars for all lanes."""
    type = next(t for value, _ in given if (t := vector_type(value)) is not None)
    if type.element.is_float8:
        return _only_stored(frame, type, node, "fma()")
    if not type.element.is_float:
        return frame.error(node, f"fma() takes floats, and this is {type}", "write a * b + c")
    exprs = [_operand(frame, value, type, place, "fma()") for value, place in given]
    if None in exprs:
        return POISON
    return Runtime(ir.Lanewise(None, tuple(e for e in exprs if e is not None), type, frame.span(node)))
