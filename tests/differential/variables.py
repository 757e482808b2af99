"""Which names a program's statements bind, and which of them are constants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass, replace

from . import program as p
from .semantics import Value


def constants(body: Sequence[p.Stmt]) -> dict[str, Value]:
    """Names bound once in the whole function, to a number."""
    counts: dict[str, int] = {}
    values: dict[str, Value] = {}
    for s in walk(body):
        for name in bound_by(s):
            counts[name] = counts.get(name, 0) + 1
            if isinstance(s, p.Assign) and isinstance(s.value, p.Literal) and not s.annotation:
                values[name] = s.value.value
    return {n: v for n, v in values.items() if counts[n] == 1 and not isinstance(v, bool)}


def bound_by(s: p.Stmt) -> list[str]:
    """The names that a statement binds, but for those that the blocks inside of it do."""
    head: object = replace(s, body=(), orelse=()) if isinstance(s, p.If | p.While | p.For) else s
    if isinstance(s, p.Define | p.Unrolled):
        head = ()
    elif isinstance(s, p.ForEach):
        head = s.items
    elif isinstance(s, p.Match):
        head = (s.subject, tuple(case.guard for case in s.cases if case.guard is not None))
    return targets(s) + [node.name for node in nodes(head) if isinstance(node, p.Walrus)]


def nodes(node: object) -> Iterator[object]:
    """Everything in a tree."""
    yield node
    if isinstance(node, tuple):
        for part in node:
            yield from nodes(part)
    elif is_dataclass(node):
        for each in fields(node):
            yield from nodes(getattr(node, each.name))


def targets(s: p.Stmt) -> list[str]:
    match s:
        case p.Assign() | p.TupleAssign() | p.DivmodAssign() | p.Unpack():
            return list(s.targets)
        case p.Augmented() | p.For() | p.ForEach():
            return [s.target]
        case p.Match():
            return [case.capture for case in s.cases if case.capture is not None]
        case p.SetComponent():
            return [s.vector]
        case p.Collective():
            return list(s.targets)
        case p.Declare():
            return [s.name]
        case p.Atomic(name="cas_add"):
            return [f"{s.array}_seen", f"{s.array}_before"]
        case p.Atomic():
            return [] if s.target is None else [s.target]
        case _:
            return []


def blocks(s: p.Stmt) -> tuple[tuple[p.Stmt, ...], ...]:
    """The blocks of statements in a statement, but for functions."""
    match s:
        case p.If() | p.While() | p.For():
            return s.body, s.orelse
        case p.ForEach():
            return (s.body,)
        case p.Unrolled():
            return *s.bodies, s.orelse
        case p.Match():
            return tuple(case.body for case in s.cases)
    return ()


def walk(body: Sequence[p.Stmt]) -> Iterator[p.Stmt]:
    for s in body:
        yield s
        for block in blocks(s):
            yield from walk(block)
