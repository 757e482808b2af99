"""What views cost: the instructions of their addresses, and arrays that stay in registers."""

from __future__ import annotations

from typing import Any

import numpy as np

import kdsl
from kdsl import (
    Array,
    Ptr,
    f32,
    f32x4,
    i32,
    kernel,
    local,
    shared,
    sync_threads,
    thread_idx,
)


def ptx(k: Any) -> str:
    return kdsl.compile(k, target="sm_90").ptx


def instructions(k: Any) -> list[str]:
    lines = (line.strip() for line in ptx(k).splitlines())
    return [line.split()[0] for line in lines if line.endswith(";") and not line.startswith(".")]


@kernel
def element(a: Array[f32, 2], out: Array[f32, 1], n: i32):
    out[0] = a[thread_idx.x, n]


@kernel
def element_of_row(a: Array[f32, 2], out: Array[f32, 1], n: i32):
    out[0] = a[thread_idx.x][n]


@kernel
def element_of_column(a: Array[f32, 2], out: Array[f32, 1], n: i32):
    out[0] = a[:, n][thread_idx.x]


@kernel
def element_of_transpose(a: Array[f32, 2], out: Array[f32, 1], n: i32):
    out[0] = a.T[n, thread_idx.x]


def test_a_view_multiplies_as_its_array_does() -> None:
    direct = instructions(element)
    for k in (element_of_row, element_of_column, element_of_transpose):
        made = instructions(k)
        assert sum(x.startswith(("mul.lo", "mad.lo")) for x in made) == 1, made
        assert len(made) <= len(direct) + 3, (direct, made)
        assert not any("local" in x or "call" in x for x in made)


@kernel
def tile_of_shared(out: Ptr[f32]):
    tile = shared.array((32, 32), f32)
    i = thread_idx.x
    part = tile[4:8, 8:12]
    tile[i // 32, i % 32] = 1.0
    sync_threads()
    out[i] = part[2, 3]


def test_a_constant_place_in_shared_memory_is_an_immediate() -> None:
    text = ptx(tile_of_shared)
    place = ((4 + 2) * 32 + 8 + 3) * 4
    assert f"+{place}]" in text


@kernel
def four(p: Ptr[f32x4], out: Ptr[f32]):
    v = p[0:8].view(f32)[thread_idx.x * 4 :]
    out[0] = v[0] + v[1] + v[2] + v[3]


def test_neighbours_of_a_view_are_addressed_at_once() -> None:
    loads = [line for line in ptx(four).splitlines() if "ld.global" in line]
    assert len(loads) <= 4


def test_a_row_of_a_local_array_stays_in_registers() -> None:
    assert ".local" not in ptx(local_rows)


@kernel
def local_rows(x: Ptr[f32], out: Ptr[f32]):
    own = local.array((2, 4), f32)
    for i in kdsl.static_range(2):
        for j in kdsl.static_range(4):
            own[i, j] = x[i * 4 + j]
    out[0] = own[1][2] + own[:, 1][0] + own.T[3, 1] + own[0, ::2][1]


def test_a_row_of_a_local_array(device: str) -> None:
    x, out = np.arange(8, dtype=np.float32), np.zeros(1, np.float32)
    local_rows[1, 1](x, out)
    assert out.tolist() == [6 + 1 + 7 + 2]
