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
from kdsl.lang.types import ArrayType, PointerType, TupleType, Type


def written_parameters(
    parameters: tuple[ir.Local, ...], body: tuple[ir.Stmt, ...], callees: Mapping[str, ir.Function]
) -> frozenset[int]:
    """The uids of the parameters through which memory may be written."""
    pointers = {p.uid for p in parameters if _points(p.type)}
    found: set[int] = set()
    origins: dict[int, set[int]] = {}
    if pointers:
        pending: list[Any] = list(body)
        while pending:
            _visit(pending.pop(), pending, found, origins, callees)
    # What is written through a variable is written through what it is a part of.
    spread = list(found)
    while spread:
        new = origins.get(spread.pop(), set()) - found
        found |= new
        spread += new
    return frozenset(found & pointers)


def _read_at(address: ir.Expr) -> list[ir.Expr]:
    """What is evaluated for an address that is only read at; the variable that it starts from is left out."""
    found: list[ir.Expr] = []
    while isinstance(address, ir.ElementAddress | ir.Bitcast | ir.FieldAddress | ir.View | ir.AssumeAligned):
        match address:
            case ir.ElementAddress(base, indices):
                found += indices
                address = base
            case ir.View(base, starts, stops, steps):
                found += [bound for bound in (*starts, *stops, *steps) if bound is not None]
                address = base
            case ir.FieldAddress(inner) | ir.Bitcast(inner) | ir.AssumeAligned(inner):
                address = inner
    return found if isinstance(address, ir.Read) else [*found, address]


def _origin(value: ir.Expr) -> ir.Local | None:
    """The variable of which an array is a part, or the whole."""
    is_part = isinstance(value, ir.View | ir.AssumeAligned)
    while isinstance(value, ir.View | ir.AssumeAligned):
        value = value.base if isinstance(value, ir.View) else value.operand
    if not isinstance(value, ir.Read) or not (is_part or isinstance(value.type, ArrayType)):
        return None
    return value.local


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
            pending += [*_read_at(address), *([] if policy is None else [policy])]
        case ir.Prefetch(address):
            pending += _read_at(address)
        case ir.IsAligned(operand):
            pending += _read_at(operand)
        case ir.Extent(array=array) | ir.Stride(array=array):
            pending += _read_at(array)
        case ir.Assign(local, value) | ir.AssignExpr(local, value) if (origin := _origin(value)) is not None:
            origins.setdefault(local.uid, set()).add(origin.uid)
            pending += _read_at(value)
        case ir.Call(function=name, arguments=arguments):
            callee = callees.get(name)
            for i, argument in enumerate(arguments):
                reads_only = (
                    callee is not None and callee.written is not None and callee.parameters[i].uid not in callee.written
                )
                if reads_only:
                    pending += _read_at(argument)
                else:
                    pending.append(argument)
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
