"""What moves between lanes: scalars, which the stubs list, and here vectors, and tuples and structs of both."""

from __future__ import annotations

from kdsl.frontend.values import Tuple, Value, defaulted, type_of
from kdsl.lang.intrinsic import Emit, Intrinsic
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import Kind, ScalarType, TupleType, Type, VectorType

SHUFFLE = Emit("shuffle")


def moved_whole(intrinsic: Intrinsic, value: Value) -> Type | None:
    """The type of a value that moves though the stubs do not list it; None for others, and for what does not move."""
    if intrinsic.lowering != SHUFFLE:
        return None
    found = type_of(value)
    if isinstance(value, Tuple) and found is not None:
        found = defaulted(found)
    if isinstance(found, ScalarType) and found.kind is Kind.FLOAT8:
        return found  # no constraint of the stubs' TypeVars
    return found if isinstance(found, VectorType | TupleType | StructType) and is_movable(found) else None


def is_movable(type: Type) -> bool:
    """Whether a value has nothing but numbers in it, and at least one."""
    if isinstance(type, TupleType):
        return bool(type.elements) and all(map(is_movable, type.elements))
    if isinstance(type, StructType):
        return all(is_movable(field.type) for field in type.fields)
    return isinstance(type, ScalarType | VectorType)
