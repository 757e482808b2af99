"""Atomic read-modify-write on an element of a Ptr, Array, shared or local array (PTX ISA 9.0, 9.7.13.6).

Each returns the old value. Relaxed, and atomic for the whole GPU. ``index`` is an int, or a tuple for more dimensions.
"""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from typing import Any, TypeVar

from kdsl.lang.construct import construct
from kdsl.lang.types import Array, Ptr

T = TypeVar("T")
Index = int | tuple[int, ...]


@construct
def add(array: Ptr[T] | Array[T, Any], index: Index, value: T) -> T:
    """``array[index] += value``."""


@construct
def sub(array: Ptr[T] | Array[T, Any], index: Index, value: T) -> T:
    """``array[index] -= value``."""


@construct
def min(array: Ptr[T] | Array[T, Any], index: Index, value: T) -> T:
    """``array[index] = min(array[index], value)``."""


@construct
def max(array: Ptr[T] | Array[T, Any], index: Index, value: T) -> T:
    """``array[index] = max(array[index], value)``."""


@construct
def and_(array: Ptr[T] | Array[T, Any], index: Index, value: T) -> T:
    """``array[index] &= value``, of integers."""


@construct
def or_(array: Ptr[T] | Array[T, Any], index: Index, value: T) -> T:
    """``array[index] |= value``, of integers."""


@construct
def xor(array: Ptr[T] | Array[T, Any], index: Index, value: T) -> T:
    """``array[index] ^= value``, of integers."""


@construct
def exch(array: Ptr[T] | Array[T, Any], index: Index, value: T) -> T:
    """``array[index] = value``."""


@construct
def cas(array: Ptr[T] | Array[T, Any], index: Index, expected: T, new: T) -> T:
    """``if array[index] == expected: array[index] = new``. Floats are compared by their bits."""


@construct
def inc(array: Ptr[T] | Array[T, Any], index: Index, value: T) -> T:
    """``array[index] = 0 if array[index] >= value else array[index] + 1``, of u32."""


@construct
def dec(array: Ptr[T] | Array[T, Any], index: Index, value: T) -> T:
    """``array[index] = value if array[index] == 0 or array[index] > value else array[index] - 1``, of u32."""
