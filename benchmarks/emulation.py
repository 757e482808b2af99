"""How fast the emulator is: host time per thread of vadd, and a tiled matrix product."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import perf_counter

import numpy as np

import kdsl
from benchmarks import examples
from benchmarks.report import Row


def rows() -> list[Row]:
    kdsl.set_device("emulator")
    return [vadd_row(1 << 20), matmul_row(512)]


def vadd_row(n: int) -> Row:
    vadd = examples.load("02_vadd").vadd
    rng = np.random.default_rng(0)
    a, b = rng.random(n, np.float32), rng.random(n, np.float32)
    c = np.empty_like(a)
    on_device = [kdsl.to_device(x) for x in (a, b, c)]

    def launch() -> None:
        vadd[(n + 255) // 256, 256](*on_device, n)
        kdsl.synchronize()

    launch()  # compiles
    emulated = median(seconds(launch) for _ in range(5)) / n * 1e6
    numpy_alone = median(seconds(lambda: np.add(a, b, out=c)) for _ in range(5)) / n * 1e6
    if not np.array_equal(on_device[2].to_host(), a + b):
        return Row.failed("vadd, 2^20 threads, per thread", "wrong result")
    name = "vadd, 2^20 threads, per thread"
    return Row(name, emulated, "us", "NumPy a + b", numpy_alone, budget=0.2, decimals=4)


def matmul_row(size: int) -> Row:
    name = f"tiled f32 matmul, {size}^3"
    example = examples.load("05_matmul_tiled")
    rng = np.random.default_rng(0)
    a, b = rng.random((size, size), np.float32), rng.random((size, size), np.float32)
    c = np.empty_like(a)
    tiles = size // example.TILE

    def launch() -> None:
        example.matmul[(tiles, tiles), (example.TILE, example.TILE)](a, b, c)

    elapsed = seconds(launch)
    expected = example.reference(a, b)
    if not np.all(np.abs(c - expected) <= size * 2.0**-24 * expected):
        return Row.failed(name, "wrong result")
    # "Seconds": ten at most.
    return Row(name, elapsed, "s", "NumPy a @ b", seconds(lambda: a @ b), budget=10, decimals=3)


def seconds(work: Callable[[], object]) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start
