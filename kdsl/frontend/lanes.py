"""Assignment to one component of a vector: of a variable, or where the vector lies in memory."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from kdsl.frontend import vectors
from kdsl.frontend.frame import Frame
from kdsl.frontend.meet import converted
from kdsl.frontend.memory import written_address
from kdsl.frontend.values import Runtime, Value
from kdsl.ir import nodes as ir
from kdsl.lang.types import I32, PointerType, ScalarType, VectorType

Target = ast.Attribute | ast.Subscript


@dataclass(frozen=True, slots=True)
class OfVariable:
    """One lane of a variable of this function."""

    local: ir.Local
    type: VectorType
    index: int

    @property
    def element(self) -> ScalarType:
        return self.type.element


@dataclass(frozen=True, slots=True)
class InMemory:
    """A scalar in memory, which is a lane of a vector there."""

    address: ir.Expr
    element: ScalarType


Lane = OfVariable | InMemory


def target_lane(frame: Frame, target: Target, base: Value) -> Lane | None:
    """The lane that ``v.x = ...`` or ``a[i].x = ...`` names, ``base`` being the vector; None (reported) for none."""
    type = vectors.vector_type(base)
    assert isinstance(base, Runtime)
    assert type is not None
    index = vectors.lane_of(frame, type, target)
    if index is None:
        return None
    owner = target.value
    match base.expr:
        case ir.Read(local) if isinstance(owner, ast.Name) and frame.locals.get(owner.id) is local:
            return OfVariable(local, type, index)
        case ir.Load(ir.ElementAddress() as address, access=None):
            if written_address(frame, address, target) is None:
                return None
            span = frame.span(target)
            pointer = PointerType(type.element, address.type.space)
            start = ir.Bitcast(address, pointer, span)
            return InMemory(ir.ElementAddress(start, (ir.Const(index, I32, span),), pointer, span), type.element)
    if not frame.quiet:
        message = f"`{frame.text(owner)}` is no variable of this function, and no element of an array"
        frame.error(target, message, f"bind it to a name first: v = {frame.text(owner)}")
    return None


def store_lane(frame: Frame, target: Target, base: Value, value: Value, place: ast.expr, node: ast.stmt) -> None:
    """``v.x = value``."""
    lane = target_lane(frame, target, base)
    if lane is not None:
        write(frame, lane, converted(frame, value, lane.element, place, f"`{frame.text(target)}`"), node)


def write(frame: Frame, lane: Lane, value: ir.Expr | None, node: ast.stmt) -> None:
    """Assign a value of the element's type, if there is one."""
    if value is None:
        return
    span = frame.span(node)
    match lane:
        case OfVariable(local, type, index):
            old = ir.Read(local, type, span)
            frame.emit(ir.Assign(local, ir.WithLane(old, index, value, type, span), span))
        case InMemory(address):
            frame.emit(ir.Store(address, value, span))


def current(frame: Frame, lane: Lane, target: Target) -> tuple[Lane, Value]:
    """What a lane holds, and the lane with its address computed once."""
    span = frame.span(target)
    match lane:
        case OfVariable(local, type, index):
            return lane, Runtime(ir.Swizzle(ir.Read(local, type, span), (index,), type.element, span))
        case InMemory(address, element):
            assert isinstance(address.type, PointerType)
            pointer = frame.local("address", address.type)
            frame.emit(ir.Assign(pointer, address, span))
            read = ir.Read(pointer, address.type, span)
            return InMemory(read, element), Runtime(ir.Load(read, element, span))
