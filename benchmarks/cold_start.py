"""From the start of an interpreter to a verified vadd, with nothing cached, beside what such a program cannot avoid."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from statistics import median
from time import perf_counter

from benchmarks.isolated import ROOT, last_line
from benchmarks.report import Row

REPETITIONS = 7

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
    for _ in range(REPETITIONS + 1):  # in turns, so that both see the same moods of the machine
        elapsed, where = process_seconds([sys.executable, "-c", UNAVOIDABLE])
        unavoidable.append(elapsed)
        # The emulator's time for a million threads would hide the start that this row is about.
        size = str(1 << 20) if where == "context" else str(1 << 14)
        elapsed, said = process_seconds([sys.executable, "examples/02_vadd.py", "--n", size])
        if "verified" not in said:
            return [Row.failed("cold start to verified vadd", said)]
        ours.append(elapsed)
    peer = "python numpy llvmlite cuda" + (" context" if where == "context" else ", no GPU")
    # The first of each fills the page cache.
    mine, floor = median(ours[1:]) * 1e3, median(unavoidable[1:]) * 1e3
    return [Row("cold start to verified vadd", mine, "ms", peer, floor, 1.10, budget_of_ratio=True)]


def process_seconds(command: list[str]) -> tuple[float, str]:
    """A process from start to end with empty caches, and the last line it printed."""
    with tempfile.TemporaryDirectory() as empty:
        environment = os.environ | {
            "KDSL_CACHE_DIR": empty,
            "XDG_CACHE_HOME": empty,
            "CUDA_CACHE_DISABLE": "1",
            "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep),
        }
        start = perf_counter()
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        elapsed = perf_counter() - start
    return elapsed, last_line(done.stdout) or last_line(done.stderr)
