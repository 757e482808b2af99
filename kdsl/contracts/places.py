"""Where in a decorator a part of a contract stands, and the error that points there."""

from __future__ import annotations

import ast
import re
from types import FunctionType

from kdsl.source import CompileError, Diagnostic, SourceFile, Span, find_function


class ContractError(CompileError):
    """A launch contract, or another option of ``@kernel``, is not possible; found where the kernel is decorated or
    compiled.
    """


def contract_error(
    function: FunctionType,
    option: str,
    message: str,
    hint: str | None,
    *,
    within: tuple[str, int, int] | None = None,
    fragment: str = "",
) -> ContractError:
    """The error for a part of an option: ``within`` a text from a position to another, or the first that reads as
    ``fragment``.
    """
    span = place(function, option, within, fragment)
    return ContractError(Diagnostic(span, f"{option} of `{function.__name__}`: {message}", hint))


def place(function: FunctionType, option: str, within: tuple[str, int, int] | None = None, fragment: str = "") -> Span:
    """The span of a part of an option's text; of the option, or of the decorator, where the part cannot be found."""
    try:
        file, node = find_function(function)
    except CompileError:
        return Span(function.__code__.co_filename, function.__code__.co_firstlineno)
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    for decorator in decorators:
        if not isinstance(decorator, ast.Call):
            continue
        for keyword in decorator.keywords:
            if keyword.arg == option:
                return _inside(file, keyword.value, within, fragment)
    return file.first_line(decorators[0]) if decorators else file.def_line(node)


def _inside(file: SourceFile, value: ast.expr, within: tuple[str, int, int] | None, fragment: str) -> Span:
    """The part of a plain literal in ``value``."""
    for literal in ast.walk(value):
        if not isinstance(literal, ast.Constant) or not isinstance(literal.value, str):
            continue
        if within is not None:
            text, start, end = within
        else:
            found = re.search(rf"(?<![\w.]){re.escape(fragment)}(?!\w)", literal.value) if fragment else None
            text, start, end = (literal.value, *found.span()) if found else ("", 0, 0)
        if text and literal.value == text and literal.lineno == literal.end_lineno:
            return _part(file, literal, text, start, end)
    return file.span(value) if value.lineno == value.end_lineno else file.first_line(value)


def _part(file: SourceFile, literal: ast.Constant, text: str, start: int, end: int) -> Span:
    """The place of ``text[start:end]``, if the literal writes the text as it is."""
    span = file.span(literal)
    written = file.lines[span.line - 1][span.column - 1 : span.end_column - 1]
    opening = re.match(r"[rR]?(\"\"\"|'''|\"|')", written)
    if opening is None or not written[opening.end() :].startswith(text):
        return span
    first = span.column + opening.end()
    return Span(span.file, span.line, first + start, span.line, first + max(end, start + 1))
