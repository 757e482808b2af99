"""Places in a user's source, and the errors that point at them."""

from __future__ import annotations

import linecache
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of source text. Lines and columns count from 1 (columns in characters); ``end_column`` is past the end."""

    file: str
    line: int
    column: int = 1
    end_line: int = 0
    end_column: int = 0

    def __str__(self) -> str:
        return f"{Path(self.file).name if not self.file.startswith('<') else self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One mistake of a user's: where, what, and what to write instead. ``calls`` are the call sites that led there, innermost first."""

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

    @classmethod
    def at(cls, span: Span, message: str, hint: str | None = None) -> CompileError:
        """A CompileError with one diagnostic."""
        return cls(Diagnostic(span, message, hint))


class InternalError(Exception):
    """A mistake of kdsl's own, never of the user's."""
