"""Tests: what `if`, `while`, `and`, `or`, `not` and conditional expressions ask, and what is assigned after it."""

from __future__ import annotations

import ast
import enum

from kdsl.frontend import complex_numbers, struct_methods
from kdsl.frontend.choosing import identity, membership, one_bool
from kdsl.frontend.describing import describe_object, named
from kdsl.frontend.frame import ALL, Frame
from kdsl.frontend.meet import converted, is_weak_value, meeting_type, mixed, scalar_as, settled
from kdsl.frontend.operands import Operands
from kdsl.frontend.operators import COMPARE, compare, is_operand
from kdsl.frontend.structs import struct_type
from kdsl.frontend.syntax import LONGEST_CHAIN, refuse_chain
from kdsl.frontend.values import (
    POISON,
    Poison,
    Runtime,
    Static,
    Tuple,
    Value,
    Weak,
    WeakChoice,
    WeakUnknown,
    describe,
    is_bool,
    join_arrays,
    scalar_type,
    type_of,
    weak_type,
    wider_weak,
)
from kdsl.ir import nodes as ir
from kdsl.lang.types import ArrayType, ScalarType, TupleType, VectorType, boolean
from kdsl.records import dataclass


@dataclass(frozen=True, slots=True)
class Test:
    """A bool expression (None for what is wrong), and the variables assigned where it is true and where it is false."""

    expr: ir.Expr | None
    when_true: int
    when_false: int

    @property
    def constant(self) -> bool | None:
        """Its value, where that is known."""
        return bool(self.expr.value) if isinstance(self.expr, ir.Const) else None


def test(frame: Frame, node: ast.expr) -> Test:
    """A condition. The frame's assigned variables are those after it is evaluated, whatever it says."""
    match node:
        case ast.BoolOp(values=values) if len(values) > LONGEST_CHAIN:
            refuse_chain(frame, node)
            result = Test(None, frame.bound, frame.bound)
        case ast.BoolOp(op=op, values=values):
            result = test(frame, values[0])
            for value in values[1:]:
                if result.constant is isinstance(op, ast.Or):
                    break  # what is never evaluated is dropped before its types are looked at
                result = (
                    _and(frame, result, value, node) if isinstance(op, ast.And) else _or(frame, result, value, node)
                )
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = test(frame, operand)
            result = Test(_not(inner.expr, frame, node), inner.when_false, inner.when_true)
        case _:
            asked, when_true = _chain(frame, node) if isinstance(node, ast.Compare) else (frame.value(node), 0)
            expr = as_test(frame, asked, node)
            bound = frame.bound
            match expr:
                case ir.Const(True):
                    result = Test(expr, bound, ALL)
                case ir.Const(False):
                    result = Test(expr, ALL, bound)
                case _:
                    result = Test(expr, bound | when_true, bound)
    frame.bound = result.when_true & result.when_false
    return result


def _and(frame: Frame, left: Test, right_node: ast.expr, node: ast.expr) -> Test:
    frame.bound = left.when_true
    right = test(frame, right_node)
    expr = _logical(frame, ir.LogicalOp.AND, left.expr, right.expr, node)
    return Test(expr, right.when_true, left.when_false & right.when_false)


def _or(frame: Frame, left: Test, right_node: ast.expr, node: ast.expr) -> Test:
    frame.bound = left.when_false
    right = test(frame, right_node)
    expr = _logical(frame, ir.LogicalOp.OR, left.expr, right.expr, node)
    return Test(expr, left.when_true & right.when_true, right.when_false)


def _logical(
    frame: Frame, op: ir.LogicalOp, left: ir.Expr | None, right: ir.Expr | None, node: ast.expr
) -> ir.Expr | None:
    if left is None or right is None:
        return None
    if isinstance(left, ir.Const):
        return right if left.value is (op is ir.LogicalOp.AND) else left
    return ir.Logical(op, left, right, boolean, frame.span(node))


def _not(expr: ir.Expr | None, frame: Frame, node: ast.expr) -> ir.Expr | None:
    if expr is None:
        return None
    if isinstance(expr, ir.Const):
        return ir.Const(not expr.value, boolean, frame.span(node))
    return ir.Unary(ir.UnaryOp.NOT, expr, boolean, frame.span(node))


