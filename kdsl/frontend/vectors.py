"""Vectors: construction and conversion, components and swizzles, operators on each lane."""

from __future__ import annotations

import ast

from kdsl.frontend import convert
from kdsl.frontend.arguments import plain_arguments
from kdsl.frontend.frame import Frame
from kdsl.frontend.meet import cast, is_weak_value
from kdsl.frontend.values import (
    POISON,
    Lattice,
    Poison,
    Runtime,
    Value,
    Weak,
    WeakChoice,
    WeakUnknown,
    constant_int,
    describe,
    scalar_type,
    type_of,
    weak_meets,
    weak_type,
)
from kdsl.ir import nodes as ir
from kdsl.ir.nodes import BinaryOp, UnaryOp
from kdsl.lang.types import F16, F32, F64, ScalarType, VectorType

Operands = tuple[ast.expr, ...]
NAMES = "xyzw"
BITS = frozenset({BinaryOp.AND, BinaryOp.OR, BinaryOp.XOR})
BOTH = frozenset({BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL, BinaryOp.MIN, BinaryOp.MAX})
FLOAT, INT = BOTH | {BinaryOp.DIV}, BOTH | BITS
ROUNDING = frozenset({UnaryOp.ROUND, UnaryOp.FLOOR, UnaryOp.CEIL})


def vector_type(value: Value) -> VectorType | None:
    """The type of a vector; None for what is none."""
    return value.expr.type if isinstance(value, Runtime) and isinstance(value.expr.type, VectorType) else None


def construct(frame: Frame, type: VectorType, node: ast.Call) -> Value:
    """``f32x4(a, b, c, d)``, vectors among them for several lanes; ``f32x4(a)`` in all lanes; ``f32x4(v)`` converts."""
    name = frame.text(node.func)
    if not plain_arguments(frame, node):
        return POISON
    if node.keywords:
        return frame.error(node.keywords[0], f"{name}() takes its components in order, not by name")
    values = [frame.value(a) for a in node.args]
    if frame.quiet:
        # The type is known even where the values are not yet; a mistake in them is reported later.
        zero = ir.Const(0.0 if type.element.is_float else 0, type.element, frame.span(node))
        return Runtime(ir.VectorExpr((zero,) * type.lanes, type, frame.span(node)))
    if len(values) == 1 and (source := vector_type(values[0])) is not None:
        return _converted(frame, type, source, values[0], node)
    parts: list[ir.Expr] = []
    # 8-bit floats are made two at a time, of scalars that are of one type.
    together = _one_type(values) if type.element.is_float8 else None
    for value, place in zip(values, node.args, strict=True):
        components = _components(frame, value, together or type.element, place, name)
        if components is None:
            return POISON
        parts += components
    if len(values) == 1:
        first, again = frame.once(parts[0], "component")
        parts = [first, *[again] * (type.lanes - 1)]
    if len(parts) != type.lanes:
        given = f"{len(parts)} component{'s' if len(parts) != 1 else ''}"
        letters = ", ".join("abcd"[: type.lanes])
        return frame.error(node, f"{name}() has {type.lanes} components, and this gives {given}", f"{name}({letters})")
    if together is not None:
        wide = VectorType(together, type.lanes)
        made = ir.VectorExpr(tuple(parts), wide, frame.span(node))
        return Runtime(ir.VectorCast(made, type, frame.span(node)))
    return Runtime(ir.VectorExpr(tuple(parts), type, frame.span(node)))


def _one_type(values: list[Value]) -> ScalarType | None:
    """f16 or f32, if that is the type of all scalars."""
    types = {scalar_type(value) for value in values}
    return types.pop() if types in ({F16}, {F32}) else None


def _converted(frame: Frame, type: VectorType, source: VectorType, value: Value, node: ast.Call) -> Value:
    assert isinstance(value, Runtime)
    if source.lanes != type.lanes:
        text = frame.text(node.args[0])
        parts = [f"{text}.{NAMES[: type.lanes]}"] if source.lanes > type.lanes else [text, *"cd"[: type.lanes - 2]]
        hint = f"{type}({', '.join(parts)})"
        return frame.error(node, f"{type}() of {source}, which has {source.lanes} components", hint)
    return value if source == type else Runtime(ir.VectorCast(value.expr, type, frame.span(node)))


def _components(frame: Frame, value: Value, element: ScalarType, place: ast.expr, name: str) -> list[ir.Expr] | None:
    """What one argument gives, cast to the element type; None (reported) for what is no scalar and no vector."""
    span = frame.span(place)
    source = vector_type(value)
    if source is None:
        expr = _cast_scalar(frame, value, element, place, f"{name}()")
        return None if expr is None else [expr]
    assert isinstance(value, Runtime)
    first, again = frame.once(value.expr, "vector")
    lanes = [ir.Swizzle(again if i else first, (i,), source.element, span) for i in range(source.lanes)]
    return [cast(lane, element, span) for lane in lanes]


