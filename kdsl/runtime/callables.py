"""What a function that a kernel is passed depends on: what it holds becomes parameters, the rest specialises.

Held are numbers, NumPy scalars, arrays and structs, and tuples of them: in closures, default values and the arguments
of a functools.partial. Functions are looked into; all else that a function captured is part of what was compiled.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from kdsl.lang.parameter_types import ConstexprType, Held
from kdsl.lang.struct import is_struct
from kdsl.lang.types import Type
from kdsl.records import dataclass
from kdsl.runtime.memory import DeviceArray

Infer = Callable[[str, str, Any], Type]


@dataclass(frozen=True, slots=True)
class Same:
    """A function depends on ``source`` being this object."""

    source: str
    object: Any

    @property
    def key(self) -> object:
        return self.source, id(self.object)


@dataclass(frozen=True, slots=True)
class Again:
    """``source`` is the object that was met as ``first``: a function that holds itself."""

    source: str
    first: str

    @property
    def key(self) -> object:
        return self.source, self.first


@dataclass(frozen=True, slots=True)
class Count:
    """A function depends on ``source`` having so many elements."""

    source: str
    count: int

    @property
    def key(self) -> object:
        return self.source, self.count


@dataclass(frozen=True, slots=True)
class Value:
    """A function holds a value of this type."""

    held: Held
    value: Any

    @property
    def key(self) -> object:
        return self.held


Fact = Same | Again | Count | Value


def function_type(kernel: str, name: str, function: Any, infer: Infer) -> ConstexprType:
    """The type of a function as the argument ``name``: the same for functions that differ in what they hold alone."""
    facts = tuple(facts_of(kernel, name, function, infer))
    held = tuple(fact.held for fact in facts if isinstance(fact, Value))
    return ConstexprType(None, False, function, tuple(fact.key for fact in facts), held)


def facts_of(kernel: str, name: str, function: Any, infer: Infer, source: str | None = None) -> Iterator[Fact]:
    """All that a function depends on, in an order that depends on the function alone."""
    yield from _Walk(kernel, infer, {}).function(name, source or name, function)


@dataclass(slots=True)
class _Walk:
    kernel: str
    infer: Infer
    seen: dict[int, str]
    """Where each function was met first, by its id: one may hold itself."""

    def function(self, name: str, source: str, function: Any) -> Iterator[Fact]:
        if id(function) in self.seen:
            yield Again(source, self.seen[id(function)])
            return
        match function:
            case FunctionType():
                self.seen[id(function)] = source
                yield from self.plain(name, source, function)
            case partial():
                self.seen[id(function)] = source
                yield Same(f"{source}.__class__", partial)
                yield from self.function(name, f"{source}.func", function.func)
                yield Count(f"{source}.args", len(function.args))
                yield Count(f"{source}.keywords", len(function.keywords))
                for i, value in enumerate(function.args):
                    yield from self.part(f"{name}.args[{i}]", f"{source}.args[{i}]", value, function, f"argument {i}")
                for key, value in function.keywords.items():
                    place = f"{source}.keywords[{key!r}]"
                    yield from self.part(f"{name}.{key}", place, value, function, f"keyword {key}")
            case MethodType():
                yield Same(f"{source}.__class__", MethodType)
                yield from self.function(name, f"{source}.__func__", function.__func__)
                yield from self.part(f"{name}.self", f"{source}.__self__", function.__self__, function, "self")
            case _:
                yield Same(source, function)

    def plain(self, name: str, source: str, function: FunctionType) -> Iterator[Fact]:
        yield Same(f"{source}.__code__", function.__code__)
        yield Same(f"{source}.__globals__", function.__globals__)
        for i, (variable, cell) in enumerate(
            zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        ):
            try:
                value = cell.cell_contents
            except ValueError:  # a variable that is still unbound
                yield Same(source, function)
                continue
            place = f"{source}.__closure__[{i}].cell_contents"
            yield from self.part(f"{name}.{variable}", place, value, function, f"cell {variable}")
        yield from self.defaults(name, source, function)

    def defaults(self, name: str, source: str, function: FunctionType) -> Iterator[Fact]:
        code, values = function.__code__, function.__defaults__
        if values is None:
            yield Same(f"{source}.__defaults__", None)
        else:
            yield Count(f"{source}.__defaults__", len(values))
            names = code.co_varnames[code.co_argcount - len(values) : code.co_argcount]
            for i, (parameter, value) in enumerate(zip(names, values, strict=True)):
                place = f"{source}.__defaults__[{i}]"
                yield from self.part(f"{name}.{parameter}", place, value, function, f"default {parameter}")
        if not function.__kwdefaults__:
            yield Same(f"({source}.__kwdefaults__ or None)", None)
            return
        yield Count(f"{source}.__kwdefaults__", len(function.__kwdefaults__))
        for parameter, value in function.__kwdefaults__.items():
            place = f"{source}.__kwdefaults__[{parameter!r}]"
            yield from self.part(f"{name}.{parameter}", place, value, function, f"default {parameter}")

    def part(self, name: str, source: str, value: Any, owner: Any, place: str) -> Iterator[Fact]:
        """What an object that a function holds is: a value that is passed, a function, or part of what is compiled."""
        if is_value(value):
            yield Value(Held(name, source, self.infer(self.kernel, name, value), owner, place), value)
        elif isinstance(value, (FunctionType, partial, MethodType)):
            yield from self.function(name, source, value)
        else:
            yield Same(source, value)


def is_value(value: Any) -> bool:
    """Whether a launch passes an object that a function holds."""
    if isinstance(value, enum.Enum):
        return False
    if isinstance(value, tuple):
        return bool(value) and all(map(is_value, value))
    return (
        isinstance(value, (bool, int, float, np.generic, np.ndarray, DeviceArray))
        or is_struct(value)
        or hasattr(value, "__cuda_array_interface__")
    )
