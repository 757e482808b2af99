"""How the arguments of a call become the parameters of a launch, and by what a later call is known to be alike.

A kernel whose parameters all have types passes each argument as it is. Another one is specialised on its arguments:
constants are passed by no launch, a tuple passes its elements, a function what it captured; and a launcher for one
specialisation may be used again while the `Guards` hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from kdsl.lang.parameter_types import ConstexprType, GenericType
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import I32, I64, ArrayType, PointerType, ScalarType, TupleType, Type
from kdsl.records import dataclass
from kdsl.runtime.callables import Again, Count, Same, Value, facts_of, function_type
from kdsl.runtime.errors import ArgumentTypeError
from kdsl.runtime.inference import infer_type
from kdsl.runtime.memory import DeviceArray
from kdsl.runtime.scalars import shown


@dataclass(frozen=True, slots=True)
class Slot:
    """One parameter that a launch passes. ``source`` says in Python where it is in the call's arguments."""

    name: str
    source: str
    type: Type


@dataclass(frozen=True, slots=True)
class Call:
    """The parameters that a call gives, by name, their types, and the slots that a launch passes."""

    names: tuple[str, ...]
    types: tuple[Type, ...]
    slots: tuple[Slot, ...]

    def check(self, kernel: str, given: Sequence[Any]) -> None:
        """ArgumentError for a tuple or function that is another than those that the kernel was compiled for."""
        for name, type, value in zip(self.names, self.types, given, strict=True):
            if isinstance(type, TupleType):
                check_tuple(kernel, name, type, value)
            elif isinstance(type, ConstexprType) and type.is_function and not _is_same(kernel, name, type, value):
                raise ArgumentTypeError(f"{kernel}: argument `{name}` is another function than was compiled")


def _is_same(kernel: str, name: str, type: ConstexprType, value: Any) -> bool:
    """Whether a function differs from the one that a type has in what it holds alone."""
    return callable(value) and function_type(kernel, name, value, infer_type).key == type.key


def call_of(parameters: Sequence[tuple[str, Type]]) -> Call:
    """The call of a kernel whose parameters have these types, constants included."""
    slots = (slot for name, type in parameters for slot in _slots(name, name, type))
    return Call(tuple(name for name, _ in parameters), tuple(type for _, type in parameters), tuple(slots))


def check_tuple(kernel: str, name: str, type: TupleType, value: Any) -> None:
    """ArgumentTypeError for what is no tuple of that many elements, or of another class."""
    count = len(type.elements)
    if not isinstance(value, tuple) or len(value) != count or (type.python and not isinstance(value, type.python)):
        got = f"a tuple of {len(value)}" if isinstance(value, tuple) else shown(value)
        got = value.__class__.__name__ if isinstance(value, tuple) and type.python else got
        fix = f"pass {type.python.__name__}(...)" if type.python else f"pass a tuple of {count}"
        raise ArgumentTypeError(f"{kernel}: argument `{name}` takes {type}, got {got}; {fix}")
    for i, (element, part) in enumerate(zip(type.elements, value, strict=True)):
        if isinstance(element, TupleType):
            field = f".{type.python._fields[i]}" if type.python else f"[{i}]"  # type: ignore[attr-defined]
            check_tuple(kernel, f"{name}{field}", element, part)


def _slots(name: str, source: str, type: Type) -> Iterator[Slot]:
    match type:
        case ConstexprType():
            for held in type.held:
                yield from _slots(held.name, held.source, held.type)
        case TupleType(elements, python):
            fields = None if python is None else python._fields  # type: ignore[attr-defined]
            for i, element in enumerate(elements):
                yield from _slots(f"{name}.{fields[i]}" if fields else f"{name}[{i}]", f"{source}[{i}]", element)
        case _:
            yield Slot(name, source, type)


