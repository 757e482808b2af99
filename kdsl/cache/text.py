"""A function's source text and bytecode as parts of a key, found without parsing.

Both are needed. The text is what is compiled, and bytecode leaves parts of it out (an assert under ``python -O``); the
bytecode says whether this text is what the function was made of.
"""

from __future__ import annotations

import linecache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

OPENING = ("(", "[", "{", '"""', "'''", "\\\n")


class Unkeyable(Exception):
    """Something of which no key can be made that would tell it from others. The message says what."""


def function_key(function: FunctionType) -> list[Any]:
    """Where a function stands, its lines and its bytecode; Unkeyable if it has no source."""
    code = function.__code__
    return [_file_name(code.co_filename), code.co_firstlineno, function_text(function), code_key(code)]


def _file_name(name: str) -> str:
    # What is compiled names the file without its folder, which is a new one for each session of a notebook.
    return name if name.startswith("<") else Path(name).name


def function_text(function: FunctionType) -> str:
    """The function's lines, decorators included. It may be more, but never less."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)
    first = code.co_firstlineno - 1
    if first >= len(lines):
        raise Unkeyable(f"the source of `{function.__name__}` is not available")
    last = last_line(code)
    if last is None:
        return "".join(lines[first:])
    return "".join(lines[first : _end(lines, first, max(last, first + 1))])


def _end(lines: list[str], first: int, last: int) -> int:
    """Past the last line of what begins at ``first``, of which Python made code up to ``last``.

    What follows it with a deeper indentation is part of it, though Python made nothing of it: a ``return``'s dead rest.
    """
    indentation, end = _indentation(lines[first]), last
    while end < len(lines) and (_is_nothing(lines[end]) or _indentation(lines[end]) > indentation):
        end += 1
    while end > last and _is_nothing(lines[end - 1]):
        end -= 1
    # Within brackets and strings the indentation says nothing.
    return len(lines) if any(mark in line for line in lines[last:end] for mark in OPENING) else end


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_nothing(line: str) -> bool:
    text = line.strip()
    return not text or text.startswith("#")


def last_line(code: CodeType) -> int | None:
    """The last line of which there is code, functions in it included; None where Python keeps only first lines."""
    found = 0
    for first, end, _, _ in code.co_positions():
        if first is None:  # an instruction that nothing in the text stands for: a closure's cells are made so
            continue
        if end is None:
            return None
        found = max(found, end)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            inner = last_line(constant)
            if inner is None:
                return None
            found = max(found, inner)
    return found


def code_key(code: CodeType) -> list[Any]:
    """What tells a function's code from others, columns included: they are in the line tables of a module."""
    return [
        code.co_name,
        code.co_flags,
        code.co_code.hex(),
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        [_constant(constant) for constant in code.co_consts],
        [*code.co_positions()],
    ]


def _constant(value: Any) -> Any:
    match value:
        case CodeType():
            return code_key(value)
        case frozenset():
            return ["frozenset", sorted(map(repr, value))]
        case tuple():
            return ["tuple", [_constant(part) for part in value]]
        case _:
            return [type(value).__name__, repr(value)]
