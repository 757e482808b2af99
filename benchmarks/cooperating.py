"""The kernels of examples 11 to 20 and 25, whose threads depend on each other, at sizes past any cache."""

from __future__ import annotations

import ctypes
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.gpu import Argument, Device, i32, pointer
from benchmarks.workloads import Buffer, Workload, array, ceil_div, output, random, upload, wrong

Array = NDArray[Any]


def u32(value: int) -> Argument:
    return value, ctypes.c_uint


def same(got: Array, expected: Array) -> str | None:
    return wrong(got, expected.astype(np.float64))


def scan(gpu: Device, example: ModuleType, n: int) -> Workload:
    x = np.resize(np.random.default_rng(11).integers(-100, 100, min(n, 1 << 22), np.int32), n)
    tiles = ceil_div(n, example.TILE)
    out = output(gpu, (n,), np.int32)
    ticket, status = output(gpu, (1,), np.int32), output(gpu, (tiles,), np.int32)
    sums, prefixes = output(gpu, (tiles,), np.int32), output(gpu, (tiles,), np.int32)
    buffers = upload(gpu, x), out, ticket, status, sums, prefixes
    arguments = [pointer(b.address) for b in buffers] + [i32(n)]
    check = lambda outputs: same(outputs[0], example.reference(x))  # noqa: E731
    grid, block = (tiles, 1, 1), (example.BLOCK, 1, 1)
    return Workload(
        grid,
        block,
        arguments,
        arguments,
        [out],
        check,
        bytes_moved=8 * n,
        bit_equal=True,
        scratch=[ticket, status],
    )


def radix_move(gpu: Device, example: ModuleType, n: int) -> Workload:
    """One pass of the sort, by the lowest digit, with the places counted by NumPy."""
    keys = np.resize(np.random.default_rng(12).integers(0, 1 << 32, min(n, 1 << 22), np.uint32), n)
    values = np.arange(n, dtype=np.int32)
    blocks = ceil_div(n, example.BLOCK)
    digits = np.full(blocks * example.BLOCK, example.RADIX, np.int64)
    digits[:n] = keys % example.RADIX
    place = digits * blocks + np.arange(digits.size) // example.BLOCK  # past the end: beyond all counts
    counts = np.bincount(place[:n], minlength=example.RADIX * blocks)
    offsets = (np.cumsum(counts) - counts).astype(np.int32)
    outputs = [output(gpu, (n,), np.uint32), output(gpu, (n,), np.int32)]
    inputs = [upload(gpu, keys), upload(gpu, values)]
    arguments = [pointer(b.address) for b in (*inputs, *outputs, upload(gpu, offsets))] + [i32(0), i32(n)]

    def check(moved: list[Array]) -> str | None:
        order = np.argsort(digits[:n], kind="stable")
        return same(moved[0], keys[order]) or same(moved[1], values[order])

    grid, block = (blocks, 1, 1), (example.BLOCK, 1, 1)
    return Workload(grid, block, arguments, arguments, outputs, check, bytes_moved=16 * n, launches=1, bit_equal=True)


def hash_map(gpu: Device, example: ModuleType, n: int) -> Workload:
    rng = np.random.default_rng(13)
    keys = rng.choice(rng.integers(0, 0xFFFF_FFFF, n, np.uint32), n)
    values = rng.integers(1, 1 << 32, n, np.uint32)
    capacity = 1 << (2 * n - 1).bit_length()
    table = output(gpu, (capacity,), np.uint64, initial=np.full(capacity, example.EMPTY, np.uint64))
    seen = output(gpu, (n,), np.uint32)
    inputs = [upload(gpu, keys), upload(gpu, values)]
    arguments = [pointer(table.address), u32(capacity - 1), *(pointer(b.address) for b in (*inputs, seen)), i32(n)]

    def check(outputs: list[Array]) -> str | None:
        # The largest value of each key is what the table holds in the end, in whatever slot.
        order = np.lexsort((values, keys))
        last = np.append(keys[order][1:] != keys[order][:-1], True)
        expected = keys[order][last].astype(np.uint64) << np.uint64(32) | values[order][last]
        held = outputs[0][outputs[0] != np.uint64(example.EMPTY)]
        if not np.array_equal(np.sort(held), np.sort(expected)):
            return "the table does not hold the largest value of each key"
        return None if np.all(values <= outputs[1]) else "a search found less than the searcher had inserted"

    grid = (ceil_div(n, 256), 1, 1)
    return Workload(grid, (256, 1, 1), arguments, arguments, [table, seen], check, bytes_moved=12 * n, launches=1)


