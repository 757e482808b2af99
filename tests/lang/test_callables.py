"""Functions as arguments: of kernels, which they specialise, and of device functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import Array, Ptr, f32, grid, i32, kernel, rsqrt


def double(x):
    return x * 2


def clipped(x: f32, limit: f32 = 3.0) -> f32:
    return min(x, limit)


def twice(f, x):
    return f(f(x))


def fold(f: Callable[[Any, Any], Any], x, n, start):
    acc = start
    for i in range(n):
        acc = f(acc, x[i])
    return acc


@kernel
def mapped(out: Array[f32, 1], x: Array[f32, 1], f: Callable[[float], float]):
    i = grid(1)
    if i < x.shape[0]:
        out[i] = f(x[i])


def test_specialises_a_kernel(device: Any):
    x = np.array([1, 4, 9, 16], np.float32)
    out = np.zeros(4, np.float32)
    for function, expected in (
        (double, x * 2),
        (clipped, np.minimum(x, 3)),
        (math.sqrt, np.sqrt(x)),
        (lambda v: v + 1, x + 1),
    ):
        for _ in range(2):
            mapped[1, 32](out, x, function)
            np.testing.assert_array_equal(out, expected)
    mapped[1, 32](out, x, f=rsqrt)
    np.testing.assert_allclose(out, 1 / np.sqrt(x), rtol=1e-6)


def test_one_specialisation_for_each_function():
    @kernel
    def k(out, f):
        out[0] = f(3)

    out = np.zeros(1, np.int32)
    for _ in range(3):
        k[1, 1](out, double)
        assert out[0] == 6
    k[1, 1](out, abs)
    assert out[0] == 3
    assert len(k._specializations) == 2


def test_a_lambda_made_anew_is_compiled_once():
    @kernel
    def k(out, f):
        out[0] = f(3)

    out = np.zeros(1, np.float32)
    for factor in (2.5, 2.5, 1000, 1000, 1000.0):
        k[1, 1](out, lambda v, by=0: v * factor + by)
        assert out[0] == 3 * factor
    assert len(k._specializations) == 3
    for offset in (1, 2, 1):
        k[1, 1](out, lambda v, by=offset: v + by)
        assert out[0] == 3 + offset
    assert len(k._specializations) == 5


def test_without_a_launch():
    @kernel
    def k(out: Ptr[i32], f: Callable[[int], int], n: i32):
        out[0] = f(n)

    ptx = k.compile(target="sm_90", signature={"f": double}).ptx
    assert "shl.b32" in ptx or "add.s32" in ptx
    with pytest.raises(TypeError, match="`f` takes a function, got int 3"):
        k.compile(target="sm_90", signature={"f": 3})
    with pytest.raises(TypeError, match="`f` takes a function, got float 0.5"):
        k[1, 1](np.zeros(1, np.int32), 0.5, 1)


@kernel
def passed_on(out: Array[i32, 1], x: Array[i32, 1], n: i32):
    factor = x[0] + 1
    bias = n

    def scaled(v):
        return v * factor + bias

    out[0] = twice(double, n)
    out[1] = twice(scaled, n)
    out[2] = fold(lambda a, b: a * factor + b, x, n, 1)
    out[3] = fold(max, x, n, -5)
    bias = 100
    out[4] = twice(scaled, n)
    out[5] = twice(lambda v: twice(lambda w: w + v * factor, v), n)
    out[6] = fold(lambda a, b: a + scaled(b), x, n, 0)


def test_passed_to_device_functions(device: Any):
    x = np.array([2, 7, 1, 8], np.int32)
    out = np.zeros(7, np.int32)
    passed_on[1, 1](out, x, 4)
    first = 1
    for v in x:
        first = first * 3 + int(v)

    def scaled(v: int, bias: int) -> int:
        return v * 3 + bias

    def inner(v: int) -> int:
        return v + v * 3 + v * 3

    total = sum(scaled(int(v), 100) for v in x)
    assert list(out) == [16, 12 * 3 + 4 + 12, first, 8, scaled(scaled(4, 100), 100), inner(inner(4)), total]


def test_choosing_a_function(device: Any):
    def pick(flag):
        return double if flag else abs

    @kernel
    def k(out: Ptr[i32]):
        for i, f in enumerate((double, abs)):
            out[i] = f(-3)

    out = np.zeros(2, np.int32)
    k[1, 1](out)
    assert list(out) == [-6, 3]


def test_a_rebound_function_is_noticed():
    scale = 3

    def scaled(v):
        return v * scale

    out, x = np.zeros(1, np.float32), np.ones(1, np.float32)
    mapped[1, 1](out, x, scaled)
    assert out[0] == 3
    scale = 5
    mapped[1, 1](out, x, scaled)
    assert out[0] == 5


def test_a_kernel_is_no_function_of_the_device():
    with pytest.raises(kdsl.CompileError, match="a kernel cannot call one"):
        mapped[1, 1](np.zeros(1, np.float32), np.zeros(1, np.float32), mapped)
