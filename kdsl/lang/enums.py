"""`IntEnum` and `IntFlag` classes as types: a member is stored as its number, an i32."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

from kdsl.lang.types import I32, ScalarType


def enum_type(annotation: Any) -> ScalarType | None:
    """i32 for a class of named ints, None for anything else. TypeError if a member does not fit."""
    if not isinstance(annotation, enum.EnumMeta) or int not in annotation.__mro__:
        return None
    members: Mapping[str, Any] = annotation.__members__
    for name, member in members.items():
        if not I32.minimum <= member.value <= I32.maximum:
            number = f"{annotation.__name__}.{name} = {member.value}"
            raise TypeError(f"{number} does not fit into an i32: annotate it with a scalar type that holds it")
    return I32