def nbody(gpu: Device, example: ModuleType, n: int) -> Workload:
    bodies = random(4 * n, seed=14).reshape(4, n).copy()
    bodies[3] /= n
    on_device, out = upload(gpu, bodies), output(gpu, (3, n))
    theirs = [pointer(on_device.address), pointer(out.address), i32(n)]

    def check(outputs: list[Array]) -> str | None:
        part = slice(0, min(n, 64))  # of all bodies against all NumPy has no place for
        position = bodies[:3].astype(np.float64)
        difference = position[:, None, :] - position[:, part, None]
        distance = np.sqrt(np.sum(difference**2, axis=0) + example.SOFTENING)
        terms = bodies[3] * difference / distance**3
        bound = (n + 20) * 2.0**-24 * np.abs(terms).sum(axis=2)
        return wrong(outputs[0][:, part], terms.sum(axis=2), bound)

    ours = array(on_device) + array(out)
    grid, block = (ceil_div(n, example.TILE), 1, 1), (example.TILE, 1, 1)
    return Workload(grid, block, ours, theirs, [out], check, flops=20 * n * n, launches=1)


def life(gpu: Device, example: ModuleType, n: int) -> Workload:
    board = np.resize(np.random.default_rng(15).integers(0, 2, min(n * n, 1 << 22), np.uint8), (n, n))
    on_device, after = upload(gpu, board), output(gpu, (n, n), np.uint8)
    theirs = [pointer(on_device.address), pointer(after.address), i32(n), i32(n)]

    def check(outputs: list[Array]) -> str | None:
        rows = min(n, 256)  # and one more on each side, as the board is a torus
        around = np.take(board, range(-1, rows + 1), axis=0, mode="wrap")
        return same(outputs[0][:rows], example.reference(around, 1)[1:-1])

    ours = array(on_device) + array(after)
    grid, block = (ceil_div(n, 32), ceil_div(n, 8), 1), (32, 8, 1)
    return Workload(grid, block, ours, theirs, [after], check, bytes_moved=2 * n * n, bit_equal=True)


