"""`print`, with f-strings and format specifications, as a format of vprintf's.

Floats print as ``%f`` where no specification says otherwise; constants print as Python prints them. What vprintf cannot
do (centring, fill characters, thousands separators, binary) is refused.
"""

from __future__ import annotations

import ast
import re
from dataclasses import field

from kdsl.frontend import composites
from kdsl.frontend.arguments import plain_arguments
from kdsl.frontend.describing import describe_object
from kdsl.frontend.frame import Frame
from kdsl.frontend.meet import cast
from kdsl.frontend.values import POISON, Poison, Range, Runtime, Static, Value, Weak, WeakChoice
from kdsl.ir import nodes as ir
from kdsl.lang.types import F64, I32, I64, U32, U64, Kind, PointerType, ScalarType
from kdsl.records import dataclass

SPECIFICATION = re.compile(
    r"(?P<align>[<>])?(?P<sign>[-+ ])?(?P<alternate>#)?(?P<zero>0)?"
    r"(?P<width>\d{1,4})?(?:\.(?P<precision>\d{1,4}))?(?P<type>[a-zA-Z%])?"
)
# Of the text that !r and !s make.
TEXT = re.compile(r"[<>]?[1-9]\d{0,3}")
TOO_WIDE = re.compile(r"[1-9]\d{4}")
FLOAT_TYPES = ("f", "F", "e", "E", "g", "G")


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
        return frame.error(node, "print() is a statement of its own in a kernel", "write it on a line of its own")
    if not plain_arguments(frame, node):
        return POISON
    separator, end = " ", "\n"
    for keyword in node.keywords:
        if keyword.arg not in ("sep", "end"):
            return frame.error(
                keyword, f"print() takes no `{keyword.arg}` in a kernel", "it prints to the standard output"
            )
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
    ok = ok and is_holdable(frame, format.text, node)
    if ok and not frame.quiet:
        frame.emit(ir.Print(format.text, tuple(format.arguments), frame.span(node)))
    return Static(None)


def _print_value(frame: Frame, format: Format, node: ast.expr) -> bool:
    if isinstance(node, ast.JoinedStr):
        ok = True
        for part in node.values:
            ok &= _print_part(frame, format, part)
        return ok
    return _formatted(frame, format, frame.value(node), "", node, node)


def _print_part(frame: Frame, format: Format, part: ast.expr) -> bool:
    if isinstance(part, ast.Constant):
        format.literal(str(part.value))
        return True
    assert isinstance(part, ast.FormattedValue)
    if part.conversion == ord("a"):
        frame.error(part.value, "print() has no !a in a kernel")
        return False
    spec = specification(frame, part)
    if spec is None:
        return False
    value = frame.value(part.value)
    if part.conversion in (ord("r"), ord("s")):
        return _print_text(frame, format, value, spec, chr(part.conversion), part.value)
    return _formatted(frame, format, value, spec, part.value, part.value)


def specification(frame: Frame, part: ast.FormattedValue) -> str | None:
    """What stands behind the colon; None (reported) if it is not known while the kernel is compiled."""
    if part.format_spec is None:
        return ""
    hint = "the width or precision is a number, or a name that is bound once to one"
    text = constant_text(frame, part.format_spec, "a format specification is constant in a kernel", hint)
    if text is not None and TOO_WIDE.search(text):
        frame.error(part.value, f"`{text}` makes a text of more than 9999 characters")
        return None
    return text


def _print_text(
    frame: Frame, format: Format, value: Value, specification: str, conversion: str, node: ast.expr
) -> bool:
    """``{value!r}`` and ``{value!s}``: Python formats the text that they make, which stands at the left."""
    match value:
        case Weak(known) | Static(str() as known) | Runtime(ir.Const(known)):
            text = repr(known) if conversion == "r" else str(known)
            return _constant(frame, format, Static(text), specification, node)
    if specification and not TEXT.fullmatch(specification):
        frame.error(node, f"vprintf has no format `{specification}` for text, which !{conversion} makes")
        return False
    left = "<" if specification[:1].isdigit() else ""
    return _formatted(frame, format, value, left + specification, node, node)


