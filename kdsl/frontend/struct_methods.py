"""Methods, properties and operators of structs: each is a device function whose first argument is the struct."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from types import FunctionType

from kdsl.frontend import complex_numbers, fixed_arrays, structs
from kdsl.frontend.callees import BoundMethod
from kdsl.frontend.describing import named
from kdsl.frontend.effects import has_effects
from kdsl.frontend.frame import Frame
from kdsl.frontend.hints import take_part
from kdsl.frontend.operands import Operands
from kdsl.frontend.structs import struct_type
from kdsl.frontend.values import POISON, Poison, Runtime, Static, Value, is_bool, type_of
from kdsl.ir import nodes as ir
from kdsl.ir.nodes import BinaryOp, CompareOp, UnaryOp
from kdsl.lang.complex_type import ComplexType
from kdsl.lang.fixed_array import FixedArrayType
from kdsl.lang.struct import OWNER
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import TupleType, boolean

Given = tuple[Value, ast.expr]

BINARY = {
    BinaryOp.ADD: "add",
    BinaryOp.SUB: "sub",
    BinaryOp.MUL: "mul",
    BinaryOp.DIV: "truediv",
    BinaryOp.FLOORDIV: "floordiv",
    BinaryOp.MOD: "mod",
    BinaryOp.POW: "pow",
    BinaryOp.AND: "and",
    BinaryOp.OR: "or",
    BinaryOp.XOR: "xor",
    BinaryOp.SHL: "lshift",
    BinaryOp.SHR: "rshift",
}
"""Python's names of the operators, without ``__``, ``__r`` and ``__i`` before them."""
UNARY = {
    UnaryOp.NEG: "neg",
    UnaryOp.INVERT: "invert",
    UnaryOp.ABS: "abs",
    UnaryOp.ROUND: "round",
    UnaryOp.FLOOR: "floor",
    UnaryOp.CEIL: "ceil",
}
COMPARE = {
    CompareOp.EQ: ("__eq__", "__eq__"),
    CompareOp.NE: ("__ne__", "__ne__"),
    CompareOp.LT: ("__lt__", "__gt__"),
    CompareOp.LE: ("__le__", "__ge__"),
    CompareOp.GT: ("__gt__", "__lt__"),
    CompareOp.GE: ("__ge__", "__le__"),
}
"""The method of the left operand, and that of the right one for the same comparison."""


def attribute(frame: Frame, value: Runtime, type: StructType, node: ast.Attribute) -> Value:
    """``p.mass``: a field, a property, a class constant, or a method to be called."""
    if isinstance(type, ComplexType) and node.attr == "conjugate":
        return complex_numbers.method(value, node.value)
    owner = type.python
    if type.index(node.attr) is None and owner is not None and hasattr(owner, node.attr) and not _is_hidden(node.attr):
        return _member(frame, value, owner, node)
    index = structs.field_index(frame, type, node)
    if index is None:
        return POISON
    if isinstance(type.fields[index].type, FixedArrayType):
        return fixed_arrays.attribute(frame, value, index, node)
    return Runtime(structs.field(value.expr, type, index, frame.span(node)))


def _is_hidden(name: str) -> bool:
    """Names that every object of the host has, and a struct in a kernel has not."""
    return name.startswith("__") or name == "dtype"


def _member(frame: Frame, value: Runtime, owner: type, node: ast.Attribute) -> Value:
    member = frame.session.captures.attribute(owner, node.attr)
    own = vars(owner).get(node.attr)
    if isinstance(own, property):
        if not isinstance(own.fget, FunctionType):
            return frame.error(node, f"the property `{node.attr}` of {owner.__name__} is no function of Python's")
        return _call(frame, own.fget, [(value, node.value)], node)
    if isinstance(own, FunctionType):
        return Static(BoundMethod(own, value, node.value))
    if isinstance(own, classmethod):
        hint = f"make it a @staticmethod that names {owner.__name__}"
        return frame.error(node, f"`{node.attr}` is a class method, and a kernel has no classes", hint)
    return frame.host(member, node)


def call_method(frame: Frame, method: BoundMethod, node: ast.Call) -> Value:
    """``p.kinetic(v)``."""
    return frame.session.call_function(frame, node, method.function, ((method.receiver, method.place),))


def _call(frame: Frame, function: FunctionType, given: Sequence[Given], node: ast.expr | ast.stmt) -> Value:
    """A call that an operator makes."""
    place = given[0][1]
    made = ast.copy_location(ast.Call(func=place, args=[], keywords=[]), node)
    return frame.session.call_function(frame, made, function, tuple(given))


def method_of(frame: Frame, value: Value, name: str) -> FunctionType | None:
    """A struct's own method of this name; None if it has none, or is no struct."""
    type = struct_type(value)
    if type is None or type.python is None:
        return None
    found = frame.session.captures.member(type.python, name)
    # What has no owner is not the user's: the host's own __eq__ and __repr__.
    return found if isinstance(found, FunctionType) and hasattr(found, OWNER) else None


def binary(frame: Frame, op: BinaryOp, operands: Operands) -> Value:
    """``left op right``, one of them a struct: its ``__add__``, or the right one's ``__radd__``."""
    name = BINARY.get(op)
    if name is None:
        first, second = operands.sides
        value, place = first if struct_type(operands.left) else second
        hint = "compare them, and choose with a conditional expression"
        return frame.error(place, f"{op.value}() takes numbers, and this is {struct_type(value)}", hint)
    return _operator(frame, f"__{name}__", f"__r{name}__", op.value, operands)