def spmv(gpu: Device, example: ModuleType, n: int) -> Workload:
    rng = np.random.default_rng(16)
    lengths = rng.integers(0, 101, n)
    starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    elements = int(starts[-1])
    columns = np.resize(rng.integers(0, n, min(elements, 1 << 22), np.int32), elements)
    values, x = random(elements, -1, 1, seed=1), random(n, -1, 1, seed=2)
    y = output(gpu, (n,))
    buffers = [upload(gpu, data) for data in (starts, columns, values, x)]
    arguments = [pointer(b.address) for b in (*buffers, y)] + [i32(n)]

    def check(outputs: list[Array]) -> str | None:
        rows = min(n, 1 << 14)
        end = starts[rows]
        expected, magnitude = example.reference(lengths[:rows], columns[:end], values[:end], x)
        return wrong(outputs[0][:rows], expected, (100 // 32 + 6) * 2.0**-24 * magnitude)

    grid, block = (ceil_div(32 * n, example.BLOCK), 1, 1), (example.BLOCK, 1, 1)
    return Workload(grid, block, arguments, arguments, [y], check, bytes_moved=8 * elements + 12 * n, launches=1)


def convolution(gpu: Device, example: ModuleType, n: int) -> Workload:
    image = random(n * n, seed=17).reshape(n, n)
    chosen = 1
    on_device, out = upload(gpu, image), output(gpu, (n, n))
    theirs = [pointer(on_device.address), pointer(out.address), i32(n), i32(n), i32(chosen)]

    def check(outputs: list[Array]) -> str | None:
        rows = min(n, 256)
        below = min(n, rows + example.RADIUS)  # what the last checked row sees
        expected = example.reference(image[:below], example.FILTERS[chosen])[:rows]
        return wrong(outputs[0][:rows], expected, example.SIDE**2 * 2.0**-24)

    ours = [*array(on_device), *array(out), i32(chosen)]
    blocks = ceil_div(n, example.TILE)
    grid, block = (blocks, blocks, 1), (example.TILE, example.TILE, 1)
    return Workload(grid, block, ours, theirs, [out], check, bytes_moved=8 * n * n)


def monte_carlo(gpu: Device, example: ModuleType, n: int) -> Workload:
    seed = 2024
    hits = output(gpu, (1,), np.uint64)
    arguments = [pointer(hits.address), u32(seed), i32(n)]

    def check(outputs: list[Array]) -> str | None:
        if n <= 1 << 20:
            return same(outputs[0], example.reference(seed, n).reshape(1))
        estimate = 4 * int(outputs[0][0]) / (2 * n)  # NumPy would take minutes for the count itself
        deviation = np.sqrt(np.pi * (4 - np.pi) / (2 * n))
        return None if abs(estimate - np.pi) <= 5 * deviation else f"pi would be {estimate}"

    grid = (gpu.multiprocessors * 8, 1, 1)
    return Workload(grid, (256, 1, 1), arguments, arguments, [hits], check, launches=1, bit_equal=True)


def compaction(gpu: Device, example: ModuleType, n: int) -> Workload:
    threshold = 250
    x = np.resize(np.random.default_rng(19).integers(-1000, 1000, min(n, 1 << 22), np.int32), n)
    out, counter = output(gpu, (n,), np.int32), Buffer(gpu.alloc(4), None, (1,), np.int32)
    arguments = [
        pointer(upload(gpu, x).address),
        pointer(out.address),
        pointer(counter.address),
        i32(threshold),
        i32(n),
    ]
    expected = example.reference(x, threshold)

    def check(outputs: list[Array]) -> str | None:
        # The warps come in any order, and what lies beyond the kept elements was cleared: zeros, below the threshold.
        kept = np.sort(outputs[0][outputs[0] > threshold])
        return None if np.array_equal(kept, expected) else f"{kept.size} elements are kept, not {expected.size}"

    moved = 4 * n + 4 * expected.size
    grid = (gpu.multiprocessors * 8, 1, 1)
    return Workload(grid, (256, 1, 1), arguments, arguments, [out], check, bytes_moved=moved, scratch=[counter])


def softmax(gpu: Device, example: ModuleType, n: int) -> Workload:
    """``8 * n`` rows of ``n`` elements, in vectors of four."""
    rows = 8 * n
    x = random(rows * n, -8, 8, seed=20).reshape(rows, n)
    on_device, out = upload(gpu, x), output(gpu, (rows, n))
    theirs = [pointer(on_device.address), pointer(out.address), i32(rows), i32(n // 4)]

    def check(outputs: list[Array]) -> str | None:
        part = slice(0, 256)
        expected = example.reference(x[part])
        bound = 2 * (2.0**-21 + 2.0**-22) + (n // 32 + 4 + 8) * 2.0**-24
        return wrong(outputs[0][part], expected, bound * expected)

    # Of an array of f32x4 the kernel does not count the last dimension.
    ours = [pointer(on_device.address), i32(rows), i32(n // 4), pointer(out.address), i32(rows), i32(n // 4)]
    grid, block = (ceil_div(32 * rows, example.BLOCK), 1, 1), (example.BLOCK, 1, 1)
    return Workload(grid, block, ours, theirs, [out], check, bytes_moved=8 * rows * n, launches=1)


def fft(gpu: Device, example: ModuleType, n: int) -> Workload:
    """``n`` rows."""
    width = example.N
    x = np.resize(random(2 * min(n, 4096) * width, -1, 1, seed=25), 2 * n * width).view(np.complex64).reshape(n, width)
    on_device, out = upload(gpu, x), output(gpu, (n, width), np.complex64)
    theirs = [pointer(on_device.address), pointer(out.address)]

    def check(outputs: list[Array]) -> str | None:
        part = slice(0, 256)
        expected = example.reference(x[part])
        apart = np.linalg.norm(outputs[0][part] - expected, axis=1)
        return wrong(apart, np.zeros(apart.size), example.error_bound(expected))

    ours = [pointer(on_device.address), i32(n), i32(width), pointer(out.address), i32(n), i32(width)]
    grid, block = (n, 1, 1), (example.BLOCK, 1, 1)
    return Workload(grid, block, ours, theirs, [out], check, bytes_moved=16 * n * width, launches=1)
