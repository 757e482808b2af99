"""What a ``Constexpr`` parameter is compiled for: numbers, tuples, types, enum members, strings, None."""

from __future__ import annotations

from typing import Any

from kdsl.lang.parameter_types import ConstexprType
from kdsl.lang.types import Type, as_type
from kdsl.runtime.errors import ArgumentTypeError
from kdsl.runtime.scalars import constant, shown


def constant_type(where: str, type: ConstexprType, value: Any) -> ConstexprType:
    """The type with a value, which is none of a function; ArgumentError for one that it does not take."""
    if value is None and type.optional:
        return type.bound(None, "None")
    if type.element is not None:
        number = constant(where, type, value)
        return type.bound(number, repr(number))
    form = type.form
    if isinstance(form, tuple):
        return _tuple(where, type, form, value)
    if form is str and isinstance(value, str):
        return type.bound(value, value)
    if form is Type:
        try:
            found = as_type(value if value is not None else ...)
        except (TypeError, ValueError):
            raise ArgumentTypeError(f"{where} takes a type such as f32 or np.float32, got {shown(value)}") from None
        return type.bound(found, found)
    if form is str:
        raise ArgumentTypeError(f"{where} takes a string, got {shown(value)}")
    if not isinstance(value, form):
        members = ", ".join(str(member) for member in list(form)[:4])
        raise ArgumentTypeError(f"{where} takes a member of {form.__name__} ({members}), got {shown(value)}")
    return type.bound(value, (form, value.name, value.value))


def _tuple(where: str, type: ConstexprType, form: tuple[Any, ...], value: Any) -> ConstexprType:
    if not isinstance(value, tuple):
        raise ArgumentTypeError(f"{where} takes a tuple, got {shown(value)}")
    parts = (form[0],) * len(value) if form[1:] == (...,) else form
    if len(parts) != len(value):
        raise ArgumentTypeError(f"{where} takes a tuple of {len(parts)}, got one of {len(value)}")
    bound = tuple(constant_type(_part(where, i), p, v) for i, (p, v) in enumerate(zip(parts, value, strict=True)))
    return type.bound(bound, tuple(b.key for b in bound))


def _part(where: str, index: int) -> str:
    """``k: argument `shape[1]` ``."""
    return f"{where[:-1]}[{index}]`"
