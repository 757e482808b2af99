"""Device functions that call themselves, against the same functions run by Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import Array, Ptr, f32, grid, i32, kernel, local, static_range


def factorial(n: i32) -> i32:
    return 1 if n <= 1 else n * factorial(n - 1)


def fibonacci(n: i32) -> i32:
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


def ackermann(m: i32, n: i32) -> i32:
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


def is_even(n: i32) -> bool:
    return True if n == 0 else is_odd(n - 1)


def is_odd(n: i32) -> bool:
    return False if n == 0 else is_even(n - 1)


def ranges(n: i32) -> i32:
    # A known argument of the first call is none of the others'.
    if n > 0:
        return n + ranges(n - 3)
    return n * 100


@kernel
def answers(out: Array[i32, 2], n: Array[i32, 1]):
    i = grid(1)
    out[0, i] = factorial(n[i])
    out[1, i] = fibonacci(n[i])
    out[2, i] = ackermann(2, n[i] % 4)
    out[3, i] = is_even(n[i])
    out[4, i] = ranges(5)


def test_as_python(device: Any):
    n = np.arange(12, dtype=np.int32)
    out = np.zeros((5, 12), np.int32)
    answers[1, 12](out, n)
    assert list(out[0]) == [factorial(int(x)) for x in n]
    assert list(out[1]) == [fibonacci(int(x)) for x in n]
    assert list(out[2]) == [ackermann(2, int(x) % 4) for x in n]
    assert list(out[3]) == [is_even(int(x)) for x in n]
    assert list(out[4]) == [ranges(5)] * 12


def sort(x: Ptr[f32], low: i32, high: i32) -> None:
    if low >= high:
        return
    pivot = x[high]
    i = low
    for j in range(low, high):
        if x[j] < pivot:
            x[i], x[j] = x[j], x[i]
            i += 1
    x[i], x[high] = x[high], x[i]
    sort(x, low, i - 1)
    sort(x, i + 1, high)


@kernel
def quicksort(x: Ptr[f32], n: i32):
    sort(x, grid(1) * n, grid(1) * n + n - 1)


def test_no_result(device: Any):
    x = np.random.default_rng(0).random((3, 20), np.float32)
    expected = np.sort(x, axis=1)
    quicksort[1, 3](x, 20)
    np.testing.assert_array_equal(x, expected)


def digits(n: i32, depth: i32) -> i32:
    own = local.array(4, i32)
    for i in static_range(4):
        own[i] = n * 4 + i
    if depth == 0:
        return own[n % 4]
    below = digits(n + 1, depth - 1)
    return below * 3 + own[(n + depth) % 4]


@kernel
def frames(out: Ptr[i32]):
    out[grid(1)] = digits(grid(1), 3)


def test_each_call_has_its_own_arrays(device: Any):
    def reference(n: int, depth: int) -> int:
        if depth == 0:
            return n * 4 + n % 4
        return reference(n + 1, depth - 1) * 3 + n * 4 + (n + depth) % 4

    out = np.zeros(8, np.int32)
    frames[1, 8](out)
    assert list(out) == [reference(n, 3) for n in range(8)]


def power(x, n):
    return 1.0 if n == 0 else x * power(x, n - 1)


def test_of_constants(device: Any):
    @kernel
    def k(x: Ptr[f32]):
        x[0] = power(x[0], 5)

    x = np.array([2], np.float32)
    k[1, 1](x)
    assert x[0] == 32


def test_ptx_has_a_function():
    @kernel
    def k(out: Ptr[i32], n: i32):
        out[0] = fibonacci(n)

    for arch in ("sm_75", "sm_90"):
        assert ".func" in kdsl.compile(k, target=arch).ptx


def test_the_tree_names_itself():
    @kernel
    def k(out: Ptr[i32], n: i32):
        out[0] = is_even(n)

    names = [f.name for f in kdsl.compile(k, target="sm_90").tree.functions]
    assert sorted(names) == ["is_even", "is_odd"]


@pytest.mark.parametrize("depth", [1, 40])
def test_depth(device: Any, depth: int):
    @kernel
    def k(out: Ptr[i32], n: i32):
        out[0] = fibonacci(1) + factorial(n) * 0 + digits(0, 0) + ranges(n)

    out = np.zeros(1, np.int32)
    k[1, 1](out, depth)
    assert out[0] == 1 + ranges(depth)
