"""Atomic accesses to an element of a Ptr, Array, shared or local array (PTX ISA 9.0, 9.7.13.6).

``index`` is an int, or a tuple for more dimensions. A read-modify-write returns the old value. ``order`` and ``scope``
are constants: what else the access orders, in C++'s words, and the threads among which it is atomic.

``order`` is ``"relaxed"``, ``"acquire"`` (not of a store), ``"release"`` (not of a load), ``"acq_rel"`` (of a
read-modify-write) or ``"seq_cst"``; ``scope`` is ``"block"``, ``"cluster"`` (from sm_90), ``"gpu"`` or ``"system"``.
"""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from typing import Any, Literal, TypeVar, overload

from kdsl.lang.construct import construct
from kdsl.lang.type_names import Array, Ptr

T = TypeVar("T")
Index = int | tuple[int, ...]
Order = Literal["relaxed", "acquire", "release", "acq_rel", "seq_cst"]
LoadOrder = Literal["relaxed", "acquire", "seq_cst"]
StoreOrder = Literal["relaxed", "release", "seq_cst"]
Scope = Literal["block", "cluster", "gpu", "system"]


@construct
def add(array: Ptr[T] | Array[T, Any], index: Index, value: T, *, order: Order = "relaxed", scope: Scope = "gpu") -> T:
    """``array[index] += value``. Of an f16x2, f32x4 and their like each element is added atomically by itself."""


@construct
def sub(array: Ptr[T] | Array[T, Any], index: Index, value: T, *, order: Order = "relaxed", scope: Scope = "gpu") -> T:
    """``array[index] -= value``."""


@construct
def min(array: Ptr[T] | Array[T, Any], index: Index, value: T, *, order: Order = "relaxed", scope: Scope = "gpu") -> T:
    """``array[index] = min(array[index], value)``."""


@construct
def max(array: Ptr[T] | Array[T, Any], index: Index, value: T, *, order: Order = "relaxed", scope: Scope = "gpu") -> T:
    """``array[index] = max(array[index], value)``."""


@construct
def and_(array: Ptr[T] | Array[T, Any], index: Index, value: T, *, order: Order = "relaxed", scope: Scope = "gpu") -> T:
    """``array[index] &= value``, of integers."""


@construct
def or_(array: Ptr[T] | Array[T, Any], index: Index, value: T, *, order: Order = "relaxed", scope: Scope = "gpu") -> T:
    """``array[index] |= value``, of integers."""


@construct
def xor(array: Ptr[T] | Array[T, Any], index: Index, value: T, *, order: Order = "relaxed", scope: Scope = "gpu") -> T:
    """``array[index] ^= value``, of integers."""


@construct
def exch(array: Ptr[T] | Array[T, Any], index: Index, value: T, *, order: Order = "relaxed", scope: Scope = "gpu") -> T:
    """``array[index] = value``."""


@construct
def cas(
    array: Ptr[T] | Array[T, Any], index: Index, expected: T, new: T, *, order: Order = "relaxed", scope: Scope = "gpu"
) -> T:
    """``if array[index] == expected: array[index] = new``. Floats are compared by their bits."""


@construct
def inc(array: Ptr[T] | Array[T, Any], index: Index, value: T, *, order: Order = "relaxed", scope: Scope = "gpu") -> T:
    """``array[index] = 0 if array[index] >= value else array[index] + 1``, of u32."""


@construct
def dec(array: Ptr[T] | Array[T, Any], index: Index, value: T, *, order: Order = "relaxed", scope: Scope = "gpu") -> T:
    """``array[index] = value if array[index] == 0 or array[index] > value else array[index] - 1``, of u32."""


@overload
def load(array: Ptr[T], index: int, *, order: LoadOrder = "relaxed", scope: Scope = "gpu") -> T: ...
@overload
def load(array: Array[Any, Any], index: Index, *, order: LoadOrder = "relaxed", scope: Scope = "gpu") -> Any: ...
@construct
def load(array: Any, index: Any, *, order: LoadOrder = "relaxed", scope: Scope = "gpu") -> Any:
    """``array[index]``, read at once as one value that some thread wrote; it is read each time."""


@construct
def store(
    array: Ptr[T] | Array[T, Any],
    index: Index,
    value: T,
    *,
    order: StoreOrder = "relaxed",
    scope: Scope = "gpu",
) -> None:
    """``array[index] = value``, written at once. A statement of its own."""
