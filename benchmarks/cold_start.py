"""From the start of an interpreter to a verified vadd, with nothing cached, beside what such a program cannot avoid."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from statistics import median
from time import perf_counter

from benchmarks.isolated import ROOT, installed_environment, last_line
from benchmarks.report import Row

REPETITIONS = 7
# Few, because this is about the start: a million random numbers alone would take longer than the compilation.
ELEMENTS = "16384"

# numpy, llvmlite and cuda-python are what kdsl stands on; where there is a GPU, its context has to be made as well.
UNAVOIDABLE = """
import numpy
import llvmlite.binding
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


def rows() -> list[Row]:
    unavoidable: list[float] = []
    ours: list[float] = []
    where = ""
    with tempfile.TemporaryDirectory() as bytecode:
        for _ in range(REPETITIONS + 1):  # in turns, so that both see the same moods of the machine
            elapsed, where = process_seconds([sys.executable, "-c", UNAVOIDABLE], bytecode)
            unavoidable.append(elapsed)
            elapsed, said = process_seconds([sys.executable, "examples/02_vadd.py", "--n", ELEMENTS], bytecode)
            if "verified" not in said:
                return [Row.failed("cold start to verified vadd", said)]
            ours.append(elapsed)
    peer = "python numpy llvmlite cuda" + (" context" if where == "context" else ", no GPU")
    # The first of each fills the page cache and writes the bytecode.
    mine, floor = median(ours[1:]) * 1e3, median(unavoidable[1:]) * 1e3
    # The budget holds on a GPU, where compiling hides behind the making of the context.
    budget = 1.10 if where == "context" else None
    return [Row("cold start to verified vadd", mine, "ms", peer, floor, budget, budget_of_ratio=True)]


def process_seconds(command: list[str], bytecode: str) -> tuple[float, str]:
    """A process from start to end with empty caches, and the last line it printed."""
    with tempfile.TemporaryDirectory() as empty:
        caches = {"KDSL_CACHE_DIR": empty, "XDG_CACHE_HOME": empty, "CUDA_CACHE_DISABLE": "1"}
        environment = installed_environment(bytecode, **caches)
        start = perf_counter()
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        elapsed = perf_counter() - start
    return elapsed, last_line(done.stdout) or last_line(done.stderr)
