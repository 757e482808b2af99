"""Methods that assign to fields of ``self``: they return the changed struct beside their result, and the call stores it
where the object came from: in a variable, or in memory.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from functools import lru_cache
from types import FunctionType

from kdsl.frontend import struct_methods
from kdsl.frontend.callees import BoundMethod
from kdsl.frontend.frame import Frame
from kdsl.frontend.memory import written_address
from kdsl.frontend.names import scope_of, stored_names
from kdsl.frontend.places import InMemory, OfVariable, Place, origin, with_part
from kdsl.frontend.structs import changeable
from kdsl.frontend.values import POISON, Runtime, Static, Value
from kdsl.ir import nodes as ir
from kdsl.lang.fixed_array import FixedArrayType
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import VOID, PointerType, TupleType, Type, VectorType
from kdsl.source import CompileError, Span, find_function


@lru_cache(maxsize=512)
def changes_self(function: FunctionType, type: StructType) -> bool:
    """Whether a method assigns to a part of its object, or calls a method of it that does."""
    return _changes(function, type, frozenset())


def _changes(function: FunctionType, type: StructType, seen: frozenset[FunctionType]) -> bool:
    try:
        _, node = find_function(function)
    except CompileError:
        return False  # the call reports it
    parameters = scope_of(node).parameters
    if not parameters or function in seen:
        return False
    own = parameters[0].arg
    if isinstance(node, ast.FunctionDef) and any(own in stored_names(s) for s in node.body):
        return False  # what it assigns to is another struct from then on
    for part in ast.walk(node):
        match part:
            case ast.Attribute(value=owner) | ast.Subscript(value=owner) if isinstance(part.ctx, ast.Store):
                if isinstance(_type_of(owner, own, type), StructType | VectorType):
                    return True
            case ast.Call(func=ast.Attribute(value=owner, attr=name)):
                inner = _type_of(owner, own, type)
                if isinstance(inner, StructType) and _named_changes(inner, name, seen | {function}):
                    return True
    return False


def _named_changes(type: StructType, name: str, seen: frozenset[FunctionType]) -> bool:
    method = vars(type.python).get(name) if type.python is not None else None
    return isinstance(method, FunctionType) and _changes(method, type, seen)


def _type_of(node: ast.expr, own: str, type: StructType) -> Type | None:
    """The type of ``self`` or a field of it, however deep; None for anything else."""
    match node:
        case ast.Name(id=name):
            return type if name == own else None
        case ast.Attribute(value=owner, attr=name):
            whole = _type_of(owner, own, type)
            index = whole.index(name) if isinstance(whole, StructType) else None
            return None if index is None else whole.fields[index].type  # type: ignore[union-attr]
        case ast.Subscript(value=owner):
            whole = _type_of(owner, own, type)
            return whole.element if isinstance(whole, FixedArrayType) else None
    return None


def returning_self(
    body: tuple[ir.Stmt, ...], own: ir.Local, result: Type, place: Span
) -> tuple[tuple[ir.Stmt, ...], Type]:
    """A method's body, and the type of what it returns now: its object, behind its result if it has one."""
    made = own.type if result == VOID else TupleType((result, own.type))
    changed = _changed(body, own, made)
    if result == VOID:
        # A body is empty where the only branch that changes something is dropped.
        span = body[-1].span if body else place
        changed = (*changed, ir.Return(ir.Read(own, own.type, span), span))
    return changed, made


def _changed(body: tuple[ir.Stmt, ...], own: ir.Local, made: Type) -> tuple[ir.Stmt, ...]:
    return tuple(_statement(s, own, made) for s in body)


def _statement(s: ir.Stmt, own: ir.Local, made: Type) -> ir.Stmt:
    match s:
        case ir.Return(value, span):
            read = ir.Read(own, own.type, span)
            return ir.Return(read if value is None else ir.TupleExpr((value, read), made, span), span)
        case ir.If() | ir.While() | ir.ForRange():
            return replace(s, body=_changed(s.body, own, made), orelse=_changed(s.orelse, own, made))
        case ir.Unrolled():
            bodies = tuple(_changed(body, own, made) for body in s.bodies)
            return replace(s, bodies=bodies, orelse=_changed(s.orelse, own, made))
        case _:
            return s