def as_test(frame: Frame, value: Value, node: ast.expr) -> ir.Expr | None:
    """A bool, or an int that is tested for not being 0."""
    match value:
        case Poison():
            return None
        case Weak(number) if isinstance(number, int):
            return ir.Const(number != 0, boolean, frame.span(node))
        case Static(None):
            return ir.Const(False, boolean, frame.span(node))
        case Static(enum.Flag() as flag):
            return ir.Const(bool(flag), boolean, frame.span(node))
        case WeakUnknown(kind) if not kind.is_float:
            stand_in = ir.Const(0, kind.default, frame.span(node))
            return ir.Compare(ir.CompareOp.NE, stand_in, stand_in, boolean, frame.span(node))
    if complex_numbers.is_complex(value):
        hint = f"say what is tested: {_written(frame, node)} != 0"
        frame.error(node, f"this is {named(type_of(value))}; a test takes a bool or an int", hint)
        return None
    if struct_type(value):
        value = struct_methods.as_test(frame, value, node)
        return value.expr if isinstance(value, Runtime) else None
    if not is_operand(frame, value, node, "a test"):
        return None
    expr = frame.runtime(value, node)
    if expr is None:
        return None
    type = expr.type
    assert isinstance(type, ScalarType)
    if type.is_float:
        frame.error(
            node,
            f"this is {type}; a test takes a bool or an int",
            f"say what is tested: {_written(frame, node)} != 0.0",
        )
        return None
    if is_bool(Runtime(expr)):
        return expr
    return ir.Compare(ir.CompareOp.NE, expr, ir.Const(0, type, frame.span(node)), boolean, frame.span(node))


def _written(frame: Frame, node: ast.expr) -> str:
    text = frame.text(node)
    return f"({text})" if isinstance(node, ast.NamedExpr | ast.IfExp) else text


def bool_op(frame: Frame, node: ast.expr) -> Value:
    """`and`, `or`, `not` as a value: a bool."""
    expr = test(frame, node).expr
    return POISON if expr is None else Runtime(expr)


def comparison(frame: Frame, node: ast.Compare) -> Value:
    """``a < b <= c``: each operand is evaluated once, and none after the first comparison that is false."""
    return _chain(frame, node)[0]


def _chain(frame: Frame, node: ast.Compare) -> tuple[Value, int]:
    """A comparison, and the variables assigned where all of it is true; the frame's are those that always are."""
    if len(node.ops) > LONGEST_CHAIN:
        return refuse_chain(frame, node), frame.bound
    left_node, left = node.left, frame.value(node.left)
    result: ir.Expr | None = None
    wrong = False
    assigned = frame.bound
    for i, (op, right_node) in enumerate(zip(node.ops, node.comparators, strict=True)):
        right = frame.value(right_node)
        if i == 0:
            assigned = frame.bound
        right, again = _kept(frame, right, right_node) if i + 1 < len(node.ops) else (right, right)
        one = _compared(frame, op, left, right, node, (left_node, right_node))
        if len(node.ops) > 1:
            one = one_bool(frame, one, node)
        if isinstance(one, Runtime):
            result = one.expr if result is None else _logical(frame, ir.LogicalOp.AND, result, one.expr, node)
        else:
            wrong = True
        left_node, left = right_node, again
    when_true, frame.bound = frame.bound, assigned
    return (POISON if wrong or result is None else Runtime(result)), when_true


def _compared(
    frame: Frame, op: ast.cmpop, left: Value, right: Value, node: ast.expr, places: tuple[ast.expr, ast.expr]
) -> Value:
    match op:
        case ast.Is() | ast.IsNot():
            return identity(frame, op, left, right, node, places)
        case ast.In() | ast.NotIn():
            return membership(frame, op, left, right, node, places)
        case _:
            return compare(frame, COMPARE[type(op)], Operands(left, right, node, places))


def _kept(frame: Frame, value: Value, node: ast.expr) -> tuple[Value, Value]:
    """The middle of a chained comparison: evaluated at its first use."""
    value = settled(frame, value, node)
    if not isinstance(value, Runtime):
        return value, value
    first, second = frame.once(value.expr, "compared")
    return Runtime(first), Runtime(second)


