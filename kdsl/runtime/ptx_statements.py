"""The statements of a PTX module, one by one: what each declares, and whether it defines it (PTX ISA 9.0, 4.3)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kdsl.records import dataclass

_LINE = re.compile(r"\s*\.(?:version|target|address_size|file|loc)\b[^\n]*\n?")
_SPACE = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)+", re.DOTALL)
_WORD = re.compile(r'"[^"\n]*"|//[^\n]*|/\*.*?\*/|[{};=]|[^"/{};=]+|/', re.DOTALL)
_FUNCTION = re.compile(r"\.(?P<kind>entry|func)\b\s*(?:\([^)]*\)\s*)?(?P<name>[\w$%]+)")
_VARIABLE = re.compile(r"\.(?:global|const|shared)\b[^;={\[]*?(?P<name>[A-Za-z_$%][\w$]*)\s*[;=\[]")
_LINKAGE = re.compile(r"\s*\.(extern|visible|weak|common)\b")


@dataclass(frozen=True, slots=True)
class Statement:
    """``name`` is empty for what declares nothing, such as ``.version``. ``linkage`` is empty for what other modules
    do not see. ``defines``: it is no mere declaration of what is defined elsewhere, or later.
    """

    text: str
    name: str = ""
    kind: str = ""
    linkage: str = ""
    defines: bool = False


def statements(ptx: str) -> Iterator[Statement]:
    """All of them, in order; comments between them are left out."""
    place = 0
    while place < len(ptx):
        if space := _SPACE.match(ptx, place):
            place = space.end()
            continue
        if line := _LINE.match(ptx, place):
            yield Statement(line[0].strip())
            place = line.end()
            continue
        end = _end(ptx, place)
        yield _read(ptx[place:end])
        place = end


def _end(ptx: str, place: int) -> int:
    """Where the statement that begins here ends: at a semicolon, or at the brace that closes a body."""
    depth, has_value = 0, False
    for word in _WORD.finditer(ptx, place):
        match word[0]:
            case "{":
                depth += 1
            case "}":
                depth -= 1
                if not depth and not has_value:
                    return word.end()
            case "=":
                has_value |= not depth
            case ";" if not depth:
                return word.end()
    return len(ptx)


def _read(text: str) -> Statement:
    head = text.partition("{")[0]
    linkage = found[1] if (found := _LINKAGE.match(head)) else ""
    if function := _FUNCTION.search(head):
        return Statement(text, function["name"], function["kind"], linkage, defines="{" in text)
    if variable := _VARIABLE.search(text):
        return Statement(text, variable["name"], "variable", linkage, defines=linkage != "extern")
    return Statement(text)
