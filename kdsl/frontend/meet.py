"""Two values meet in one type: operands of an operator, arms of a conditional; and a value where a type is wanted."""

from __future__ import annotations

import ast
from itertools import product

from kdsl.frontend import convert
from kdsl.frontend.describing import named
from kdsl.frontend.divisions import cast_hint
from kdsl.frontend.frame import Frame
from kdsl.frontend.hints import take_part
from kdsl.frontend.values import (
    POISON,
    Poison,
    Runtime,
    Tuple,
    Value,
    Weak,
    WeakChoice,
    WeakUnknown,
    describe,
    join_arrays,
    type_of,
    weak_meets,
    weak_type,
)
from kdsl.ir import nodes as ir
from kdsl.lang.complex_type import ComplexType
from kdsl.lang.fixed_array import FixedArrayType
from kdsl.lang.group_type import GroupType
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import F32, I32, ArrayType, PointerType, ScalarType, TupleType, Type, VectorType
from kdsl.source import Span


def cast(expr: ir.Expr, type: ScalarType, span: Span, *, checked: bool = False) -> ir.Expr:
    """A conversion of a scalar, done at once for a constant; ``checked`` is one that debug builds check."""
    if expr.type == type:
        return expr
    if isinstance(expr, ir.Const):
        try:
            return ir.Const(convert.cast_constant(expr.value, type), type, span)
        except convert.DoesNotFit:
            pass
    if isinstance(expr.type, ScalarType) and expr.type.is_float8 and not type.is_float:
        expr = ir.Cast(expr, F32, span)
    return ir.Cast(expr, type, span, checked)


def meeting_type(left: Value, right: Value, *, widen: bool = True) -> ScalarType | None:
    """The type in which two scalars (not both literals) meet; None if a cast must say, or one is no scalar.

    ``widen`` as arithmetic does; a choice between two values of one type keeps it.
    """
    a, b = type_of(left), type_of(right)
    if isinstance(a, ScalarType) and isinstance(b, ScalarType):
        return a if a == b and not widen else convert.common(a, b)
    strong, weak = (a, right) if isinstance(a, ScalarType) else (b, left)
    if not isinstance(strong, ScalarType) or not isinstance(weak, Weak | WeakUnknown | WeakChoice):
        return None
    kind = weak_type(weak)
    if not widen and strong.is_int and not kind.is_float:
        return strong
    wide = convert.widened(strong)
    return wide if weak_meets(kind, wide) else F32


def scalar_as(frame: Frame, value: Value, type: ScalarType, node: ast.expr) -> ir.Expr | None:
    """A scalar converted to the type in which it meets another; None (reported) for a literal that does not fit."""
    match value:
        case Runtime(expr):
            return cast(expr, type, frame.span(node))
        case Weak(number) if isinstance(number, int) and type.is_float:
            return frame.literal(Weak(number), type, node)
        case Weak() | WeakUnknown() | WeakChoice():
            return frame.literal(value, type, node)
    return None


def converted(frame: Frame, value: Value, type: Type, node: ast.expr, what: str) -> ir.Expr | None:
    """A value as what is stored, passed or returned, converted where that needs no cast; ``what`` takes it."""
    match value, type:
        case Poison(), _:
            return None
        case ((Weak() | WeakUnknown() | WeakChoice()), (ScalarType() | ComplexType())):
            return frame.literal(value, type, node)
        case Tuple(elements), TupleType(types) if len(elements) == len(types) and _is_such_tuple(value.python, type):
            parts = [
                converted(frame, e, t, _part(node, i), what)
                for i, (e, t) in enumerate(zip(elements, types, strict=True))
            ]
            if None in parts:
                return None
            return ir.TupleExpr(tuple(p for p in parts if p is not None), type, frame.span(node))
    if isinstance(type, FixedArrayType):
        return _fixed(frame, value, type, node, what)
    expr = frame.runtime(value, node)
    if expr is None or expr.type == type:
        return expr
    source = expr.type
    if isinstance(source, TupleType) and isinstance(type, TupleType) and _is_such_tuple(source.python, type):
        return _converted_tuple(frame, expr, source, type, node, what)
    if isinstance(source, ArrayType) and isinstance(type, ArrayType) and join_arrays(source, type) == type:
        nothing = (None,) * type.ndim
        return ir.View(expr, nothing, nothing, nothing, (True,) * type.ndim, type, expr.span)
    if isinstance(source, ScalarType) and isinstance(type, ScalarType):
        if convert.converts(source, type):
            return cast(expr, type, frame.span(node))
        frame.error(node, f"this is {source}, but {what} takes {type}", cast_hint(frame, node, expr, type))
        return None
    if isinstance(type, ComplexType):
        from kdsl.frontend import complex_numbers  # it stands above, and only complex numbers need it

        made = complex_numbers.converted(frame, Runtime(expr), type, node)
        if made is not None:
            return made
    is_number = isinstance(source, ScalarType | ComplexType) and isinstance(type, ComplexType)
    hint = f"convert it: {type}({frame.text(node)})" if is_number or _makes_vector(source, type) else None
    if isinstance(source, ArrayType) and source.element == type:
        hint = f"write an element of it: {frame.text(node)}[{', '.join('ijkl'[: source.ndim])}]"
    if isinstance(type, StructType) and isinstance(source, TupleType) and type.python is not None:
        hint = f"make one: {type}({', '.join(f.name for f in type.fields)})"
    if isinstance(source, ComplexType) and isinstance(type, ScalarType):
        hint = take_part(frame, node)
    if isinstance(source, VectorType) and isinstance(type, ScalarType):
        hint = f"take its components: {frame.text(node)}.x"
    frame.error(node, f"this is {describe(source)}, but {what} takes {describe(type)}", hint)
    return None


