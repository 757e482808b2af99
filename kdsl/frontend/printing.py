"""`print`, with f-strings and format specifications, as a format of vprintf's.

Floats print as ``%f`` where no specification says otherwise; constants print as Python prints them. What vprintf cannot do
(centring, fill characters, thousands separators, binary) is refused.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

from kdsl.frontend.arguments import plain_arguments
from kdsl.frontend.frame import Frame, describe_object
from kdsl.frontend.meet import cast
from kdsl.frontend.memory import elements
from kdsl.frontend.values import POISON, Poison, Runtime, Static, Tuple, Value, Weak, WeakChoice, describe
from kdsl.ir import nodes as ir
from kdsl.lang.types import F64, I32, I64, U32, U64, Kind, PointerType, ScalarType

SPECIFICATION = re.compile(
    r"(?P<align>[<>])?(?P<sign>[-+ ])?(?P<alternate>#)?(?P<zero>0)?(?P<width>\d+)?(?:\.(?P<precision>\d+))?(?P<type>[a-zA-Z])?"
)
FLOAT_TYPES = "feEgGF"


@dataclass
class Format:
    """A vprintf format while it is put together."""

    text: str = ""
    arguments: list[ir.Expr] = field(default_factory=list)

    def literal(self, text: str) -> None:
        self.text += text.replace("%", "%%")


def print_(frame: Frame, node: ast.Call) -> Value:
    """``print(*values, sep=" ", end="\\n")``, as a statement."""
    if frame.printed is not node:
        return frame.error(node, "print() is a statement of its own in a kernel")
    if not plain_arguments(frame, node):
        return POISON
    separator, end = " ", "\n"
    for keyword in node.keywords:
        if keyword.arg not in ("sep", "end"):
            return frame.error(keyword, f"print() takes no `{keyword.arg}` in a kernel", "it prints to the standard output")
        text = constant_text(frame, keyword.value)
        if text is None:
            return POISON
        separator, end = (text, end) if keyword.arg == "sep" else (separator, text)
    format = Format()
    ok = True
    for i, argument in enumerate(node.args):
        if i:
            format.literal(separator)
        ok &= _print_value(frame, format, argument)
    format.literal(end)
    if ok and not frame.quiet:
        frame.emit(ir.Print(format.text, tuple(format.arguments), frame.span(node)))
    return Static(None)


def _print_value(frame: Frame, format: Format, node: ast.expr) -> bool:
    if isinstance(node, ast.JoinedStr):
        return all([_print_part(frame, format, part) for part in node.values])
    return _formatted(frame, format, frame.value(node), "", node, node)


def _print_part(frame: Frame, format: Format, part: ast.expr) -> bool:
    if isinstance(part, ast.Constant):
        format.literal(str(part.value))
        return True
    assert isinstance(part, ast.FormattedValue)
    if part.conversion == ord("a"):
        frame.error(part.value, "print() has no !a in a kernel")
        return False
    specification = ""
    if part.format_spec is not None:
        text = constant_text(frame, part.format_spec)
        if text is None:
            return False
        specification = text
    return _formatted(frame, format, frame.value(part.value), specification, part.value, part.value)


def _formatted(
    frame: Frame, format: Format, value: Value, specification: str, node: ast.expr, place: ast.expr
) -> bool:
    match value:
        case Poison():
            return False
        case Weak() | Static(str()) | Runtime(ir.Const()):
            return _constant(frame, format, value, specification, node)
        case Static(object):
            frame.error(node, f"{describe_object(object, frame.text(node))} cannot be printed in a kernel")
            return False
        case WeakChoice():
            expr = frame.runtime(value, node)
            return expr is not None and _runtime(frame, format, expr, specification, node)
        case Runtime(expr) if isinstance(expr.type, ScalarType | PointerType):
            return _runtime(frame, format, expr, specification, node)
    parts = elements(frame, value, node)
    if parts is None or specification:
        kind = describe(value.type) if isinstance(value, Runtime) else "this"
        frame.error(node, f"{kind} cannot be printed", "print its elements")
        return False
    return _tuple(frame, format, Tuple(parts), node, place)


def _tuple(frame: Frame, format: Format, value: Tuple, node: ast.expr, place: ast.expr) -> bool:
    format.literal("(")
    ok = True
    for i, part in enumerate(value.elements):
        if i:
            format.literal(", ")
        ok &= _formatted(frame, format, part, "", node, place)
    format.literal(",)" if len(value.elements) == 1 else ")")
    return ok


def _constant(frame: Frame, format: Format, value: Value, specification: str, node: ast.expr) -> bool:
    """A constant, formatted by Python."""
    known = value.value if isinstance(value, Weak) else value.object if isinstance(value, Static) else value.expr.value  # type: ignore[union-attr]
    try:
        format.literal(f"{known:{specification}}")
    except ValueError as error:
        frame.error(node, f"`{specification}` is no format for this: {error}")
        return False
    return True


def _runtime(frame: Frame, format: Format, expr: ir.Expr, specification: str, node: ast.expr) -> bool:
    conversion, promoted = _conversion(frame, expr.type, specification, node) or (None, None)
    if conversion is None:
        return False
    format.text += conversion
    if isinstance(promoted, ScalarType):
        expr = cast(expr, promoted, frame.span(node))
    format.arguments.append(expr)
    return True


def _conversion(
    frame: Frame, type: object, specification: str, node: ast.expr
) -> tuple[str, ScalarType | None] | None:
    """vprintf's conversion for a value of a type, and the type that it is passed as; None (reported) if there is none."""
    if isinstance(type, PointerType):
        return ("%p", None) if not specification else _refused(frame, specification, "a pointer", node)
    assert isinstance(type, ScalarType)
    found = SPECIFICATION.fullmatch(specification)
    if found is None:
        return _refused(frame, specification, str(type), node)
    kind = found["type"] or ""
    flags = ("-" if found["align"] == "<" else "") + (found["sign"] or "").strip("-") + (found["alternate"] or "")
    flags += (found["zero"] or "") if found["align"] != "<" else ""
    width = found["width"] or ""
    if type.kind is Kind.BOOL:
        if not specification:
            return "%s", None
        return _integer(frame, I32, flags, width, found["precision"], kind, specification, node) if kind else _refused(frame, specification, "a bool", node)
    if type.is_float or kind in tuple(FLOAT_TYPES):
        return _float(frame, type, flags, width, found["precision"], kind, specification, node)
    return _integer(frame, type, flags, width, found["precision"], kind, specification, node)


