"""What happens while a kernel is compiled: loops that are unrolled, and conditions that are checked."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kdsl.lang.construct import construct


@construct
def static_range(start: int, stop: int = 0, step: int = 1) -> range:
    """``range`` of constants whose loop is unrolled: in each copy of the body the variable is a constant."""


@construct
def unroll(iterable: Iterable[int], times: int | bool = True) -> Iterable[int]:
    """A ``range`` whose loop shall have so many copies of its body: ``for i in unroll(range(n), 4)``.

    True asks for a copy of each iteration, False for the loop as written. ``range(n, unroll=4)`` is the same, but type
    checkers do not know it.
    """


@construct
def static_assert(condition: bool, message: str = "") -> None:
    """A CompileError unless the constant ``condition`` is true."""


@construct
def type_of(value: Any) -> Any:
    """The type of a value, which is not evaluated: ``if type_of(x) is f64:`` drops the branch that cannot come."""
