"""The message of an `assert`: text, and an f-string whose values the device records and the host formats.

So every format specification of Python's is exact. The values are evaluated where the assertion fails, and only there.
"""

from __future__ import annotations

import ast
from dataclasses import field

from kdsl.frontend.describing import describe_object
from kdsl.frontend.frame import Frame
from kdsl.frontend.printing import constant_text, is_holdable, specification
from kdsl.frontend.values import Poison, Runtime, Static, Tuple, Value, Weak, WeakChoice, describe, type_of
from kdsl.frontend.views import same
from kdsl.ir import nodes as ir
from kdsl.lang.types import Kind, PointerType, ScalarType
from kdsl.records import dataclass

MOST_VALUES = 16
"""As many as the record of a failed check holds (see `kdsl.checks`)."""


@dataclass
class Message:
    """``text`` as the device knows it, with the source of each value in braces; ``template`` for ``str.format``."""

    text: str = ""
    template: str = ""
    values: list[ir.Expr] = field(default_factory=list)

    def literal(self, text: str) -> None:
        self.text += text
        self.template += text.replace("{", "{{").replace("}", "}}")

    def place_of(self, value: ir.Expr) -> int:
        """Where a value is recorded: one that is shown twice once."""
        for place, known in enumerate(self.values):
            if same(known, value):
                return place
        self.values.append(value)
        return len(self.values) - 1


def message(frame: Frame, node: ast.expr) -> Message | None:
    """What an assert says; None (reported) if it cannot."""
    made = Message()
    if not isinstance(node, ast.JoinedStr):
        text = constant_text(frame, node, hint='an f-string shows values: f"{x}"')
        if text is None:
            return None
        made.literal(text)
        return made
    ok = True
    for part in node.values:
        ok &= _part(frame, made, part)
    if ok and len(made.values) > MOST_VALUES:
        frame.error(node, f"the message of an assert shows {MOST_VALUES} values at most", "print() shows more")
        return None
    return made if ok and is_holdable(frame, made.text, node) else None


def _part(frame: Frame, made: Message, part: ast.expr) -> bool:
    if isinstance(part, ast.Constant):
        made.literal(str(part.value))
        return True
    assert isinstance(part, ast.FormattedValue)
    spec = specification(frame, part)
    if spec is None:
        return False
    conversion = chr(part.conversion) if part.conversion > 0 else ""
    return _value(frame, made, frame.value(part.value), spec, conversion, part.value)


def _value(frame: Frame, made: Message, value: Value, spec: str, conversion: str, node: ast.expr) -> bool:
    match value:
        case Poison():
            return False
        case Weak(known) | Static(str() as known) | Runtime(ir.Const(known)):
            shown = ascii(known) if conversion == "a" else repr(known) if conversion == "r" else known
            text = _formatted(frame, shown, spec, node)
            made.literal(text or "")
            return text is not None
        case WeakChoice():
            expr = frame.runtime(value, node)
            return expr is not None and _value(frame, made, Runtime(expr), spec, conversion, node)
        case Tuple(parts) if not spec:
            return _tuple(frame, made, parts, node)
        case Runtime(expr) if isinstance(expr.type, ScalarType | PointerType):
            if _formatted(frame, _sample(expr.type, conversion), spec, node) is None:
                return False
            made.text += f"{{{frame.text(node)}}}"
            # str() of an f32 has no more digits than it needs; it is its repr(), which of NumPy's would name the type.
            place = made.place_of(expr)
            made.template += f"{{{place}{'!s' if conversion or not spec else ''}{':' + spec if spec else ''}}}"
            return True
        case Static(object):
            frame.error(node, f"{describe_object(object, frame.text(node))} cannot be shown in a message")
            return False
    kind = type_of(value)
    what = describe(kind) if kind is not None else "this"
    frame.error(node, f"{what} cannot be shown in a message", "show its elements")
    return False


def _tuple(frame: Frame, made: Message, parts: tuple[Value, ...], node: ast.expr) -> bool:
    made.literal("(")
    ok = True
    for i, part in enumerate(parts):
        made.literal(", " if i else "")
        ok &= _value(frame, made, part, "", "r", node)
    made.literal(",)" if len(parts) == 1 else ")")
    return ok


def _sample(type: ScalarType | PointerType, conversion: str) -> object:
    """A value of the kind that the host will format."""
    if conversion or isinstance(type, PointerType):
        return ""
    return True if type.kind is Kind.BOOL else 1.0 if type.is_float else 1


def _formatted(frame: Frame, value: object, spec: str, node: ast.expr) -> str | None:
    try:
        return f"{value:{spec}}"
    except ValueError as error:
        frame.error(node, f"`{spec}` is no format for this: {error}")
        return None