def in_place(frame: Frame, op: BinaryOp, operands: Operands) -> Value:
    """``left op= right``: its ``__iadd__``, whose result is assigned to it, else as `binary`."""
    method = method_of(frame, operands.left, f"__i{BINARY[op]}__")
    if method is not None and not isinstance(operands.right, Poison):
        return _call(frame, method, list(operands.sides), operands.node)
    return binary(frame, op, operands)


def _operator(frame: Frame, own: str, reflected: str, op: str, operands: Operands) -> Value:
    given = list(operands.sides)
    method = method_of(frame, operands.left, own)
    if method is not None:
        return _call(frame, method, given, operands.node)
    method = method_of(frame, operands.right, reflected)
    if method is not None:
        return _call(frame, method, _swapped(frame, given), operands.node)
    type = struct_type(operands.left)
    if type is None or isinstance(type, ComplexType):
        other = struct_type(operands.right)
        message = f"{other} has no `{op}` with {named(type_of(operands.left))}"
        return frame.error(operands.places[1], message, f"define {reflected} in it")
    return frame.error(operands.places[0], f"{type} has no `{op}`", f"define {own} in it, or compute with its fields")


def _swapped(frame: Frame, given: list[Given]) -> list[Given]:
    """Two operands as arguments in the other order, but still evaluated in their own."""
    (left, left_place), (right, right_place) = given
    if isinstance(left, Runtime) and isinstance(right, Runtime) and (has_effects(left) or has_effects(right)):
        span = left.expr.span
        kept = frame.local("left", left.type)
        first = ir.AssignExpr(kept, left.expr, left.type, span)
        whole = ir.TupleExpr((first, right.expr), TupleType((left.type, right.type)), span)
        left, right = Runtime(ir.Read(kept, left.type, span)), Runtime(ir.TupleElement(whole, 1, right.type, span))
    return [(right, right_place), (left, left_place)]


def compare(frame: Frame, op: CompareOp, operands: Operands) -> Value:
    """A comparison, one side a struct. Without an ``__eq__`` two structs are equal if all their fields are."""
    left, right = operands.values
    own, reflected = COMPARE[op]
    if op is CompareOp.NE and not method_of(frame, left, own) and not method_of(frame, right, own):
        same = compare(frame, CompareOp.EQ, operands)
        if not isinstance(same, Runtime):
            return same
        return Runtime(ir.Unary(UnaryOp.NOT, same.expr, boolean, frame.span(operands.node)))
    if op is CompareOp.EQ and not method_of(frame, left, own) and not method_of(frame, right, own):
        return _equal(frame, operands)
    result = _operator(frame, own, reflected, op.value, operands)
    if isinstance(result, Runtime) and not is_bool(result):
        return frame.error(operands.node, f"`{own}` gives {named(type_of(result))}, and a comparison gives a bool")
    return result


def _equal(frame: Frame, operands: Operands) -> Value:
    (left, right), node = operands.values, operands.node
    a, b = struct_type(left), struct_type(right)
    if a is None or b is None or a is not b:
        return frame.error(node, f"{named(type_of(left))} and {named(type_of(right))} cannot be equal", None)
    assert isinstance(left, Runtime)
    assert isinstance(right, Runtime)
    return Runtime(structs.equal(frame, left.expr, right.expr, frame.span(node)))


def unary(frame: Frame, op: UnaryOp, value: Value, node: ast.expr, operand: ast.expr) -> Value:
    """``-p`` and its like."""
    return special(frame, f"__{UNARY[op]}__", value, (), node, operand, f"`{op.value}`")


def special(
    frame: Frame,
    name: str,
    value: Value,
    others: Sequence[Given],
    node: ast.expr,
    operand: ast.expr,
    what: str,
) -> Value:
    """What a struct's method of Python's name gives; an error, which calls it ``what``, if it has none."""
    method = method_of(frame, value, name)
    if method is None:
        hint = f"define {name} in it, or compute with its fields"
        if isinstance(struct_type(value), ComplexType):
            hint = take_part(frame, operand)
        return frame.error(operand, f"{struct_type(value)} has no {what}", hint)
    return _call(frame, method, [(value, operand), *others], node)


def as_test(frame: Frame, value: Value, node: ast.expr) -> Value:
    """A struct as a test: its ``__bool__``."""
    result = special(frame, "__bool__", value, (), node, node, "truth")
    if isinstance(result, Runtime) and not is_bool(result):
        return frame.error(node, f"`__bool__` gives {named(type_of(result))}, and a test takes a bool")
    return result


def item(frame: Frame, value: Runtime, node: ast.Subscript) -> Value:
    """``p[i]``: the struct's ``__getitem__``."""
    if isinstance(node.slice, ast.Slice):
        return frame.error(node.slice, "a struct has no slices", "take each element: p[0], p[1]")
    given = (frame.value(node.slice), node.slice)
    return special(frame, "__getitem__", value, [given], node, node.value, "elements")


def called(frame: Frame, value: Value, node: ast.Call) -> Value:
    """``p(x)``: the struct's ``__call__``."""
    method = method_of(frame, value, "__call__")
    if method is None or not isinstance(value, Runtime):
        hint = None if isinstance(struct_type(value), ComplexType) else "define __call__ in it, or name a method"
        return frame.error(node.func, f"`{frame.text(node.func)}` is {struct_type(value)}, not a function", hint)
    return call_method(frame, BoundMethod(method, value, node.func), node)


def hint(type: object, text: str) -> str | None:
    """What to write where a struct stands and a scalar is wanted."""
    return f"take a field: {text}.{type.fields[0].name}" if isinstance(type, StructType) else None