def _float(
    frame: Frame, type: ScalarType, flags: str, width: str, precision: str | None, kind: str, specification: str, node: ast.expr
) -> tuple[str, ScalarType | None] | None:
    if kind not in (*FLOAT_TYPES, ""):
        return _refused(frame, specification, str(type), node)
    if not kind and precision is not None:
        # Python's general format, which prints 1.0 where %g prints 1.
        frame.error(node, f"`{specification}` is no format of vprintf's", f"write .{precision}g or .{precision}f")
        return None
    return f"%{flags}{width}{'.' + precision if precision is not None else ''}{kind or 'f'}", F64


def _integer(
    frame: Frame, type: ScalarType, flags: str, width: str, precision: str | None, kind: str, specification: str, node: ast.expr
) -> tuple[str, ScalarType | None] | None:
    if kind not in ("", "d", "x", "X", "o") or precision is not None:
        return _refused(frame, specification, str(type), node)
    if kind in ("x", "X", "o"):
        if type.is_signed:
            # Python prints the sign of a negative number, vprintf its two's complement.
            unsigned = f"u{max(type.bits, 32)}"
            frame.error(node, f"`{specification}` takes unsigned ints on the device, and this is {type}", f"cast it: {unsigned}({frame.text(node)})")
            return None
        if "#" in flags and kind == "o":
            return _refused(frame, specification, str(type), node)
    elif "#" in flags:
        return _refused(frame, specification, str(type), node)
    wide = type.bits == 64
    passed = (I64 if wide else I32) if type.is_signed else (U64 if wide else U32)
    letter = kind if kind in ("x", "X", "o") else "d" if type.is_signed else "u"
    return f"%{flags}{width}{'ll' if wide else ''}{letter}", passed


def _refused(frame: Frame, specification: str, what: str, node: ast.expr) -> None:
    frame.error(node, f"vprintf has no format `{specification}` for {what}")


def constant_text(frame: Frame, node: ast.expr) -> str | None:
    """A string that is known while the kernel is compiled; None (reported) if it is not."""
    if isinstance(node, ast.JoinedStr):
        parts = [_constant_part(frame, part) for part in node.values]
        return None if None in parts else "".join(p for p in parts if p is not None)
    value = frame.value(node)
    match value:
        case Static(str() as text):
            return text
        case Weak() | Runtime(ir.Const()):
            made = Format()
            return made.text.replace("%%", "%") if _constant(frame, made, value, "", node) else None
        case Poison():
            return None
    frame.error(node, "this text is constant: it may hold no values of the device", "print() shows values")
    return None


def _constant_part(frame: Frame, part: ast.expr) -> str | None:
    return constant_text(frame, part.value if isinstance(part, ast.FormattedValue) else part)
