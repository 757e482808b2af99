"""Calls of what wraps a plain function: a functools.partial, and a method of an object of the host."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from types import CellType, FunctionType, MethodType
from typing import Any

from kdsl.frontend.describing import describe_object
from kdsl.frontend.frame import Frame
from kdsl.frontend.parts import part_value
from kdsl.frontend.session import Session
from kdsl.frontend.values import POISON, Passed, Poison, Value

Places = tuple[tuple[Value, ast.expr], ...]
Named = dict[str, tuple[Value, ast.expr]]


def call_bound(frame: Frame, callee: partial[Any] | MethodType, node: ast.Call) -> Value:
    """A call of the wrapped function, with the arguments that it was given before."""
    function, bound, keywords = _unwrapped(frame, callee, node)
    if any(isinstance(value, Poison) for value, _ in (*bound, *keywords.values())):
        return POISON
    if not isinstance(function, FunctionType) or hasattr(function, "__wrapped__"):
        what = describe_object(function, getattr(function, "__name__", "it"))
        return frame.error(node.func, f"`{frame.text(node.func)}` wraps {what}, no plain function", "write a lambda")
    return frame.session.call_function(frame, node, function, bound, keywords)


def _unwrapped(frame: Frame, callee: Any, node: ast.Call) -> tuple[Any, Places, Named]:
    match callee:
        case partial():
            function, bound, keywords = _unwrapped(frame, callee.func, node)
            more = (_read(frame, callee, f"argument {i}", v, node) for i, v in enumerate(callee.args))
            named = {k: _read(frame, callee, f"keyword {k}", v, node) for k, v in callee.keywords.items()}
            return function, (*bound, *more), {**keywords, **named}
        case MethodType():
            function, bound, keywords = _unwrapped(frame, callee.__func__, node)
            return function, (_read(frame, callee, "self", callee.__self__, node), *bound), keywords
        case _:
            return callee, (), {}


def _read(frame: Frame, owner: Any, place: str, value: Any, node: ast.Call) -> tuple[Value, ast.expr]:
    """What the wrapper holds: what a launch passes, or a constant."""
    held = frame.session.held.get((id(owner), place))
    if held is not None:
        return part_value(frame, held, node.func), node.func
    frame.session.captures.watch(value)
    return frame.host(value, node.func), node.func


def held_by(session: Session, function: Any) -> Iterator[Passed]:
    """What is passed of what a function holds, and the functions that it reaches through its closure."""
    pending, seen = [function], set[int]()
    while pending:
        one = pending.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield from (passed for (owner, _), passed in session.held.items() if owner == id(one))
        match one:
            case FunctionType():
                pending += [cell.cell_contents for cell in one.__closure__ or () if _is_bound(cell)]
            case partial():
                pending += [one.func, *one.args, *one.keywords.values()]
            case MethodType():
                pending.append(one.__func__)


def _is_bound(cell: CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True
