"""What a timed launch consists of, and the kernels of examples 01 to 10 at sizes past any cache."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.gpu import Argument, Device, f32, i32, pointer

Array = NDArray[Any]
SEED_ELEMENTS = 1 << 22  # random numbers are slow to make: this many, repeated


@dataclass
class Buffer:
    """An array on the device and what a launch should find in it."""

    address: int
    initial: Array | None
    shape: tuple[int, ...]
    dtype: Any

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * int(np.dtype(self.dtype).itemsize)


@dataclass
class Workload:
    """One launch, ready for both kernels. ``check`` takes the outputs and says what is wrong with them, or None."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    ours: list[Argument]
    theirs: list[Argument]
    outputs: list[Buffer]
    check: Callable[[list[Array]], str | None]
    bytes_moved: int = 0
    flops: int = 0
    launches: int = 5
    bit_equal: bool = False
    """Whether the two kernels must agree in every bit: there is no multiply and add that may be fused or not."""
    scratch: list[Buffer] = field(default_factory=list)
    """Cleared before each launch, which then is the only one that is timed; clearing is not."""

    def __post_init__(self) -> None:
        if self.scratch:
            self.launches = 1


def upload(gpu: Device, host: Array) -> Buffer:
    address = gpu.alloc(host.nbytes)
    gpu.write(address, host)
    return Buffer(address, None, host.shape, host.dtype)


def output(gpu: Device, shape: tuple[int, ...], dtype: Any = np.float32, initial: Array | None = None) -> Buffer:
    buffer = Buffer(0, initial, shape, dtype)
    buffer.address = gpu.alloc(buffer.nbytes)
    return buffer


