"""What happens while a kernel is compiled: loops that are unrolled, and conditions that are checked."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from kdsl.lang.construct import construct


@construct
def static_range(start: int, stop: int = 0, step: int = 1) -> range:
    """``range`` of constants whose loop is unrolled: in each copy of the body the variable is a constant."""


@construct
def static_assert(condition: bool, message: str = "") -> None:
    """A CompileError unless the constant ``condition`` is true."""
