"""Writes docs/intrinsics.md from the stubs: `python docs/generate_intrinsics.py` (a test checks that it was run)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from kdsl.explorer.intrinsics import Entry, Section, sections

PAGE = Path(__file__).parent / "intrinsics.md"

INTRODUCTION = """\
# Intrinsics

Every function that a kernel can call beside its own, made by `python docs/generate_intrinsics.py` from the stubs in
`kdsl/lang`; `kdsl intrinsics PATTERN` prints the same on a terminal. `F` is f32 or f64, `I` is i32 or u32, `N` is i32,
u32, i64 or u64, `S` any scalar, `T` the elements' type. The PTX column names the instruction to look for in the output;
of functions that are computed by several, the main one. Functions are imported from `kdsl`, those that are written
`math.` or `fast.` from `kdsl.math` and `kdsl.fast`.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([INTRODUCTION, *(line for section in sections() for line in written(section))])


def written(section: Section) -> Iterator[str]:
    """A heading, the module's docstring, and a table of its functions."""
    yield f"## {section.title}\n"
    yield f"{markdown(section.introduction)}\n"
    yield "| function | meaning | PTX | from |"
    yield "|---|---|---|---|"
    yield from (row(entry) for entry in section.entries)
    yield ""


def row(entry: Entry) -> str:
    """One function's line of the table."""
    calls = "<br>".join(f"`{signature}`" for signature in entry.signatures)
    ptx = ", ".join(f"`{mnemonic}`" for mnemonic in entry.ptx)
    cells = (calls, markdown(entry.meaning), ptx, entry.architecture)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def markdown(text: str) -> str:
    """reStructuredText's marks as Markdown has them."""
    return re.sub(r"``([^`]+)``", r"`\1`", text)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
