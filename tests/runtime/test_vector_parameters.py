"""Vectors by value: where they lie in the parameter buffer, what may stand for one, and what is refused."""

# mypy: ignore-errors
# No postponed annotations: those of the kernels inside of tests name variables of the tests.

from typing import NamedTuple

import ml_dtypes
import numpy as np
import pytest

import kdsl
from kdsl import (
    ArgumentError,
    Array,
    Constexpr,
    Ptr,
    bf16x2,
    f16x2,
    f32x2,
    f32x3,
    f32x4,
    f64x2,
    grid,
    i32,
    i32x2,
    kernel,
    u8,
    u8x3,
    u8x4,
)
from kdsl.codegen.sass import assemble
from kdsl.target import Target

BF16 = ml_dtypes.bfloat16


class Light(NamedTuple):
    direction: f32x3
    count: i32


@kernel
def every(n: i32, v: f32x4, w: f32x3, b: u8x3, h: f16x2, d: f64x2, c: u8, m: bf16x2, out: Array[f64x2, 1]):
    out[n] = f64x2(v.w, v.x)
    out[1] = f64x2(w.z, w.x)
    out[2] = f64x2(b.z, b.x)
    out[3] = f64x2(h.y, h.x)
    out[4] = d.yx
    out[5] = f64x2(c, m.y)


@kernel
def scaled(a: Array[f32x4, 1], by: f32x4 = (1, 1, 1, 1)):
    i = grid(1)
    by.x *= 2
    if i < len(a):
        a[i] = a[i] * by


@kernel
def bytes_of(out: Array[u8x4, 1], v: u8x4):
    out[0] = v


def test_layout_and_values(device: str) -> None:
    out = np.zeros((6, 2))
    every[1, 1](0, (1, 2, 3, 4), [5, 6, 7], u8x3(8, 9, 255), f16x2(1, 2), np.array([3.5, 4.5]), 7, bf16x2(1, 3), out)
    assert out.tolist() == [[4, 1], [7, 5], [255, 8], [2, 1], [4.5, 3.5], [7, 3]]
    fields = every.compile("sm_90").params["every"]
    assert [(f.name, f.offset, f.ptx) for f in fields[:9]] == [
        ("n", 0, ".u32"),
        ("v", 16, ".align 16 .b8[16]"),
        ("w", 32, ".align 4 .b8[12]"),
        ("b", 44, ".align 1 .b8[3]"),
        ("h", 48, ".align 4 .b8[4]"),
        ("d", 64, ".align 16 .b8[16]"),
        ("c", 80, ".u8"),
        ("m", 84, ".align 4 .b8[4]"),
        ("out", 88, ".u64"),
    ]


def test_the_ptx_is_that_of_a_float4() -> None:
    ptx = scaled.compile("sm_90").ptx
    assert ".param .align 16 .b8 scaled_param_2[16]" in ptx
    assert ptx.count("ld.param.v4.b32") == 1
    assert ".local" not in ptx
    assemble(ptx, Target.parse("sm_90"))


@pytest.mark.parametrize(
    "by",
    [
        f32x4(1, 2, 3, 4),
        f32x4(f32x2(1, 2), 3, 4),
        (1, 2, 3, 4),
        [1, 2.0, np.float64(3), np.int8(4)],
        range(1, 5),
        np.array([1, 2, 3, 4]),
        np.arange(8, dtype=np.float32)[1:5],
        np.arange(10, dtype=np.float32)[1:9:2] / 2 + 0.5,
    ],
    ids=repr,
)
def test_what_may_stand_for_a_vector(device: str, by) -> None:
    for a in (np.ones((2, 4), np.float32), kdsl.to_device(np.ones((2, 4), np.float32))):
        scaled[1, 32](a, by)
        host = a if isinstance(a, np.ndarray) else a.to_host()
        assert host.tolist() == [[2, 2, 3, 4]] * 2


def test_defaults_and_keywords(device: str) -> None:
    a = np.ones((1, 4), np.float32)
    scaled[1, 32](a)
    scaled[1, 32](a=a, by=f32x4(3))
    assert a.tolist() == [[12, 3, 3, 3]]


