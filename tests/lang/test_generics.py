"""TypeVar parameters: one type each, specialised per type; and choosing by type, where the other branch is dropped."""

from __future__ import annotations

import enum
import re
import runpy
import sys
from pathlib import Path
from typing import Any, TypeVar

import ml_dtypes
import numpy as np
import pytest

import kdsl
from kdsl import Array, Ptr, bf16, f16, f32, f64, grid, i32, i64, kernel, local, shared, struct, type_of, u8

T = TypeVar("T", f32, f64)
F = TypeVar("F", bound=float)
N = TypeVar("N", bound=np.integer)
A = TypeVar("A")
B = TypeVar("B")
Vec = Ptr[A]


@kernel
def axpy(a: T, x: Ptr[T], y: Array[T, 1]):
    i = grid(1)
    staged = shared.array(32, T)
    own = local.array(1, T)
    acc: T = 0
    if i < y.shape[0]:
        staged[i] = x[i]
        own[0] = T(2) * staged[i]
        acc += own[0] * a
        y[i] += acc


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_type_for_each_launch(device: Any, dtype: Any):
    x, y = np.arange(8, dtype=dtype) / 3, np.ones(8, dtype)
    for a in (0.25, dtype(3), 2):
        expected = y + dtype(2) * x * dtype(a)
        axpy[1, 32](a, x, y)
        np.testing.assert_allclose(y, expected, rtol=2e-7 if dtype is np.float32 else 1e-15)
    dx, dy = kdsl.to_device(x), kdsl.to_device(y)
    for _ in range(3):
        axpy[1, 32](0.5, dx, dy)
    np.testing.assert_allclose(dy.to_host(), y + 3 * x, rtol=1e-6 if dtype is np.float32 else 1e-15)


def test_one_specialisation_for_each_type():
    @kernel
    def k(x: Ptr[A], value: A, n: B):
        x[0] = value
        x[1] = A(n)

    for dtype in (np.float32, np.int16, np.float64, np.uint64, np.float16, ml_dtypes.bfloat16, np.float32):
        x = kdsl.zeros(2, dtype)
        for value in (1, 2, 3):
            k[1, 1](x, value, 5)
            assert [float(v) for v in x.to_host()] == [value, 5]
    assert len(k._specializations) == 6
    k[1, 1](x, 1, 2**40)
    k[1, 1](x, 1, 2.5)
    k[1, 1](x, 1, np.int8(5))
    assert len(k._specializations) == 9


def test_numbers_alone_say_a_type():
    @kernel
    def k(out, x: A, y: A):
        out[0] = f64(x)
        out[1] = f64(y)

    @kernel
    def of_floats(out, x: T):
        out[0] = x

    def launched(*numbers: Any) -> str:
        k[1, 1](np.zeros(2), *numbers)
        return str(next(reversed(k._specializations))[1][1])

    assert launched(1, 2) == "i32"
    assert launched(1, 2**40) == "i64"
    assert launched(1, 2.5) == "f32"
    assert launched(2**63, 1) == "u64"
    assert launched(1, np.float64(2.5)) == "f64"
    assert launched(np.uint8(1), 2) == "u8"
    assert launched(True, True) == "bool"
    out = np.zeros(1)
    of_floats[1, 1](out, 3)
    assert out[0] == 3
    assert [str(types[1]) for _, types in of_floats._specializations] == ["f32"]