def _cast_scalar(frame: Frame, value: Value, element: ScalarType, place: ast.expr, what: str) -> ir.Expr | None:
    if isinstance(value, Poison):
        return None
    if is_weak_value(value):
        assert isinstance(value, Weak | WeakUnknown | WeakChoice)
        if weak_type(value).is_float and element.is_int:
            frame.error(place, f"this is a float literal, and {what} takes {element}", "write an int")
            return None
        return frame.literal(value, element, place)
    if scalar_type(value) is None:
        kind = type_of(value)
        shown = f", and this is {describe(kind)}" if kind is not None else ""
        frame.error(place, f"{what} takes scalars and vectors{shown}")
        return None
    assert isinstance(value, Runtime)
    return cast(value.expr, element, frame.span(place))


def attribute(frame: Frame, value: Runtime, type: VectorType, node: ast.Attribute) -> Value:
    """``v.x``, ``v.zyxw``."""
    lanes = _lanes(frame, type, node)
    if lanes is None:
        return POISON
    made = type.element if len(lanes) == 1 else VectorType(type.element, len(lanes))
    return Runtime(ir.Swizzle(value.expr, lanes, made, frame.span(node)))


def _lanes(frame: Frame, type: VectorType, node: ast.Attribute) -> tuple[int, ...] | None:
    lanes = tuple(NAMES[: type.lanes].find(c) for c in node.attr)
    if len(lanes) <= 4 and -1 not in lanes:
        return lanes
    names = f"{', '.join(NAMES[: type.lanes - 1])} and {NAMES[type.lanes - 1]}"
    hint = f"its components are {names}; up to four of them make another vector: v.{NAMES[: type.lanes][::-1]}"
    frame.error(node, f"{type} has no component `{node.attr}`", hint)
    return None


def element(frame: Frame, value: Runtime, type: VectorType, node: ast.Subscript) -> Value:
    """``v[0]``."""
    lane = _index(frame, type, node)
    return POISON if lane is None else Runtime(ir.Swizzle(value.expr, (lane,), type.element, frame.span(node)))


def _index(frame: Frame, type: VectorType, node: ast.Subscript) -> int | None:
    place = node.slice
    if isinstance(place, ast.Slice):
        frame.error(place, "a kernel has no slices", f"name the components: {frame.text(node.value)}.xy")
        return None
    value = frame.value(place)
    if isinstance(value, Poison):
        return None
    index = constant_int(value)
    if index is None:
        hint = f"a local.array({type.lanes}, {type.element}) is indexed at run time"
        frame.error(place, "a vector is indexed with a constant", hint)
    elif not 0 <= index < type.lanes:
        frame.error(place, f"index {index} is out of range: {type} has {type.lanes} components")
    else:
        return index
    return None


def lane_of(frame: Frame, type: VectorType, target: ast.Attribute | ast.Subscript) -> int | None:
    """The lane that an assignment names; None (reported) if it names none, or several."""
    if isinstance(target, ast.Subscript):
        return _index(frame, type, target)
    lanes = _lanes(frame, type, target)
    if lanes is not None and len(lanes) > 1:
        hint = f"assign each: {frame.text(target.value)}.{target.attr[0]} = ..."
        frame.error(target, "a swizzle cannot be assigned to", hint)
        return None
    return lanes[0] if lanes is not None else None


def binary(
    frame: Frame, op: BinaryOp, left: Value, right: Value, node: ast.expr | ast.stmt, operands: Operands
) -> Value:
    """``left op right``, one of them a vector and the other one of its type, or a scalar for all lanes."""
    place = node.value if isinstance(node, ast.AugAssign) else node
    type = vector_type(left) or vector_type(right)
    assert type is not None
    if type.element.is_float8:
        return _only_stored(frame, type, node, f"`{op.value}`")
    if op not in (FLOAT if type.element.is_float else INT):
        return _refuse(frame, op, type, place, operands)
    span = frame.span(node)
    exprs = [_operand(frame, v, type, p, f"`{op.value}`") for v, p in zip((left, right), operands, strict=True)]
    if None in exprs:
        return POISON
    return Runtime(ir.Lanewise(op, tuple(e for e in exprs if e is not None), type, span))


def _only_stored(frame: Frame, type: VectorType, node: ast.expr | ast.stmt, what: str) -> Value:
    place = node.value if isinstance(node, ast.AugAssign) else node
    hint = f"convert it: {VectorType(F32, type.lanes)}(...)"
    return frame.error(place, f"{what} does not take {type}, which is only stored", hint)


def _refuse(frame: Frame, op: BinaryOp, type: VectorType, place: ast.expr | ast.stmt, operands: Operands) -> Value:
    text = frame.text(operands[0])
    hint = f"compute each component: {text}.x {op.value} ..."
    if op is BinaryOp.DIV:
        hint = f"convert it: {VectorType(F64 if type.element.bits == 64 else F32, type.lanes)}(...)"
    elif op in BITS:
        hint = "take the bits of each component: bitcast(v.x, u32)"
    return frame.error(place, f"`{op.value}` is no operator of {type}", hint)


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
            frame.error(place, f"{shown}{what} takes {type} or {type.element}")
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


def hint(type: Lattice | None, text: str) -> str | None:
    """What to write where a vector stands and a scalar is wanted."""
    return f"take its components: {text}.x" if isinstance(type, VectorType) else None
