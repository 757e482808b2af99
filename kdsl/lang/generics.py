"""Type variables in annotations, such as ``Ptr[T]``: what they are bound to, and which types they may be.

A template is a type that may hold TypeVars where it could hold types.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

import numpy as np

from kdsl.lang.types import BF16, ArrayType, Kind, PointerType, ScalarType, TupleType, Type, as_type

CLASS = type
FAMILIES: dict[Any, tuple[Kind, ...]] = {
    int: (Kind.SIGNED, Kind.UNSIGNED),
    float: (Kind.FLOAT,),
    bool: (Kind.BOOL,),
}
FAMILY_NAMES: dict[Any, str] = {int: "any int type", float: "any float type", bool: "bool"}


def variables(template: Any) -> Iterator[TypeVar]:
    """The TypeVars of a template, from left to right; one may come twice."""
    match template:
        case TypeVar():
            yield template
        case PointerType(element=inner) | ArrayType(element=inner):
            yield from variables(inner)
        case TupleType(elements=parts):
            for part in parts:
                yield from variables(part)


def substituted(template: Any, bound: Mapping[TypeVar, Type]) -> Any:
    """The template with types for those of its TypeVars that are bound."""
    match template:
        case TypeVar():
            return bound.get(template, template)
        case PointerType(element=inner) | ArrayType(element=inner):
            return replace(template, element=substituted(inner, bound))
        case TupleType(elements=parts):
            return replace(template, elements=tuple(substituted(part, bound) for part in parts))
        case _:
            return template


def matched(template: Any, type: Any, *, decays: bool = False) -> Iterator[tuple[TypeVar, Any]]:
    """What each TypeVar of a template is in a type; nothing where the two have different forms. ``decays``: an array
    is taken for a pointer to its elements.
    """
    match template, type:
        case TypeVar(), _:
            yield template, type
        case (PointerType(element=inner), PointerType(element=found)):
            yield from matched(inner, found, decays=decays)
        case (PointerType(element=inner), ArrayType(element=found)) if decays:
            yield from matched(inner, found, decays=decays)
        case (ArrayType(element=inner), ArrayType(element=found)):
            yield from matched(inner, found, decays=decays)
        case (TupleType(elements=parts), TupleType(elements=others)) if len(parts) == len(others):
            for part, other in zip(parts, others, strict=True):
                yield from matched(part, other, decays=decays)


def constraints(variable: TypeVar) -> tuple[Type, ...]:
    """The types that a TypeVar may be; empty if it names none. TypeError for what is no type."""
    return tuple(as_type(c) for c in variable.__constraints__)


def may_be(variable: TypeVar, type: Any) -> bool:
    """Whether a TypeVar may stand for a type."""
    if variable.__constraints__:
        return type in constraints(variable)
    return variable.__bound__ is None or is_a(type, variable.__bound__)


def is_a(type: Any, bound: Any) -> bool:
    """Whether a type is of a family: ``int``, ``float``, ``bool``, NumPy's abstract classes, one type, or a union.

    TypeError for what names no family.
    """
    if get_origin(bound) in (Union, UnionType):
        found = [is_a(type, part) for part in get_args(bound)]
        return any(found)
    if bound in (object, Any):
        return True
    if bound is tuple:
        return isinstance(type, TupleType)
    if not isinstance(bound, Type) and bound in FAMILIES:
        return isinstance(type, ScalarType) and type.kind in FAMILIES[bound]
    if isinstance(bound, CLASS) and issubclass(bound, np.generic) and bound.__subclasses__():
        # bf16 is no class of NumPy's own.
        of = np.float16 if type == BF16 else type.numpy.type if isinstance(type, ScalarType) else object
        return issubclass(of, bound)
    return bool(type == as_type(bound))


def restriction(variable: TypeVar) -> str:
    """In words, what a TypeVar may be. TypeError for a constraint or bound that is no type."""
    if variable.__constraints__:
        return " or ".join(map(str, constraints(variable)))
    return family(variable.__bound__)


def family(bound: Any) -> str:
    """In words, the types of a bound."""
    if bound is None:
        return "any type"
    if get_origin(bound) in (Union, UnionType):
        return " or ".join(family(part) for part in get_args(bound))
    is_a(None, bound)
    if not isinstance(bound, Type) and bound in FAMILY_NAMES:
        return FAMILY_NAMES[bound]
    return f"any {bound.__name__}" if hasattr(bound, "__name__") else str(as_type(bound))
