"""NamedTuple classes as types: a tuple whose elements have names."""

from __future__ import annotations

import sys
from typing import Any, TypeGuard

from kdsl.lang.types import TupleType, Type, as_type


def is_named_tuple(value: Any) -> TypeGuard[type]:
    """Whether this is a class made by NamedTuple or namedtuple."""
    return isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields")


def field_types(named: Any) -> dict[str, Type | None]:
    """The type of each field; None where its annotation says none. TypeError for one that is no type."""
    noted = getattr(named, "__annotations__", {})
    return {name: _annotated(named, name, noted.get(name)) for name in named._fields}


def _annotated(named: Any, name: str, annotation: Any) -> Type | None:
    if annotation is None:
        return None
    text = getattr(annotation, "__forward_arg__", annotation)
    try:
        if isinstance(text, str):
            annotation = eval(text, vars(sys.modules[named.__module__]))
        return as_type(annotation)
    except (NameError, TypeError, SyntaxError, AttributeError, LookupError) as error:
        raise TypeError(f"field `{name}` of {named.__name__} is no type of the kernel language: {error}") from None


def named_tuple_type(named: Any) -> TupleType:
    """The type of a NamedTuple's values. TypeError if a field has no annotation, or one that is no type."""
    types = field_types(named)
    missing = next((name for name, type in types.items() if type is None), None)
    if missing is not None:
        raise TypeError(f"field `{missing}` of {named.__name__} has no type")
    return TupleType(tuple(t for t in types.values() if t is not None), named)
