"""What may be left out where only another value is wanted, and what may be written twice."""

from __future__ import annotations

from kdsl.frontend.values import Runtime, Tuple, Value, WeakChoice
from kdsl.ir import nodes as ir


def has_effects(value: Value) -> bool:
    """Whether evaluating a value does more than give it, so that it may not be left out."""
    match value:
        case Runtime(expr):
            return not _is_pure(expr)
        case Tuple(elements):
            return any(has_effects(e) for e in elements)
        case WeakChoice(test, then, orelse):
            return not _is_pure(test) or has_effects(then) or has_effects(orelse)
        case _:
            return False


def _is_pure(expr: ir.Expr) -> bool:
    match expr:
        case ir.Const() | ir.Read() | ir.LocalAddress() | ir.SharedArray() | ir.LocalArray():
            return True
        case ir.ConstantArray() | ir.ModuleVariable():
            return True
        case ir.Binary() | ir.Compare() | ir.Logical() | ir.PointerDifference():
            return _is_pure(expr.left) and _is_pure(expr.right)
        case ir.DynamicShared():
            return _is_pure(expr.offset)
        case ir.Unary() | ir.Cast() | ir.Bitcast() | ir.VectorCast():
            return _is_pure(expr.operand)
        case ir.Conditional():
            return _is_pure(expr.test) and _is_pure(expr.then) and _is_pure(expr.orelse)
        case ir.TupleExpr() | ir.VectorExpr() | ir.StructExpr():
            return all(map(_is_pure, expr.elements))
        case ir.TupleElement() | ir.Swizzle() | ir.FieldValue():
            return _is_pure(expr.value)
        case ir.FieldAddress():
            return _is_pure(expr.address)
        case ir.WithLane() | ir.WithField():
            return _is_pure(expr.value) and _is_pure(expr.element)
        case ir.Lanewise():
            return all(map(_is_pure, expr.operands))
        case ir.AssumeAligned() | ir.IsAligned():
            return _is_pure(expr.operand)
        case ir.Extent() | ir.Stride():
            return _is_pure(expr.array)
        case ir.View():
            bounds = [b for b in (*expr.starts, *expr.stops, *expr.steps) if b is not None]
            return _is_pure(expr.base) and all(map(_is_pure, bounds))
        case ir.ArrayExpr():
            return all(map(_is_pure, (expr.address, *expr.extents, *expr.strides)))
        case ir.Load():
            return expr.access is None and _is_pure(expr.address)
        case ir.ElementAddress():
            return all(map(_is_pure, (expr.base, *expr.indices)))
        case _:
            return False


def is_repeatable(expr: ir.Expr) -> bool:
    """Whether an expression may be written twice: a constant, a variable, or a part of one."""
    match expr:
        case ir.Const() | ir.Read():
            return True
        case ir.TupleElement(value) | ir.Swizzle(value) | ir.FieldValue(value):
            return is_repeatable(value)
        case _:
            return False
