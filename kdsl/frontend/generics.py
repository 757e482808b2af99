"""What the TypeVars of a device function stand for in a call: each is one type, and one that it may be."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from kdsl.frontend.frame import Frame
from kdsl.frontend.values import Tuple, Value, WeakType, WeakUnknown, describe, type_of, weak_meets, wider_weak
from kdsl.lang.generics import constraints, matched, may_be, restriction
from kdsl.lang.types import ScalarType, TupleType, Type

Arguments = Mapping[str, tuple[Value, ast.expr]]


def variables_of_call(
    frame: Frame, function: str, templates: Mapping[str, Any], values: Arguments
) -> dict[TypeVar, Type] | None:
    """What each TypeVar stands for; None (reported) where it cannot be one type, or one that it may be.

    Literals take the type that the other arguments say; by themselves they have the type that a variable of theirs has.
    """
    found: dict[TypeVar, Type] = {}
    said_by: dict[TypeVar, str] = {}
    weak: dict[TypeVar, tuple[WeakType, str]] = {}
    unknown: set[TypeVar] = set()
    for name, template in templates.items():
        value, place = values[name]
        for variable, said, is_known in _said(template, value):
            if isinstance(said, WeakType):
                known = weak.get(variable)
                weak[variable] = (said if known is None else wider_weak(known[0], said), name)
                if not is_known:
                    unknown.add(variable)
            elif variable in found and found[variable] != said:
                frame.error(place, *_conflict(function, variable, name, said, said_by[variable], found[variable]))
                return None
            elif variable not in found:
                if not may_be(variable, said):
                    frame.error(place, *_forbidden(frame, function, variable, name, said, place))
                    return None
                found[variable], said_by[variable] = said, name
    for variable, (kind, name) in weak.items():
        if variable in found:
            continue
        if frame.quiet and variable in unknown:
            return None  # the caller's own literal has no type yet
        literal = literal_type(variable, kind)
        if literal is None:
            place = values[name][1]
            frame.error(place, *_forbidden(frame, function, variable, name, kind.default, place))
            return None
        found[variable] = literal
    return found


def literal_type(variable: TypeVar, kind: WeakType) -> Type | None:
    """The type of a literal that meets nothing but a TypeVar: its own, or the first that it can take."""
    if may_be(variable, kind.default):
        return kind.default
    return next((t for t in constraints(variable) if isinstance(t, ScalarType) and weak_meets(kind, t)), None)


def _said(template: Any, value: Value) -> Iterator[tuple[TypeVar, Type | WeakType, bool]]:
    """What a value says of a template's TypeVars: a type, or that of a literal; and whether the literal is known."""
    if isinstance(value, Tuple) and isinstance(template, TupleType) and len(template.elements) == len(value.elements):
        for part, element in zip(template.elements, value.elements, strict=True):
            yield from _said(part, element)
        return
    kind = type_of(value)
    if kind is not None:
        known = not isinstance(value, WeakUnknown)
        found = matched(template, kind, decays=True)
        yield from ((variable, said, known) for variable, said in found if isinstance(said, Type | WeakType))


def _conflict(function: str, variable: TypeVar, name: str, type: Type, other: str, other_type: Type) -> tuple[str, str]:
    called = variable.__name__
    message = f"`{name}` of `{function}` makes {called} {describe(type)}, and `{other}` makes it {describe(other_type)}"
    return message, "cast one, or give each parameter a TypeVar of its own"


def _forbidden(
    frame: Frame, function: str, variable: TypeVar, name: str, type: Type, place: ast.expr
) -> tuple[str, str | None]:
    called, allowed = variable.__name__, constraints(variable)
    message = f"`{name}` of `{function}` makes {called} {describe(type)}, and {called} may be {restriction(variable)}"
    scalars = [t for t in allowed if isinstance(t, ScalarType)]
    hint = f"cast it: {scalars[0]}({frame.text(place)})" if scalars and isinstance(type, ScalarType) else None
    return message, hint
