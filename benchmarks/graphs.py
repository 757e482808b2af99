"""``python -m benchmarks.graphs``: a graph of 100 kernels, beside the same launches one by one, and beside C.

Exits 0 also where a budget is missed.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import random
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from cuda.bindings import driver

import kdsl
from benchmarks import examples, isolated
from benchmarks.gpu import check, unavailable
from benchmarks.nvcc import SOURCES
from benchmarks.report import Row, print_rows

KERNELS = 100
N, GRID, BLOCK = 1024, 4, 256
LAUNCHES = 8  # fewer than the driver's queue holds
BATCHES = 41
BUDGET = 1.2


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.graphs", description="launching a graph of 100 kernels")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.child:
        print(json.dumps(measure()))
        return 0
    reason = unavailable()
    if reason:
        print(f"benchmarks.graphs measures the driver, and there is no GPU here ({reason})")
        return 0
    outcome = isolated.run("benchmarks.graphs", ["--child"])
    print_rows(f"A graph of {KERNELS} kernels", rows(outcome.value) if not outcome.error else [failed(outcome.error)])
    return 0


def failed(error: str) -> Row:
    return Row.failed("a graph", error)


def rows(us: dict[str, float]) -> list[Row]:
    """The table of what `measure` found, in microseconds."""
    c = "cuGraphLaunch from C"
    return [
        Row("run.launch(stream), host", us["kdsl"], "us", "cuda-python", us["raw"], BUDGET, budget_of_ratio=True),
        Row("run.launch(stream), host", us["kdsl"], "us", c, us["C"]),
        Row("cuda-python, host", us["raw"], "us", c, us["C"]),
        Row("all kernels, to the end", us["graph"], "us", f"{KERNELS} launches, to the end", us["launches"]),
        Row("all kernels, host", us["kdsl"], "us", f"{KERNELS} launches, host", us["launches, host"]),
        Row("one argument of a node changed", us["update"], "us", "run.launch(stream), host", us["kdsl"]),
    ]


def measure() -> dict[str, float]:
    """Medians over batches, in turns."""
    kdsl.set_device("cuda")
    vadd = examples.load("02_vadd").vadd
    a, b, c = (kdsl.zeros(N, np.float32) for _ in range(3))
    stream = kdsl.Stream()

    def launches() -> None:
        for _ in range(KERNELS):
            vadd[GRID, BLOCK, stream](a, b, c, N)

    launches()
    with stream.capture() as graph:
        launches()
    # Changed by itself: the launch that follows a change takes longer, and is none of what is compared.
    run, changed = graph.instantiate(), graph.instantiate()
    executable, handle = raw_executable(stream, launches)
    from_c = c_launcher(executable, handle)

    def raw() -> None:
        driver.cuGraphLaunch(executable, handle)

    numbers = iter(range(1 << 30))
    found: dict[str, list[float]] = {}
    turns: list[tuple[str, Callable[[], float]]] = [
        ("kdsl", lambda: timed(stream, lambda: run.launch(stream))),
        ("raw", lambda: timed(stream, raw)),
        ("C", lambda: from_c(LAUNCHES)),
        ("launches, host", lambda: timed(stream, launches, 1)),
        ("graph", lambda: timed(stream, lambda: run.launch(stream), to_the_end=True)),
        ("launches", lambda: timed(stream, launches, to_the_end=True)),
        ("update", lambda: timed(stream, lambda: changed.nodes[50].update(n=next(numbers) % N), 50)),
    ]
    for batch in range(-3, BATCHES):
        # In another order each time: what follows the change of a node finds the caches cold.
        for name, microseconds in random.Random(batch).sample(turns, len(turns)):
            value = microseconds()
            if batch >= 0:  # before: warming up
                found.setdefault(name, []).append(value)
    return {name: median(values) for name, values in found.items()}


def timed(stream: kdsl.Stream, call: Callable[[], object], count: int = LAUNCHES, to_the_end: bool = False) -> float:
    """Microseconds of one call; the wait for what it launched is counted if it is asked for."""
    start = perf_counter()
    for _ in range(count):
        call()
    elapsed = perf_counter() - start
    stream.synchronize()
    if to_the_end:
        elapsed = perf_counter() - start
    return elapsed / count * 1e6


def raw_executable(stream: kdsl.Stream, launches: Callable[[], None]) -> tuple[Any, Any]:
    """The same graph, made with cuda-python alone, and the stream."""
    handle = driver.CUstream(stream.handle)
    check(driver.cuStreamBeginCapture(handle, driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED))
    launches()
    return check(driver.cuGraphInstantiate(check(driver.cuStreamEndCapture(handle)), 0)), handle


def c_launcher(executable: Any, stream: Any) -> Callable[[int], float]:
    """graph.c, built here; the function returned launches so many times and says the microseconds of one."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise FileNotFoundError("no C compiler (cc, gcc or clang) is on the PATH")
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "graph.so"
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", library, SOURCES / "graph.c"], check=True)
        graph_seconds = ctypes.CDLL(str(library)).graph_seconds
    cuda = ctypes.CDLL("libcuda.so.1")
    pointer = ctypes.c_void_p
    graph_seconds.restype = ctypes.c_double
    graph_seconds.argtypes = [pointer, pointer, pointer, pointer, ctypes.c_int]
    entry = (ctypes.cast(cuda.cuGraphLaunch, pointer), ctypes.cast(cuda.cuStreamSynchronize, pointer))

    def run(launches: int) -> float:
        seconds: float = graph_seconds(*entry, pointer(int(executable)), pointer(int(stream)), launches)
        if seconds < 0:
            raise RuntimeError(f"cuGraphLaunch from C: CUDA error {-seconds:.0f}")
        return seconds * 1e6

    return run


if __name__ == "__main__":
    raise SystemExit(main())
