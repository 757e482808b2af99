"""Both halves of a product beside each other in PTX, where ptxas makes one multiplication of the two."""

from __future__ import annotations

import re

# `mul.hi.u32 %r1, %r2, %r3;` and `mul.lo.s32 %r4, %r2, -5;`, not under a predicate.
_HALF = re.compile(r"\tmul\.(hi|lo)\.[su]32 \t(%r\d+), (%r\d+|-?\d+), (%r\d+|-?\d+);")
_CONSTANT = re.compile(r"^\tmov\.b32 \t(%r\d+), (-?\d+);$", re.MULTILINE)
_WRITTEN = re.compile(r"^\t(?:@!?%p\d+ )?[a-z][\w.:]*\s+(?:\{([^}]*)\}|(%\w+))", re.MULTILINE)
_REGISTER = re.compile(r"%\w+")
# What ends a basic block, or may begin one: nothing is moved across it.
_BORDER = re.compile(r"^(?:\$|[{}]|\t(?:@!?%p\d+ )?(?:bra|ret|exit|call|brx|trap)\b|\t[{}]|\s*//)")


def join_products(ptx: str) -> str:
    """Move each ``mul.lo`` up to the ``mul.hi`` of the same operands in its block.

    ptxas 13.0 makes one IMAD.WIDE of the two if they are near each other: LLVM puts the lower half to its first use,
    and ten rounds of Philox then have 20 instructions more. Only registers that nothing between them touches move.
    """
    return "".join(_functions(ptx)) if "\tmul.hi." in ptx else ptx


def _functions(ptx: str) -> list[str]:
    # Registers are a function's own: each function is looked at by itself.
    parts = re.split(r"(?m)^(?=\})", ptx)
    return [_joined(part) for part in parts]


def _joined(function: str) -> str:
    written = [name for group in _WRITTEN.findall(function) for name in _REGISTER.findall(group[0] or group[1])]
    constants = {name: value for name, value in _CONSTANT.findall(function) if written.count(name) == 1}
    lines = function.splitlines(keepends=True)
    upper: dict[tuple[str, str], str] = {}
    made: list[str] = []
    for line in lines:
        if _BORDER.match(line):
            upper.clear()
        half = _HALF.match(line)
        if half is None:
            made.append(line)
            continue
        first, second = str(half[3]), str(half[4])
        operands = (constants.get(first, first), constants.get(second, second))
        if half[1] == "hi":
            upper[operands] = line
            made.append(line)
        elif operands in upper and (place := _place(made, upper[operands], half)) is not None:
            made.insert(place, line)
        else:
            made.append(line)
    return "".join(made)


def _place(made: list[str], upper: str, lower: re.Match[str]) -> int | None:
    """Where the lower half goes, behind the upper one; None if it has to stay where it is."""
    result, sources = lower[2], {lower[3], lower[4]}
    for index in range(len(made) - 1, -1, -1):
        line = made[index]
        if result in _REGISTER.findall(line):
            return None
        if line is upper:
            # `mul.hi %r1, %r1, %r2` has taken an operand away.
            return None if _WRITTEN.match(line)[2] in sources else index + 1  # type: ignore[index]
        written = _WRITTEN.match(line)
        if written and sources & set(_REGISTER.findall(written[1] or written[2])):
            return None
    return None