def ceil_div(n: int, d: int) -> int:
    return -(-n // d)


def random(n: int, low: float = 0.0, high: float = 1.0, seed: int = 0) -> Array:
    values = np.random.default_rng(seed).uniform(low, high, min(n, SEED_ELEMENTS)).astype(np.float32)
    return np.resize(values, n)


def array(buffer: Buffer) -> list[Argument]:
    """What a parameter of type Array is made of: the address, then the extents."""
    return [pointer(buffer.address), *map(i32, buffer.shape)]


def wrong(got: Array, expected: Array, bound: Any = 0.0) -> str | None:
    """None if every element is within ``bound`` of the expected one."""
    error = np.abs(got.astype(np.float64) - expected)
    bad = ~(error <= bound)
    return (
        f"{np.count_nonzero(bad)} of {bad.size} elements are off, by up to {np.nanmax(error):g}" if bad.any() else None
    )


def hello_constant(gpu: Device, example: ModuleType, n: int) -> Workload:
    out = output(gpu, (1,), np.int32)
    arguments = [pointer(out.address)]
    check = lambda outputs: wrong(outputs[0], example.reference())  # noqa: E731
    return Workload((1, 1, 1), (1, 1, 1), arguments, arguments, [out], check, launches=1, bit_equal=True)


def vadd(gpu: Device, example: ModuleType, n: int) -> Workload:
    a, b = random(n, seed=1), random(n, seed=2)
    on_device = [upload(gpu, a), upload(gpu, b)]
    c = output(gpu, (n,))
    arguments = [pointer(x.address) for x in (*on_device, c)] + [i32(n)]

    def check(outputs: list[Array]) -> str | None:
        return None if np.array_equal(outputs[0], example.reference(a, b)) else "differs from a + b"

    return Workload(
        (ceil_div(n, 256), 1, 1), (256, 1, 1), arguments, arguments, [c], check, bytes_moved=12 * n, bit_equal=True
    )


def saxpy(gpu: Device, example: ModuleType, n: int) -> Workload:
    a = 2.5
    x, y = random(n, seed=1), random(n, seed=2)
    out = output(gpu, (n,), initial=y)
    arguments = [f32(a), pointer(upload(gpu, x).address), pointer(out.address), i32(n)]
    grid = gpu.multiprocessors * 8  # 256 threads each: a full device

    def check(outputs: list[Array]) -> str | None:
        expected = example.reference(a, x, y)
        return wrong(outputs[0], expected, np.spacing(expected))

    return Workload((grid, 1, 1), (256, 1, 1), arguments, arguments, [out], check, bytes_moved=12 * n)


def reduction(gpu: Device, example: ModuleType, n: int) -> Workload:
    block = 256
    blocks = gpu.multiprocessors * 8
    x = random(n)
    sums = output(gpu, (blocks,))
    arguments = [pointer(upload(gpu, x).address), pointer(sums.address), i32(n)]

    def check(outputs: list[Array]) -> str | None:
        expected = example.reference(x)
        chain = n // (blocks * block) + 1 + 10
        return wrong(outputs[0].sum(dtype=np.float64, keepdims=True), np.array([expected]), chain * 2.0**-24 * expected)

    return Workload(
        (blocks, 1, 1), (block, 1, 1), arguments, arguments, [sums], check, bytes_moved=4 * n, bit_equal=True
    )


def matmul(gpu: Device, example: ModuleType, n: int) -> Workload:
    tile = example.TILE
    a, b = random(n * n, seed=1).reshape(n, n), random(n * n, seed=2).reshape(n, n)
    da, db, dc = upload(gpu, a), upload(gpu, b), output(gpu, (n, n))
    theirs = [pointer(x.address) for x in (da, db, dc)] + [i32(n)] * 3

    def check(outputs: list[Array]) -> str | None:
        expected = example.reference(a, b)
        return wrong(outputs[0], expected, n * 2.0**-24 * expected)

    grid = (ceil_div(n, tile), ceil_div(n, tile), 1)
    ours = array(da) + array(db) + array(dc)
    return Workload(grid, (tile, tile, 1), ours, theirs, [dc], check, flops=2 * n**3, launches=1)


def transpose(gpu: Device, example: ModuleType, n: int) -> Workload:
    source = np.arange(n * n, dtype=np.int32).view(np.float32).reshape(n, n)  # every element another bit pattern
    on_device, out = upload(gpu, source), output(gpu, (n, n))
    theirs = [pointer(on_device.address), pointer(out.address), i32(n), i32(n)]

    def check(outputs: list[Array]) -> str | None:
        same = np.array_equal(outputs[0].view(np.int32), example.reference(source).view(np.int32))
        return None if same else "differs from the transpose"

    ours = array(on_device) + array(out)
    grid, block = (ceil_div(n, 32), ceil_div(n, 32), 1), (32, 8, 1)
    return Workload(grid, block, ours, theirs, [out], check, bytes_moved=8 * n * n, bit_equal=True)


def histogram(gpu: Device, example: ModuleType, n: int) -> Workload:
    seed = np.clip(np.random.default_rng(0).normal(128, 30, min(n, SEED_ELEMENTS)), 0, 255).astype(np.uint8)
    bins = output(gpu, (example.BINS,), np.int32)
    arguments = [pointer(upload(gpu, np.resize(seed, n)).address), pointer(bins.address), i32(n)]
    check = lambda outputs: wrong(outputs[0], example.reference(seed) * (n // seed.size))  # noqa: E731
    blocks = gpu.multiprocessors * 8
    return Workload((blocks, 1, 1), (256, 1, 1), arguments, arguments, [bins], check, bytes_moved=n, bit_equal=True)


def mandelbrot(gpu: Device, example: ModuleType, n: int) -> Workload:
    limit = 256
    # The upper edge is the real axis, so that the rows that NumPy can afford to check cross the whole set.
    left, top, pixel = -2.0, 0.0, 2.0 / n
    steps = output(gpu, (n, n), np.int32)
    scalars = [f32(left), f32(top), f32(pixel), i32(limit)]

    def check(outputs: list[Array]) -> str | None:
        rows = min(64, n)  # all of them would take NumPy minutes
        return wrong(outputs[0][:rows], example.reference(rows, n, left, top, pixel, limit))

    ours = array(steps) + scalars
    theirs = [pointer(steps.address), i32(n), i32(n), *scalars]
    grid, block = (ceil_div(n, 32), ceil_div(n, 8), 1), (32, 8, 1)
    return Workload(grid, block, ours, theirs, [steps], check, launches=1, bit_equal=True)


def black_scholes(gpu: Device, example: ModuleType, n: int) -> Workload:
    rate, sigma = 0.02, 0.3
    inputs = random(n, 5, 30, seed=1), random(n, 1, 100, seed=2), random(n, 0.25, 10, seed=3)
    outputs = [output(gpu, (n,)), output(gpu, (n,))]
    arguments = [pointer(upload(gpu, x).address) for x in inputs] + [pointer(x.address) for x in outputs]
    arguments += [f32(rate), f32(sigma), i32(n)]

    def check(prices: list[Array]) -> str | None:
        part = slice(0, 1 << 17)  # Python's erf is slow
        expected = example.reference(*(x[part] for x in inputs), rate, sigma)
        bound = 2.0**-20 * (inputs[0] + inputs[1])[part]
        return wrong(prices[0][part], expected[0], bound) or wrong(prices[1][part], expected[1], bound)

    grid = (gpu.multiprocessors * 8, 1, 1)
    return Workload(grid, (256, 1, 1), arguments, arguments, outputs, check, bytes_moved=20 * n)


def heat(gpu: Device, example: ModuleType, n: int) -> Workload:
    u = random(n**3).reshape(n, n, n)
    on_device, out = upload(gpu, u), output(gpu, (n, n, n), initial=u)
    theirs = [pointer(on_device.address), pointer(out.address), i32(n), i32(n), i32(n)]

    def check(outputs: list[Array]) -> str | None:
        planes = min(32, n)  # in f64 the whole cube would take gigabytes
        return wrong(outputs[0][: planes - 1], example.reference(u[:planes])[:-1], 2.0**-20)

    ours = array(on_device) + array(out)
    grid, block = (ceil_div(n, 32), ceil_div(n, 4), ceil_div(n, 2)), (32, 4, 2)
    return Workload(grid, block, ours, theirs, [out], check, bytes_moved=8 * n**3)
