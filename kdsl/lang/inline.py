"""Inline PTX: instructions that the language has no name for (PTX ISA 9.0, chapter 9)."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from typing import Any

from kdsl.lang.construct import construct


@construct
def asm(
    template: str, /, *, out: Any = None, volatile: bool | None = None, memory: bool | None = None, **operands: Any
) -> Any:
    """Run the PTX instructions of the constant string ``template``, and give what they compute.

    ``{name}`` is the operand of that name. ``out=u32`` is the type of the result, ``{d}``; ``out=(u32, f32)`` makes a
    tuple of ``{d0}`` and ``{d1}``; without ``out`` there is no result. ``{{`` and ``}}`` are braces.
    ``volatile``: neither left out nor repeated; by default where there is no result. ``memory``: keeps its place among
    memory accesses; by default where an instruction accesses memory or synchronises.
    """
