"""Loads and stores that say how they are cached, volatile ones, and prefetches."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import (
    Ptr,
    Target,
    bf16,
    block_idx,
    f16,
    f32,
    f64,
    grid,
    i8,
    i32,
    i64,
    kernel,
    load,
    prefetch,
    shared,
    store,
    sync_threads,
    thread_idx,
    u8,
    u16,
    u32,
)

ACCESS = re.compile(r"^\t((?:ld|st)(?!\.param)[.\w]*|prefetch[.\w]*)", re.MULTILINE)


@kernel
def operators(x: Ptr[i32], y: Ptr[i32], c: Ptr[i32]):
    s = shared.array(1, i32)
    i = thread_idx.x
    prefetch(x, i + 64)
    prefetch(c, i, level="L2")
    store(y, i, load(x, i, cache="ca"), cache="wb")
    store(y, i, load(x, i, cache="cg"), cache="cg")
    store(y, i, load(x, i, cache="cs"), cache="cs")
    store(y, i, load(x, i, cache="lu"), cache="wt")
    store(y, i, load(x, i, cache="cv"), volatile=True)
    store(s, 0, load(c, i, cache="nc"), volatile=True)
    store(y, i, load(x, i, cache=None, volatile=True) + load(s, 0, volatile=True))


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_ptx_has_the_operators(arch: str) -> None:
    compilation = kdsl.compile(operators, target=Target.parse(arch))
    assert compilation.cubin
    assert ACCESS.findall(compilation.ptx) == [
        "prefetch.global.L1",
        "prefetch.global.L2",
        "ld.global.ca.b32",
        "st.global.wb.b32",
        "ld.global.cg.b32",
        "st.global.cg.b32",
        "ld.global.cs.b32",
        "st.global.cs.b32",
        "ld.global.lu.b32",
        "st.global.wt.b32",
        "ld.global.cv.b32",
        "st.volatile.global.b32",
        "ld.global.nc.b32",
        "st.volatile.shared.b32",
        "ld.volatile.global.b32",
        "ld.volatile.shared.b32",
        "st.global.b32",
    ]


def moved() -> Any:
    @kernel
    def k(x, y, z):
        i = thread_idx.x
        prefetch(x, i)
        store(y, (i // 8, i % 8), load(x, i, cache="cs"), cache="cg")
        sync_threads()
        store(z, i, load(y, (i // 8, i % 8), volatile=True), volatile=True)

    return k


@pytest.mark.parametrize("type", [bool, i8, u8, u16, f16, bf16, i32, u32, f32, i64, f64], ids=str)
def test_values_of_every_type_are_kept(type: Any, device: str) -> None:
    dtype = np.dtype(bool) if type is bool else type.numpy
    raw = np.random.default_rng(5).integers(0, 256, 32 * dtype.itemsize, np.uint8)
    x = (raw & 1 if type is bool else raw).view(dtype)
    y, z = np.zeros((4, 8), dtype), np.zeros(32, dtype)
    moved()[1, 32](x, y, z)
    assert y.tobytes() == x.tobytes()
    assert z.tobytes() == x.tobytes()


@kernel
def handed_on(flag: Ptr[i32], data: Ptr[i32], out: Ptr[i32]):
    if block_idx.x == 0:
        store(data, 0, 41, volatile=True)
        kdsl.fence()
        store(flag, 0, 1, volatile=True)
    else:
        while load(flag, 0, volatile=True) == 0:
            pass
        kdsl.fence()
        out[0] = load(data, 0, volatile=True) + 1


def test_a_volatile_flag_is_read_each_time(device: str) -> None:
    flag, data, out = (np.zeros(1, np.int32) for _ in range(3))
    handed_on[2, 1](flag, data, out)
    assert out[0] == 42


@kernel
def read_only(x: Ptr[f32], y: Ptr[f32], n: i32):
    i = grid(1)
    prefetch(x, i + 1)
    if i < n:
        y[i] = load(x, i, cache="nc")


def test_what_is_only_loaded_and_prefetched_is_not_written() -> None:
    (tree,) = kdsl.compile(read_only).tree.kernels
    assert tree.written == {p.uid for p in tree.parameters if p.name == "y"}


def test_the_tree_shows_them() -> None:
    text = str(kdsl.compile(operators).tree)
    assert "address: Ptr[i32] = &y[i]\n    store(address, load(&x[i], cache='ca'), cache='wb')" in text
    assert "prefetch(&c[i], level='L2')" in text
    assert "= load(&x[i], volatile=True) + load(&s[0], volatile=True)" in text
