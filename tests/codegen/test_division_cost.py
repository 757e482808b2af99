"""What ``//`` and ``%`` cost in machine code, beside nvcc's ``/`` and ``%`` of the same operands."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import kdsl
from kdsl import Array, Ptr, grid, i32, kernel, thread_idx
from kdsl.codegen.sass import disassemble, find_tool

needs_nvcc = pytest.mark.skipif(
    not (shutil.which("nvcc") and find_tool("ptxas") and find_tool("nvdisasm")), reason="needs nvcc, ptxas and nvdisasm"
)

CUDA = """
#define INDEX int i = blockIdx.x * blockDim.x + threadIdx.x
extern "C" __global__ void quotient(int *o, int w) { INDEX; o[i] = i / w; }
extern "C" __global__ void rest(int *o, int w) { INDEX; o[i] = i % w; }
extern "C" __global__ void pair(int *o, int w) { INDEX; o[i] = i / w * 3 + i % w; }
extern "C" __global__ void constant(int *o, int *x) { int i = threadIdx.x; o[i] = x[i] / 7; }
extern "C" __global__ void constant_rest(int *o, int *x) { int i = threadIdx.x; o[i] = x[i] % 7; }
"""


@kernel
def quotient(o: Ptr[i32], a: Array[i32, 1]):
    i = grid(1)
    o[i] = i // a.shape[0]


@kernel
def rest(o: Ptr[i32], a: Array[i32, 1]):
    i = grid(1)
    o[i] = i % a.shape[0]


@kernel
def pair(o: Ptr[i32], a: Array[i32, 1]):
    i = grid(1)
    o[i] = i // a.shape[0] * 3 + i % a.shape[0]


@kernel
def constant(o: Ptr[i32], x: Ptr[i32]):
    o[thread_idx.x] = x[thread_idx.x] // 7


@kernel
def constant_rest(o: Ptr[i32], x: Ptr[i32]):
    o[thread_idx.x] = x[thread_idx.x] % 7


def sizes(sass: str) -> dict[str, int]:
    """Machine instructions of each kernel, padding and the loop that follows the code not counted."""
    out = {}
    for part in re.split(r"^\s*\.section\s+\.text\.", sass, flags=re.MULTILINE)[1:]:
        code = re.findall(r"/\*[0-9a-f]{4}\*/\s*(.*?)\s*;", part)
        out[part.split(",")[0]] = max(i for i, text in enumerate(code) if "EXIT" in text) + 1
    return out


# The kernels with an extent know more than C's do, and pay for the result that a division by zero must have. For a
# constant divisor, floor costs one instruction more than C's truncation.
ALLOWED = {"quotient": 0, "rest": 0, "pair": 0, "constant": 1, "constant_rest": 1}


@needs_nvcc
def test_division_costs_what_c_s_does(tmp_path: Path) -> None:
    source, cubin = tmp_path / "division.cu", tmp_path / "division.cubin"
    source.write_text(CUDA)
    subprocess.run(["nvcc", "-arch=sm_90", "-O3", "-cubin", str(source), "-o", str(cubin)], check=True)
    theirs = sizes(disassemble(cubin.read_bytes()))
    for checked in (quotient, rest, pair, constant, constant_rest):
        (ours,) = sizes(kdsl.compile(checked, target="sm_90").sass).values()
        name = checked.__name__
        assert ours <= theirs[name] + ALLOWED[name], (name, ours, theirs[name])
