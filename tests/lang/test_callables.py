"""Functions as arguments: of kernels, which they specialise, and of device functions."""

from __future__ import annotations

import enum
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kdsl
import kdsl.specialization
from kdsl import Array, Ptr, f32, f64, grid, i32, kernel, rsqrt, static_range


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kernels that were compiled, in order; a kernel of this file is one that no test has compiled."""
    names: list[str] = []
    monkeypatch.setitem(globals(), "mapped", kernel(mapped.function))
    run = kdsl.specialization.compile_cached

    def counted(requests: Any, *arguments: Any, **keywords: Any) -> Any:
        names.extend(request.function.__name__ for request in requests)
        return run(requests, *arguments, **keywords)

    monkeypatch.setattr(kdsl.specialization, "compile_cached", counted)
    return names


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


def test_a_lambda_made_anew_is_compiled_once(compiled: list[str]):
    @kernel
    def k(out, f):
        out[0] = f(3)

    out = np.zeros(1, np.float32)
    for factor in (2.5, 2.5, 1000.0, 1000, 2000):
        k[1, 1](out, lambda v, by=0: v * factor + by)
        assert out[0] == 3 * factor
    assert len(compiled) == 2
    for offset in (1, 2, 1):
        k[1, 1](out, lambda v, by=offset: v + by)
        assert out[0] == 3 + offset
    assert len(compiled) == 3


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


def test_a_captured_number_is_passed(device: Any, compiled: list[str]):
    x, out = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    for value in [n / 8 for n in range(97)] + [0.0, -0.0, math.nan]:
        mapped[1, 4](out, x, lambda v: v * value)
        np.testing.assert_array_equal(out, x * np.float32(value))
        assert math.copysign(1, out[1]) == math.copysign(1, value) or math.isnan(value)
    assert len(compiled) == 1
    dx, result = kdsl.to_device(x), kdsl.zeros(4, f32)
    for value in (1.5, 2.5, math.inf, -0.0):
        mapped[1, 4](result, dx, lambda v: v + value)
        np.testing.assert_array_equal(result.to_host(), x + np.float32(value))
    assert len(compiled) == 2


def test_another_type_is_compiled_once(compiled: list[str]):
    @kernel
    def k(out: Ptr[f64], f):
        out[0] = f64(f())

    out = kdsl.zeros(1, f64)
    values = (1, 2, 2**31 - 1, 2**31, 2**40, 2**63, 2**64 - 1, -(2**31), -(2**31) - 1, 0.5, True, False)
    numpy_values = (np.int8(5), np.float64(0.1), np.float32(0.1), np.uint16(7))
    for value in (*values, *numpy_values, *values, *reversed(numpy_values)):
        k[1, 1](out, lambda: value)
        assert out.to_host()[0] == float(value)
    # i32, i64, u64, f32, bool, and NumPy's i8, f64 and u16.
    assert len(compiled) == 8


def test_the_argument_is_typed_as_a_variable_of_a_literal():
    @kernel
    def k(out, f):
        out[0] = f()

    def types(function: Any) -> list[str]:
        (tree,) = k.compile(target="sm_90", signature={"out": Ptr[f64], "f": function}).tree.kernels
        return [f"{p.name}: {p.type}" for p in tree.parameters[1:]]

    n, s, t, pair = 3, 0.5, np.float16(2), (1, (2.5, np.int64(4)))
    assert types(lambda: n * s) == ["f.n: i32", "f.s: f32"]
    assert types(lambda a=2**40, *, b=True: f64(a) if b else f64(t)) == ["f.t: f16", "f.a: i64", "f.b: bool"]
    assert types(lambda: f64(pair[0]) + pair[1][1]) == ["f.pair[0]: i32", "f.pair[1][0]: f32", "f.pair[1][1]: i64"]
    assert types(functools.partial(lambda a, b: a + b, 1.5, b=2)) == ["f.args[0]: f32", "f.b: i32"]


def test_what_else_a_function_holds(device: Any, compiled: list[str]):
    x, out = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)

    def launch(function: Any) -> Any:
        mapped[1, 4](out, x, function)
        return out.copy()

    def make(i: int) -> Any:
        table, pair, inner = np.array([10, 20 + i], np.float32), (i, 2.5), lambda v: v + i
        return lambda v, by=0.5 * i: inner(v) * pair[0] + pair[1] + table[1] + table.shape[0] + by

    for i in range(4):
        np.testing.assert_array_equal(launch(make(i)), (x + i) * i + 2.5 + 20 + i + 2 + 0.5 * i)
    assert len(compiled) == 1

    def linear(a, v, b=1.0, *, c=2.0):
        return a * v + b * c

    for i in range(3):
        np.testing.assert_array_equal(launch(functools.partial(linear, i + 0.5, b=i * 1.0)), (i + 0.5) * x + i * 2)
        np.testing.assert_array_equal(launch(functools.partial(linear, 2.0, c=i * 1.0)), 2 * x + i)
    assert len(compiled) == 3
    twice_partial = functools.partial(functools.partial(linear, b=3.0), 1.0)
    np.testing.assert_array_equal(launch(twice_partial), x + 6)


def test_arrays_that_a_function_holds(device: Any, compiled: list[str]):
    x, out = kdsl.to_device(np.arange(4, dtype=np.float32)), kdsl.zeros(4, f32)
    for start in range(3):
        table = kdsl.to_device(np.arange(start, start + 4, dtype=np.float32))
        mapped[1, 4](out, x, lambda v: table[3 - i32(v)])
        np.testing.assert_array_equal(out.to_host(), np.arange(start, start + 4)[::-1])
    total = np.zeros(1, np.int32)

    def count(v):
        kdsl.atomic.add(total, 0, 1)
        return v

    mapped[1, 4](out, x, count)
    assert total[0] == 4
    assert len(compiled) == 2


def test_a_held_array_that_is_wrong():
    x = np.zeros(4, np.float32)
    table = np.zeros(4, np.complex64).view("V8")
    with pytest.raises(TypeError, match="argument `f.table` has the dtype"):
        mapped[1, 4](x, x, lambda v: table[0])
    huge = 2**64
    with pytest.raises(ValueError, match="argument `f.huge` is 18446744073709551616, which no integer type"):
        mapped[1, 4](x, x, lambda v: v + huge)


class Scale:
    def __init__(self, by: float) -> None:
        self.by = by

    def apply(self, v):
        return v * self.by

    @classmethod
    def doubled(cls, v):
        return v * 2

    @staticmethod
    def halved(v):
        return v / 2


def test_methods(device: Any):
    x, out = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    scale = Scale(3.0)
    for function, expected in ((scale.apply, 3), (Scale(5.0).apply, 5), (Scale.doubled, 2), (Scale.halved, 0.5)):
        mapped[1, 4](out, x, function)
        np.testing.assert_array_equal(out, x * expected)
    scale.by = 4.0
    mapped[1, 4](out, x, scale.apply)
    np.testing.assert_array_equal(out, x * 4)
    mapped[1, 4](out, x, functools.partial(Scale.apply, scale))
    np.testing.assert_array_equal(out, x * 4)


GLOBAL = 2.0


def test_globals_are_constants(compiled: list[str], monkeypatch: pytest.MonkeyPatch):
    x, out = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    for value in (2.0, 3.0, 2.0):
        monkeypatch.setitem(globals(), "GLOBAL", value)
        for _ in range(2):
            mapped[1, 4](out, x, lambda v: v * GLOBAL)
            np.testing.assert_array_equal(out, x * value)
    assert len(compiled) == 3


def test_functions_that_hold_themselves(compiled: list[str]):
    def make(step: int) -> Any:
        def fall(n: i32) -> i32:
            if n <= 0:
                return n
            return fall(n - step)

        return fall

    @kernel
    def k(out: Ptr[i32], f: Callable[[int], int], n: i32):
        out[0] = f(n)

    out = np.zeros(1, np.int32)
    for step, n in ((2, 7), (3, 8), (5, 9)):
        k[1, 1](out, make(step), n)
        assert out[0] == n - -(-n // step) * step
    assert len(compiled) == 1


def test_functions_that_hold_each_other(compiled: list[str]):
    def make(step: int, start: float) -> Any:
        def even(n: i32) -> f32:
            return start if n <= 0 else odd(n - 1)

        def odd(n: i32) -> f32:
            return -start if n <= 0 else even(n - step)

        return even

    @kernel
    def k(out: Ptr[f32], f: Callable[[int], float], n: i32):
        out[0] = f(n)

    out = np.zeros(1, np.float32)
    for step, start in ((1, 0.5), (3, 1.5)):
        for n in range(6):
            k[1, 1](out, make(step, start), n)
            assert out[0] == make(step, start)(n)
    assert len(compiled) == 1


def test_different_functions_stay_apart():
    x, out = kdsl.to_device(np.arange(4, dtype=np.float32)), kdsl.zeros(4, f32)
    flag, number = Color.RED, 2.0

    def chosen(kind: Any, by: float) -> Any:
        return lambda v: v + by if kind is Color.RED else v * by

    for _ in range(2):
        for kind in Color:
            for by in (2.0, 3.0):
                mapped[1, 4](out, x, chosen(kind, by))
                expected = np.arange(4) + by if kind is Color.RED else np.arange(4) * by
                np.testing.assert_array_equal(out.to_host(), expected)
    mapped[1, 4](out, x, lambda v: v * number if flag is Color.RED else v)
    np.testing.assert_array_equal(out.to_host(), np.arange(4) * 2)


def test_two_functions_and_numbers(device: Any, compiled: list[str]):
    @kernel
    def k(out: Ptr[f32], before, f, middle: f64, g, after: i32):
        out[0] = f(before) + f32(middle)
        out[1] = g(f(after))

    out = np.zeros(2, np.float32)
    for a, b in ((1, 2.0), (3, 4.5)):
        k[1, 1](out, 7, lambda v: v * a, 0.5, lambda v: v + b + a, 9)
        assert list(out) == [7 * a + 0.5, 9 * a + b + a]
    assert len(compiled) == 1
    names = [p.name for p in next(iter(k._specializations.values())).compilation.params["k"]]
    assert names == ["out", "before", "f.a", "middle", "g.a", "g.b", "after"]


def test_what_is_passed_is_no_constant():
    size = 4
    with pytest.raises(kdsl.CompileError, match="static_range\\(\\) takes constants"):
        mapped[1, 1](np.zeros(1, np.float32), np.zeros(1, np.float32), lambda v: sum(static_range(size)) + v)
