"""Choosing while a kernel is compiled: `type_of`, `isinstance` and `is` look at types alone, and are constants.

`in` compares with each element of a tuple, and is a constant where they are.
"""

from __future__ import annotations

import ast
import enum
from typing import Any

from kdsl.frontend.arguments import positional
from kdsl.frontend.attributes import is_enum_member
from kdsl.frontend.describing import describe_object, named, shown
from kdsl.frontend.effects import has_effects
from kdsl.frontend.frame import Frame
from kdsl.frontend.meet import settled
from kdsl.frontend.memory import elements
from kdsl.frontend.operands import Operands
from kdsl.frontend.operators import compare, known_type
from kdsl.frontend.syntax import COMPARISONS
from kdsl.frontend.values import POISON, Poison, Runtime, Static, StaticType, Tuple, Value, Weak, defaulted, type_of
from kdsl.ir import nodes as ir
from kdsl.lang.generics import is_a
from kdsl.lang.types import TupleType, Type, boolean
from kdsl.source import Span

CLASS = type


def type_of_(frame: Frame, node: ast.Call) -> Value:
    """``type_of(x)``: the type of a value, which is not evaluated."""
    arguments = positional(frame, node, "type_of", 1, 1)
    if arguments is None:
        return POISON
    found = _type(frame, frame.value(arguments[0]), arguments[0], "type_of()")
    return POISON if found is None else Static(found)


def _type(frame: Frame, value: Value, node: ast.expr, what: str) -> Type | None:
    """The type of a value that is only looked at; None (reported) where there is none."""
    if isinstance(value, Poison):
        return None
    if has_effects(value):
        frame.error(node, f"{what} evaluates nothing, and this has an effect", f"name it first: x = {frame.text(node)}")
        return None
    kind = type_of(value)
    if kind is None or isinstance(kind, StaticType):
        shown = describe_object(value.object, frame.text(node)) if isinstance(value, Static) else "a range"
        frame.error(node, f"{what} takes a value of the kernel, and this is {shown}")
        return None
    return defaulted(kind)  # type: ignore[return-value]


def isinstance_(frame: Frame, node: ast.Call) -> Value:
    """``isinstance(x, f32)``, ``isinstance(x, (f32, f64))``; ``int`` and ``float`` are all types of that family."""
    arguments = positional(frame, node, "isinstance", 2, 2)
    if arguments is None:
        return POISON
    value, asked = frame.value(arguments[0]), frame.value(arguments[1])
    if isinstance(value, Poison) or isinstance(asked, Poison):
        return POISON
    found = is_instance(frame, value, asked, arguments[0], arguments[1])
    return POISON if found is None else frame.const(found, boolean, node)


def is_instance(frame: Frame, value: Value, asked: Value, node: ast.expr, place: ast.expr) -> bool | None:
    """Whether a value is of one of the types; None (reported) where that cannot be asked."""
    families = asked.elements if isinstance(asked, Tuple) else (asked,)
    is_object = isinstance(value, Static)
    type = None if is_object else _type(frame, value, node, "isinstance()")
    if type is None and not is_object:
        return None
    found = False
    for family in families:
        if not isinstance(family, Static):
            frame.error(place, f"isinstance() takes types, and this is {named(type_of(family))}", "such as f32")
            return None
        try:
            if isinstance(value, Static):
                found |= _object_is_a(value.object, family.object)
            else:
                is_tuple = isinstance(family.object, CLASS) and issubclass(family.object, tuple)
                found |= (_is_tuple_of if is_tuple else is_a)(type, family.object)
        except TypeError:
            frame.error(place, f"`{frame.text(place)}` is no type of the kernel language", "such as f32, int or float")
            return None
    return found


def _is_tuple_of(type: Type | None, family: Any) -> bool:
    """Whether a tuple is of a NamedTuple's class, or a tuple at all."""
    if not isinstance(type, TupleType):
        return False
    return family is tuple or (type.python is not None and issubclass(type.python, family))


def _object_is_a(value: Any, family: Any) -> bool:
    """What Python says, of a class; an object of the host is of no type of the kernel language."""
    return isinstance(family, type) and isinstance(value, family)


