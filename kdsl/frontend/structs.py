"""Structs: construction, fields, equality, their scalars one by one. Methods and operators are in `struct_methods`."""

from __future__ import annotations

import ast
import dataclasses
import difflib
from collections.abc import Iterable, Iterator
from typing import Any

from kdsl.frontend.arguments import match_arguments
from kdsl.frontend.effects import has_effects
from kdsl.frontend.frame import Frame
from kdsl.frontend.host_structs import constant
from kdsl.frontend.meet import cast, converted
from kdsl.frontend.values import POISON, Runtime, Value
from kdsl.ir import nodes as ir
from kdsl.lang.struct import OWNER
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import F32, STRUCT_TYPE, PointerType, ScalarType, TupleType, Type, VectorType, boolean
from kdsl.source import Span

IN_PLACE = frozenset(
    f"__i{name}__"
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift")
)
"""Methods whose result is assigned to the object, so that they may change their copy of it."""


def struct_type(value: Value) -> StructType | None:
    """The type of a struct; None for what is none."""
    return value.expr.type if isinstance(value, Runtime) and isinstance(value.expr.type, StructType) else None


def class_type(value: object) -> StructType | None:
    """The struct type that a `@struct` class, or the type itself, means; None for other objects."""
    found = vars(value).get(STRUCT_TYPE) if isinstance(value, type) else value
    return found if isinstance(found, StructType) else None


def method_name(frame: Frame) -> str | None:
    """The name of the method that is being checked; None outside of methods."""
    owner = getattr(frame.function, OWNER, None)
    if owner is None or frame.outer is not None or isinstance(vars(owner).get(frame.name), staticmethod):
        return None
    return frame.name


def owner_name(frame: Frame) -> str:
    """The name of its class."""
    owner: type = getattr(frame.function, OWNER)
    return owner.__name__


def changeable(frame: Frame, local: ir.Local, target: ast.expr) -> bool:
    """Whether a variable's parts may be assigned to: not those of a method's own object, where that would be lost."""
    method = method_name(frame)
    if method is None or frame.changes_self or method in IN_PLACE:
        return True
    name = local.name
    if frame.scope.parameters[0].arg != name:
        return True
    made = owner_name(frame)
    hint = f"return a new struct: return {made}(...)" if method.startswith("__") else f"call it as p.{method}(...)"
    frame.error(target, f"`{name}` is a copy here: what `{method}` assigns to it is lost", hint)
    return False


def construct(frame: Frame, type: StructType, node: ast.Call) -> Value:
    """``Particle(position, mass=2.0)``: each field converted as what is stored; defaults for those left out."""
    name = frame.text(node.func)
    defaults = _defaults(type)
    found = match_arguments(frame, node, name, [f.name for f in type.fields], frozenset(defaults))
    if found is None:
        return POISON
    values = {field: frame.value(place) for field, place in found.items()}
    if frame.quiet:
        # The type is known even where the values are not yet; a mistake in them is reported later.
        return Runtime(zero(type, frame.span(node)))
    elements: dict[str, ir.Expr | None] = {}
    for field in type.fields:
        what = f"`{field.name}` of {type}"
        if field.name in found:
            expr = converted(frame, values[field.name], field.type, found[field.name], what)
        elif isinstance(field.type, PointerType):
            frame.error(node, f"{what} is a pointer, which has no default in a kernel", "say which")
            expr = None
        else:
            expr = constant(field.type, defaults[field.name], frame.span(node), f"{type}.{field.name}")
        elements[field.name] = expr
    known = {n: e for n, e in elements.items() if e is not None}
    return _in_order(frame, type, known, list(found), node) if len(known) == len(elements) else POISON


def _in_order(frame: Frame, type: StructType, elements: dict[str, ir.Expr], given: list[str], node: ast.Call) -> Value:
    """A struct of these elements, which are evaluated in the order of the call."""
    span = frame.span(node)
    positions = [name for name in elements if name in given]
    if positions == given or not any(has_effects(Runtime(e)) for e in elements.values()):
        return Runtime(ir.StructExpr(tuple(elements.values()), type, span))
    kept = {name: frame.local(name, elements[name].type) for name in given}
    evaluated = tuple(ir.AssignExpr(kept[n], elements[n], elements[n].type, span) for n in given)
    whole = ir.TupleExpr(evaluated, TupleType(tuple(e.type for e in evaluated)), span)
    parts = {**elements, **{name: ir.Read(local, local.type, span) for name, local in kept.items()}}
    first = positions[0]
    parts[first] = ir.TupleElement(whole, given.index(first), parts[first].type, span)
    return Runtime(ir.StructExpr(tuple(parts.values()), type, span))


