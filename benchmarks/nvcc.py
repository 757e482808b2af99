"""CUDA C++ to cubin by nvcc, and what the machine code of two cubins consists of."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

from benchmarks.isolated import ROOT
from kdsl.codegen.sass import disassemble

SOURCES = ROOT / "benchmarks" / "cuda"


def find_tool(name: str) -> str:
    """A program of the CUDA toolkit: on the PATH, under CUDA_HOME, or where the installer puts it."""
    toolkit = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "bin"
    found = shutil.which(name) or shutil.which(name, path=str(toolkit))
    if found is None:
        raise FileNotFoundError(f"{name} is not on the PATH nor under CUDA_HOME: install the CUDA toolkit")
    return found


def compile_cubin(source: str, architecture: str) -> bytes:
    """``benchmarks/cuda/SOURCE.cu`` under -O3 and the flags that its ``// nvcc:`` line names."""
    path = SOURCES / f"{source}.cu"
    flags = re.findall(r"^// nvcc: (.*)$", path.read_text(), re.MULTILINE)
    with tempfile.TemporaryDirectory() as folder:
        cubin = Path(folder) / "out.cubin"
        command = [find_tool("nvcc"), "-O3", f"-arch={architecture}", *" ".join(flags).split()]
        done = subprocess.run([*command, "-cubin", "-o", str(cubin), str(path)], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"nvcc refused {path.name}: {done.stderr.strip()}")
        return cubin.read_bytes()


def count_opcodes(sass: str) -> Counter[str]:
    """How often each opcode stands in nvdisasm's text; padding NOPs and the final self-branch are left out."""
    # A line: /*0010*/  @!P0 IMAD.WIDE R2, ... ;
    found = re.findall(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?\w+\s+)?([A-Z][A-Z0-9_.]*)", sass, re.MULTILINE)
    counts = Counter(opcode for opcode in found if opcode != "NOP")
    counts["BRA"] -= 1
    return +counts


def difference(ours: bytes, theirs: bytes) -> str:
    """Both instruction counts of two cubins, and the opcodes that ours has more or fewer of: ``+2 LDG.E -1 IMAD``."""
    mine, other = count_opcodes(disassemble(ours)), count_opcodes(disassemble(theirs))
    changes = {name: mine[name] - other[name] for name in sorted(mine | other)}
    words = " ".join(f"{count:+d} {name}" for name, count in changes.items() if count) or "the same opcodes"
    return f"{mine.total()} / {other.total()} SASS instructions; kdsl has {words}"
