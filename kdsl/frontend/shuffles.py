"""What moves between lanes: scalars, which the stubs list, and here vectors and tuples of scalars and vectors."""

from __future__ import annotations

from kdsl.frontend.values import Tuple, Value, defaulted, type_of
from kdsl.lang.intrinsic import Emit, Intrinsic
from kdsl.lang.types import ScalarType, TupleType, Type, VectorType

SHUFFLE = Emit("shuffle")


def moved_whole(intrinsic: Intrinsic, value: Value) -> Type | None:
    """The type of a value that a shuffle moves that is no scalar; None for a scalar, or for what does not move."""
    if intrinsic.lowering != SHUFFLE:
        return None
    found = type_of(value)
    if isinstance(value, Tuple) and found is not None:
        found = defaulted(found)
    return found if isinstance(found, VectorType | TupleType) and is_movable(found) else None


def is_movable(type: Type) -> bool:
    """Whether a value has nothing but numbers in it, and at least one."""
    if isinstance(type, TupleType):
        return bool(type.elements) and all(map(is_movable, type.elements))
    return isinstance(type, ScalarType | VectorType)
