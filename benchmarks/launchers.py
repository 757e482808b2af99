"""The ways to launch one kernel, ``vadd(a, b, c, n)``, that `benchmarks.launch` times: one function a library.

Each takes the GPU, the kernel's cubin and the device addresses, and returns a function that launches ``count`` times.
The loop is inside it, so that what is timed is a launch as a user writes it, and no call of ours around it.
"""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gpu import Gpu

N = 1024
GRID, BLOCK = N // 256, 256
Loop = Callable[[int], None]


@dataclass(frozen=True)
class Setting:
    """What every launcher starts from. ``image`` is vadd's cubin and ``name`` its entry."""

    gpu: Gpu
    image: bytes
    name: str
    a: int
    b: int
    c: int


def kdsl_launch(setting: Setting) -> Loop:
    import kdsl
    from benchmarks import examples

    kdsl.set_device("cuda")
    vadd = examples.load("02_vadd").vadd
    a, b, c = (kdsl.zeros(N, np.float32) for _ in range(3))

    def loop(count: int) -> None:
        for _ in range(count):
            vadd[GRID, BLOCK](a, b, c, N)

    return loop


def kdsl_config(setting: Setting) -> Loop:
    """By a `LaunchConfig`, which has a hash of its own."""
    import kdsl
    from benchmarks import examples

    kdsl.set_device("cuda")
    vadd = examples.load("02_vadd").vadd
    a, b, c = (kdsl.zeros(N, np.float32) for _ in range(3))

    def loop(count: int) -> None:
        for _ in range(count):
            vadd[kdsl.LaunchConfig.for_num_elems(N)](a, b, c, N)

    return loop


def kdsl_unannotated(setting: Setting) -> Loop:
    """A kernel that takes its types from each launch."""
    import kdsl
    from benchmarks.kernels_without_types import vadd

    kdsl.set_device("cuda")
    a, b, c = (kdsl.zeros(N, np.float32) for _ in range(3))

    def loop(count: int) -> None:
        for _ in range(count):
            vadd[GRID, BLOCK](a, b, c, N)

    return loop


def kdsl_prepared(setting: Setting) -> Loop:
    import kdsl
    from benchmarks import examples

    kdsl.set_device("cuda")
    a, b, c = (kdsl.zeros(N, np.float32) for _ in range(3))
    prepared = examples.load("02_vadd").vadd.prepare(GRID, BLOCK, a, b, c, N)

    def loop(count: int) -> None:
        for _ in range(count):
            prepared()

    return loop


def cuda_python(setting: Setting) -> Loop:
    """`cuLaunchKernel` through cuda-bindings with arguments and their C types, which it packs."""
    from cuda.bindings import driver

    function = setting.gpu.function(setting.image, setting.name)
    types = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
    a, b, c = setting.a, setting.b, setting.c

    def loop(count: int, handle: Any = function.handle, _kept: Any = function) -> None:
        for _ in range(count):
            driver.cuLaunchKernel(handle, GRID, 1, 1, BLOCK, 1, 1, 0, 0, ((a, b, c, N), types), 0)

    return loop


def cuda_python_packed(setting: Setting) -> Loop:
    """`cuLaunchKernel` through cuda-bindings with the arguments packed in advance: Python's floor."""
    from cuda.bindings import driver

    function = setting.gpu.function(setting.image, setting.name)
    values = [ctypes.c_void_p(x) for x in (setting.a, setting.b, setting.c)] + [ctypes.c_int(N)]
    pointers = (ctypes.c_void_p * 4)(*(ctypes.addressof(value) for value in values))
    address = ctypes.addressof(pointers)

    # The defaults keep alive what the driver reads by address.
    def loop(count: int, handle: Any = function.handle, _kept: Any = (function, values, pointers)) -> None:
        for _ in range(count):
            driver.cuLaunchKernel(handle, GRID, 1, 1, BLOCK, 1, 1, 0, 0, address, 0)

    return loop


def cuda_core(setting: Setting) -> Loop:
    try:
        from cuda.core import Device, LaunchConfig, ObjectCode, launch
    except ImportError:  # before cuda.core 1.0
        from cuda.core.experimental import Device, LaunchConfig, ObjectCode, launch

    device = Device(0)
    device.set_current()
    stream = device.default_stream
    kernel = ObjectCode.from_cubin(setting.image).get_kernel(setting.name)
    config = LaunchConfig(grid=GRID, block=BLOCK)
    a, b, c = setting.a, setting.b, setting.c

    def loop(count: int) -> None:
        for _ in range(count):
            launch(stream, config, kernel, a, b, c, np.int32(N))

    return loop


def cupy(setting: Setting) -> Loop:
    import cupy

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vadd.cubin"
        path.write_bytes(setting.image)
        kernel = cupy.RawModule(path=str(path)).get_function(setting.name)
    a, b, c = (cupy.zeros(N, cupy.float32) for _ in range(3))

    def loop(count: int) -> None:
        for _ in range(count):
            kernel((GRID,), (BLOCK,), (a, b, c, np.int32(N)))

    return loop


def triton(setting: Setting) -> Loop:
    import torch

    from benchmarks.triton_vadd import vadd

    a, b, c = (torch.zeros(N, device="cuda") for _ in range(3))

    def loop(count: int) -> None:
        for _ in range(count):
            vadd[(GRID,)](a, b, c, N, BLOCK)

    return loop


def numba(setting: Setting) -> Loop:
    from numba import cuda

    @cuda.jit  # type: ignore[untyped-decorator]
    def vadd(a: Any, b: Any, c: Any, n: Any) -> None:
        i = cuda.grid(1)
        if i < n:
            c[i] = a[i] + b[i]

    a, b, c = (cuda.to_device(np.zeros(N, np.float32)) for _ in range(3))

    def loop(count: int) -> None:
        for _ in range(count):
            vadd[GRID, BLOCK](a, b, c, N)

    return loop


def warp(setting: Setting) -> Loop:
    import warp as wp

    wp.config.quiet = True

    @wp.kernel  # type: ignore[untyped-decorator]
    def vadd(a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=float)):  # type: ignore
        i = wp.tid()
        c[i] = a[i] + b[i]

    a, b, c = (wp.zeros(N, dtype=float, device="cuda") for _ in range(3))

    def loop(count: int) -> None:
        for _ in range(count):
            wp.launch(vadd, dim=N, inputs=(a, b), outputs=(c,), device="cuda")

    return loop


LAUNCHERS: dict[str, Callable[[Setting], Loop]] = {
    "kdsl": kdsl_launch,
    "kdsl, LaunchConfig": kdsl_config,
    "kdsl, no annotations": kdsl_unannotated,
    "kdsl, prepared": kdsl_prepared,
    "cuda-python, packed": cuda_python_packed,
    "cuda-python": cuda_python,
    "cuda.core": cuda_core,
    "CuPy": cupy,
    "Triton": triton,
    "Numba": numba,
    "Warp": warp,
}
