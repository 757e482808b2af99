"""A Compilation's stages as plain text, for the terminal."""

from __future__ import annotations

from collections.abc import Callable

from kdsl.codegen.sass import ToolMissing
from kdsl.compilation import Compilation
from kdsl.ir.show import show


def parameters(compilation: Compilation) -> str:
    """Each kernel's parameter buffer as a table: offset and size in bytes, PTX type, name."""
    out = []
    for kernel, fields in compilation.params.items():
        out.append(f"{kernel}: {fields[-1].offset + fields[-1].size if fields else 0} bytes")
        out += [f"  {'offset':>6} {'size':>4}  {'type':<6} name"] if fields else []
        out += [f"  {field.offset:6} {field.size:4}  {field.ptx:<6} {field.name}" for field in fields]
    return "\n".join(out)


def resources(compilation: Compilation) -> str:
    """What ptxas says that each kernel uses."""
    rows = [f"{'registers':>9} {'shared':>7} {'stack':>6} {'spilled':>8}  kernel"]
    rows += [
        f"{r.registers:9} {r.shared:7} {r.stack:6} {r.spill_stores + r.spill_loads:8}  {r.kernel}"
        for r in compilation.resources
    ]
    return "\n".join(rows)


def sass(compilation: Compilation) -> str:
    """The machine code, under the resources that it takes."""
    return f"{resources(compilation)}\n{compilation.sass}"


STAGES: dict[str, Callable[[Compilation], str]] = {
    "tree": lambda compilation: show(compilation.tree),
    "llvm": lambda compilation: compilation.llvm,
    "llvm-opt": lambda compilation: compilation.llvm_optimized,
    "ptx": lambda compilation: compilation.ptx,
    "params": parameters,
    "sass": sass,
}


def render(compilation: Compilation, stage: str, colour: Callable[[str, str], str] | None = None) -> str:
    """One stage's text; ``all`` is every stage under a heading, and what lacks where a tool for one is missing.
    ``colour`` gets each text and its stage's name.
    """
    if stage == "all":
        return "\n\n".join(f"==== {name}\n{_rendered(compilation, name, colour)}" for name in STAGES)
    text = STAGES[stage](compilation).rstrip()
    return colour(text, stage) if colour else text


def _rendered(compilation: Compilation, stage: str, colour: Callable[[str, str], str] | None) -> str:
    try:
        return render(compilation, stage, colour)
    except ToolMissing as error:
        return str(error)
