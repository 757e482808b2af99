"""Places in a user's source, the files and functions there, and the errors that point at them."""

from __future__ import annotations
import __future__

import ast
import linecache
import re
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from functools import cached_property, lru_cache
from io import StringIO
from types import CodeType, FunctionType

from kdsl.records import dataclass

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

# A file last written before this moment cannot have changed since a module was imported from it.
STARTED = time.time()
_FUTURES = 0
for _name in __future__.all_feature_names:
    _FUTURES |= getattr(__future__, _name).compiler_flag


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of source text. Lines and columns (in characters) count from 1; ``end_column`` is past the end."""

    file: str
    line: int
    column: int = 1
    end_line: int = 0
    end_column: int = 0

    def __str__(self) -> str:
        from pathlib import Path  # start-up cost: places are written in messages

        return f"{Path(self.file).name if not self.file.startswith('<') else self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One mistake of a user's: where, what, and what to write instead. ``calls``: who called it, innermost first."""

    span: Span
    message: str
    hint: str | None = None
    calls: tuple[Span, ...] = field(default=())

    def render(self) -> str:
        """The text a user sees, with the line and a caret under the smallest wrong thing; no trailing newline."""
        out = [f"{self.span}: error: {self.message}"]
        line = linecache.getline(self.span.file, self.span.line).rstrip("\n")
        if line:
            width = len(line) + 1 if self.span.end_line > self.span.line else self.span.end_column
            caret = "^" * max(1, width - self.span.column)
            number = f"{self.span.line:5}"
            # Tabs before the caret stay tabs, so that it stands under its column in any terminal.
            pad = "".join(c if c == "\t" else " " for c in line[: self.span.column - 1])
            out += [f"{number} | {line}", f"{' ' * len(number)} | {pad}{caret}"]
        if self.hint:
            out.append(f"  hint: {self.hint}")
        out += [f"  called from {call}" for call in self.calls]
        return "\n".join(out)


class CompileError(Exception):
    """A kernel is outside of the language. ``diagnostics`` holds every mistake found, each once, in source order."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        self.diagnostics = diagnostics
        super().__init__("\n".join(d.render() for d in diagnostics))

    def __reduce__(self) -> tuple[type[CompileError], tuple[Diagnostic, ...], dict[str, object]]:
        # The text goes along: the process that reads it need not have the file.
        return type(self), self.diagnostics, {"args": self.args}

    @classmethod
    def at(cls, span: Span, message: str, hint: str | None = None) -> CompileError:
        """A CompileError with one diagnostic."""
        return cls(Diagnostic(span, message, hint))


class InternalError(Exception):
    """A mistake of kdsl's own, never of the user's."""


@dataclass(frozen=True, eq=False)
class SourceFile:
    """The text and the Python AST of one file (or notebook cell, or registered `exec` source)."""

    name: str
    lines: tuple[str, ...]
    tree: ast.Module

    @classmethod
    def parse(cls, name: str, text: str) -> SourceFile:
        """Parse a whole file; SyntaxError (or ValueError, for null bytes) if it is not Python."""
        with _no_warnings():
            # Why not str.splitlines? It also splits at form feeds and other characters that are no line ends to Python.
            return cls(name, tuple(StringIO(text, newline=None)), ast.parse(text, name))

    @cached_property
    def functions(self) -> dict[int, list[FunctionNode]]:
        """Functions and lambdas by the line of their first decorator and by that of their ``def``."""
        found: dict[int, list[FunctionNode]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, FunctionNode):
                decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
                for line in {node.lineno, *(d.lineno for d in decorators[:1])}:
                    found.setdefault(line, []).append(node)
        return found

    def codes(self, flags: int) -> dict[tuple[int, str], list[CodeType]]:
        """What Python compiles the file's functions to, by first line and name."""
        found: dict[tuple[int, str], list[CodeType]] = {}
        # Why the text? Python compiles deeper nesting from text than from a tree.
        with _no_warnings():
            pending = [compile("".join(self.lines), self.name, "exec", flags & _FUTURES, dont_inherit=True)]
        while pending:
            code = pending.pop()
            found.setdefault((code.co_firstlineno, code.co_name), []).append(code)
            pending += [c for c in code.co_consts if isinstance(c, CodeType)]
        return found

    def column(self, line: int, offset: int) -> int:
        """The column, counted from 1 in characters, of a UTF-8 byte offset in a line."""
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        return offset + 1 if text.isascii() else len(text.encode()[:offset].decode(errors="replace")) + 1

    def span(self, node: ast.expr | ast.stmt | ast.arg | ast.keyword | ast.pattern) -> Span:
        """Where a node stands."""
        line, end = node.lineno, node.end_lineno or node.lineno
        return Span(
            self.name,
            line,
            self.column(line, node.col_offset),
            end,
            self.column(end, node.end_col_offset or node.col_offset),
        )

    def first_line(self, node: ast.expr | ast.stmt) -> Span:
        """The first line of a node that spans several."""
        start = self.span(node)
        end = len(self.lines[start.line - 1].rstrip()) + 1
        return Span(self.name, start.line, start.column, start.line, end)

    def def_line(self, node: FunctionNode) -> Span:
        """The name in a function's ``def``; a lambda's first line."""
        line = self.lines[node.lineno - 1] if node.lineno <= len(self.lines) else ""
        name = getattr(node, "name", None)
        found = name and re.match(rf"\s*(?:async\s+)?def\s+({re.escape(name)})", line)
        if not found:
            return self.first_line(node)
        return Span(self.name, node.lineno, found.start(1) + 1, node.lineno, found.end(1) + 1)

    def whole(self, node: FunctionNode) -> str:
        """The lines of a function, from its first decorator on."""
        decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
        first = min([node.lineno, *(d.lineno for d in decorators)])
        return "".join(self.lines[first - 1 : node.end_lineno])

    def text(self, node: ast.expr | ast.stmt) -> str:
        """The source text of a node on one line; a longer one as Python would print it."""
        if node.lineno != node.end_lineno or node.lineno > len(self.lines):
            return ast.unparse(node).partition("\n")[0]
        return self.lines[node.lineno - 1].encode()[node.col_offset : node.end_col_offset].decode()


