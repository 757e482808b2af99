"""A typed tree for every overload of every intrinsic stub: one kernel that calls it and stores what it returns.

Made from the stubs' annotations without the frontend, so that the table of intrinsics is tested on its own.
"""

from __future__ import annotations

import importlib
import itertools
import pkgutil
import typing
from collections.abc import Iterator
from dataclasses import dataclass

import kdsl.lang
from kdsl.ir import nodes as ir
from kdsl.lang import types as t
from kdsl.lang.index import Registers, thread_idx
from kdsl.lang.intrinsic import Intrinsic
from kdsl.source import Span

SPAN = Span("stub.py", 1)

FIXED = {"lut": 0xE8}
"""Arguments that must be constants, by the parameter's name."""


@dataclass(frozen=True)
class Call:
    """One overload: ``bound`` is what the type variable is, ``constants`` the compile-time arguments."""

    intrinsic: Intrinsic
    bound: t.ScalarType | None
    parameters: tuple[tuple[str, t.Type], ...]
    result: t.Type
    constants: tuple[tuple[str, int | str], ...] = ()

    @property
    def id(self) -> str:
        parts = [self.intrinsic.stub.__module__.rpartition(".")[2], self.intrinsic.name]
        parts += [self.bound.name] if self.bound else []
        return "-".join([*parts, *(str(value) for _, value in self.constants)])


def intrinsics() -> list[Intrinsic]:
    """Every stub of `kdsl.lang`, each once."""
    found: list[Intrinsic] = []
    for info in pkgutil.walk_packages(kdsl.lang.__path__, "kdsl.lang."):
        for value in vars(importlib.import_module(info.name)).values():
            parts = (value.x, value.y, value.z) if isinstance(value, Registers) else (value,)
            found += [i for i in parts if isinstance(i, Intrinsic) and not any(i is known for known in found)]
    return found


def calls() -> list[Call]:
    """Every overload of every stub."""
    return [call for intrinsic in intrinsics() for call in _calls(intrinsic)]


def _calls(intrinsic: Intrinsic) -> Iterator[Call]:
    for stub in typing.get_overloads(intrinsic.stub) or [intrinsic.stub]:
        hints = typing.get_type_hints(stub)
        result = hints.pop("return")
        constants = {name: typing.get_args(h) for name, h in hints.items() if typing.get_origin(h) is typing.Literal}
        choices = list(itertools.product(*([(n, v) for v in values] for n, values in constants.items())))
        variable = next((h for h in hints.values() if isinstance(h, typing.TypeVar)), None)
        pointed = next((h.element for h in hints.values() if isinstance(h, t.PointerType)), None)
        variable = variable or (pointed if isinstance(pointed, typing.TypeVar) else None)
        for constraint in variable.__constraints__ if variable else (None,):
            bound = None if constraint is None else t.as_type(constraint)
            parameters = tuple((n, _bind(h, bound)) for n, h in hints.items() if n not in constants)
            for chosen in choices:
                yield Call(intrinsic, bound, parameters, _bind(result, bound), chosen)


def _bind(hint: object, bound: t.ScalarType | None) -> t.Type:
    if isinstance(hint, typing.TypeVar):
        return bound
    if isinstance(hint, t.PointerType) and isinstance(hint.element, typing.TypeVar):
        return t.PointerType(bound)
    if typing.get_origin(hint) is tuple:
        return t.TupleType(tuple(_bind(element, bound) for element in typing.get_args(hint)))
    return t.as_type(None if hint is type(None) else hint)


def kernel(call: Call, name: str = "k", options: ir.Options | None = None) -> ir.Function:
    """A kernel of one pointer for each result, then one parameter for each argument, that makes the call once."""
    results = _results(call.result)
    outputs = [ir.Local(f"out{i}", t.PointerType(r), i) for i, r in enumerate(results)]
    inputs = [ir.Local(n, p, len(outputs) + i) for i, (n, p) in enumerate(call.parameters)]
    made = ir.IntrinsicCall(
        call.intrinsic,
        tuple(_fixed(local) or ir.Read(local, local.type, SPAN) for local in inputs),
        tuple(local.name for local in inputs),
        call.bound,
        call.result,
        SPAN,
        call.constants,
    )
    parameters = (*outputs, *inputs)
    body = _body(made, outputs, ir.Local("value", call.result, len(parameters)))
    return ir.Function(name, name, parameters, t.VOID, body, SPAN, options or ir.Options(), is_kernel=True)


def _fixed(local: ir.Local) -> ir.Const | None:
    return ir.Const(FIXED[local.name], t.U32, SPAN) if local.name in FIXED else None


def _results(result: t.Type) -> tuple[t.Type, ...]:
    if isinstance(result, t.TupleType):
        return result.elements
    return () if result == t.VOID else (result,)


def _body(made: ir.IntrinsicCall, outputs: list[ir.Local], value: ir.Local) -> tuple[ir.Stmt, ...]:
    if not outputs:
        return (ir.Evaluate(made, SPAN),)
    read = ir.Read(value, value.type, SPAN)
    parts: list[ir.Expr] = [read]
    if isinstance(value.type, t.TupleType):
        parts = [ir.TupleElement(read, i, element, SPAN) for i, element in enumerate(value.type.elements)]
    stores = [_store(output, part) for output, part in zip(outputs, parts, strict=True)]
    return (ir.Assign(value, made, SPAN), *stores)


def _store(output: ir.Local, value: ir.Expr) -> ir.Store:
    base = ir.Read(output, output.type, SPAN)
    return ir.Store(ir.ElementAddress(base, (ir.Const(0, t.I32, SPAN),), output.type, SPAN), value, SPAN)


def mapped(call: Call, name: str) -> ir.Function:
    """A kernel of one pointer for each result, then one for each argument: thread i works on element i of each."""
    results = _results(call.result)
    outputs = [ir.Local(f"out{i}", t.PointerType(r), i) for i, r in enumerate(results)]
    inputs = [ir.Local(n, t.PointerType(p), len(outputs) + i) for i, (n, p) in enumerate(call.parameters)]
    thread = ir.IntrinsicCall(thread_idx.x, (), (), None, t.I32, SPAN)
    arguments = [_fixed(i) or ir.Load(_element(i, thread), i.type.element, SPAN) for i in inputs]
    names = tuple(local.name for local in inputs)
    made = ir.IntrinsicCall(call.intrinsic, tuple(arguments), names, call.bound, call.result, SPAN, call.constants)
    value = ir.Local("value", call.result, len(outputs) + len(inputs))
    read = ir.Read(value, value.type, SPAN)
    parts: list[ir.Expr] = [read]
    if isinstance(value.type, t.TupleType):
        parts = [ir.TupleElement(read, i, element, SPAN) for i, element in enumerate(value.type.elements)]
    stores = [ir.Store(_element(o, thread), part, SPAN) for o, part in zip(outputs, parts, strict=True)]
    body = (ir.Assign(value, made, SPAN), *stores)
    return ir.Function(name, name, (*outputs, *inputs), t.VOID, body, SPAN, is_kernel=True)


def _element(local: ir.Local, index: ir.Expr) -> ir.ElementAddress:
    return ir.ElementAddress(ir.Read(local, local.type, SPAN), (index,), local.type, SPAN)
