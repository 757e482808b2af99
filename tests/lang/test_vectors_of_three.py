"""Vectors of three: in memory as CUDA's float3, aligned to one component, against NumPy and nvcc."""

# mypy: ignore-errors
# No postponed annotations: those of the kernels inside of tests name variables of the tests.

import shutil
import subprocess

import numpy as np
import pytest

import kdsl
from kdsl import (
    FULL_MASK,
    ArgumentError,
    Array,
    Ptr,
    f32x2,
    f32x3,
    f64x3,
    grid,
    i32,
    i32x3,
    kernel,
    load,
    local,
    shared,
    shfl_sync,
    store,
    struct,
    sync_threads,
    thread_idx,
    u8,
    u8x3,
    u32x3,
)
from kdsl.codegen.sass import assemble
from kdsl.target import Target

THREES = [f32x3, f64x3, i32x3, u8x3, u32x3]


@struct
class Mixed:
    tag: u8
    position: f32x3
    colour: u8x3
    wide: f64x3
    last: u8


@pytest.mark.parametrize("type", THREES, ids=str)
def test_through_every_memory(device: str, type) -> None:
    @kernel
    def k(a: Array[type, 1], out: Ptr[type]):
        common, own = shared.array(4, type), local.array(4, type)
        t = thread_idx.x
        common[t] = a[t]
        own[t] = a[3 - t]
        sync_threads()
        listed = [common[3 - t], own[t].zyx]
        out[t] = common[3 - t] + own[t]
        out[4 + t] = listed[t % 2]
        out[8 + t].zx = a[t].xy
        out[8 + t].y += 1
        out[12 + t] = shfl_sync(FULL_MASK, a[t], 3 - t)

    a = np.arange(12).reshape(4, 3).astype(type.element.numpy)
    out = np.zeros((16, 3), a.dtype)
    k[1, 4](a, out)
    back = a[::-1]
    expected = [
        back + back,
        np.array([back[t] if t % 2 == 0 else back[t, ::-1] for t in range(4)]),
        np.stack([a[:, 1], np.ones(4, a.dtype), a[:, 0]], axis=1),
        back,
    ]
    np.testing.assert_array_equal(out, np.concatenate(expected))


def fields_of(record) -> list:
    return [np.asarray(record[name]).tolist() for name in record.dtype.names]


def test_in_structs(device: str) -> None:
    @kernel
    def k(s: Mixed, a: Array[Mixed, 1]):
        a[0] = s
        a[1] = Mixed(a[0].tag, a[0].position.zyx, a[0].colour + 1, f64x3(2), s.last)
        a[1].position.xy = f32x2(7, 8)

    a = np.zeros(2, Mixed.dtype)
    k[1, 1](Mixed(1, (2, 3, 4), u8x3(254, 255, 0), f64x3(5, 6, 7), 9), a)
    assert fields_of(a[0]) == [1, [2, 3, 4], [254, 255, 0], [5, 6, 7], 9]
    assert fields_of(a[1]) == [1, [7, 8, 2], [255, 0, 1], [2, 2, 2], 9]


def test_cached_and_volatile_accesses(device: str) -> None:
    @kernel
    def k(a: Ptr[f32x3]):
        store(a, 1, load(a, 0, cache="cs") * 2, cache="cs")
        store(a, 2, load(a, 1, volatile=True) + 1, volatile=True)

    a = np.array([[1, 2, 3], [0, 0, 0], [0, 0, 0]], np.float32)
    k[1, 1](a)
    assert a.tolist() == [[1, 2, 3], [2, 4, 6], [3, 5, 7]]
    ptx = k.compile("sm_90").ptx
    assert ptx.count("ld.global.cs.b32") == ptx.count("st.volatile.global.b32") == 3
    assemble(ptx, Target.parse("sm_90"))


def test_an_array_need_be_aligned_to_one_component_only(device: str) -> None:
    @kernel
    def k(a: Array[f32x3, 1]):
        i = grid(1)
        if i < len(a):
            a[i] = a[i].yzx

    whole = np.arange(8, dtype=np.float32)
    k[1, 32](whole[1:7].reshape(2, 3))
    assert whole.tolist() == [0, 2, 3, 1, 5, 6, 4, 7]
    with pytest.raises(ArgumentError) as caught:
        k[1, 32](np.zeros((2, 4), np.float32))
    assert str(caught.value) == (
        "k: argument `a` takes Array[f32x3, 1] (an array of float32 with 2 dimensions, the last of 3), "
        "got an array of shape (2, 4); pass a.reshape(-1, 3)"
    )


@pytest.mark.parametrize(("type", "bits"), [(f32x3, 32), (f64x3, 64), (i32x3, 32), (u8x3, 8)], ids=str)
def test_three_accesses_of_one_component(type, bits: int) -> None:
    @kernel
    def k(a: Ptr[type], n: i32):
        a[n] = a[n + 1]

    ptx = k.compile("sm_90").ptx
    assert ptx.count(f"ld.global.b{bits}") == ptx.count(f"st.global.b{bits}") == 3
    assert "v2" not in ptx
    assert f".align {bits // 8} k_param_0" in ptx


def test_the_layout_is_that_of_nvcc(tmp_path) -> None:
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("nvcc is not installed")
    fields = {"tag": "unsigned char", "position": "float3", "colour": "uchar3", "wide": "double3", "last": "uchar1"}
    offsets = {name: offset for name, (_, offset, *_) in Mixed.dtype.fields.items()}
    text = f"#include <cstddef>\nstruct S {{ {' '.join(f'{c} {name};' for name, c in fields.items())} }};\n"
    text += "".join(f'static_assert(offsetof(S, {name}) == {at}, "{name}");\n' for name, at in offsets.items())
    text += f'static_assert(sizeof(S) == {Mixed.dtype.itemsize}, "size");\n'
    for t, c in ((f32x3, "float3"), (f64x3, "double3"), (i32x3, "int3"), (u8x3, "uchar3"), (u32x3, "uint3")):
        text += f'static_assert(sizeof({c}) == {t.size} && alignof({c}) == {t.align}, "{c}");\n'
    (tmp_path / "layout.cu").write_text(text)
    command = [nvcc, "-arch=sm_90", "-ptx", "layout.cu", "-o", "layout.ptx"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")


SCALE = kdsl.constant.empty(2, f32x3)
TOTAL = kdsl.device.array(2, i32x3, init=1)


def test_variables_of_the_module(device: str) -> None:
    @kernel
    def k(out: Ptr[f32x3]):
        out[0] = SCALE[1] * 2
        TOTAL[1] = i32x3(SCALE[0]) + TOTAL[0]

    out = np.zeros((1, 3), np.float32)
    SCALE.copy_from(np.arange(6, dtype=np.float32).reshape(2, 3))
    k[1, 1](out)
    assert out.tolist() == [[6, 8, 10]]
    assert TOTAL.to_host().tolist() == [[1, 1, 1], [1, 2, 3]]
