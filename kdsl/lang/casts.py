"""Casts that are not a type's name: ``f32(x)`` converts the value, ``bitcast(x, u32)`` keeps the bits."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from typing import Any, TypeVar

from kdsl.lang.construct import construct

T = TypeVar("T")


@construct
def bitcast(value: Any, dtype: type[T]) -> T:
    """The same bits as a ``dtype`` of the same size; a pointer as a pointer to another element type.

    A contiguous array becomes a pointer to its first element.
    """
