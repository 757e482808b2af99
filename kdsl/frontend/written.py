"""Through which parameters a function may write memory.

A parameter whose pointer only serves to load, or is passed to a function that only loads through it, is not written;
any other use of the pointer (a store, an atomic, a cast, a copy in a variable) counts as a write.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import cache
from typing import Any

from kdsl.ir import nodes as ir
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import ArrayType, PointerType, Space, TupleType, Type

_STEPS = (ir.ElementAddress, ir.Bitcast, ir.FieldAddress, ir.View, ir.ArrayExpr, ir.AssumeAligned)
"""From one address to another into the same memory."""


def written_parameters(
    parameters: tuple[ir.Local, ...], body: tuple[ir.Stmt, ...], callees: Mapping[str, ir.Function]
) -> frozenset[int]:
    """The uids of the parameters through which memory may be written."""
    pointers = {p.uid for p in parameters if _points(p.type)}
    if not pointers:
        return frozenset()
    found = found_writes(body, callees)
    return frozenset(uid for uid in pointers if uid in found or ~uid in found)


def is_written(local: ir.Local, body: tuple[ir.Stmt, ...], callees: Mapping[str, ir.Function]) -> bool:
    """Whether the memory in which a variable lies may be written through its address."""
    return ~local.uid in found_writes(body, callees)


def found_writes(body: tuple[ir.Stmt, ...], callees: Mapping[str, ir.Function]) -> set[int]:
    """The uids of the variables through which memory may be written; ``~uid`` for the memory of a variable itself."""
    found: set[int] = set()
    origins: dict[int, set[int]] = {}
    pending: list[Any] = list(body)
    while pending:
        _visit(pending.pop(), pending, found, origins, callees)
    # What is written through a variable is written through what it is a part of.
    spread = list(found)
    while spread:
        new = origins.get(spread.pop(), set()) - found
        found |= new
        spread += new
    return found


def read_at(address: ir.Expr) -> list[ir.Expr]:
    """What is evaluated for an address that is only read at; the variable that it starts from is left out."""
    found: list[ir.Expr] = []
    while isinstance(address, _STEPS):
        match address:
            case ir.ElementAddress(base, indices):
                found += indices
                address = base
            case ir.View(base, starts, stops, steps):
                found += [bound for bound in (*starts, *stops, *steps) if bound is not None]
                address = base
            case ir.ArrayExpr(inner, extents, strides):
                found += [*extents, *strides]
                address = inner
            case ir.FieldAddress(inner) | ir.Bitcast(inner) | ir.AssumeAligned(inner):
                address = inner
    return found if isinstance(address, ir.Read | ir.LocalAddress) else [*found, address]


def root(address: ir.Expr) -> ir.Expr:
    """What an address is made from, step by step."""
    while isinstance(address, _STEPS):
        address = _inner(address)
    return address


def _root(address: ir.Expr) -> int | None:
    """The variable that holds the pointer or array from which an address is made, or in which it lies."""
    match root(address):
        case ir.Read(local):
            return local.uid
        case ir.LocalAddress(local):
            return ~local.uid
    return None


def _inner(address: ir.Expr) -> ir.Expr:
    match address:
        case ir.ElementAddress(inner) | ir.View(inner) | ir.FieldAddress(inner) | ir.Bitcast(inner):
            return inner
        case ir.ArrayExpr(inner) | ir.AssumeAligned(inner):
            return inner
    raise AssertionError(address)


def _origin(value: ir.Expr) -> int | None:
    """The variable of which an array is a part, or the whole."""
    whole = value
    while isinstance(value, ir.View | ir.AssumeAligned):
        value = value.base if isinstance(value, ir.View) else value.operand
    if isinstance(value, ir.ArrayExpr) or (isinstance(value, ir.Read) and (value is not whole or _is_array(value))):
        return _root(value)
    return None


def _is_array(value: ir.Expr) -> bool:
    return isinstance(value.type, ArrayType)


def _is_own(address: ir.Expr) -> bool:
    """Whether an address is in local memory, where pointers lie that the function was passed in a struct."""
    return isinstance(address.type, PointerType) and address.type.space is Space.LOCAL


def _points(type: Type) -> bool:
    if isinstance(type, TupleType):
        return any(_points(e) for e in type.elements)
    if isinstance(type, StructType):
        return any(_points(f.type) for f in type.fields)
    return isinstance(type, PointerType | ArrayType)


def _visit(
    node: Any,
    pending: list[Any],
    found: set[int],
    origins: dict[int, set[int]],
    callees: Mapping[str, ir.Function],
) -> None:
    match node:
        case ir.Load(address, policy=policy):
            if _points(node.type) and _is_own(address) and (owner := _root(address)) is not None:
                # What the pointers of a struct point at may be written through what is loaded.
                found.add(owner)
            pending += [*read_at(address), *([] if policy is None else [policy])]
        case ir.Prefetch(address):
            pending += read_at(address)
        case ir.IsAligned(operand):
            pending += read_at(operand)
        case ir.Extent(array=array) | ir.Stride(array=array):
            pending += read_at(array)
        case ir.Assign(local, value) | ir.AssignExpr(local, value) if (origin := _origin(value)) is not None:
            origins.setdefault(local.uid, set()).add(origin)
            pending += read_at(value)
        case ir.Call(function=name, arguments=arguments):
            callee = callees.get(name)
            for i, argument in enumerate(arguments):
                reads_only = (
                    callee is not None and callee.written is not None and callee.parameters[i].uid not in callee.written
                )
                if reads_only:
                    pending += read_at(argument)
                else:
                    pending.append(argument)
        case ir.LocalAddress(local):
            found.add(~local.uid)
        case ir.Read(local):
            # Any other use of the pointer: it may be written through.
            found.add(local.uid)
        case _:
            pending += children(node)


def children(node: Any) -> Iterator[Any]:
    """The nodes in a node."""
    for name in _child_fields(type(node)):  # type: ignore[arg-type]
        value = getattr(node, name)
        if isinstance(value, tuple):
            yield from _flat(value)
        elif value is not None:
            yield value


def _flat(values: tuple[Any, ...]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, tuple):
            yield from _flat(value)
        elif value is not None:
            yield value


NOT_CHILDREN = frozenset(
    {
        "span",
        "type",
        "local",
        "target",
        "unroll",
        "reverse",
        "checked",
        "op",
        "access",
        "data",
        "level",
        "lanes",
        "ordering",
        "function",
        "intrinsic",
        "extern",
        "parameters",
        "bound",
        "constants",
        "format",
        "message",
        "template",
    }
    | {"value_type", "kept", "repeat", "alignment", "index", "axis", "uid", "name"}
    | {"template", "names", "variable", "volatile", "memory", "early", "common"}
)


@cache
def _child_fields(kind: Any) -> tuple[str, ...]:
    """The fields of a node that hold nodes."""
    if kind is ir.Const:
        return ()
    return tuple(f.name for f in fields(kind) if f.name not in NOT_CHILDREN)
