"""From a tree to PTX in one step, and what the tests ask of PTX text."""

from __future__ import annotations

import re

from kdsl.codegen.lower import lower
from kdsl.codegen.nvptx import emit, optimize
from kdsl.ir import nodes as ir
from kdsl.target import Target


def ptx_of(*kernels: ir.Function, functions: tuple[ir.Function, ...] = (), arch: str = "sm_90") -> str:
    target = Target.parse(arch)
    return emit(optimize(lower(ir.Module(kernels, functions), target), target), target)


def instructions(ptx: str) -> list[str]:
    """Each instruction of the text, with one space after the mnemonic and without guard, directives and labels."""
    out = []
    for line in ptx.splitlines():
        text = re.sub(r"^@!?%p\d+\s+", "", line.strip())
        if line.startswith("\t") and text.endswith(";") and not text.startswith((".", "//")):
            out.append(re.sub(r"\s+", " ", text))
    return out


def mnemonics(ptx: str) -> list[str]:
    """The opcodes of the text, without parameter loads, stores of results, moves and returns."""
    skipped = ("ld.param", "ret", "mov.", "cvta")
    return [op for op in (i.split()[0].rstrip(";") for i in instructions(ptx)) if not op.startswith(skipped)]