def _defaults(type: StructType) -> dict[str, Any]:
    """The default values of a class's fields."""
    if type.python is None:
        return {}
    found: dict[str, Any] = {}
    for field in dataclasses.fields(type.python):
        if field.default is not dataclasses.MISSING:
            found[field.name] = field.default
        elif field.default_factory is not dataclasses.MISSING:
            found[field.name] = field.default_factory()
    return found


def zero(type: Type, span: Span) -> ir.Expr:
    """Some value of a type, where only the type is wanted."""
    match type:
        case StructType():
            return ir.StructExpr(tuple(zero(f.type, span) for f in type.fields), type, span)
        case VectorType():
            return ir.VectorExpr((zero(type.element, span),) * type.lanes, type, span)
        case ScalarType():
            return ir.Const(False if type == boolean else 0.0 if type.is_float else 0, type, span)
        case _:
            return ir.Read(ir.Local("", type, 0), type, span)


def field(expr: ir.Expr, type: StructType, index: int, span: Span) -> ir.Expr:
    """A field of a struct: where that is loaded, the field alone is."""
    made = type.fields[index].type
    match expr:
        case ir.StructExpr(elements) if not any(has_effects(Runtime(e)) for i, e in enumerate(elements) if i != index):
            return elements[index]
        case ir.Load(address, access=None):
            assert isinstance(address.type, PointerType)
            place = ir.FieldAddress(address, index, PointerType(made, address.type.space), span)
            return ir.Load(place, made, span)
    return ir.FieldValue(expr, index, made, span)


def field_index(frame: Frame, type: StructType, node: ast.Attribute) -> int | None:
    """The position of the field that an attribute names; None (reported) if there is none."""
    index = type.index(node.attr)
    if index is None:
        names = [f.name for f in type.fields]
        close = difflib.get_close_matches(node.attr, names, n=1)
        hint = f"did you mean `{close[0]}`?" if close else f"its fields are {', '.join(names)}"
        frame.error(node, f"{type} has no field `{node.attr}`", hint)
    return index


def equal(frame: Frame, left: ir.Expr, right: ir.Expr, span: Span) -> ir.Expr:
    """Whether all fields of two structs of one type are equal: what a class without an ``__eq__`` has."""
    first, first_again = frame.once(left, "left", others_between=True)
    second, second_again = frame.once(right, "right")
    result: ir.Expr | None = None
    assert isinstance(left.type, StructType)
    for path in _paths(left.type):
        # The first test evaluates both structs, before any of their parts is looked at.
        pair = (first, second) if result is None else (first_again, second_again)
        a, b = (_compared(within(whole, path, span), span) for whole in pair)
        test = ir.Compare(ir.CompareOp.EQ, a, b, boolean, span)
        result = test if result is None else ir.Logical(ir.LogicalOp.AND, result, test, boolean, span)
    assert result is not None
    return result


def _compared(leaf: ir.Expr, span: Span) -> ir.Expr:
    """A scalar as it is compared: floats of 8 bits only convert."""
    return cast(leaf, F32, span) if isinstance(leaf.type, ScalarType) and leaf.type.is_float8 else leaf


def _paths(type: Type) -> Iterator[tuple[int, ...]]:
    """The way to every scalar and pointer in a type: positions of fields, a vector's lane last."""
    match type:
        case StructType():
            for i, f in enumerate(type.fields):
                yield from ((i, *path) for path in _paths(f.type))
        case VectorType():
            yield from ((i,) for i in range(type.lanes))
        case _:
            yield ()


def within(whole: ir.Expr, path: Iterable[int], span: Span) -> ir.Expr:
    """What lies in a value: at each step the field of a struct or the lane of a vector."""
    for index in path:
        if isinstance(whole.type, StructType):
            whole = ir.FieldValue(whole, index, whole.type.fields[index].type, span)
        else:
            assert isinstance(whole.type, VectorType)
            whole = ir.Swizzle(whole, (index,), whole.type.element, span)
    return whole


def part_types(type: StructType | TupleType) -> tuple[Type, ...]:
    """The types of a struct's fields, or of a tuple's elements."""
    return type.elements if isinstance(type, TupleType) else tuple(f.type for f in type.fields)
