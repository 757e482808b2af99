"""Collects the mistakes in a kernel, each once."""

from __future__ import annotations

from kdsl.source import CompileError, Diagnostic, Span


class Reporter:
    """The diagnostics of one check."""

    def __init__(self) -> None:
        self._found: dict[tuple[Span, str], Diagnostic] = {}

    def add(self, span: Span, message: str, hint: str | None = None, calls: tuple[Span, ...] = ()) -> None:
        """Note a mistake; the same one again (another instance of a function, another copy of a loop) is not."""
        self._found.setdefault((span, message), Diagnostic(span, message, hint, calls))

    def merge(self, error: CompileError) -> None:
        """Note the mistakes of an error that was raised elsewhere."""
        for d in error.diagnostics:
            self.add(d.span, d.message, d.hint, d.calls)

    @property
    def count(self) -> int:
        return len(self._found)

    @property
    def failed(self) -> bool:
        return bool(self._found)

    def error(self) -> CompileError:
        """All that was found, in source order."""
        return CompileError(*sorted(self._found.values(), key=lambda d: (d.span.file, d.span.line, d.span.column)))
