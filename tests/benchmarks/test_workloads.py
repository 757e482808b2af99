"""Every benchmark kernel and its CUDA C++ twin compute the same thing: nvcc's PTX and ours, both run by the emulator.

What a GPU is timed on later is checked here, small: the twins, the arguments for both compilers, and the checks.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kdsl
from benchmarks import examples
from benchmarks.comparisons import COMPARISONS
from benchmarks.gpu import Argument
from benchmarks.kernels import verify
from benchmarks.nvcc import SOURCES
from kdsl.backend import Backend, Launch
from kdsl.emulator import Emulator

SIZES = {
    "hello_constant": 1,
    "vadd": 1000,
    "saxpy": 3001,
    "reduction": 20_003,
    "matmul_tiled": 37,
    "transpose": 70,
    "histogram": 5003,
    "mandelbrot": 40,
    "black_scholes": 1001,
    "stencil3d": 19,
    "scan": 3001,
    "radix_sort": 3001,
    "hash_map": 1001,
    "nbody": 201,
    "game_of_life": 45,
    "spmv_csr": 75,
    "convolution2d": 45,
    "monte_carlo_pi": 3001,
    "warp_aggregated_atomics": 5003,
    "softmax": 76,
    "fft": 3,
}


class EmulatedKernel:
    """A kernel of some PTX, launched with scalars packed as CUDA C packs them."""

    def __init__(self, backend: Backend, ptx: str, name: str) -> None:
        self.backend = backend
        self.function = backend.function(backend.load(ptx.encode()), name)

    def launch(self, grid: Sequence[int], block: Sequence[int], arguments: Sequence[Argument]) -> None:
        packed = bytearray()
        for value, kind in arguments:
            size = ctypes.sizeof(kind)
            packed += bytes(-len(packed) % size) + bytes(kind(value))
        launch = Launch(tuple(grid), tuple(block))  # type: ignore[arg-type]
        self.backend.launch(self.function, launch, packed)


class EmulatedDevice:
    """The emulator as a workload's device."""

    multiprocessors = 1

    def __init__(self) -> None:
        self.backend = Emulator()
        self.alloc = self.backend.alloc
        self.synchronize = self.backend.synchronize

    def write(self, address: int, host: Any) -> None:
        self.backend.write(address, memoryview(host).cast("B"))

    def read(self, address: int, host: Any) -> None:
        self.backend.read(address, memoryview(host).cast("B"))

    def clear(self, address: int, size: int) -> None:
        self.backend.fill(address, 0, size)


def nvcc_ptx(name: str, folder: Path) -> str:
    path = folder / "twin.ptx"
    source = SOURCES / f"{name}.cu"
    flags = [line.split()[2] for line in source.read_text().splitlines() if line.startswith("// nvcc: ")]
    subprocess.run(["nvcc", "-O3", "-arch=sm_90", *flags, "-ptx", "-o", path, source], check=True)
    return path.read_text()


def test_sizes_cover_every_comparison() -> None:
    assert list(SIZES) == list(COMPARISONS)
    assert sorted(path.stem for path in SOURCES.glob("*.cu")) == sorted(COMPARISONS)


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc, which makes the twins' PTX, is not on the PATH")
@pytest.mark.parametrize("name", COMPARISONS)
def test_kernel_and_twin_agree(name: str, tmp_path: Path) -> None:
    comparison = COMPARISONS[name]
    example = examples.load(comparison.example)
    compilation = kdsl.compile(comparison.find(example), target="sm_90")
    device = EmulatedDevice()
    work = comparison.prepare(device, example, SIZES[name])
    ours = EmulatedKernel(device.backend, compilation.ptx, compilation.kernels[0])
    theirs = EmulatedKernel(device.backend, nvcc_ptx(name, tmp_path), comparison.kernel)
    assert verify(device, work, ours, theirs).startswith("verified")


@pytest.mark.parametrize("name", COMPARISONS)
def test_a_kernel_that_does_nothing_is_noticed(name: str) -> None:
    class Idle:
        def launch(self, grid: Sequence[int], block: Sequence[int], arguments: Sequence[Argument]) -> None: ...

    comparison = COMPARISONS[name]
    device = EmulatedDevice()
    work = comparison.prepare(device, examples.load(comparison.example), SIZES[name])
    assert "WRONG" in verify(device, work, Idle(), Idle())


def test_opcodes_are_counted() -> None:
    from benchmarks.nvcc import count_opcodes

    text = """
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/              @!P0 IMAD.WIDE R2, R7, 0x4, R2 ;
        /*0020*/                   IMAD.WIDE R4, R7, 0x4, R4 ;
    .L_x_0:
        /*0030*/                   BRA `(.L_x_0);
        /*0040*/                   NOP;
"""
    assert count_opcodes(text) == {"LDC": 1, "IMAD.WIDE": 2}


def test_failed_rows_say_why(capsys: pytest.CaptureFixture[str]) -> None:
    from benchmarks import isolated
    from benchmarks.report import Row, print_rows

    outcome = isolated.run("benchmarks", ["--only", "nothing"])
    assert outcome.error is not None
    assert "invalid choice" in outcome.error
    rows = [Row("fast", 1.0, "ms", "peer", 2.0, budget=15), Row("slow", 3.0, "ms", "peer", 2.0, 1.1, True)]
    print_rows("Rows", [*rows, Row.failed("broken", outcome.error)])
    text = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in text[4:7]] == ["ok", "MISS", "MISS"]
    assert text[7].startswith("broken: ")


def test_geometric_mean() -> None:
    from benchmarks.report import geometric_mean

    assert np.isclose(geometric_mean([0.5, 2.0, 8.0]), 2.0)
