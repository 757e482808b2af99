"""``python -m benchmarks.kernels``: each example's kernel beside the same algorithm in CUDA C++ under nvcc -O3.

Both are cubins, come to the GPU through the same driver calls, and work on the same buffers; both results are checked
against NumPy before anything is timed. Exits 0 also where a budget is missed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

import kdsl
from benchmarks import examples, isolated, nvcc
from benchmarks.comparisons import COMPARISONS, Comparison
from benchmarks.gpu import Device, Entry, Function, Gpu, unavailable
from benchmarks.report import geometric_mean, table
from benchmarks.workloads import Workload

MEAN_BUDGET = 1.00
WORST_BUDGET = 1.05
SASS_FROM = 1.02
WITHOUT_GPU = "sm_90"
REPETITIONS = 21
SECONDS = 4.0
HEADERS = ("kernel", "kdsl us", "nvcc us", "ratio", "reaches", "registers", "results", "verdict")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernels", description="kernel times beside nvcc's")
    parser.add_argument("--only", choices=COMPARISONS, action="append", help="measure this kernel alone")
    parser.add_argument("--sass", action="store_true", help=f"compare the SASS of kernels above {SASS_FROM}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows to FILE as well")
    parser.add_argument("--row", choices=COMPARISONS, help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.row:
        print(json.dumps(measure(COMPARISONS[arguments.row], arguments.sass)))
        return 0
    reason = unavailable()
    if reason:
        print(f"benchmarks.kernels measures a GPU, and there is none here ({reason})")
        for name in (arguments.only or COMPARISONS) if arguments.sass else ():
            ours, theirs = compile_both(COMPARISONS[name], WITHOUT_GPU)
            print(f"{name} for {WITHOUT_GPU}: {nvcc.difference(ours.cubin, theirs)}")
        return 0

    rows: dict[str, dict[str, Any]] = {}
    for name in arguments.only or COMPARISONS:
        print(f"{name} ...", end=" ", file=sys.stderr, flush=True)
        outcome = isolated.run("benchmarks.kernels", ["--row", name, *(["--sass"] if arguments.sass else [])])
        rows[name] = {"error": outcome.error} if outcome.error else outcome.value
    print(file=sys.stderr)
    print_report(rows, arguments.sass)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1))
    return 0


def measure(comparison: Comparison, sass: bool) -> dict[str, Any]:
    """One row: medians of interleaved repetitions, in microseconds, and what the two cubins consist of."""
    gpu = Gpu()
    example = examples.load(comparison.example)
    compilation, theirs_cubin = compile_both(comparison, gpu.architecture)
    ours = gpu.function(compilation.cubin, compilation.kernels[0])
    theirs = gpu.function(theirs_cubin, comparison.kernel)

    work = comparison.prepare(gpu, example, comparison.size)
    results = verify(gpu, work, ours, theirs)
    kdsl_us, nvcc_us = interleaved(gpu, work, ours, theirs)
    return {
        "gpu": gpu.name,
        "judged": comparison.judged,
        "kdsl_us": kdsl_us,
        "nvcc_us": nvcc_us,
        "ratio": kdsl_us / nvcc_us,
        "reaches": reaches(work, kdsl_us),
        "registers": f"{ours.registers()} / {theirs.registers()}",
        "results": results,
        "sass": nvcc.difference(compilation.cubin, theirs_cubin) if sass else "",
    }


def compile_both(comparison: Comparison, architecture: str) -> tuple[kdsl.Compilation, bytes]:
    """Our compilation, and nvcc's cubin."""
    kernel = comparison.find(examples.load(comparison.example))
    return kdsl.compile(kernel, target=architecture), nvcc.compile_cubin(comparison.twin, architecture)


