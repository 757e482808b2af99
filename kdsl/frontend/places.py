"""Assignment to a part of a value: a struct's field or a vector's component, of a variable or in memory.

A place is found from what its owner is as a value: a variable and a way into it, or a load whose address is taken.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from kdsl.frontend import structs, vectors
from kdsl.frontend.frame import Frame
from kdsl.frontend.meet import converted
from kdsl.frontend.memory import written_address
from kdsl.frontend.values import Runtime, Value
from kdsl.ir import nodes as ir
from kdsl.lang.fixed_array import has_fixed_array
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import I32, PointerType, Space, Type, VectorType
from kdsl.records import dataclass
from kdsl.source import Span

Target = ast.Attribute | ast.Subscript


@dataclass(frozen=True, slots=True)
class OfVariable:
    """A part of a variable of this function: ``steps`` are the fields' positions, a vector's lane last."""

    local: ir.Local
    steps: tuple[int, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class InMemory:
    """What lies at an address."""

    address: ir.Expr
    type: Type


Place = OfVariable | InMemory


def has_parts(value: Value) -> bool:
    """Whether a value is a struct or a vector, whose parts may be assigned to."""
    return isinstance(value, Runtime) and isinstance(value.type, StructType | VectorType)


def target_place(frame: Frame, target: Target, base: Value) -> Place | None:
    """What ``v.x = ...`` or ``a[i].x = ...`` names, ``base`` being its owner's value; None (reported) for none."""
    assert isinstance(base, Runtime)
    index = _index(frame, target, base.type)
    owner = None if index is None else owner_place(frame, target, base)
    return None if owner is None or index is None else part(owner, index, frame.span(target))


def owner_place(frame: Frame, target: Target, base: Value) -> Place | None:
    """Where the struct or vector lies of which a part is assigned to; None (reported) for nowhere."""
    assert isinstance(base, Runtime)
    owner = origin(frame, base.expr)
    if owner is None:
        if not frame.quiet:
            text = frame.text(target.value)
            message = f"`{text}` is no variable of this function, and no element of an array"
            name = "s" if isinstance(base.type, StructType) else "v"
            frame.error(target, message, f"bind it to a name first: {name} = {text}")
        return None
    if isinstance(owner, OfVariable) and not structs.changeable(frame, owner.local, target):
        return None
    if isinstance(owner, InMemory) and written_address(frame, owner.address, target) is None:
        return None
    return owner


def _index(frame: Frame, target: Target, type: Type) -> int | None:
    """The position of the field or lane that a target names."""
    if isinstance(type, VectorType):
        return vectors.lane_of(frame, type, target)
    assert isinstance(type, StructType)
    if isinstance(target, ast.Attribute):
        return structs.field_index(frame, type, target)
    message = f"`{frame.text(target.value)}` is {type}, whose fields are assigned by name"
    frame.error(target, message, f"such as {frame.text(target.value)}.{type.fields[0].name} = ...")
    return None


def origin(frame: Frame, expr: ir.Expr) -> Place | None:
    """The place that a value was read from; None for one that a computation made."""
    match expr:
        case ir.Read(local) if frame.locals.get(local.name) is local:
            return OfVariable(local, (), local.type)
        case ir.Load(address, access=None):
            return InMemory(address, expr.type)
        case ir.FieldValue(value, index) | ir.Swizzle(value, (index,)):
            owner = origin(frame, value)
            return None if owner is None else part(owner, index, expr.span)
    return None


def part(owner: Place, index: int, span: Span) -> Place:
    """A field or lane of what lies at a place."""
    type: Type
    if isinstance(owner.type, StructType):
        type = owner.type.fields[index].type
    else:
        assert isinstance(owner.type, VectorType)
        type = owner.type.element
    if isinstance(owner, OfVariable):
        return replace(owner, steps=(*owner.steps, index), type=type)
    return InMemory(part_address(owner.address, index, span), type)


def part_address(address: ir.Expr, index: int, span: Span) -> ir.Expr:
    """The address of a field of a struct, or of a component of a vector, at an address."""
    assert isinstance(address.type, PointerType)
    whole = address.type.element
    if isinstance(whole, StructType):
        return ir.FieldAddress(address, index, PointerType(whole.fields[index].type, address.type.space), span)
    assert isinstance(whole, VectorType)
    pointer = PointerType(whole.element, address.type.space)
    start = ir.Bitcast(address, pointer, span)
    return ir.ElementAddress(start, (ir.Const(index, I32, span),), pointer, span)


def store_part(frame: Frame, target: Target, base: Value, value: Value, node_value: ast.expr, node: ast.stmt) -> None:
    """``v.x = value``."""
    place = target_place(frame, target, base)
    if place is not None:
        write(frame, place, converted(frame, value, place.type, node_value, f"`{frame.text(target)}`"), node)


def write(frame: Frame, place: Place, value: ir.Expr | None, node: ast.stmt) -> None:
    """Assign a value of the place's type, if there is one."""
    if value is None:
        return
    span = frame.span(node)
    match place:
        case OfVariable(local, steps) if has_fixed_array(local.type):
            # Its struct lies in memory: only the part is written.
            address: ir.Expr = ir.LocalAddress(local, PointerType(local.type, Space.LOCAL), span)
            for index in steps:
                address = part_address(address, index, span)
            frame.emit(ir.Store(address, value, span))
        case OfVariable(local, steps):
            frame.emit(ir.Assign(local, with_part(ir.Read(local, local.type, span), steps, value, span), span))
        case InMemory(address):
            frame.emit(ir.Store(address, value, span))


def with_part(whole: ir.Expr, steps: tuple[int, ...], value: ir.Expr, span: Span) -> ir.Expr:
    """A struct or vector with another value in one part."""
    if not steps:
        return value
    index, type = steps[0], whole.type
    if isinstance(type, VectorType):
        return ir.WithLane(whole, index, value, type, span)
    assert isinstance(type, StructType)
    inner = with_part(ir.FieldValue(whole, index, type.fields[index].type, span), steps[1:], value, span)
    return ir.WithField(whole, index, inner, type, span)


def augment(frame: Frame, target: Target, base: Value, compute: Callable[[Value], Value], node: ast.AugAssign) -> None:
    """``v.x op= value``: an address is computed once."""
    place = target_place(frame, target, base)
    if place is None:
        frame.value(node.value)
        return
    span = frame.span(target)
    place = computed_once(frame, place, span)
    result = compute(Runtime(read(place, span)))
    write(frame, place, converted(frame, result, place.type, node.value, f"`{frame.text(target)}`"), node)


def computed_once(frame: Frame, place: Place, span: Span) -> Place:
    """A place whose address, if it has one, is in a variable."""
    if not isinstance(place, InMemory):
        return place
    assert isinstance(place.address.type, PointerType)
    pointer = frame.local("address", place.address.type)
    frame.emit(ir.Assign(pointer, place.address, span))
    return InMemory(ir.Read(pointer, pointer.type, span), place.type)


def read(place: Place, span: Span) -> ir.Expr:
    """What a place holds."""
    if isinstance(place, InMemory):
        return ir.Load(place.address, place.type, span)
    return structs.within(ir.Read(place.local, place.local.type, span), place.steps, span)