@dataclass(slots=True)
class Guards:
    """Tests, in Python, that hold for arguments with which the same specialisation is launched.

    ``prefix`` begins the names of ``objects`` in them. ``can_hold``: whether a call of these arguments can take the
    fast way at all.
    """

    prefix: str
    tests: list[str] = field(default_factory=list)
    objects: list[Any] = field(default_factory=list)
    can_hold: bool = True

    @property
    def key(self) -> tuple[object, ...]:
        """The same for guards that ask the same."""
        return (*self.tests, *map(id, self.objects))

    @property
    def scope(self) -> dict[str, Any]:
        """What the tests name."""
        return {f"{self.prefix}object{i}": value for i, value in enumerate(self.objects)}

    def named(self, value: Any) -> str:
        """The name of an object in the tests."""
        self.objects.append(value)
        return f"{self.prefix}object{len(self.objects) - 1}"

    def is_a(self, source: str, kind: type) -> str:
        """A test for the class of an argument. Why not `type` itself? A parameter may be called so."""
        return f"{self.prefix}type({source}) is {self.named(kind)}"


def guards_of(
    prefix: str, parameters: Sequence[tuple[str, Type | None]], types: Sequence[Type], given: Mapping[str, Any]
) -> Guards:
    """What holds for these arguments, and for others of the same types and constants."""
    guards = Guards(prefix)
    for (name, annotated), type in zip(parameters, types, strict=True):
        _guard(guards, name, annotated, type, given[name])
    return guards


def _guard(guards: Guards, source: str, annotated: Type | None, type: Type, value: Any) -> None:
    match type:
        case ArrayType() | PointerType():
            # The packer itself asks for the layout and the rank.
            guards.can_hold &= isinstance(value, DeviceArray)
        case StructType() if annotated is None or isinstance(annotated, GenericType):
            guards.tests.append(guards.is_a(source, value.__class__))
            guards.can_hold &= not isinstance(value, np.void)  # whose class says nothing of its fields
        case ScalarType() if annotated is None or isinstance(annotated, GenericType):
            _guard_number(guards, source, type, value)
        case TupleType(elements):
            guards.tests.append(
                f"{guards.is_a(source, value.__class__)} and {guards.prefix}len({source}) == {len(value)}"
            )
            known = annotated.elements if isinstance(annotated, TupleType) else (None,) * len(elements)
            for i, (said, element) in enumerate(zip(known, elements, strict=True)):
                _guard(guards, f"{source}[{i}]", said, element, value[i])
        case ConstexprType(element=None, form=None):
            _guard_function(guards, source, value)
        case ConstexprType():
            _guard_constant(guards, source, value)


def _guard_function(guards: Guards, source: str, function: Any) -> None:
    """What `callables` says that a function depends on."""
    for fact in facts_of("", source, function, infer_type):
        match fact:
            case Same(place, value):
                guards.tests.append(f"{place} is {guards.named(value)}")
            case Again(place, first):
                guards.tests.append(f"{place} is {first}")
            case Count(place, count):
                guards.tests.append(f"{guards.prefix}len({place}) == {count}")
            case Value(held, value):
                _guard(guards, held.source, None, held.type, value)


def _guard_number(guards: Guards, source: str, type: ScalarType, value: Any) -> None:
    """A number of the same class; a Python int that has the same type by itself."""
    guards.tests.append(guards.is_a(source, value.__class__))
    if isinstance(value, np.generic | float | bool) or type.is_float or infer_type("", source, value) != type:
        return
    match type.name:
        case "i32":
            guards.tests.append(f"{I32.minimum} <= {source} <= {I32.maximum}")
        case "i64":
            guards.tests.append(f"not {I32.minimum} <= {source} <= {I32.maximum} and {source} <= {I64.maximum}")
        case _:
            guards.tests.append(f"{source} > {I64.maximum}")


def _guard_constant(guards: Guards, source: str, value: Any) -> None:
    """An equal number of the same class, or the same object."""
    if value.__class__ is tuple:
        guards.tests.append(f"{guards.is_a(source, tuple)} and {guards.prefix}len({source}) == {len(value)}")
        for i, part in enumerate(value):
            _guard_constant(guards, f"{source}[{i}]", part)
    elif isinstance(value, int | np.integer) and value.__class__ is not bool:
        guards.tests.append(f"{guards.is_a(source, value.__class__)} and {source} == {int(value)}")
    elif value.__class__ is float:
        # It tells 0.0 from -0.0, and NaN is itself.
        guards.tests.append(f"{guards.is_a(source, float)} and {source}.hex() == {value.hex()!r}")
    else:
        guards.tests.append(f"{source} is {guards.named(value)}")
