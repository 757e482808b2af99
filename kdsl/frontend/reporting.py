"""Collects the mistakes in a kernel, each once."""

from __future__ import annotations

from kdsl.source import CompileError, Diagnostic, Span


class Reporter:
    """The diagnostics of one check."""

    def __init__(self) -> None:
        self._found: dict[tuple[Span, str], Diagnostic] = {}
        self._untyped: dict[tuple[Span, str], Diagnostic] = {}

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

    def untyped(self, span: Span, name: str, calls: tuple[Span, ...]) -> None:
        """Note a variable without a type: a mistake of its own only if no other one is the reason."""
        hint = f"declare it, as in {name}: f32 = 0"
        message = f"nothing says what type `{name}` has"
        self._untyped.setdefault((span, message), Diagnostic(span, message, hint, calls))

    @property
    def failed(self) -> bool:
        return bool(self._found or self._untyped)

    def error(self) -> CompileError:
        """All that was found, in source order."""
        found = self._found or self._untyped
        return CompileError(*sorted(found.values(), key=lambda d: (d.span.file, d.span.line, d.span.column)))
