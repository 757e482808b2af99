"""Python's builtins and number functions: min, max, abs, round, floor, ceil, pow, divmod, len, range."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from kdsl.frontend import struct_methods
from kdsl.frontend.arguments import match_arguments, positional
from kdsl.frontend.array_elements import array_elements
from kdsl.frontend.attributes import extent
from kdsl.frontend.comprehensions import after, values_of
from kdsl.frontend.describing import describe_object
from kdsl.frontend.effects import has_effects
from kdsl.frontend.frame import Frame
from kdsl.frontend.meet import settled
from kdsl.frontend.memory import constant_int, elements
from kdsl.frontend.memory_index import as_int
from kdsl.frontend.operands import Operands
from kdsl.frontend.operators import binary, is_operand, unary
from kdsl.frontend.printing import constant_text
from kdsl.frontend.structs import struct_type
from kdsl.frontend.values import (
    POISON,
    Poison,
    Range,
    Runtime,
    Static,
    Tuple,
    Value,
    Weak,
    scalar_type,
    type_of,
    weak_type,
)
from kdsl.ir import nodes as ir
from kdsl.ir.nodes import BinaryOp, UnaryOp
from kdsl.lang.types import ArrayType, PointerType, ScalarType, TupleType, VectorType, boolean

Handler = Callable[[Frame, ast.Call], Value]
# Each copy of an unrolled body is compiled on its own.
LARGEST_UNROLL = 1024


def minimum(frame: Frame, node: ast.Call) -> Value:
    return _extreme(frame, node, BinaryOp.MIN)


def maximum(frame: Frame, node: ast.Call) -> Value:
    return _extreme(frame, node, BinaryOp.MAX)


def _extreme(frame: Frame, node: ast.Call, op: BinaryOp) -> Value:
    arguments = positional(frame, node, op.value, 1, None)
    if arguments is None:
        return POISON
    before: list[ir.Expr] = []
    if len(arguments) == 1:
        (place,) = arguments
        found = _values_in(frame, place, node, op)
        if found is None:
            return POISON
        values, before = found
        arguments = [place] * len(values)
        if not values:
            return frame.error(node, f"{op.value}() of an empty tuple")
    else:
        values = [frame.value(a) for a in arguments]
    result = values[0]
    for value, place in zip(values[1:], arguments[1:], strict=True):
        result = binary(frame, op, Operands(result, value, node, (arguments[0], place)))
    return Runtime(after(frame, before, result.expr)) if isinstance(result, Runtime) else result


def _values_in(frame: Frame, place: ast.expr, node: ast.Call, op: BinaryOp) -> tuple[list[Value], list[ir.Expr]] | None:
    """The values in the one argument of min or max, and what is evaluated before them; None (reported) if it is one."""
    if isinstance(place, ast.GeneratorExp):
        made = values_of(frame, place)
        return None if made is None else (list(made[0]), made[1])
    whole = frame.value(place)
    found = elements(frame, whole, place)
    found = array_elements(frame, whole, place) if found is None else found
    if found is None and not isinstance(whole, Poison):
        frame.error(node, f"{op.value}() takes 2 or more arguments, or a tuple")
    return None if found is None else (list(found), [])


def one_operand(op: UnaryOp) -> Handler:
    """abs, floor and ceil."""

    def call(frame: Frame, node: ast.Call) -> Value:
        arguments = positional(frame, node, op.value, 1, 1)
        return POISON if arguments is None else unary(frame, op, frame.value(arguments[0]), node, arguments[0])

    return call


def round_(frame: Frame, node: ast.Call) -> Value:
    arguments = positional(frame, node, "round", 1, 2)
    if arguments is None:
        return POISON
    if len(arguments) == 2:
        return frame.error(arguments[1], "round() takes no number of digits in a kernel", "round(x * 100.0) / 100.0")
    return unary(frame, UnaryOp.ROUND, frame.value(arguments[0]), node, arguments[0])


def power(frame: Frame, node: ast.Call) -> Value:
    arguments = positional(frame, node, "pow", 2, 3)
    if arguments is None:
        return POISON
    if len(arguments) == 3:
        return frame.error(arguments[2], "pow() takes no modulus in a kernel", "take % after each multiplication")
    a, b = arguments
    return binary(frame, BinaryOp.POW, Operands(frame.value(a), frame.value(b), node, (a, b)))


def divmod_(frame: Frame, node: ast.Call) -> Value:
    """``(a // b, a % b)``, each operand evaluated once."""
    arguments = positional(frame, node, "divmod", 2, 2)
    if arguments is None:
        return POISON
    places = (arguments[0], arguments[1])
    first: list[Value] = []
    second: list[Value] = []
    for place in places:
        value = settled(frame, frame.value(place), place)
        if isinstance(value, Runtime) and isinstance(value.type, ScalarType):
            a, b = frame.once(value.expr, "operand", others_between=True)
            first.append(Runtime(a))
            second.append(Runtime(b))
        else:
            first.append(value)
            second.append(value)
    quotient = binary(frame, BinaryOp.FLOORDIV, Operands(first[0], first[1], node, places))
    if isinstance(quotient, Poison):
        return POISON
    remainder = binary(frame, BinaryOp.MOD, Operands(second[0], second[1], node, places))
    return POISON if isinstance(remainder, Poison) else Tuple((quotient, remainder))


def length(frame: Frame, node: ast.Call) -> Value:
    arguments = positional(frame, node, "len", 1, 1)
    if arguments is None:
        return POISON
    value = frame.value(arguments[0])
    if isinstance(kind := type_of(value), TupleType | VectorType) and has_effects(value):
        what = "tuple" if isinstance(kind, TupleType) else "vector"
        return frame.error(arguments[0], f"len() of a {what} does not evaluate it", "bind it to a name first")
    match value:
        case Poison():
            return POISON
        case Tuple(parts):
            return Weak(len(parts))
        case Static(str() as text):
            return Weak(len(text))
    type = type_of(value)
    if isinstance(type, TupleType):
        return Weak(len(type.elements))
    if isinstance(type, VectorType):
        return Weak(type.lanes)
    if struct_type(value):
        return struct_methods.special(frame, "__len__", value, (), node, arguments[0], "len()")
    if isinstance(type, ArrayType) and isinstance(value, Runtime):
        return extent(frame, value.expr, type, 0, node)
    name = frame.text(arguments[0])
    if isinstance(type, PointerType):
        return frame.error(
            node, f"`{name}` is a Ptr, which has no length", "pass the length, or declare it as Array[T, 1]"
        )
    if isinstance(value, Static):
        return frame.error(arguments[0], f"{describe_object(value.object, name)} has no len() in a kernel")
    return frame.error(arguments[0], f"`{name}` has no length")


def range_(frame: Frame, node: ast.Call) -> Value:
    """``range(stop)``, ``range(start, stop[, step])``, for a ``for`` loop."""
    hints = [k for k in node.keywords if k.arg == "unroll"]
    unroll = _unroll(frame, hints[0].value) if hints else None
    bounds = ast.copy_location(ast.Call(node.func, node.args, [k for k in node.keywords if k not in hints]), node)
    arguments = positional(frame, bounds, "range", 1, 3)
    if arguments is None:
        return POISON
    values = [frame.value(a) for a in arguments]
    for value, place in zip(values, arguments, strict=True):
        if isinstance(value, Poison) or not _is_int(frame, value, place):
            return POISON
    if len(values) == 1:
        return Range(Weak(0), values[0], Weak(1), unroll)
    step = values[2] if len(values) == 3 else Weak(1)
    if constant_int(step) == 0:
        return frame.error(arguments[2], "a range with step 0 never ends")
    return Range(values[0], values[1], step, unroll)


def unroll(frame: Frame, node: ast.Call) -> Value:
    """``unroll(range(...), times)``: what ``range(..., unroll=times)`` is, in a form that type checkers know."""
    found = match_arguments(frame, node, "unroll", ["iterable", "times"], frozenset({"times"}))
    if found is None:
        return POISON
    value = frame.value(found["iterable"])
    if isinstance(value, Poison):
        return POISON
    if not isinstance(value, Range):
        hint = "a tuple's loop is unrolled anyway" if isinstance(value, Tuple) else "for i in unroll(range(n), 4)"
        return frame.error(found["iterable"], "unroll() takes a range()", hint)
    if value.unroll is not None:
        return frame.error(node, "this range() says already how often it is unrolled")
    return replace(value, unroll=_unroll(frame, found["times"]) if "times" in found else True)


def _unroll(frame: Frame, node: ast.expr) -> bool | int | None:
    """How often a loop's body shall be copied."""
    value = frame.value(node)
    if isinstance(value, Runtime) and isinstance(value.expr, ir.Const) and value.type == boolean:
        return bool(value.expr.value)
    number = constant_int(value)
    if number is None or not 1 <= number <= LARGEST_UNROLL:
        if not isinstance(value, Poison):
            hint = "unroll=4, unroll=True for all iterations, unroll=False for none"
            frame.error(node, f"unroll takes a constant from 1 to {LARGEST_UNROLL}, True or False", hint)
        return None
    return number


def _is_int(frame: Frame, value: Value, node: ast.expr) -> bool:
    if not is_operand(frame, value, node, "range()"):
        return False
    type = scalar_type(value)
    is_float = type.is_float if type else weak_type(value).is_float  # type: ignore[arg-type]
    if is_float:
        frame.error(node, f"range() takes ints, and this is {type or 'a float literal'}", as_int(frame, node))
    return not is_float


def static_range(frame: Frame, node: ast.Call) -> Value:
    """``static_range(...)``: the tuple of a constant range, whose loop is unrolled."""
    arguments = positional(frame, node, "static_range", 1, 3)
    if arguments is None:
        return POISON
    numbers: list[int] = []
    for place in arguments:
        value = frame.value(place)
        number = constant_int(value)
        if number is None:
            if not isinstance(value, Poison):
                frame.error(place, "static_range() takes constants", "range() counts to what is known at run time")
            return POISON
        numbers.append(number)
    if len(numbers) == 3 and numbers[2] == 0:
        return frame.error(arguments[2], "a range with step 0 never ends")
    counted = range(*numbers)
    if len(counted) > LARGEST_UNROLL:
        return frame.error(
            node,
            f"static_range() would copy its body {len(counted)} times",
            f"write range(), or at most {LARGEST_UNROLL}",
        )
    return Tuple(tuple(Weak(n) for n in counted))


def static_assert(frame: Frame, node: ast.Call) -> Value:
    """``static_assert(condition[, message])``, checked while the kernel is compiled."""
    arguments = positional(frame, node, "static_assert", 1, 2)
    if arguments is None:
        return POISON
    value = frame.value(arguments[0])
    match value:
        case Poison():
            return POISON
        case Runtime(ir.Const(holds)) | Weak(holds):
            pass
        case _:
            return frame.error(
                arguments[0], "static_assert() takes a constant condition", "assert is checked at run time"
            )
    if holds:
        return Static(None)
    text = constant_text(frame, arguments[1]) if len(arguments) > 1 else frame.text(arguments[0])
    return POISON if text is None else frame.error(arguments[0], f"static_assert failed: {text}")