def test_in_tuples(device: str) -> None:
    @kernel
    def k(light: Light, pair: tuple[i32x2, i32], out: Ptr[f32x4]):
        out[0] = f32x4(light.direction, light.count)
        out[1] = f32x4(pair[0], pair[1], 0)

    out = np.zeros((2, 4), np.float32)
    k[1, 1](Light((1, 2, 3), 4), (i32x2(5, 6), 7), out)
    assert out.tolist() == [[1, 2, 3, 4], [5, 6, 7, 0]]


TAKES = "scaled: argument `by` takes 4 numbers (f32x4), got "
FIX = "; pass f32x4(a, b, c, d) or a tuple"
BY = "scaled: argument `by`: component "
REFUSED = [
    (scaled, (1, 2, 3), TAKES + "tuple of 3" + FIX),
    (scaled, 1.5, TAKES + "float 1.5" + FIX),
    (scaled, "abcd", TAKES + "str 'abcd'" + FIX),
    (scaled, None, TAKES + "None" + FIX),
    (scaled, {1, 2, 3, 4}, TAKES + "set" + FIX),
    (scaled, np.zeros((1, 4)), TAKES + "numpy.ndarray" + FIX),
    (scaled, np.array(1.0), TAKES + "numpy.ndarray" + FIX),
    (scaled, np.zeros(3), TAKES + "numpy.ndarray of 3" + FIX),
    (scaled, (1, 2, 3, "x"), BY + "`w` takes a real number (f32), got str 'x'"),
    (scaled, (1, (2, 3), 4, 5), BY + "`y` takes a real number (f32), got tuple"),
    (scaled, np.array([1j, 0, 0, 0]), BY + "`x` takes a real number (f32), got numpy.complex128 1j; pass value.real"),
    (
        scaled,
        (1, 2, 1e300, 4),
        BY + "`z` takes f32, got 1e+300, which is too large for it; declare the parameter as f64, or pass math.inf",
    ),
    (bytes_of, (1, 2, 3, 1.5), "bytes_of: argument `v`: component `w` takes an int (u8), got float 1.5; pass int(...) to "
     "drop the fraction"),
    (bytes_of, np.array([-1, 0, 0, 0]), "bytes_of: argument `v`: component `x` takes u8, 0 to 255, got -1, which does "
     "not fit; declare the parameter as i32"),
]  # fmt: skip


@pytest.mark.parametrize(("checked", "value", "message"), REFUSED, ids=lambda x: x if isinstance(x, str) else None)
def test_what_does_not_fit_is_refused(checked: kdsl.Kernel, value, message: str) -> None:
    array = np.ones((1, 4), np.float32 if checked is scaled else np.uint8)
    with pytest.raises(ArgumentError) as caught:
        checked[1, 32](array, value)
    assert str(caught.value) == message
    assert (array == 1).all()


def test_vectors_of_the_host() -> None:
    made = f32x4(1, 2, 3, 4)
    assert (made.tolist(), made.dtype, f32x3(2).tolist()) == ([1, 2, 3, 4], np.float32, [2, 2, 2])
    assert f32x4(made[:2], 0, (1,)).tolist() == [1, 2, 0, 1]
    assert bf16x2(1).dtype == BF16
    with pytest.raises(ValueError, match=r"f32x4\(\) has 4 components, and this gives 2"):
        f32x4(1, 2)
    with pytest.raises(ValueError, match=r"f32x4\(\) has 4 components, and this gives 0"):
        f32x4()
    with pytest.raises(OverflowError):
        u8x4(256)


def test_no_constant_is_a_vector() -> None:
    with pytest.raises(TypeError) as caught:
        Constexpr[f32x4]
    message = "Constexpr takes no vector; write f32x4 alone, or Constexpr[tuple[f32, f32, f32, f32]]"
    assert str(caught.value) == message


def test_an_array_without_an_annotation_stays_an_array(device: str) -> None:
    @kernel
    def k(v, out: Ptr[i32]):
        out[0] = v.ndim

    out = np.zeros(1, np.int32)
    k[1, 1](f32x4(1), out)
    assert out[0] == 1
