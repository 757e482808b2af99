"""Kernels of C++ by the name that their source has: ``vadd`` for ``_Z4vaddPfS_S_i``, ``fill<float>`` for a template's.

Only what names a function is read of a mangled name (Itanium C++ ABI, 5.1), not its parameters' types.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_BUILTIN = {
    "v": "void", "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short",
    "t": "unsigned short", "i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long", "x": "long long",
    "y": "unsigned long long", "f": "float", "d": "double",
}  # fmt: skip
_LITERAL = re.compile(r"L([bijlmxyst])(n?)(\d+)E")
_LENGTH = re.compile(r"\d+")


def find(names: Sequence[str], asked: str) -> str:
    """The PTX name of the kernel that ``asked`` means: itself, or its name in C++, if that is one kernel's.

    KeyError lists the kernels there are.
    """
    if asked in names:
        return asked
    written = {name: readable(name) for name in names}
    found = [name for name, shown in written.items() if shown is not None and asked in _ways(shown)]
    if len(found) == 1:
        return found[0]
    if found:
        which = ", ".join(f"{written[name]} is {name}" for name in found)
        raise KeyError(f"{len(found)} kernels of the module are called {asked!r}: {which}")
    listed = ", ".join(name if shown is None else f"{name} ({shown})" for name, shown in written.items())
    raise KeyError(f"the module has no kernel {asked!r}; it has {listed or 'none'}")


def _ways(shown: str) -> set[str]:
    """What may be asked for: with and without namespaces and template arguments."""
    plain = shown.partition("<")[0]
    last = shown.rpartition("::")[2] if "<" not in shown else plain.rpartition("::")[2] + shown[len(plain) :]
    return {shown, plain, last, plain.rpartition("::")[2]}


def readable(name: str) -> str | None:
    """``ns::fill<float>``; None for what is no mangled name, or one of a form that is not read here."""
    if not name.startswith("_Z"):
        return None
    nested = name.startswith("_ZN")
    place = 3 if nested else 2
    parts: list[str] = []
    arguments = ""
    while place < len(name):
        found = _LENGTH.match(name, place)
        if found is None:
            break
        end = found.end() + int(found[0])
        word = name[found.end() : end]
        parts.append("(anonymous namespace)" if word.startswith("_GLOBAL__N_") else word)
        place = end
        if not nested:
            break
    if name[place : place + 1] == "I":
        arguments = _arguments(name, place + 1)
    return "::".join(parts) + arguments if parts else None


def _arguments(name: str, place: int) -> str:
    """Template arguments that are numbers or of built-in types; nothing if one is something else."""
    listed: list[str] = []
    while place < len(name) and name[place] != "E":
        pointers = 0
        while name[place] == "P":
            pointers, place = pointers + 1, place + 1
        if found := _LITERAL.match(name, place):
            listed.append(("-" if found[2] else "") + found[3])
            place = found.end()
        elif name[place] in _BUILTIN:
            listed.append(_BUILTIN[name[place]] + "*" * pointers)
            place += 1
        else:
            return ""
    return f"<{', '.join(listed)}>"