def test_what_a_launch_refuses():
    @kernel
    def k(a: Ptr[T], b: Array[T, 2], x: T, n: N = 0):
        a[0] = x

    f, d, i = np.zeros((2, 2), np.float32), np.zeros((2, 2)), np.zeros((2, 2), np.int32)
    for arguments, message in (
        ((f, d, 1), r"argument `b` makes T f64, and `a` makes it f32; pass b.astype\(np.float32\)"),
        ((i, f, 1), r"argument `a` makes T i32, and T may be f32 or f64; pass a.astype\(np.float32\)"),
        ((3, f, 1), r"argument `a` takes Ptr\[T\], got int 3; pass an array"),
        ((f, [1], 1), r"argument `b` takes Array\[T, 2\], got list; pass an array"),
        ((f, f, 1, 2.5), r"argument `n` makes N f32, and N may be any integer"),
        ((f, f, "x"), "argument `x` is str 'x', which gives no type"),
        ((f, f, int), "argument `x` is type, which gives no type"),
        ((f, f, abs), "argument `x` is builtin_function_or_method, which gives no type"),
        ((f, f, np.float64(1)), r"argument `x` makes T f64, and `a` makes it f32; pass np.float32\(x\)"),
        ((f.astype("S4"), f, 1), "which kernels do not have"),
        ((f, f), "`x` is missing"),
    ):
        with pytest.raises(TypeError, match=message):
            k[1, 1](*arguments)
    with pytest.raises(ValueError, match="an array with 1 dimension"):
        k[1, 1](f, f[0], 1)


def test_without_a_launch():
    for signature in ({"T": f64}, {"x": Ptr[f64]}, {"a": np.float64}, (f64, Ptr[f64], Array[f64, 1])):
        ptx = axpy.compile(target="sm_90", signature=signature).ptx
        assert "ld.global.b64" in ptx or "ld.global.f64" in ptx
        assert [p.size for p in axpy.compile(target="sm_90", signature=signature).params["axpy"]] == [8, 8, 8, 4]
    for wrong, message in (
        ({}, r"parameter 'a' is T; say what T is, as in signature=\{'T': f32\}"),
        ({"T": i32}, "T is i32 in the signature, and it may be f32 or f64"),
        ({"T": f32, "x": Ptr[f64]}, "'x' makes T f64 in the signature, and 'T' makes it f32"),
        ({"x": f32}, r"parameter 'x' is Ptr\[T\]; signature says f32"),
        ({"Q": f32}, "has no parameter 'Q'"),
    ):
        with pytest.raises(TypeError, match=message):
            axpy.compile(target="sm_90", signature=wrong)
    axpy.check()
    assert axpy.open_names()


def test_a_default_says_a_type():
    @kernel
    def k(out: Ptr[i64], x: A = 2**40):
        out[0] = x

    assert k.compile(target="sm_90").params["k"][1].size == 8
    out = np.zeros(1, np.int64)
    k[1, 1](out)
    assert out[0] == 2**40


def total(values: Array[A, 1], start: A) -> A:
    acc = start
    for i in range(len(values)):
        acc += values[i]
    return acc


def at(p: Vec, i: i32) -> A:
    return p[i]


def swapped(pair: tuple[A, B]) -> tuple[B, A]:
    a, b = pair
    kept: B = b
    return kept, a


def larger(x: F, y: F) -> F:
    return x if x > y else y


def clamp(x: A, low: A, high: A) -> A:
    def limited(v: A) -> A:
        return max(low, min(v, high))

    return limited(x)


def test_device_functions(device: Any):
    @kernel
    def k(x: Array[A, 1], out: Ptr[f64], n: i64):
        tile = shared.array(4, A)
        tile[0] = x[1]
        out[0] = f64(total(x, 0))
        out[1] = f64(at(x, 1) + at(tile, 0))
        b, a = swapped((x[0], n))
        out[2] = f64(b)
        out[3] = f64(a)
        out[4] = f64(larger(2.5, f64(x[2])))
        out[5] = f64(clamp(x[3], 2, 3))
        out[6] = f64(clamp(n, 0, 2**40))

    for dtype in (np.float32, np.int16, np.float64):
        out = np.zeros(7)
        k[1, 1](np.array([1, 2, 5, 9], dtype), out, 7)
        assert list(out) == [17, 4, 7, 1, 5, 3, 7]


class Kind(enum.Enum):
    LOW = "low"
    HIGH = 1


def epsilon(x):
    if not isinstance(x, float):
        return 0
    if type_of(x) is f64:
        return f64(1e-9)
    return f32(1e-3)


