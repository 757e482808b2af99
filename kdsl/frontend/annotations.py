"""Annotations of local variables as types."""

from __future__ import annotations

import ast

from kdsl.annotations import ACCEPTED, annotated_type
from kdsl.frontend.frame import Frame
from kdsl.frontend.values import Poison, Static
from kdsl.lang.fixed_array import FixedArrayType
from kdsl.lang.parameter_types import ConstexprType, GenericType
from kdsl.lang.types import VOID, Type


def local_annotation(frame: Frame, node: ast.expr, *, is_result: bool = False) -> Type | None:
    """The type that a variable (or a nested function's result) is annotated with; None (reported) if it is none."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _quoted(frame, node, node.value, is_result)
    value = frame.value(node)
    if isinstance(value, Poison):
        return None
    try:
        if isinstance(value, Static):
            type = annotated_type(value.object)
            if isinstance(type, ConstexprType):
                hint = "leave the annotation out: a name that is bound once to a constant is that constant"
                frame.error(node, "only a parameter of a kernel or plain function is a Constexpr", hint)
                return None
            if isinstance(type, GenericType):
                bound = frame.without_variables(type.template, node)
                return bound.object if isinstance(bound, Static) else None
            if type != VOID or is_result:
                return type
    except (TypeError, ValueError):
        pass
    if isinstance(value, Static) and isinstance(value.object, FixedArrayType):
        frame.error(node, f"only a field of a struct is a {value.object}", "leave the annotation out")
        return None
    frame.error(node, f"`{frame.text(node)}` is no type of the kernel language", f"write {ACCEPTED}")
    return None


def _quoted(frame: Frame, node: ast.Constant, text: str, is_result: bool) -> Type | None:
    try:
        inner = ast.parse(text, mode="eval").body
    except SyntaxError:
        frame.error(node, f"`{text}` is no type of the kernel language", f"write {ACCEPTED}")
        return None
    for part in ast.walk(inner):
        ast.copy_location(part, node)
    return local_annotation(frame, inner, is_result=is_result)
