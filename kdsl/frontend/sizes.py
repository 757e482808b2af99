"""``size_of(T)`` and ``align_of(T)``: constants."""

from __future__ import annotations

import ast

from kdsl.frontend.arguments import match_arguments
from kdsl.frontend.frame import Frame
from kdsl.frontend.values import POISON, Poison, Runtime, Static, Value, Weak
from kdsl.lang.sizes import memory_type
from kdsl.lang.types import ArrayType


def size_of(frame: Frame, node: ast.Call) -> Value:
    """``size_of(dtype)``."""
    return _measured(frame, node, "size_of")


def align_of(frame: Frame, node: ast.Call) -> Value:
    """``align_of(dtype)``."""
    return _measured(frame, node, "align_of")


def _measured(frame: Frame, node: ast.Call, name: str) -> Value:
    found = match_arguments(frame, node, name, ("dtype",))
    if found is None:
        return POISON
    place = found["dtype"]
    value = frame.value(place)
    if isinstance(value, Poison):
        return POISON
    if not isinstance(value, Static):
        text = frame.text(place)
        is_array = isinstance(value, Runtime) and isinstance(value.type, ArrayType)
        hint = f"{name}({text}.dtype)" if is_array else f"{name}(type_of({text}))"
        return frame.error(place, f"{name}() takes a type, and this is a value", hint)
    try:
        type = memory_type(value.object, name)
    except TypeError as error:
        message, _, hint = str(error).partition("; of an array's elements: ")
        return frame.error(place, message, hint or None)
    return Weak(type.size if name == "size_of" else type.align)
