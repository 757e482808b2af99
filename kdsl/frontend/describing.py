"""How errors name values, their types, and Python objects."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from kdsl.frontend.callees import BoundMethod
from kdsl.frontend.values import Static, Value, describe, type_of
from kdsl.lang.index import Registers
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import ScalarType, VectorType

if TYPE_CHECKING:
    from kdsl.frontend.frame import Frame


def shown(frame: Frame, value: Value, place: ast.expr) -> str:
    """A value where another is wanted, by what is wrong with it: the object that it is, or else its type."""
    return describe_object(value.object, frame.text(place)) if isinstance(value, Static) else named(type_of(value))


def named(type: object) -> str:
    """A type in an error, where None is what is not a value at all."""
    return "this" if type is None else describe(type)  # type: ignore[arg-type]


def describe_object(value: Any, text: str) -> str:
    """A Python object as an error names it."""
    kind = type(value).__name__
    article = "an" if kind[0] in "aeiouAEIOU" else "a"
    if isinstance(value, str):
        return f"the string {value!r}"
    if value is None:
        return "None"
    if kind in ("function", "NestedFunction", "builtin_function_or_method", "Intrinsic", "Construct", "GroupMethod"):
        return f"the function `{text}`"
    if isinstance(value, BoundMethod):
        return f"the method `{text}`"
    if isinstance(value, Registers):
        return f"`{text}`"
    if kind == "ndarray":
        return f"`{text}` (a NumPy array of the host)"
    if kind == "module":
        return f"the module `{text}`"
    if isinstance(value, ScalarType | VectorType | StructType | type):
        return f"the type `{text}`"
    return f"`{text}` ({article} {kind} of the host)"