def call_method(frame: Frame, method: BoundMethod, node: ast.Call) -> Value:
    """``p.advance(dt)``, whether or not that changes ``p``."""
    type = method.receiver.type
    assert isinstance(type, StructType)
    if not changes_self(method.function, type):
        return struct_methods.call_method(frame, method, node)
    return _call(frame, method, node)


def _call(frame: Frame, method: BoundMethod, node: ast.Call) -> Value:
    function = method.function
    if frame.quiet:
        return frame.session.call_function(frame, node, function, ((method.receiver, method.place),), changes=True)
    is_statement = frame.printed is node
    place = _place(frame, method, node, is_statement)
    if place is None:
        return POISON
    receiver = method.receiver
    if isinstance(place, InMemory):
        assert isinstance(place.address.type, PointerType)
        pointer = frame.local("address", place.address.type)
        frame.emit(ir.Assign(pointer, place.address, frame.span(node)))
        place = InMemory(ir.Read(pointer, pointer.type, frame.span(node)), place.type)
        receiver = Runtime(ir.Load(place.address, place.type, frame.span(method.place)))
    result = frame.session.call_function(frame, node, function, ((receiver, method.place),), changes=True)
    if not isinstance(result, Runtime) or not isinstance(result.expr, ir.Call):
        return result
    return _stored(frame, place, result.expr, node, is_statement)


def _place(frame: Frame, method: BoundMethod, node: ast.Call, is_statement: bool) -> Place | None:
    """Where the object lies; None (reported) if it cannot be changed there."""
    text, name = frame.text(method.place), method.function.__name__
    place = origin(frame, method.receiver.expr)
    if place is None:
        message = f"`{name}` changes `{text}`, which is no variable of this function, and no element of an array"
        frame.error(method.place, message, f"bind it to a name first: s = {text}")
    elif isinstance(place, InMemory) and not is_statement:
        message = f"`{name}` changes `{text}`, an element of memory: call it in a statement of its own"
        frame.error(node, message, f"or bind the element to a name first: s = {text}")
    elif isinstance(place, InMemory):
        return place if written_address(frame, place.address, method.place) is not None else None
    elif changeable(frame, place.local, method.place):
        return place
    return None


def _stored(frame: Frame, place: Place, made: ir.Call, node: ast.Call, is_statement: bool) -> Value:
    """The result of a call that returns the changed object, too, which is stored where it came from."""
    span, result = made.span, made.type
    if result == VOID and not is_statement:
        return frame.error(node, f"`{frame.text(node)}` returns no value", "call it in a statement of its own")
    both = place.type if result == VOID else TupleType((result, place.type))
    called = ir.Call(made.function, made.arguments, both, span)
    returned = frame.local("returned", both)
    first, again = ir.AssignExpr(returned, called, both, span), ir.Read(returned, both, span)
    if result == VOID:
        _write(frame, place, called, node)
        return Static(None)
    changed = ir.TupleElement(again, 1, place.type, span)
    if isinstance(place, InMemory):
        frame.emit(ir.Assign(returned, called, span))
        frame.emit(ir.Store(place.address, changed, span))
        return Runtime(ir.TupleElement(again, 0, result, span))
    local = place.local
    whole = with_part(ir.Read(local, local.type, span), place.steps, changed, span)
    assigned = ir.AssignExpr(local, whole, local.type, span)
    pair = ir.TupleExpr((first, assigned), TupleType((both, local.type)), span)
    return Runtime(ir.TupleElement(ir.TupleElement(pair, 0, both, span), 0, result, span))


def _write(frame: Frame, place: Place, value: ir.Expr, node: ast.Call) -> None:
    span = frame.span(node)
    match place:
        case InMemory(address):
            frame.emit(ir.Store(address, value, span))
        case OfVariable(local, steps):
            frame.emit(ir.Assign(local, with_part(ir.Read(local, local.type, span), steps, value, span), span))