def _formatted(frame: Frame, format: Format, value: Value, specification: str, node: ast.expr, place: ast.expr) -> bool:
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
            return expr is not None and _formatted(frame, format, Runtime(expr), specification, node, place)
        case Runtime(expr) if isinstance(expr.type, ScalarType | PointerType):
            return _runtime(frame, format, expr, specification, node)
    if isinstance(value, Range):
        frame.error(node, "a range is only for a `for` loop", "for i in range(n)")
        return False
    parts = composites.shown(frame, value, specification, node)
    ok = parts is not None
    for part in parts or ():
        if isinstance(part, str):
            format.literal(part)
        elif isinstance(part, tuple):
            ok &= _formatted(frame, format, part[0], part[1], node, place)
        else:
            ok &= _formatted(frame, format, part, "", node, place)
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
    type = expr.type
    assert isinstance(type, ScalarType | PointerType)
    try:
        conversion, promoted = _conversion(type, specification)
    except NoFormat as error:
        hint = error.hint.format(text=frame.text(node)) if error.hint else None
        frame.error(node, str(error), hint)
        return False
    format.text += conversion
    argument = expr if promoted is None else cast(expr, promoted, frame.span(node))
    if specification.endswith("%"):
        hundred = ir.Const(100.0, F64, frame.span(node))
        argument = ir.Binary(ir.BinaryOp.MUL, argument, hundred, F64, frame.span(node))
    format.arguments.append(argument)
    return True


class NoFormat(Exception):
    """vprintf cannot print a value as a specification says."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


def _conversion(type: ScalarType | PointerType, specification: str) -> tuple[str, ScalarType | None]:
    """vprintf's conversion for a value of a type, and the type that it is passed as (None: its own)."""
    if isinstance(type, PointerType):
        if specification:
            raise NoFormat(f"vprintf has no format `{specification}` for a pointer")
        return "%p", None
    if type.is_float8:
        raise NoFormat(f"print() does not take {type}, which is only stored: convert it with f32(...)")
    if type.kind is Kind.BOOL and not specification:
        return "%s", None
    found = SPECIFICATION.fullmatch(specification)
    if found is None or (type.kind is Kind.BOOL and not found["type"]):
        raise NoFormat(f"vprintf has no format `{specification}` for {type}")
    if found["type"] == "%":
        return _percent(found), F64
    if type.is_float or (found["type"] or "") in FLOAT_TYPES:
        return _float(found, type), F64
    return _integer(found, I32 if type.kind is Kind.BOOL else type)


def _flags(found: re.Match[str]) -> str:
    """Flags and width as vprintf writes them; it aligns to the right by itself."""
    if found["align"] and found["zero"]:
        # Python then fills with zeros behind a number, or before its sign.
        raise NoFormat(f"vprintf has no format `{found[0]}`", f"write {found[0].replace(found['align'], '', 1)}")
    left = found["align"] == "<"
    flags = ("-" if left else "") + (found["sign"] or "").strip("-") + (found["alternate"] or "")
    return f"{flags}{'' if left else found['zero'] or ''}{found['width'] or ''}"


def _percent(found: re.Match[str]) -> str:
    """``.1%``, of a number that is multiplied by 100 before: its sign takes one of the places."""
    width = found["width"]
    if width and (found["align"] == "<" or int(width) < 2):
        raise NoFormat(f"vprintf has no format `{found[0]}`", "write it without `<`")
    places = f"{int(width) - 1}" if width else ""
    flags = _flags(found).removesuffix(width or "")
    return f"%{flags}{places}.{found['precision'] or 6}f%%"


def _float(found: re.Match[str], type: ScalarType) -> str:
    kind, precision = found["type"] or "", found["precision"]
    if kind and kind not in FLOAT_TYPES:
        raise NoFormat(f"vprintf has no format `{found[0]}` for {type}")
    if not kind and precision is not None:
        # Python's general format, which prints 1.0 where %g prints 1.
        raise NoFormat(f"`{found[0]}` is no format of vprintf's", f"write .{precision}g or .{precision}f")
    if not kind and found[0]:
        # The same: as many digits as the number needs.
        raise NoFormat(f"`{found[0]}` is no format of vprintf's for {type}", f"write {found[0]}f or {found[0]}g")
    return f"%{_flags(found)}{'.' + precision if precision is not None else ''}{kind or 'f'}"