def verify(gpu: Device, work: Workload, ours: Entry, theirs: Entry) -> str:
    """``verified`` if both kernels' outputs are right (and equal, where they have to be); else what is wrong."""
    outputs = []
    for function, arguments in ((ours, work.ours), (theirs, work.theirs)):
        for buffer in work.outputs:
            if buffer.initial is None:
                gpu.clear(buffer.address, buffer.nbytes)  # or the other kernel's result could pass for this one's
            else:
                gpu.write(buffer.address, buffer.initial)
        for buffer in work.scratch:
            gpu.clear(buffer.address, buffer.nbytes)
        function.launch(work.grid, work.block, arguments)
        gpu.synchronize()
        got = [np.empty(buffer.shape, buffer.dtype) for buffer in work.outputs]
        for buffer, host in zip(work.outputs, got, strict=True):
            gpu.read(buffer.address, host)
        outputs.append(got)
    for name, got in zip(("kdsl", "nvcc"), outputs, strict=True):
        complaint = work.check(got)
        if complaint:
            return f"{name} WRONG: {complaint}"
    equal = all(np.array_equal(x, y) for x, y in zip(*outputs, strict=True))
    if work.bit_equal and not equal:
        return "kdsl and nvcc DIFFER"
    return "verified, bits equal" if equal else "verified"


def interleaved(gpu: Gpu, work: Workload, ours: Function, theirs: Function) -> tuple[float, float]:
    """Median device times of both. In turns and in both orders, so that clocks and heat meet both alike."""
    times: tuple[list[float], list[float]] = ([], [])
    pair = ((ours, work.ours, times[0]), (theirs, work.theirs, times[1]))
    deadline = perf_counter() + SECONDS
    for repetition in range(-2, REPETITIONS):
        for function, arguments, into in pair if repetition % 2 else reversed(pair):
            launch = lambda f=function, a=arguments: f.launch(work.grid, work.block, a)  # noqa: E731
            elapsed = gpu.microseconds(launch, work.launches, [(b.address, b.nbytes) for b in work.scratch])
            if repetition >= 0:  # before: warming up
                into.append(elapsed)
        if perf_counter() > deadline and len(times[0]) >= 5:
            break
    return median(times[0]), median(times[1])


def reaches(work: Workload, microseconds: float) -> str:
    if work.flops:
        return f"{work.flops / microseconds / 1e6:.1f} TFLOP/s"
    return f"{work.bytes_moved / microseconds / 1e3:.0f} GB/s" if work.bytes_moved else ""


def verdict(row: dict[str, Any]) -> str:
    if "verified" not in row["results"]:
        return "MISS"
    if not row["judged"]:
        return "not judged"
    return "ok" if row["ratio"] <= WORST_BUDGET else "MISS"


def row_cells(name: str, row: dict[str, Any]) -> list[str]:
    times = [f"{row['kdsl_us']:.1f}", f"{row['nvcc_us']:.1f}", f"{row['ratio']:.3f}"]
    return [name, *times, row["reaches"], row["registers"], row["results"], verdict(row)]


def print_report(rows: dict[str, dict[str, Any]], sass: bool) -> None:
    good = {name: row for name, row in rows.items() if "error" not in row}
    cells = [row_cells(name, row) for name, row in good.items()]
    cells += [[name, "failed", "", "", "", "", "", "MISS"] for name in rows if name not in good]
    if good:
        print(f"{next(iter(good.values()))['gpu']}; registers of a thread: kdsl / nvcc")
    print(table(HEADERS, cells))
    for name, row in rows.items():
        if "error" in row:
            print(f"{name}: {row['error']}")

    ratios = {name: row["ratio"] for name, row in good.items() if row["judged"]}
    if ratios:
        mean, worst = geometric_mean(list(ratios.values())), max(ratios, key=lambda name: ratios[name])
        print(f"geometric mean {mean:.3f} (budget <= {MEAN_BUDGET:.2f}): {'ok' if mean <= MEAN_BUDGET else 'MISS'}")
        inside = ratios[worst] <= WORST_BUDGET
        print(f"worst {ratios[worst]:.3f}, {worst} (budget <= {WORST_BUDGET:.2f}): {'ok' if inside else 'MISS'}")
    for name in ratios if sass else ():
        if ratios[name] > SASS_FROM:
            print(f"{name}: {good[name]['sass']}")


if __name__ == "__main__":
    raise SystemExit(main())
