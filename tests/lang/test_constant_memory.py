"""Constant memory: host arrays that a kernel captures, copied when it is compiled and read-only."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import Array, MemoryFault, Ptr, Target, bf16, constant, f32, f64, grid, i8, i32, kernel, thread_idx

WEIGHTS = np.array([0.25, 0.5, 0.25], np.float32)
TABLE = (np.arange(60).reshape(3, 4, 5) ** 2 - 700).astype(np.int16)
FLAGS = np.array([True, False, True])
SMALL = np.array([-1.5, 2.0])


@kernel
def smoothed(x: Array[f32, 1], y: Ptr[f32]):
    i = grid(1)
    w = constant.array(WEIGHTS)
    total = 0.0
    for k in range(len(w)):
        at = min(max(i + k - 1, 0), len(x) - 1)
        total += w[k] * x[at]
    y[i] = total


def test_a_filter(device: str) -> None:
    x = np.random.default_rng(2).normal(size=100).astype(np.float32)
    y = np.zeros_like(x)
    smoothed[1, 100](x, y)
    padded = np.pad(x, 1, mode="edge").astype(np.float64)
    expected = padded[:-2] / 4 + padded[1:-1] / 2 + padded[2:] / 4
    # Two roundings of sums below 4: less than 2**-21.
    assert np.abs(y - expected).max() < 2**-21


@kernel
def looked_up(out: Array[i32, 3], flags: Ptr[i32], d: Ptr[f64]):
    x, y, z = grid(3)
    table = constant.array(TABLE)
    out[z, y, x] = table[z, y, x] + through(constant.array(TABLE), x)
    flags[x % 3] = 1 if constant.array(FLAGS)[x % 3] else 0
    d[x % 2] = constant.array(SMALL)[x % 2]


def through(table, x):
    return 1000 * table[0, 0, x] if table.shape[2] == 5 else 0


def test_every_dimension_and_several_arrays(device: str) -> None:
    out, flags, d = np.zeros((3, 4, 5), np.int32), np.full(3, 9, np.int32), np.zeros(2)
    looked_up[1, (5, 4, 3)](out, flags, d)
    assert out.tolist() == (TABLE.astype(int) + 1000 * TABLE[0, 0].astype(int)).tolist()
    assert flags.tolist() == [1, 0, 1]
    assert d.tolist() == [-1.5, 2.0]


def scaled(values: np.ndarray) -> Any:
    @kernel
    def k(out: Ptr[i32]):
        out[thread_idx.x] = 2 * constant.array(values)[thread_idx.x]

    return k


def test_a_launch_notices_new_contents_and_a_new_array(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.arange(8, dtype=np.int32)
    k, out = scaled(values), np.zeros(8, np.int32)
    k[1, 8](out)
    assert out.tolist() == [0, 2, 4, 6, 8, 10, 12, 14]
    values[3] = 100
    k[1, 8](out)
    assert out.tolist() == [0, 2, 4, 200, 8, 10, 12, 14]
    x, y = np.ones(4, np.float32), np.zeros(4, np.float32)
    smoothed[1, 4](x, y)
    monkeypatch.setitem(globals(), "WEIGHTS", np.array([1, 1], np.float32))
    smoothed[1, 4](x, y)
    assert y.tolist() == [2, 2, 2, 2]


def test_a_transposed_array_is_copied_in_its_own_order(device: str) -> None:
    turned = np.arange(6, dtype=np.int32).reshape(2, 3).T

    @kernel
    def k(out: Array[i32, 2]):
        x, y = grid(2)
        out[y, x] = constant.array(turned)[y, x]

    out = np.zeros((3, 2), np.int32)
    k[1, (2, 3)](out)
    assert out.tolist() == turned.tolist()


def test_16_bit_floats_and_bytes(device: str) -> None:
    halves = np.array([1.5, -2.25], bf16.numpy)
    small = np.array([-3, 4, 5], np.int8)

    @kernel
    def k(out: Ptr[f32], n: i32):
        out[thread_idx.x] = f32(constant.array(halves)[n]) + constant.array(small)[thread_idx.x] + i8(1)

    out = np.zeros(3, np.float32)
    k[1, 3](out, 1)
    assert out.tolist() == [-4.25, 2.75, 3.75]


def test_a_read_past_the_end_is_a_fault() -> None:
    out = np.zeros(9, np.int32)
    with pytest.raises(MemoryFault, match="0 bytes after the end of constant_values_0 of 32 bytes"):
        scaled(np.arange(8, dtype=np.int32))[1, 9](out)


def test_a_generic_pointer_to_constant_memory() -> None:
    """A choice between two spaces has no space of its own in the PTX."""
    machine = kdsl.current_device().backend
    ptx = """.version 7.8
.target sm_90
.address_size 64
.const .align 4 .u32 table[2] = {7, 9};
.visible .entry k(.param .u64 out) { .reg .b32 %r<3>; .reg .b64 %rd<4>;
mov.b32 %r1, table; add.s32 %r1, %r1, 4; cvt.u64.u32 %rd1, %r1; cvta.const.u64 %rd2, %rd1; ld.u32 %r2, [%rd2];
ld.param.u64 %rd3, [out]; st.global.u32 [%rd3], %r2; ret; }"""
    out = np.zeros(1, np.uint32)
    loaded = machine.function(machine.load(ptx.encode()), "k")
    address = machine.alloc(4)
    machine.launch(loaded, kdsl.LaunchConfig(1, 1).check(machine), address.to_bytes(8, "little"))
    machine.synchronize()
    machine.read(address, memoryview(out.view(np.uint8)))
    assert out[0] == 9


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_ptx(arch: str) -> None:
    compilation = kdsl.compile(looked_up, target=Target.parse(arch))
    assert compilation.cubin
    # The array that two places name is there once. LLVM makes a test of the one with three flags.
    names = re.findall(r"^\.const \.align 16 \.b8 (\w+)\[", compilation.ptx, re.MULTILINE)
    assert [name for name in names if "FLAGS" not in name] == ["constant_TABLE_0", "constant_SMALL_2"]
    assert "ld.const.b16" in compilation.ptx


def test_the_tree_shows_it() -> None:
    assert "w: constant[f32, (3,)] = constant.array(WEIGHTS)" in str(kdsl.compile(smoothed).tree)
