"""From the start of an interpreter to a verified vadd, with nothing cached and with a warm cache, beside what such a
program cannot avoid.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from statistics import median
from time import perf_counter

from benchmarks.isolated import ROOT, installed_environment, last_line
from benchmarks.report import Row, print_rows

REPETITIONS = 15
# Few, because this is about the start: a million random numbers alone would take longer than the compilation.
ELEMENTS = "16384"

# What kdsl stands on, LLVM where something is compiled; where there is a GPU, its context has to be made as well.
UNAVOIDABLE = """
import numpy
{llvm}
from cuda.bindings import driver
try:
    found = driver.cuInit(0)[0] == driver.CUresult.CUDA_SUCCESS and driver.cuDeviceGetCount()[1] > 0
except RuntimeError:  # no driver here
    found = False
if found:
    error, context = driver.cuDevicePrimaryCtxRetain(0)
    driver.cuCtxSetCurrent(context)
print("context" if found else "no context")
"""
LLVM = "import llvmlite.binding"


def rows() -> list[Row]:
    return [_row("cold start to verified vadd", LLVM, warm=False), _row("warm start to verified vadd", "", warm=True)]


def _row(name: str, llvm: str, *, warm: bool) -> Row:
    unavoidable: list[float] = []
    ours: list[float] = []
    where = ""
    with tempfile.TemporaryDirectory() as bytecode, tempfile.TemporaryDirectory() as kept:
        for _ in range(REPETITIONS + 1):  # in turns, so that both see the same moods of the machine
            floor_command = [sys.executable, "-c", UNAVOIDABLE.format(llvm=llvm)]
            elapsed, where = process_seconds(floor_command, bytecode, kept if warm else None)
            unavoidable.append(elapsed)
            command = [sys.executable, "examples/02_vadd.py", "--n", ELEMENTS]
            elapsed, said = process_seconds(command, bytecode, kept if warm else None)
            if "verified" not in said:
                return Row.failed(name, said)
            ours.append(elapsed)
    peer = "python numpy llvmlite cuda" if llvm else "python numpy cuda"
    # The first of each fills the page cache and writes the bytecode; warm, it fills the cache as well.
    mine, floor = median(ours[1:]) * 1e3, median(unavoidable[1:]) * 1e3
    # The budget holds on a GPU, where compiling hides behind the making of the context.
    budget = 1.10 if where == "context" else None
    peer += " context" if where == "context" else ", no GPU"
    return Row(name, mine, "ms", peer, floor, budget, budget_of_ratio=True)


def process_seconds(command: list[str], bytecode: str, kept: str | None) -> tuple[float, str]:
    """A process from start to end, and the last line it printed; its caches are in ``kept``, or empty. The driver's own
    is always off.
    """
    with tempfile.TemporaryDirectory() as empty:
        place = kept or empty
        caches = {"KDSL_CACHE_DIR": f"{place}/kdsl", "XDG_CACHE_HOME": place, "CUDA_CACHE_DISABLE": "1"}
        environment = installed_environment(bytecode, **caches)
        start = perf_counter()
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        elapsed = perf_counter() - start
    return elapsed, last_line(done.stdout) or last_line(done.stderr)


if __name__ == "__main__":
    print_rows("Interpreter start to a verified result", rows())