def _integer(found: re.Match[str], type: ScalarType) -> tuple[str, ScalarType]:
    kind = found["type"] or "d"
    is_plain = kind == "d" and not found["alternate"]
    # Python writes 0o17 where %#o writes 017.
    is_based = kind in ("x", "X") or (kind == "o" and not found["alternate"])
    if found["precision"] is not None or not (is_plain or is_based):
        raise NoFormat(f"vprintf has no format `{found[0]}` for {type}")
    wide = type.bits == 64
    if not is_plain and type.is_signed:
        # Python prints the sign of a negative number, vprintf its two's complement.
        message = f"`{found[0]}` takes unsigned ints on the device, and this is {type}"
        raise NoFormat(message, f"cast it: {U64 if wide else U32}({{text}})")
    passed = (I64 if wide else I32) if type.is_signed else (U64 if wide else U32)
    letter = "u" if is_plain and not type.is_signed else kind
    if found["sign"] in ("+", " ") and not type.is_signed:
        # vprintf shows no sign of what has none.
        if found["width"] or kind not in ("d",):
            raise NoFormat(f"vprintf has no format `{found[0]}` for {type}", "write the sign before the braces: +{{x}}")
        return f"{found['sign']}%{'ll' if wide else ''}u", passed
    if found["alternate"]:
        return _prefixed(found, kind, "ll" if wide else ""), passed
    return f"%{_flags(found)}{'ll' if wide else ''}{letter}", passed


def _prefixed(found: re.Match[str], kind: str, length: str) -> str:
    """``#x``, whose prefix vprintf leaves out of 0 and Python does not: written before a number without it."""
    width = int(found["width"] or 0)
    if not width:
        return f"0{kind}%{length}{kind}"
    if found["zero"]:
        return f"0{kind}%0{max(width - 2, 1)}{length}{kind}"
    raise NoFormat(f"vprintf has no format `{found[0]}`", f"write #0{width}{kind}, or #{kind} without a width")


def constant_text(
    frame: Frame,
    node: ast.expr,
    refusal: str = "this text is constant: it may hold no values of the device",
    hint: str = "print() shows values",
) -> str | None:
    """A string that is known while the kernel is compiled; None (reported) if it is not."""
    if isinstance(node, ast.JoinedStr):
        parts = [_constant_part(frame, part, refusal, hint) for part in node.values]
        return None if None in parts else "".join(p for p in parts if p is not None)
    value = frame.value(node)
    match value:
        case Static(str() as text):
            return text if is_holdable(frame, text, node) else None
        case Weak() | Runtime(ir.Const()):
            made = Format()
            return made.text.replace("%%", "%") if _constant(frame, made, value, "", node) else None
        case Poison():
            return None
        case Static(object):
            frame.error(node, f"{describe_object(object, frame.text(node))} is no text", "write a string")
            return None
    frame.error(node, refusal, hint)
    return None


def _constant_part(frame: Frame, part: ast.expr, refusal: str, hint: str) -> str | None:
    """A part of an f-string, formatted as Python does."""
    if not isinstance(part, ast.FormattedValue):
        return constant_text(frame, part, refusal, hint)
    text = constant_text(frame, part.value, refusal, hint)
    spec = specification(frame, part)
    if text is None or spec is None:
        return None
    value = frame.value(part.value)
    shown = Static(repr(text) if isinstance(value, Static) else text) if part.conversion == ord("r") else value
    made = Format()
    if part.conversion == ord("s"):
        shown = Static(text)
    return made.text.replace("%%", "%") if _constant(frame, made, shown, spec, part.value) else None


def is_holdable(frame: Frame, text: str, node: ast.expr) -> bool:
    """Whether the device can hold a text: it ends at the first NUL there, and is UTF-8."""
    if "\0" in text or any("\ud800" <= c <= "\udfff" for c in text):
        frame.error(node, "a text holds no NUL and no lone surrogate", "leave it out")
        return False
    return True
