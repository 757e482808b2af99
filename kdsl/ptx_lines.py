"""From a line of PTX text back to the Python line that it was made from."""

from __future__ import annotations

import re

# ptxas says `ptxas kernel.ptx, line 7; error : ...`, and the driver `ptxas application ptx input, line 7; error : ...`.
_MESSAGE = re.compile(r"^ptxas .*\bline (\d+);.*$", re.MULTILINE)
_LOCATION = re.compile(r"^\s*\.loc\s+(\d+)\s+([1-9]\d*)\s", re.MULTILINE)
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+(?:"[^"]*"\s+)?"([^"]*)"', re.MULTILINE)
_FUNCTION = re.compile(r"^[^\n/]*\.(?:entry|func)\b", re.MULTILINE)


def python_place(ptx: str, line: int) -> str | None:
    """``file.py:12`` for a line of PTX, by the nearest ``.loc`` above it in its function; None if there is none."""
    above = "".join(ptx.splitlines(keepends=True)[:line])
    starts = [found.start() for found in _FUNCTION.finditer(above)]
    locations = _LOCATION.findall(above, starts[-1]) if starts else []
    if not locations:
        return None
    number, python_line = locations[-1]
    names = dict(_FILE.findall(ptx))
    return f"{names[number].rpartition('/')[2]}:{python_line}" if number in names else None


def with_python_places(words: str, ptx: str) -> str:
    """ptxas's words about a PTX text, each message with the Python line that it is about before it."""

    def located(message: re.Match[str]) -> str:
        place = python_place(ptx, int(message[1]))
        return message[0] if place is None else f"{place}: {message[0]}"

    return _MESSAGE.sub(located, words)
