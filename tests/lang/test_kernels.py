"""The language's intrinsics as kernels call them, from Python to the result."""

from __future__ import annotations

import math

import numpy as np
import pytest

import kdsl
from kdsl import (
    FULL_MASK,
    Array,
    CompileError,
    Ptr,
    active_mask,
    atomic,
    ballot_sync,
    bitcast,
    block_dim,
    block_idx,
    f16,
    f32,
    f64,
    fast,
    fence,
    grid,
    grid_dim,
    gridsize,
    i32,
    i64,
    kernel,
    lane_id,
    shared,
    shfl_down_sync,
    shfl_xor_sync,
    sync_threads,
    sync_threads_count,
    sync_warp,
    thread_idx,
    u32,
    warp_id,
    warp_size,
)


@kernel
def places(out: Array[i32, 2]):
    x, y, z = grid(3)
    width, height, depth = gridsize(3)
    row = (z * height + y) * width + x
    out[row, 0] = thread_idx.x + 10 * thread_idx.y + 100 * thread_idx.z
    out[row, 1] = block_idx.x + 10 * block_idx.y + 100 * block_idx.z
    out[row, 2] = block_dim.x + 10 * block_dim.y + 100 * block_dim.z
    out[row, 3] = grid_dim.x + 10 * grid_dim.y + 100 * grid_dim.z
    out[row, 4] = warp_id()
    out[row, 5] = lane_id()
    out[row, 6] = depth


def test_indices_of_a_three_dimensional_launch(device: str) -> None:
    grid_, block = (2, 3, 2), (5, 4, 3)
    out = np.full((10 * 12 * 6, 7), -1, np.int32)
    places[grid_, block](out)
    row = np.arange(len(out))
    x, y, z = row % 10, row // 10 % 12, row // 120
    thread = x % 5 + 10 * (y % 4) + 100 * (z % 3)
    linear = x % 5 + 5 * (y % 4 + 4 * (z % 3))
    assert np.array_equal(out[:, 0], thread)
    assert np.array_equal(out[:, 1], x // 5 + 10 * (y // 4) + 100 * (z // 3))
    assert set(out[:, 2]) == {345}
    assert set(out[:, 3]) == {232}
    assert np.array_equal(out[:, 4], linear // 32)
    assert np.array_equal(out[:, 5], linear % 32)
    assert set(out[:, 6]) == {6}


@kernel
def block_sum(x: Ptr[f64], out: Ptr[f64], n: i32):
    partial = shared.array(32, f64)
    total = 0.0
    for i in range(grid(1), n, gridsize(1)):
        total += x[i]
    offset = warp_size // 2
    while offset > 0:
        total += shfl_down_sync(FULL_MASK, total, offset)
        offset //= 2
    if lane_id() == 0:
        partial[warp_id()] = total
    sync_threads()
    if thread_idx.x == 0:
        whole = 0.0
        for w in range(block_dim.x // warp_size):
            whole += partial[w]
        atomic.add(out, 0, whole)


def test_sum_by_shuffles_shared_memory_and_an_atomic(device: str) -> None:
    x = np.arange(1000, dtype=np.float64)
    out = np.zeros(1)
    block_sum[3, 128](x, out, 1000)
    assert out[0] == 499500.0


@kernel
def warp_words(out: Ptr[u32], flags: Ptr[i32]):
    lane = lane_id()
    even = ballot_sync(FULL_MASK, lane % 2 == 0)
    if lane < 8:
        out[0] = active_mask()
    sync_warp()
    fence("block")
    fence("system")
    out[1] = even
    flags[thread_idx.x] = shfl_xor_sync(FULL_MASK, lane, 1) + 100 * sync_threads_count(lane < 3)


def test_masks_and_counts(device: str) -> None:
    out, flags = np.zeros(2, np.uint32), np.zeros(32, np.int32)
    warp_words[1, 32](out, flags)
    assert out.tolist() == [0xFF, 0x5555_5555]
    assert flags.tolist() == [(lane ^ 1) + 300 for lane in range(32)]


@kernel
def histogram(values: Ptr[i32], counts: Array[i32, 2], largest: Ptr[f32], n: i32):
    bins = shared.array((2, 4), i32)
    t = thread_idx.x
    if t < 8:
        bins[t // 4, t % 4] = 0
    sync_threads()
    if t < n:
        atomic.add(bins, (values[t] // 4, values[t] % 4), 1)
        atomic.max(largest, 0, f32(values[t]))
    sync_threads()
    if t < 8:
        atomic.add(counts, (t // 4, t % 4), bins[t // 4, t % 4])


def test_atomics_on_shared_and_two_dimensional_arrays(device: str) -> None:
    values = np.random.default_rng(0).integers(0, 8, 200).astype(np.int32)
    counts, largest = np.zeros((2, 4), np.int32), np.array([-1], np.float32)
    histogram[1, 256](values, counts, largest, 200)
    assert counts.ravel().tolist() == np.bincount(values, minlength=8).tolist()
    assert largest[0] == values.max()


@kernel
def by_pythons_names(x: Ptr[f32], h: Ptr[f16], n: Ptr[i32], out: Ptr[f64]):
    out[0] = math.sin(x[0])
    out[1] = math.hypot(x[0], 2.0)
    out[2] = math.floor(x[0]) + math.pi
    out[3] = math.sqrt(h[0])
    out[4] = kdsl.math.tgamma(x[0])
    fraction, exponent = math.frexp(x[0])
    out[5] = fraction + f32(exponent)
    out[6] = fast.exp(x[0])
    out[7] = f32(math.isnan(x[0])) + f32(math.isfinite(x[0])) * 2.0
    out[8] = math.exp(out[9])
    out[10] = bitcast(bitcast(out[9], i64), f64)
    out[11] = f64(kdsl.math.popc(n[0]))


def test_pythons_math_in_a_kernel(device: str) -> None:
    x, h, n, out = np.array([1.25], np.float32), np.array([2.0], np.float16), np.array([255], np.int32), np.zeros(12)
    out[9] = 0.3
    by_pythons_names[1, 1](x, h, n, out)
    assert out[:8] == pytest.approx(
        [math.sin(1.25), math.hypot(1.25, 2), 1 + math.pi, math.sqrt(2), math.gamma(1.25), 1.625, math.exp(1.25), 2.0],
        rel=4 * 2**-23,  # ulp of f32: tgamma's, the least exact of these
    )
    assert out[8] == pytest.approx(math.exp(0.3), rel=2**-52)  # one ulp of f64
    assert out[10:].tolist() == [0.3, 8.0]


@kernel
def odd_width(x: Ptr[i32]):
    x[0] = shfl_xor_sync(FULL_MASK, x[0], 1, 12)


@kernel
def wrong_scope(x: Ptr[i32]):
    fence("device")


@kernel
def cluster_fence(x: Ptr[i32]):
    fence("cluster")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (odd_width, "works on groups of 1, 2, 4, 8, 16 or 32 lanes, not 12"),
        (wrong_scope, "`scope` takes 'block' or 'cluster'"),
        (cluster_fence, "needs sm_90 or newer"),
    ],
    ids=lambda v: getattr(v, "name", ""),
)
def test_constant_arguments_are_checked(wrong: kdsl.Kernel, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        kdsl.compile(wrong, target="sm_75")
    (diagnostic,) = caught.value.diagnostics
    assert message in diagnostic.message
    assert "test_kernels.py" in diagnostic.span.file
