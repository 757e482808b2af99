"""The language's functions as a table, read from the stubs in `kdsl.lang`: for docs/intrinsics.md and the terminal."""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
import typing
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from kdsl.lang.construct import Construct
from kdsl.lang.index import Registers
from kdsl.lang.intrinsic import Intrinsic, Libdevice
from kdsl.records import dataclass

SECTIONS = {
    "Indices": "index",
    "Barriers and fences": "synchronization",
    "Clusters": "cluster",
    "The whole grid": "whole_grid",
    "Warp operations": "warp",
    "Warp matches and reductions": "collective",
    "Groups of threads": "groups",
    "Clocks, sleep and traps": "special",
    "Atomics": "atomic",
    "Shared and local arrays": "memory",
    "Alignment and copies by a block": "alignment",
    "Cache policies": "policies",
    "Casts": "casts",
    "Inline PTX": "inline",
    "Compile time": "static",
    "Sizes of types": "sizes",
    "Bits and small products": "bits",
    "Integers": "math.integer",
    "Trigonometric functions": "math.trigonometry",
    "Exponentials, logarithms, roots": "math.exponential",
    "Lengths and angles": "math.geometry",
    "Special functions": "math.special",
    "Rounding and remainders": "math.rounding",
    "Parts of a float": "math.parts",
    "16-bit floats": "math.half",
    "Fast approximations": "math.fast",
    "Directed rounding": "math.rounded",
    "Conversions": "math.conversion",
}
"""Each title and the module below `kdsl.lang`."""

_PREFIXES = {"math.fast": "fast.", "math.integer": ""}
_ANY_MASK = str(0xFFFF_FFFF)


_ATOMICS = ("add", "min", "max", "inc", "dec", "exch", "cas", "and_", "or_", "xor")
_CONSTRUCTS: dict[str, tuple[str, ...]] = {
    **{f"atomic.{name}": (f"atom.{name.rstrip('_')}",) for name in _ATOMICS},
    "atomic.sub": ("atom.add",),
    "atomic.load": ("ld.relaxed", "ld.acquire"),
    "atomic.store": ("st.relaxed", "st.release"),
    "load": ("ld.global",),
    "store": ("st.global",),
    "prefetch": ("prefetch.global",),
    "map_shared_rank": ("mapa",),
}
"""The instructions of functions that have no stub of one."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One function. ``signatures`` are all its forms, ``ptx`` the mnemonics to look for, ``architecture`` the first.

    Both are empty for what becomes more or less than an instruction, such as ``shared.array``.
    """

    name: str
    signatures: tuple[str, ...]
    meaning: str
    ptx: tuple[str, ...] = ()
    architecture: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """The functions of one module of stubs, in its order."""

    title: str
    introduction: str
    entries: tuple[Entry, ...]


def sections() -> tuple[Section, ...]:
    """The whole table."""
    return tuple(_section(title, name) for title, name in SECTIONS.items())


def matching(pattern: str) -> tuple[Entry, ...]:
    """The functions whose name or instruction has ``pattern`` in it, or is like it if it has ``*``, ``?`` or ``[``."""
    pattern = pattern.lower()
    if not re.search(r"[*?[]", pattern):
        pattern = f"*{pattern}*"
    entries = (entry for section in sections() for entry in section.entries)
    return tuple(e for e in entries if any(fnmatchcase(text.lower(), pattern) for text in (e.name, *e.ptx)))


def rendered(entry: Entry) -> str:
    """For a terminal: the forms, what it does, and what it becomes."""
    meaning = textwrap.fill(entry.meaning.replace("`", ""), 100, initial_indent="    ", subsequent_indent="    ")
    becomes = f"    PTX: {', '.join(entry.ptx)}" if entry.ptx else ""
    since = f"    from {entry.architecture}" if entry.architecture else ""
    return "\n".join(line for line in (*entry.signatures, meaning, becomes, since) if line)


def _section(title: str, name: str) -> Section:
    module = importlib.import_module(f"kdsl.lang.{name}")
    prefix = _PREFIXES.get(name, "math." if name.startswith("math.") else "")
    found = (f for value in vars(module).values() for f in _functions(value))
    entries = tuple(_entry(f, prefix) for f in found if f.stub.__module__ == module.__name__)
    return Section(title, inspect.getdoc(module) or "", entries)


def _functions(value: Any) -> Iterator[Intrinsic | Construct]:
    """The functions behind a name of a module: itself, a register's components, or those of a namespace."""
    if isinstance(value, Intrinsic | Construct):
        yield value
    elif isinstance(value, Registers):
        yield from (part for part in (value.x, value.y, value.z) if isinstance(part, Intrinsic))
    elif isinstance(value, type):
        inside = (getattr(part, "__func__", part) for part in vars(value).values())
        yield from (part for part in inside if isinstance(part, Construct))


def _entry(function: Intrinsic | Construct, prefix: str) -> Entry:
    name = f"{prefix}{function.name}"
    meaning = re.sub(r"\s+", " ", inspect.cleandoc(function.__doc__ or ""))
    forms = tuple(f"{prefix}{form}" for form in _signatures(function))
    if isinstance(function, Construct):
        return Entry(name, forms, meaning, _CONSTRUCTS.get(name, ()))
    if isinstance(function.lowering, Libdevice) and function.lowering.fast:
        meaning += f" Under fastmath, of f32: ``fast.{function.name}``."
    ptx = tuple(mnemonic for mnemonic in function.ptx.split(", ") if mnemonic)
    return Entry(name, forms, meaning, ptx, f"sm_{function.min_sm}")


def _signatures(function: Intrinsic | Construct) -> Iterator[str]:
    """As it is called, with the types of parameters and result; one for each overload."""
    if isinstance(function, Intrinsic) and function.register:
        yield f"{function.name} -> i32"
        return
    for stub in typing.get_overloads(function.stub) or [function.stub]:
        # Annotations are strings already, and `repr` quotes them once more.
        text = re.sub(r"""(\w+: | -> )(['"])(.*?)\2""", r"\1\3", str(inspect.signature(stub)))
        yield function.name + text.replace(_ANY_MASK, "FULL_MASK")