def described(x):
    match x:
        case f32() | f64():
            return 1
        case bool():
            return 2
        case int():
            return 3
        case _:
            return x.no_such_attribute


@kernel
def choosing(a: Ptr[A], b: Array[B, 2], out: Ptr[f64]):
    if A is f32:
        v = f32(0.5)
    elif A == f64:
        v = f64(0.25)
    else:
        v = i32(7)
    out[0] = v
    if a.dtype is b.dtype:
        w = b[0, 0] + a[0]
        out[1] = f64(w)
    if b.dtype == np.float32 and a.dtype is not f64:
        out[2] = b[0, 0].no_such_attribute if A is f64 else 1
    out[3] = f64(epsilon(a[0]))
    out[4] = described(a[0])
    out[5] = described(a[0] > 1)
    x = b[0, 0]
    if isinstance(x, (f64, i32)):
        y = x + 1
    else:
        y = 2.5
    out[6] = f64(y)
    match B:
        case kdsl.f32:
            out[7] = 32
        case kdsl.f64:
            out[7] = 64


def test_choosing_by_type(device: Any):
    for a, b, expected in (
        (np.float32, np.float32, [0.5, 4, 1, float(np.float32(1e-3)), 1, 2, 2.5, 32]),
        (np.float64, np.float32, [0.25, 0, 0, 1e-9, 1, 2, 2.5, 32]),
        (np.float64, np.float64, [0.25, 4, 0, float(np.float64(np.float32(1e-9))), 1, 2, 4, 64]),
        (np.int32, np.float64, [7, 0, 0, 0, 3, 2, 4, 64]),
        (np.uint8, np.float32, [7, 0, 1, 0, 3, 2, 2.5, 32]),
    ):
        out = np.zeros(8)
        choosing[1, 1](np.ones(1, a), np.full((1, 1), 3, b), out)
        expected[3] = 1e-9 if a is np.float64 else expected[3]
        assert list(out) == expected


def test_the_other_branch_leaves_nothing():
    @kernel
    def k(x: Ptr[T]):
        if T is f32:
            x[0] = 1
        else:
            x[1] = 2

    ptx = k.compile(target="sm_90", signature={"T": f32}).ptx
    assert len(re.findall(r"st\.global", ptx)) == 1
    assert "setp" not in ptx and "[%rd1+" not in ptx.replace("[%rd1]", "")


def test_identity_of_objects(device: Any):
    def nothing():
        pass

    @kernel
    def k(out: Ptr[i32], x):
        mode = Kind.LOW
        out[0] = 1 if mode is Kind.LOW else x.no_such_attribute
        out[1] = 1 if mode is not Kind.HIGH else 0
        out[2] = 1 if nothing is nothing else 0
        out[3] = 1 if x is None else 2
        out[4] = 1 if None is not None else 2
        out[5] = 1 if mode == Kind.HIGH else 2

    out = np.zeros(6, np.int32)
    k[1, 1](out, 3)
    assert list(out) == [1, 1, 1, 2, 2, 2]


def counted(x, i):
    x[i] += 1
    return x[i]


def test_membership(device: Any):
    @kernel
    def k(x: Ptr[i32], out: Ptr[i32], n: i32):
        out[0] = 1 if n in (2, 3, 5) else 0
        out[1] = 1 if n not in (2, n + 1) else 0
        out[2] = 1 if counted(x, 0) in (1, 7) else 0
        out[3] = 1 if 3 in (n, 3) else 0
        out[4] = 1 if n in (counted(x, 1), counted(x, 1), counted(x, 1)) else 0
        out[5] = 1 if f32 in (i32, f32, f64) else x.no_such_attribute
        out[6] = 1 if 4 < n in (5, 6) else 0

    for n in range(1, 8):
        x, out = np.zeros(2, np.int32), np.zeros(7, np.int32)
        k[1, 1](x, out, n)
        assert list(x) == [1, 3]
        assert list(out) == [n in (2, 3, 5), n != 2, 1, 1, n in (1, 2, 3), 1, n in (5, 6)]


