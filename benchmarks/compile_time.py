"""From Python source to PTX in a warm process, beside LLVM's part alone, and how it grows with the kernel."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import llvmlite.binding as llvm

import kdsl
from benchmarks.report import Row
from kdsl.files import load_file

TARGET = "sm_90"
REPETITIONS = 15
SIZES = (500, 1000, 2000, 5000)

IMPORTS = "from kdsl import Ptr, block_dim, block_idx, f32, i32, kernel, thread_idx\n\n\n"
VADD = """\
@kernel
def vadd(a: Ptr[f32], b: Ptr[f32], c: Ptr[f32], n: i32):
    i = block_idx.x * block_dim.x + thread_idx.x
    if i < n:
        c[i] = a[i] + b[i]
"""


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        return [vadd_row(Path(folder)), *growth_rows(Path(folder))]


def vadd_row(folder: Path) -> Row:
    # Why a file for each repetition? Nothing that a compiler may keep (a parsed file, a finished kernel) can help then.
    kernels = [kernel_in(folder, f"vadd_{i}", VADD, "vadd") for i in range(REPETITIONS + 2)]
    llvm_text = ""
    for warm_up in kernels[:2]:
        llvm_text = kdsl.compile(warm_up, target=TARGET).llvm
        llvm_alone(llvm_text)
    ours: list[float] = []
    peer: list[float] = []
    for kernel in kernels[2:]:
        ours.append(seconds(partial(to_ptx, kernel)))
        peer.append(seconds(lambda: llvm_alone(llvm_text)))
    return Row("vadd: source to PTX, warm", median(ours) * 1e3, "ms", "LLVM alone", median(peer) * 1e3, budget=15)


def growth_rows(folder: Path) -> list[Row]:
    """CPU time per statement; linear means that the largest kernel pays per statement what the smallest pays.

    LLVM's own part grows faster than its input, so the rest is judged beside the whole.
    """
    whole: dict[int, float] = {}
    ours: dict[int, float] = {}
    for size in SIZES:
        kernels = [kernel_in(folder, f"long_{size}_{i}", long_kernel(size), "long") for i in range(2)]
        text = kdsl.compile(kernels[0], target=TARGET).llvm
        total = min(seconds(partial(to_ptx, kernel), process_time) for kernel in kernels)
        rest = total - min(seconds(partial(llvm_alone, text), process_time) for _ in range(2))
        whole[size], ours[size] = total / size * 1e6, rest / size * 1e6
    return [
        *(growth_row(f"{size} statements, per statement", whole, size) for size in SIZES),
        *(growth_row(f"{size} statements, without LLVM's part", ours, size) for size in SIZES),
    ]


def growth_row(name: str, times: dict[int, float], size: int) -> Row:
    # 1.5 leaves room for caches; quadratic growth would be 10.
    peer = f"{SIZES[0]} statements"
    return Row(name, times[size], "us", peer, times[SIZES[0]], 1.5, budget_of_ratio=True)


def long_kernel(statements: int) -> str:
    """Straight arithmetic with loads, stores and a branch, in the proportions of ordinary kernels."""
    lines = ["@kernel", "def long(a: Ptr[f32], n: i32):", "    i = thread_idx.x", "    x = a[i]", "    y = a[i + 1]"]
    pattern = (
        "x = x * 1.5 + y",
        "y = y - x * 0.25",
        "i = i + 3",
        "x = x + a[i]",
        "if x > y:\n        x = x - y",
        "y = y * y + {k}.0",
        "a[i + {k}] = x",
    )
    count = 3
    k = 0
    while count < statements:
        text = pattern[k % len(pattern)].format(k=k)
        lines.append("    " + text)
        count += 1 + text.count("\n")
        k += 1
    return "\n".join(lines) + "\n"


def kernel_in(folder: Path, module: str, source: str, name: str) -> Any:
    """The kernel that a fresh file defines."""
    path = folder / f"{module}.py"
    path.write_text(IMPORTS + source)
    return getattr(load_file(path), name)


def to_ptx(kernel: Any) -> str:
    return kdsl.compile(kernel, target=TARGET).ptx


def llvm_alone(text: str) -> str:
    """What any compiler on LLVM has to pay: parse, the -O3 pipeline, and PTX."""
    module = llvm.parse_assembly(text)
    machine = llvm.Target.from_triple("nvptx64-nvidia-cuda").create_target_machine(cpu=TARGET, opt=3)
    passes = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    passes.getModulePassManager().run(module, passes)
    return str(machine.emit_assembly(module))


def seconds(work: Callable[[], object], clock: Callable[[], float] = perf_counter) -> float:
    start = clock()
    work()
    return clock() - start
