"""Dynamic shared memory: typed views at offsets, as large as the launch says and no larger."""

from __future__ import annotations

import numpy as np
import pytest

import kdsl
from kdsl import (
    Array,
    LaunchConfig,
    MemoryFault,
    Ptr,
    Target,
    block_dim,
    f32,
    f64,
    i32,
    kernel,
    shared,
    sync_threads,
    thread_idx,
    u8,
    u16,
)


@kernel
def two_views(x: Ptr[f32], flags: Ptr[u8], out: Ptr[f32], n: i32):
    values = shared.dynamic(f32)
    marks = shared.dynamic(u8, 4 * n)
    i = thread_idx.x
    values[i] = x[i]
    marks[i] = flags[i]
    sync_threads()
    other = n - 1 - i
    out[i] = values[other] if marks[other] != 0 else -values[other]


def test_views_at_offsets_do_not_overlap(device: str) -> None:
    rng = np.random.default_rng(1)
    x, flags = rng.normal(size=96).astype(np.float32), rng.integers(0, 2, 96).astype(np.uint8)
    out = np.zeros(96, np.float32)
    two_views[LaunchConfig(1, 96, shared=5 * 96)](x, flags, out, 96)
    assert out.tolist() == np.where(flags, x, -x)[::-1].tolist()


@kernel
def reversed_blocks(x: Array[f64, 1], bias: i32):
    """Beside a static array, through a device function."""
    fixed = shared.array(1, i32)
    if thread_idx.x == 0:
        fixed[0] = bias
    moved = turned(shared.dynamic(f64, 16), x, fixed)
    x[thread_idx.x] = moved


def turned(room, x, fixed):
    room[thread_idx.x] = x[thread_idx.x]
    sync_threads()
    return room[block_dim.x - 1 - thread_idx.x] + fixed[0]


def test_beside_static_arrays_and_in_functions(device: str) -> None:
    x = np.arange(64.0)
    reversed_blocks[1, 64, None, 16 + 8 * 64](x, 100)
    assert x.tolist() == (np.arange(64.0)[::-1] + 100).tolist()


@kernel
def large(out: Ptr[i32], n: i32):
    room = shared.dynamic(i32)
    for k in range(thread_idx.x, n, block_dim.x):
        room[k] = 3 * k
    sync_threads()
    for k in range(thread_idx.x, n, block_dim.x):
        out[k] = room[n - 1 - k]


@pytest.mark.parametrize("words", [24_000, 12_000, 13_000])
def test_more_than_48_kilobytes(device: str, words: int) -> None:
    """Launches of several sizes: a smaller one does not take the larger one's room away."""
    bound = [large[1, 128, None, 4 * n] for n in (24_000, words, 24_000)]
    for launch, n in zip(bound, (24_000, words, 24_000), strict=True):
        out = np.zeros(n, np.int32)
        launch(out, n)
        assert out.tolist() == [3 * k for k in reversed(range(n))]


def test_an_access_past_the_launched_bytes_is_a_fault() -> None:
    with pytest.raises(
        MemoryFault, match=r"^test_dynamic_shared.py:74: .* 0 bytes after the end of kdsl_dynamic_shared of 396 bytes"
    ):
        large[1, 128, None, 396](np.zeros(100, np.int32), 100)
    with pytest.raises(MemoryFault, match="kdsl_dynamic_shared of 0 bytes"):
        large[1, 128](np.zeros(100, np.int32), 100)


@kernel
def misaligned(out: Ptr[f32], offset: i32):
    shared.dynamic(u8, offset)[thread_idx.x] = u8(0)
    out[0] = shared.dynamic(f32, offset)[0]


def test_a_misaligned_view_is_a_fault_where_it_is_read() -> None:
    with pytest.raises(MemoryFault, match="misaligned read of 4 bytes"):
        misaligned[1, 32, None, 256](np.zeros(1, np.float32), 2)


@kernel
def narrow(out: Ptr[u16]):
    out[thread_idx.x] = shared.dynamic(u16, 64)[thread_idx.x]


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_ptx_has_one_external_array(arch: str) -> None:
    for k in (two_views, reversed_blocks, large, narrow):
        compilation = kdsl.compile(k, target=Target.parse(arch))
        assert compilation.ptx.count(".extern .shared .align 16 .b8 kdsl_dynamic_shared[];") == 1
        assert compilation.cubin


def test_the_tree_shows_it() -> None:
    assert "marks: Ptr[u8] = shared.dynamic(u8, 4 * n)" in str(kdsl.compile(two_views).tree)
