"""What `print` shows of tuples, vectors and structs: what Python shows of a tuple, a NamedTuple or a dataclass."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from kdsl.frontend.frame import Frame
from kdsl.frontend.memory import elements
from kdsl.frontend.values import Runtime, Static, Value, describe, type_of
from kdsl.ir import nodes as ir
from kdsl.lang.complex_type import ComplexType
from kdsl.lang.struct import OWNER
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import TupleType, VectorType

Shown = str | Value | tuple[Value, str]
"""A text, a value, or a value with the format that it is shown in."""
COMPLEX = re.compile(r"[+ ]?((?:\.\d+)?[eEfFgG])")
TEXTS = ("__format__", "__str__", "__repr__")


def shown(frame: Frame, value: Value, specification: str, node: ast.expr) -> list[Shown] | None:
    """Texts and the values between them; None (reported) for what cannot be printed, or not so."""
    if isinstance(value, Runtime) and isinstance(value.type, ComplexType):
        return _complex(frame, value.expr, value.type, specification, node)
    if isinstance(value, Runtime) and isinstance(value.type, StructType):
        return _struct(frame, value.expr, value.type, specification, node)
    parts = elements(frame, value, node)
    kind = type_of(value)
    if parts is None:
        frame.error(node, f"{describe(kind) if kind else 'this'} cannot be printed", "print its elements")
        return None
    if specification:
        is_vector = isinstance(kind, VectorType)
        hint = f"print its components: {{{frame.text(node)}.x:{specification}}}" if is_vector else "print its elements"
        frame.error(node, f"`{specification}` is no format for a {'vector' if is_vector else 'tuple'}", hint)
        return None
    python = kind.python if isinstance(kind, TupleType) else None
    if python is not None:
        return list(_named(python.__name__, python._fields, parts))  # type: ignore[attr-defined]
    return list(_row(parts))


def _struct(frame: Frame, expr: ir.Expr, type: StructType, specification: str, node: ast.expr) -> list[Shown] | None:
    text = frame.text(node)
    if specification:
        hint = f"print its fields: {{{text}.{type.fields[0].name}:{specification}}}"
        frame.error(node, f"`{specification}` is no format for a {type}", hint)
        return None
    own = next((name for name in TEXTS if hasattr(vars(type.python or object).get(name), OWNER)), None)
    if own is not None:
        hint = f"print its fields: {{{text}.{type.fields[0].name}}}"
        frame.error(node, f"{type} has a `{own}` of its own, which makes text, and a kernel makes none", hint)
        return None
    first, again = frame.once(expr, "printed")
    span = frame.span(node)
    parts = [Runtime(ir.FieldValue(again if i else first, i, f.type, span)) for i, f in enumerate(type.fields)]
    if type.python is None:
        return list(_row(tuple(parts)))  # as NumPy shows a record
    return list(_named(type.name, [f.name for f in type.fields], tuple(parts)))


def _complex(frame: Frame, expr: ir.Expr, type: ComplexType, specification: str, node: ast.expr) -> list[Shown] | None:
    """``(1.5-2j)``, and ``1.50-2.00j`` in the format ``.2f``."""
    found = COMPLEX.fullmatch(specification or "f")
    if found is None:
        hint = f"such as .3f, or print its parts: {{{frame.text(node)}.real:{specification}}}"
        frame.error(node, f"`{specification}` is no format for a {type}", hint)
        return None
    first, again = frame.once(expr, "printed")
    span = frame.span(node)
    real, imag = (Runtime(ir.FieldValue(e, i, type.component, span)) for i, e in enumerate((first, again)))
    parts: list[Shown] = [(real, specification), (imag, f"+{found[1]}"), "j"]
    return parts if specification else ["(", *parts, ")"]


def _row(parts: tuple[Value, ...]) -> Iterator[Shown]:
    """``(a, b)``, ``(a,)``."""
    yield "("
    for i, part in enumerate(parts):
        yield from (", ",) if i else ()
        yield _quoted(part)
    yield ",)" if len(parts) == 1 else ")"


def _named(name: str, fields: list[str] | tuple[str, ...], parts: tuple[Value, ...]) -> Iterator[Shown]:
    """``Name(a=1, b=2)``."""
    yield f"{name}("
    for i, (field, part) in enumerate(zip(fields, parts, strict=True)):
        yield f"{', ' if i else ''}{field}="
        yield _quoted(part)
    yield ")"


def _quoted(part: Value) -> Value:
    """A string inside of something else, as Python shows it there."""
    return Static(repr(part.object)) if isinstance(part, Static) and isinstance(part.object, str) else part