def test_more_types(device: Any):
    @kernel
    def k(x: Ptr[A], y: Ptr[B]):
        y[0] = B(x[0]) if A is bf16 or A is f16 else B(x[0]) + B(1)

    for dtype, expected in ((ml_dtypes.bfloat16, 3), (np.float16, 3), (np.uint8, 4), (np.bool_, 2)):
        y = np.zeros(1, np.float32)
        k[1, 1](np.full(1, 3, dtype), y)
        assert y[0] == expected
    assert type_of is kdsl.type_of and u8 is kdsl.u8


@struct
class Point:
    x: f32
    y: f32


def mirrored(p: A) -> A:
    return p


def test_structs(device: Any):
    @kernel
    def k(points: Ptr[A], shift: A, out: Ptr[f32]):
        tile = shared.array(1, A)
        tile[0] = mirrored(points[1])
        out[0] = tile[0].x + shift.y if A is Point else -1

    @kernel
    def untyped(points, shift, out):
        out[0] = points[0].y + shift.x

    points = np.array([(1, 2), (3, 4)], Point.dtype)
    for _ in range(3):
        out, result = np.zeros(1, np.float32), kdsl.zeros(1, f32)
        k[1, 1](points, Point(5.0, 6.0), out)
        k[1, 1](kdsl.to_device(points), Point(5.0, 6.0), result)
        assert out[0] == result.to_host()[0] == 9
        untyped[1, 1](kdsl.to_device(points), Point(5.0, 6.0), result)
        assert result.to_host()[0] == 7
    assert len(k._specializations) == 1


def test_alternating_types_stay_apart(device: Any):
    narrow, wide = kdsl.zeros(1, f32), kdsl.zeros(1, f64)

    @kernel
    def add(x: Ptr[T], by: T, times: A):
        x[0] += by * T(times)

    for i in range(20):
        add[1, 1](narrow if i % 2 else wide, 0.1, 1 if i % 3 else 2.0)
    times = [1 if i % 3 else 2 for i in range(20)]
    exact, rounded = 0.0, np.float32(0)
    for i, n in enumerate(times):
        if i % 2:
            rounded = np.float32(np.float64(np.float32(0.1)) * n + rounded)
        else:
            exact += 0.1 * n
    assert wide.to_host()[0] == pytest.approx(exact, abs=1e-15)
    assert narrow.to_host()[0] == pytest.approx(rounded, abs=1e-6)
    assert len(add._specializations) == 4


def test_parameters_of_the_function_itself(tmp_path: Path):
    """``def k[Q: (f32, f64)](...)``, with annotations as strings; before Python 3.12 what it makes is made by hand."""
    Q = TypeVar("Q", f32, f64)

    def body(x, by):
        x[0] = by + Q(1)

    body.__annotations__ = {"x": "Ptr[Q]", "by": "Q"}
    body.__type_params__ = (Q,)  # type: ignore[attr-defined, unused-ignore]
    made = [kernel(body)]
    if sys.version_info >= (3, 12):
        file = tmp_path / "generic_kernels.py"
        file.write_text(
            "from kdsl import Ptr, f32, f64, kernel\n\n\n"
            "def more[V](v: V) -> V:\n    return v + V(1)\n\n\n"
            "@kernel\ndef k[Q: (f32, f64)](x: Ptr[Q], by: Q):\n    acc: Q = 0\n    x[0] = more(by) + acc\n"
        )
        made.append(runpy.run_path(str(file))["k"])
    for k in made:
        for dtype in (np.float32, np.float64):
            x = np.zeros(1, dtype)
            k[1, 1](x, 0.1)
            assert x[0] == dtype(0.1) + dtype(1)
        with pytest.raises(TypeError, match="argument `x` makes Q i32, and Q may be f32 or f64"):
            k[1, 1](np.zeros(1, np.int32), 1)