def identity(
    frame: Frame, op: ast.Is | ast.IsNot, left: Value, right: Value, node: ast.expr, places: tuple[ast.expr, ast.expr]
) -> Value:
    """``a is b`` of types, functions, enum members and None: a constant."""
    if isinstance(left, Poison) or isinstance(right, Poison):
        return POISON
    nothing = [v for v in (left, right) if isinstance(v, Static) and v.object is None]
    texts = [v for v in (left, right) if isinstance(v, Static) and isinstance(v.object, str)]
    if isinstance(left, Static) and isinstance(right, Static) and not texts:
        same = is_same(left.object, right.object)
    elif nothing:
        same = False
    elif isinstance(left, Weak) and isinstance(right, Weak) and any(is_enum_member(frame, p) for p in places):
        same = left.value == right.value  # members of an IntEnum are numbers here
    else:
        return frame.error(node, *COMPARISONS[type(op)])
    return frame.const(same is isinstance(op, ast.Is), boolean, node)


def is_same(a: Any, b: Any) -> bool:
    """Whether two objects are one, or two names of one type (f32 is np.float32)."""
    if a is b:
        return True
    first, second = known_type(a), known_type(b)
    return first is not None and first == second


def membership(
    frame: Frame, op: ast.In | ast.NotIn, left: Value, right: Value, node: ast.expr, places: tuple[ast.expr, ast.expr]
) -> Value:
    """``x in (a, b)``: whether x equals one of them. All of them are evaluated."""
    if isinstance(left, Poison) or isinstance(right, Poison):
        return POISON
    if isinstance(left, Static) and isinstance(right, Static) and isinstance(right.object, enum.Flag):
        found = isinstance(left.object, type(right.object)) and left.object in right.object
        return frame.const(found is isinstance(op, ast.In), boolean, node)
    parts = elements(frame, right, places[1])
    if parts is None:
        what = shown(frame, right, places[1])
        hint = "write a loop that compares each element"
        return frame.error(places[1], f"`in` takes a tuple in a kernel, and this is {what}", hint)
    if not parts and has_effects(left):
        return frame.error(node, "nothing is in an empty tuple", "leave the test out")
    tests = _equal(frame, settled(frame, left, places[0]), right, parts, node, places)
    if tests is None:
        return POISON
    span = frame.span(node)
    result: ir.Expr = ir.Const(False, boolean, span)
    for one in tests:
        if isinstance(result, ir.Const):
            result = result if result.value else one
        elif has_effects(right):
            # All elements are evaluated before the first is looked at.
            result = ir.Binary(ir.BinaryOp.OR, result, one, boolean, span)
        else:
            result = one if isinstance(one, ir.Const) and one.value else _or(result, one, span)
    if isinstance(op, ast.In):
        return Runtime(result)
    if isinstance(result, ir.Const):
        return frame.const(not result.value, boolean, node)
    return Runtime(ir.Unary(ir.UnaryOp.NOT, result, boolean, span))


def _equal(
    frame: Frame,
    left: Value,
    right: Value,
    parts: tuple[Value, ...],
    node: ast.expr,
    places: tuple[ast.expr, ast.expr],
) -> list[ir.Expr] | None:
    """A comparison with each element, the value on the left evaluated once; None (reported) for what is wrong."""
    first = again = left
    if isinstance(left, Runtime):
        a, b = frame.once(left.expr, "asked", others_between=has_effects(right))
        first, again = Runtime(a), Runtime(b)
    found: list[ir.Expr] = []
    for i, part in enumerate(parts):
        compared = compare(frame, ir.CompareOp.EQ, Operands(again if i else first, part, node, places))
        one = one_bool(frame, compared, node)
        if not isinstance(one, Runtime):
            return None
        found.append(one.expr)
    return found


def one_bool(frame: Frame, compared: Value, node: ast.expr) -> Value:
    """A comparison that another one is combined with: of vectors it is a bool for each lane, which is no test."""
    if not isinstance(compared, Runtime) or compared.type == boolean:
        return compared
    return frame.error(node, "this compares vectors, which gives a bool for each lane", "test each: all(v == w)")


def _or(left: ir.Expr, right: ir.Expr, span: Span) -> ir.Expr:
    if isinstance(right, ir.Const):
        return right if right.value else left
    return ir.Logical(ir.LogicalOp.OR, left, right, boolean, span)
