"""Writes docs/intrinsics.md from the stubs: `python docs/generate_intrinsics.py` (a test checks that it was run)."""

from __future__ import annotations

import importlib
import inspect
import re
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kdsl.lang.construct import Construct
from kdsl.lang.index import Registers
from kdsl.lang.intrinsic import Intrinsic, Libdevice

PAGE = Path(__file__).parent / "intrinsics.md"

SECTIONS = {
    "Indices": "index",
    "Barriers and fences": "synchronization",
    "Warp operations": "warp",
    "Warp matches and reductions": "collective",
    "Clocks, sleep and traps": "special",
    "Atomics": "atomic",
    "Shared and local arrays": "memory",
    "Casts": "casts",
    "Bits and small products": "bits",
    "Trigonometric functions": "math.trigonometry",
    "Exponentials, logarithms, roots": "math.exponential",
    "Lengths and angles": "math.geometry",
    "Special functions": "math.special",
    "Rounding and remainders": "math.rounding",
    "Parts of a float": "math.parts",
    "Integers": "math.integer",
    "Fast approximations": "math.fast",
    "Directed rounding": "math.rounded",
    "Conversions": "math.conversion",
}

PREFIXES = {"math.fast": "fast.", "math.integer": ""}

INTRODUCTION = """\
# Intrinsics

Every function that a kernel can call beside its own, made by `python docs/generate_intrinsics.py` from the stubs in
`kdsl/lang`. `F` is f32 or f64, `I` is i32 or u32, `N` is i32, u32, i64 or u64, `S` any scalar, `T` the elements' type.
The PTX column names the instruction to look for in the output; of functions that are computed by several, the main one.
Functions are imported from `kdsl`, those that are written `math.` or `fast.` from `kdsl.math` and `kdsl.fast`.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([INTRODUCTION, *(line for title, name in SECTIONS.items() for line in section(title, name))])


def section(title: str, name: str) -> Iterator[str]:
    """A heading, the module's docstring, and a table of its functions."""
    module = importlib.import_module(f"kdsl.lang.{name}")
    yield f"## {title}\n"
    yield f"{markdown(inspect.getdoc(module) or '')}\n"
    yield "| function | meaning | PTX | from |"
    yield "|---|---|---|---|"
    for value in vars(module).values():
        for function in functions(value):
            if function.stub.__module__ == module.__name__:
                yield row(function, PREFIXES.get(name, "math." if name.startswith("math.") else ""))
    yield ""


def functions(value: Any) -> Iterator[Intrinsic | Construct]:
    """The functions behind a name of a module: itself, a register's components, or those of a namespace."""
    if isinstance(value, Intrinsic | Construct):
        yield value
    elif isinstance(value, Registers):
        yield from (part for part in (value.x, value.y, value.z) if isinstance(part, Intrinsic))
    elif isinstance(value, type):
        inside = (getattr(part, "__func__", part) for part in vars(value).values())
        yield from (part for part in inside if isinstance(part, Construct))


def row(function: Intrinsic | Construct, prefix: str) -> str:
    """One function's line of the table."""
    meaning = markdown(re.sub(r"\s+", " ", inspect.cleandoc(function.__doc__ or "")))
    ptx, architecture = "", ""
    if isinstance(function, Intrinsic):
        if isinstance(function.lowering, Libdevice) and function.lowering.fast:
            meaning += f" Under fastmath, of f32: `fast.{function.name}`."
        ptx = ", ".join(f"`{mnemonic}`" for mnemonic in function.ptx.split(", ") if mnemonic)
        architecture = f"sm_{function.min_sm}"
    calls = "<br>".join(f"`{prefix}{signature}`" for signature in signatures(function))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in (calls, meaning, ptx, architecture)) + " |"


def signatures(function: Intrinsic | Construct) -> Iterator[str]:
    """As it is called, with the types of parameters and result; one for each overload."""
    if isinstance(function, Intrinsic) and function.register:
        yield f"{function.name} -> i32"
        return
    for stub in typing.get_overloads(function.stub) or [function.stub]:
        # Annotations are strings already, and `repr` quotes them once more.
        text = re.sub(r"""(\w+: | -> )(['"])(.*?)\2""", r"\1\3", str(inspect.signature(stub)))
        yield function.name + text.replace(str(0xFFFF_FFFF), "FULL_MASK")


def markdown(text: str) -> str:
    """reStructuredText's marks as Markdown has them."""
    return re.sub(r"``([^`]+)``", r"`\1`", text)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
