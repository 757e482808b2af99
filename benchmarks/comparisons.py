"""Which kernels are timed beside nvcc's: each an example's, its twin in benchmarks/cuda, and how it is launched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from benchmarks import cooperating, workloads
from benchmarks.gpu import Device
from benchmarks.workloads import Workload


@dataclass(frozen=True)
class Comparison:
    """A kernel of an example and its twin in benchmarks/cuda. ``size``: what ``prepare`` takes on a GPU: elements, or
    the length of an edge. ``judged``: it counts in mean and worst."""

    example: str
    kernel: str
    prepare: Callable[[Device, ModuleType, int], Workload]
    size: int
    judged: bool = True

    def find(self, example: ModuleType) -> Any:
        """The kernel, which may lie in a `cuda_module`."""
        place = example.kernels if hasattr(example, "kernels") else example
        return getattr(place, self.kernel)

    @property
    def twin(self) -> str:
        return self.example.partition("_")[2]


COMPARISONS = {
    c.twin: c
    for c in (
        # One thread: what is timed is the device's own start and end of a kernel.
        Comparison("01_hello_constant", "hello", workloads.hello_constant, 1, judged=False),
        Comparison("02_vadd", "vadd", workloads.vadd, 1 << 26),
        Comparison("03_saxpy", "saxpy", workloads.saxpy, 1 << 26),
        Comparison("04_reduction", "block_sums", workloads.reduction, 1 << 28),
        Comparison("05_matmul_tiled", "matmul", workloads.matmul, 4096),
        Comparison("06_transpose", "transpose", workloads.transpose, 12288),
        Comparison("07_histogram", "histogram", workloads.histogram, 1 << 28),
        Comparison("08_mandelbrot", "mandelbrot", workloads.mandelbrot, 8192),
        Comparison("09_black_scholes", "black_scholes", workloads.black_scholes, 1 << 24),
        Comparison("10_stencil3d", "heat", workloads.heat, 512),
        Comparison("11_scan", "scan", cooperating.scan, 1 << 26),
        Comparison("12_radix_sort", "move", cooperating.radix_move, 1 << 25),
        Comparison("13_hash_map", "insert_and_find", cooperating.hash_map, 1 << 22),
        Comparison("14_nbody", "accelerations", cooperating.nbody, 1 << 16),
        Comparison("15_game_of_life", "generation", cooperating.life, 16384),
        Comparison("16_spmv_csr", "spmv", cooperating.spmv, 1 << 20),
        Comparison("17_convolution2d", "convolve", cooperating.convolution, 8192),
        Comparison("18_monte_carlo_pi", "count_inside", cooperating.monte_carlo, 1 << 28),
        Comparison("19_warp_aggregated_atomics", "keep_above", cooperating.compaction, 1 << 27),
        Comparison("20_softmax", "softmax", cooperating.softmax, 4096),
        Comparison("25_fft", "fft", cooperating.fft, 1 << 16),
    )
}
