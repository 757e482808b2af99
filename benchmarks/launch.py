"""``python -m benchmarks.launch``: the host's time for a launch, beside C's `cuLaunchKernel` in the same process.

Exits 0 also where a budget is missed.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter

import kdsl
from benchmarks import examples, isolated
from benchmarks.gpu import Gpu, unavailable
from benchmarks.launchers import BLOCK, GRID, LAUNCHERS, N, Setting
from benchmarks.nvcc import SOURCES
from benchmarks.report import Row, print_rows

LAUNCHES = 400  # fewer than the driver's queue holds: past it a launch waits for the GPU
BATCHES = 41
BUDGETS = {"kdsl": 1.4, "kdsl, prepared": 1.25}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.launch", description="host time of a launch")
    parser.add_argument("--only", choices=LAUNCHERS, action="append", help="measure this library alone")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows to FILE as well")
    parser.add_argument("--row", choices=LAUNCHERS, help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.row:
        print(json.dumps(measure(arguments.row)))
        return 0
    reason = unavailable()
    if reason:
        print(f"benchmarks.launch measures the driver, and there is no GPU here ({reason})")
        return 0

    outcomes = {name: isolated.run("benchmarks.launch", ["--row", name]) for name in arguments.only or LAUNCHERS}
    rows = []
    for name, outcome in outcomes.items():
        if outcome.error:
            rows.append(Row.failed(name, outcome.error))
            continue
        mine, c = outcome.value
        rows.append(Row(name, mine, "us", "cuLaunchKernel from C", c, BUDGETS.get(name), budget_of_ratio=True))
    print_rows("One launch of vadd(a, b, c, n) on device arrays, host time", rows)
    print_against_cuda_core({row.name: row for row in rows if not row.error})
    if arguments.json:
        arguments.json.write_text(json.dumps({row.name: [row.value, row.peer_value, row.error] for row in rows}))
    return 0


def print_against_cuda_core(rows: dict[str, Row]) -> None:
    """The second budget. Ratios to C are compared, because each library ran in a process of its own."""
    ours, theirs = rows.get("kdsl"), rows.get("cuda.core")
    if ours and theirs and ours.ratio and theirs.ratio:
        verdict = "ok" if ours.ratio < theirs.ratio else "MISS"
        print(f"kdsl {ours.ratio:.3f} of C, cuda.core {theirs.ratio:.3f} (budget: below cuda.core): {verdict}")


def measure(name: str) -> tuple[float, float]:
    """Medians over batches, in turns: microseconds per launch by the library, and from C."""
    gpu = Gpu()
    compilation = kdsl.compile(examples.load("02_vadd").vadd, target=gpu.architecture)
    addresses = [gpu.alloc(4 * N) for _ in range(3)]
    loop = LAUNCHERS[name](Setting(gpu, compilation.cubin, compilation.kernels[0], *addresses))
    from_c = c_launcher(gpu, compilation.cubin, compilation.kernels[0], addresses)
    mine: list[float] = []
    c: list[float] = []
    for batch in range(-3, BATCHES):
        start = perf_counter()
        loop(LAUNCHES)
        elapsed = (perf_counter() - start) / LAUNCHES * 1e6
        gpu.synchronize()
        floor = from_c(LAUNCHES)
        if batch >= 0:  # before: warming up
            mine.append(elapsed)
            c.append(floor)
    return median(mine), median(c)


def c_launcher(gpu: Gpu, image: bytes, name: str, addresses: list[int]) -> Callable[[int], float]:
    """launch.c, built here; the function returned launches so many times and says the microseconds of one."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise FileNotFoundError("no C compiler (cc, gcc or clang) is on the PATH")
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "launch.so"
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", library, SOURCES / "launch.c"], check=True)
        launch_seconds = ctypes.CDLL(str(library)).launch_seconds
    cuda = ctypes.CDLL("libcuda.so.1")
    launch_seconds.restype = ctypes.c_double
    pointer, u64 = ctypes.c_void_p, ctypes.c_ulonglong
    launch_seconds.argtypes = [pointer, pointer, pointer, ctypes.c_uint, ctypes.c_uint, pointer, u64, u64, u64]
    launch_seconds.argtypes += [ctypes.c_int, ctypes.c_int]
    entry = (ctypes.cast(cuda.cuLaunchKernel, pointer), ctypes.cast(cuda.cuStreamSynchronize, pointer))
    function = gpu.function(image, name)

    def run(launches: int) -> float:
        handle = pointer(int(function.handle))
        seconds: float = launch_seconds(*entry, handle, GRID, BLOCK, None, *addresses, N, launches)
        if seconds < 0:
            raise RuntimeError(f"cuLaunchKernel from C: CUDA error {-seconds:.0f}")
        return seconds * 1e6

    return run


if __name__ == "__main__":
    raise SystemExit(main())