@contextmanager
def _no_warnings() -> Iterator[None]:
    # Python warned of the file when it was imported.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@lru_cache(maxsize=128)
def _parse(name: str, text: str) -> SourceFile:
    return SourceFile.parse(name, text)


@lru_cache(maxsize=128)
def _codes(file: SourceFile, flags: int) -> dict[tuple[int, str], list[CodeType]]:
    return file.codes(flags)


def find_function(function: FunctionType) -> tuple[SourceFile, FunctionNode]:
    """The file that a function was defined in, and its node there.

    CompileError if there is no source, or if the file is no longer what the function was compiled from.
    """
    code = function.__code__
    place = Span(code.co_filename, code.co_firstlineno)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines:
        raise CompileError.at(
            place,
            f"the source of `{function.__name__}` is not available",
            "define it in a file or a notebook; for exec() register the text first: "
            "linecache.cache[name] = (len(text), None, text.splitlines(True), name)",
        )
    try:
        found = _match(code, "".join(lines))
    except RecursionError:
        raise CompileError.at(
            place,
            f"the file of `{function.__name__}` is nested too deeply to compile",
            "name parts of long expressions in variables; split long elif chains",
        ) from None
    if found is None:
        # linecache may hold an older text than the file that was imported.
        linecache.checkcache(code.co_filename)
        found = _match(code, "".join(linecache.getlines(code.co_filename, function.__globals__)))
    if found is None:
        raise CompileError.at(
            place,
            f"the source of `{function.__name__}` has changed since it was imported",
            "restart Python, or import the file again, so that what runs is what the file says",
        )
    return found


def _match(code: CodeType, text: str) -> tuple[SourceFile, FunctionNode] | None:
    try:
        file = _parse(code.co_filename, text)
    except (SyntaxError, ValueError):
        return None
    nodes = [n for n in file.functions.get(code.co_firstlineno, ()) if getattr(n, "name", "<lambda>") == code.co_name]
    if len(nodes) > 1:
        if not any(_positions(code)):
            raise CompileError.at(
                Span(code.co_filename, code.co_firstlineno),
                f"several functions `{code.co_name}` start on this line, and Python runs without column numbers",
                "write each on a line of its own",
            )
        nodes = [n for n in nodes if _covers(n, code)]
        nodes = sorted(nodes, key=lambda n: (n.end_lineno or 0, n.end_col_offset or 0, -n.col_offset))[:1]
    if not nodes:
        return None
    compiled = _codes(file, code.co_flags).get((code.co_firstlineno, code.co_name), [])
    if any(_same_code(code, c) for c in compiled):
        return file, nodes[0]
    if _same_parameters(code, nodes[0]) and _written_before(code.co_filename):
        return file, nodes[0]
    return None


def _covers(node: FunctionNode, code: CodeType) -> bool:
    """Whether all of the code's instructions stand inside the node's body."""
    bodies: list[ast.expr] | list[ast.stmt] = [node.body] if isinstance(node, ast.Lambda) else node.body
    first, last = bodies[0], bodies[-1]
    low, high = (first.lineno, first.col_offset), (last.end_lineno or 0, last.end_col_offset or 0)
    return all(low <= start and end <= high for start, end in _positions(code))


def _positions(code: CodeType) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    for line, end_line, column, end_column in code.co_positions():
        # The instruction that opens a function has no width.
        if line and end_line and column is not None and end_column:
            yield (line, column), (end_line, end_column)


def _same_code(a: CodeType, b: CodeType) -> bool:
    """Whether two functions do the same, wherever they stand."""
    if (a.co_code, a.co_names, a.co_varnames) != (b.co_code, b.co_names, b.co_varnames):
        return False
    if len(a.co_consts) != len(b.co_consts):
        return False
    return all(
        _same_code(x, y) if isinstance(x, CodeType) and isinstance(y, CodeType) else repr(x) == repr(y)
        for x, y in zip(a.co_consts, b.co_consts, strict=True)
    )


def _same_parameters(code: CodeType, node: FunctionNode) -> bool:
    names = tuple(a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs))
    return names == code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _written_before(name: str) -> bool:
    """Whether a file is older than this process: then code that differs comes from an import hook, such as pytest's."""
    from pathlib import Path  # start-up cost: of a mismatch alone

    try:
        return Path(name).stat().st_mtime < STARTED
    except (OSError, ValueError):
        return False
