"""Loops that are unrolled as the reference sees them: a copy of the body for each round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from . import program as p


def expanded(body: Sequence[p.Stmt]) -> tuple[p.Stmt, ...]:
    """The statements without ``static_range`` and without loops over tuples."""
    return tuple(one(s) for s in body)


def one(s: p.Stmt) -> p.Stmt:
    inner = rebuilt(s, lambda part: one(part) if isinstance(part, STATEMENTS) else part)
    match inner:
        case p.For(target, arguments, body, orelse, "static_range"):
            values = [argument.value for argument in arguments if isinstance(argument, p.Literal)]
            copies = tuple(with_name(body, target, p.Literal(k)) for k in range(*map(int, values)))
            return p.Unrolled(copies, orelse)
        case p.ForEach(target, items, body):
            return p.Unrolled(tuple(round_of(target, k, item, body) for k, item in enumerate(items)))
    return inner


def round_of(target: str, k: int, item: p.Expr, body: tuple[p.Stmt, ...]) -> tuple[p.Stmt, ...]:
    """A variable for each round, because its type may be another each time."""
    name = f"{target} in round {k}"
    return (p.Assign((name,), item), *with_name(body, target, p.Name(name)))


def with_name(body: tuple[p.Stmt, ...], name: str, value: p.Expr) -> tuple[p.Stmt, ...]:
    """The statements with a value in place of a name."""

    def change(node: Any) -> Any:
        return value if node == p.Name(name) else rebuilt(node, change)

    return tuple(change(s) for s in body)


def rebuilt(node: Any, change: Any) -> Any:
    """A node whose parts are changed."""
    if isinstance(node, tuple):
        return tuple(change(part) if is_dataclass(part) else rebuilt(part, change) for part in node)
    if not is_dataclass(node):
        return node
    parts = {f.name: getattr(node, f.name) for f in fields(node)}
    new = {
        name: change(part) if is_dataclass(part) and not isinstance(part, type) else rebuilt(part, change)
        for name, part in parts.items()
    }
    return node if new == parts else type(node)(**new)  # type: ignore[call-arg]


STATEMENTS = (
    p.If, p.While, p.For, p.ForEach, p.Match, p.Case, p.Unrolled, p.Define, p.Function,
)  # fmt: skip