def _fixed(frame: Frame, value: Value, type: FixedArrayType, node: ast.expr, what: str) -> ir.Expr | None:
    """What is stored in an array field as a whole: an array, list or tuple of as many elements."""
    span = frame.span(node)
    if isinstance(value, Runtime) and value.type == type:
        return value.expr
    if isinstance(value, Runtime) and isinstance(source := value.type, ArrayType) and source.shape == type.shape:
        if source.element == type.element and not source.strided:
            pointer = PointerType(type, source.space)
            return ir.Load(ir.Bitcast(value.expr, pointer, span), type, span)
        first, again = frame.once(value.expr, "array")
        index = source.index or I32
        parts: list[Value] = []
        for i, place in enumerate(product(*map(range, type.shape))):
            at = tuple(ir.Const(n, index, span) for n in place)
            there = ir.ElementAddress(again if i else first, at, PointerType(source.element, source.space), span)
            parts.append(Runtime(ir.Load(there, source.element, span)))
        if _rounds(value.expr, source, type):
            hint = f"write a tuple, whose numbers take the type they meet, or cast them: {type.element}(x)"
            frame.error(node, f"this list is of {source.element}, but {what} takes {type}", hint)
            return None
        return _of_parts(frame, parts, [node] * len(parts), type, node, what)
    rows = _flat(value, [node], type.shape) if isinstance(value, Tuple) else None
    if rows is not None:
        return _of_parts(frame, [v for v, _ in rows], [p for _, p in rows], type, node, what)
    got = type_of(value)
    shown = "this" if got is None else f"this is {describe(got)}"
    hint = "an array, list or tuple of as many elements"
    frame.error(node, f"{shown}, but {what} takes {type}" if got is not None else f"{what} takes {type}", hint)
    return None


def _rounds(expr: ir.Expr, source: ArrayType, type: FixedArrayType) -> bool:
    """Whether the numbers of a list literal have been rounded to less than the field holds."""
    a, b = source.element, type.element
    return isinstance(expr, ir.ListExpr) and a == F32 and isinstance(b, ScalarType) and b.bits > a.bits


def _flat(value: Value, place: list[ast.expr], shape: tuple[int, ...]) -> list[tuple[Value, ast.expr]] | None:
    """The elements of tuples of tuples, row by row; None for another shape."""
    (node,) = place
    if not shape:
        return [(value, node)]
    if not isinstance(value, Tuple) or len(value.elements) != shape[0]:
        return None
    rows = [_flat(e, [_part(node, i)], shape[1:]) for i, e in enumerate(value.elements)]
    return None if None in rows else [item for row in rows if row is not None for item in row]


def _of_parts(
    frame: Frame, parts: list[Value], places: list[ast.expr], type: FixedArrayType, node: ast.expr, what: str
) -> ir.Expr | None:
    made = [converted(frame, v, type.element, p, what) for v, p in zip(parts, places, strict=True)]
    known = tuple(e for e in made if e is not None)
    return ir.StructExpr(known, type, frame.span(node)) if len(known) == len(made) else None


def _is_such_tuple(python: object, type: TupleType) -> bool:
    """Whether a tuple of this class (None: a plain one) is taken: a NamedTuple is a plain tuple too."""
    return type.python in (None, python)


def _converted_tuple(
    frame: Frame, expr: ir.Expr, source: TupleType, type: TupleType, node: ast.expr, what: str
) -> ir.Expr | None:
    """A tuple that is known at run time, each element converted."""
    if len(source.elements) != len(type.elements):
        frame.error(node, f"this is {describe(source)}, but {what} takes {describe(type)}")
        return None
    first, again = frame.once(expr, "elements")
    span = frame.span(node)
    parts = [Runtime(ir.TupleElement(again if i else first, i, t, span)) for i, t in enumerate(source.elements)]
    return converted(frame, Tuple(tuple(parts), type.python), type, node, what)


def check_group(frame: Frame, declared: GroupType, actual: object, what: str, node: ast.expr) -> None:
    """Report what is no group of the class that an annotation says."""
    if not isinstance(actual, GroupType) or not declared.takes(actual):
        frame.error(node, f"this is {named(actual)}, and {what} {declared}")


def _makes_vector(source: Type, type: Type) -> bool:
    """Whether a vector type takes this, called as a function."""
    if not isinstance(type, VectorType):
        return False
    return isinstance(source, ScalarType) or (isinstance(source, VectorType) and source.lanes == type.lanes)


def _part(node: ast.expr, index: int) -> ast.expr:
    return node.elts[index] if isinstance(node, ast.Tuple) and index < len(node.elts) else node


def mixed(frame: Frame, left: Value, right: Value, left_node: ast.expr, right_node: ast.expr) -> tuple[str, str | None]:
    """Message and hint for two scalars that have no common type."""
    a, b = type_of(left), type_of(right)
    x, y = frame.text(left_node), frame.text(right_node)
    if isinstance(a, ScalarType) and isinstance(b, ScalarType):
        if a.is_float:
            return f"{a} and {b} have no common type", f"cast both: f32({x}) and f32({y})"
        c, d = convert.widened(a), convert.widened(b)
        return f"{a} and {b} have no common type", f"cast one: {d}({x}) or {c}({y})"
    return f"{named(a)} and {named(b)} have no common type", None


def settled(frame: Frame, value: Value, node: ast.expr) -> Value:
    """A value that will be used twice: a choice of literals takes its default type, so that it is chosen once."""
    if not isinstance(value, WeakChoice):
        return value
    expr = frame.literal(value, weak_type(value).default, node)
    return POISON if expr is None else Runtime(expr)


def is_weak_value(value: Value) -> bool:
    return isinstance(value, Weak | WeakUnknown | WeakChoice)
