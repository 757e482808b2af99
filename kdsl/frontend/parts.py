"""What a kernel is passed in parts: tuples, and what functions hold. Each part is a parameter of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kdsl.frontend.values import Passed, Static, Tuple, Value
from kdsl.lang.parameter_types import ConstexprType
from kdsl.lang.types import TupleType, Type

if TYPE_CHECKING:
    from kdsl.frontend.frame import Frame


def part_name(name: str, type: TupleType, index: int) -> str:
    """What a part of a tuple parameter is called."""
    return f"{name}[{index}]" if type.python is None else f"{name}.{type.python._fields[index]}"  # type: ignore[attr-defined]


def part_value(frame: Frame, value: Passed, node: ast.expr) -> Value:
    """What a kernel is passed in parts, in whichever function it is read."""
    type = value.type
    if isinstance(type, ConstexprType):
        return Static(type.value)
    if isinstance(type, TupleType):
        elements = (Passed(part_name(value.name, type, i), t) for i, t in enumerate(type.elements))
        parts = (part_value(frame, element, node) for element in elements)
        return Tuple(tuple(parts), type.python)
    assert frame.session.parts is not None
    return frame.read_captured(frame.session.parts, value.name, node)


def pass_on(frame: Frame, value: Passed) -> None:
    """Make a parameter of each part of what a kernel is passed."""
    parts, type = frame.session.parts, value.type
    assert parts is not None
    if isinstance(type, TupleType):
        for i, element in enumerate(type.elements):
            pass_on(frame, Passed(part_name(value.name, type, i), element))
    elif not isinstance(type, ConstexprType) and (id(parts), value.name) not in frame.captured:
        frame.captured[id(parts), value.name] = (parts, frame.local(value.name, type))


def pass_parts(frame: Frame, name: str, type: Type) -> Iterator[str]:
    """Make a parameter of each part of a tuple that is passed, or of what a function in it holds; their names."""
    parts = frame.session.parts
    assert parts is not None
    if isinstance(type, ConstexprType):
        yield from pass_held(frame, type)
    elif isinstance(type, TupleType):
        for i, element in enumerate(type.elements):
            yield from pass_parts(frame, part_name(name, type, i), element)
    else:
        parts.types[name] = type
        frame.captured[id(parts), name] = (parts, frame.local(name, type))
        yield name


def pass_held(frame: Frame, type: ConstexprType) -> Iterator[str]:
    """Make a parameter of each value that a function holds; their names."""
    for held in type.held:
        frame.session.held[id(held.owner), held.place] = Passed(held.name, held.type)
        yield from pass_parts(frame, held.name, held.type)
