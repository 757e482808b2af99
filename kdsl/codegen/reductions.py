"""Atomics whose old value nobody reads become ``red``, which LLVM does not write.

On the text, and not before: only here is it known that an old value is unused.
"""

from __future__ import annotations

import re

# Why not by braces? Inline PTX may have some of its own, at the start of a line.
_FUNCTION = re.compile(r"^(?=(?:\.\w+\s+)?\.(?:entry|func)\b)", re.MULTILINE)
# PTX ISA 9.0, 9.7.13.16: red is relaxed or release, and has no exch and no cas.
_ATOM = re.compile(
    r"^(?P<lead>\t(?:@!?%p\d+ )?)atom(?P<words>[.\w:]*\.(?:add|and|or|xor|inc|dec|min|max)(?:\.\w+)+)(?P<gap>\s+)"
    r"(?P<result>%\w+|\{[^}]*\}), (?P<rest>\[.*;)$",
    re.MULTILINE,
)
_REGISTER = re.compile(r"%\w+")
_ACQUIRES = re.compile(r"\.(?:acquire|acq_rel)\b")


def reduce_unused(ptx: str) -> str:
    """The same program with ``red`` for each ``atom`` whose result is in no other instruction."""
    return "".join(map(_in_function, _FUNCTION.split(ptx))) if "atom" in ptx else ptx


def _in_function(body: str) -> str:
    """``body`` is one function, up to the next: registers of several have the same names."""
    uses: dict[str, int] = {}
    for found in _REGISTER.finditer(body):
        uses[found[0]] = uses.get(found[0], 0) + 1

    def reduced(atom: re.Match[str]) -> str:
        results = _REGISTER.findall(atom["result"])
        if _ACQUIRES.search(atom["words"]) or any(uses[r] > 1 for r in results):
            return atom[0]
        return f"{atom['lead']}red{atom['words']}{atom['gap']}{atom['rest']}"

    return _ATOM.sub(reduced, body)