def conditional(frame: Frame, node: ast.IfExp) -> Value:
    """``then if test else orelse``."""
    asked = test(frame, node.test)
    if asked.constant is not None:
        # The other arm is dropped before its types are looked at.
        return frame.value(node.body if asked.constant else node.orelse)
    frame.bound = asked.when_true
    then = frame.value(node.body)
    after_then, frame.bound = frame.bound, asked.when_false
    orelse = frame.value(node.orelse)
    frame.bound &= after_then
    if asked.expr is None or isinstance(then, Poison) or isinstance(orelse, Poison):
        # Inference may know one arm before the other.
        return _known(then, orelse) if frame.quiet else POISON
    return choose(frame, asked, then, orelse, node, (node.body, node.orelse))


def _known(a: Value, b: Value) -> Value:
    return b if isinstance(a, Poison) else a if isinstance(b, Poison) else POISON


def choose(
    frame: Frame, asked: Test, then: Value, orelse: Value, node: ast.expr, places: tuple[ast.expr, ast.expr]
) -> Value:
    """One of two values, in the type in which they meet; of two literals, a literal again."""
    assert asked.expr is not None
    if isinstance(then, Weak | WeakUnknown | WeakChoice) and isinstance(orelse, Weak | WeakUnknown | WeakChoice):
        if asked.constant is not None:
            return then if asked.constant else orelse
        if isinstance(then, WeakUnknown) or isinstance(orelse, WeakUnknown):
            return WeakUnknown(wider_weak(weak_type(then), weak_type(orelse)))
        return WeakChoice(asked.expr, then, orelse)
    if isinstance(then, Static) and isinstance(orelse, Static):
        if asked.constant is not None:
            return then if asked.constant else orelse
        what = describe_object(then.object, frame.text(places[0]))
        return frame.error(node, f"a conditional chooses between values, and {what} is none", "write if and else")
    if complex_numbers.meets(then, orelse):
        meeting = complex_numbers.common(frame, then, orelse, places, "a conditional of complex numbers")
        if meeting is None:
            return POISON
        one, other = (
            complex_numbers.as_complex(frame, v, meeting, p) for v, p in zip((then, orelse), places, strict=True)
        )
        if one is None or other is None:
            return POISON
        return Runtime(ir.Conditional(asked.expr, one, other, meeting, frame.span(node)))
    scalars = all(is_weak_value(v) or scalar_type(v) is not None for v in (then, orelse))
    if scalars:
        type = meeting_type(then, orelse, widen=False)
        if type is None:
            return frame.error(node, *mixed(frame, then, orelse, *places))
        a, b = scalar_as(frame, then, type, places[0]), scalar_as(frame, orelse, type, places[1])
        return POISON if a is None or b is None else Runtime(ir.Conditional(asked.expr, a, b, type, frame.span(node)))
    return _choose_other(frame, asked.expr, then, orelse, node, places)


def _choose_other(
    frame: Frame, asked: ir.Expr, then: Value, orelse: Value, node: ast.expr, places: tuple[ast.expr, ast.expr]
) -> Value:
    """One of two tuples or pointers of one type."""
    a: ir.Expr | None
    b: ir.Expr | None
    if isinstance(then, Tuple) and isinstance(orelse, Runtime) and isinstance(orelse.type, TupleType):
        a, b = converted(frame, then, orelse.type, places[0], "the other arm"), orelse.expr
    else:
        a, b = frame.runtime(then, places[0]), frame.runtime(orelse, places[1])
        if a is not None and b is not None and a.type != b.type and isinstance(orelse, Tuple):
            b = converted(frame, orelse, a.type, places[1], "the other arm")
    if a is None or b is None:
        return POISON
    joined = join_arrays(a.type, b.type) if isinstance(a.type, ArrayType) and isinstance(b.type, ArrayType) else None
    if joined is not None:
        a = converted(frame, Runtime(a), joined, places[0], "the other arm")
        b = converted(frame, Runtime(b), joined, places[1], "the other arm")
        assert a is not None
        assert b is not None
    if a.type != b.type:
        vector = next((t for t in (a.type, b.type) if isinstance(t, VectorType)), None)
        hint = f"convert one: {vector}(...)" if vector is not None else None
        return frame.error(node, f"the two arms are {describe(a.type)} and {describe(b.type)}", hint)
    return Runtime(ir.Conditional(asked, a, b, a.type, frame.span(node)))
