"""The types of variables: joins of what is assigned, literals that take the type they meet, widening as in C."""

from __future__ import annotations

import numpy as np
import pytest

from kdsl import Array, Ptr, bf16, f16, f32, f64, grid, i8, i16, i32, i64, kernel, u8, u16, u32, u64

from .harness import tree, variables

FACTOR = 0.5
COUNT = 1000
STRONG = np.float64(0.5)


def test_a_literal_takes_the_type_it_meets():
    @kernel
    def k(a: Ptr[f64], h: Ptr[f16], n: i64):
        acc = 0.0
        acc += a[0]
        half = 1.0
        half = half * h[0] * FACTOR
        count = 0
        count = count + n
        alone = 0
        alone += 1
        alone_float = 0
        alone_float += 0.5

    assert variables(k) == {"acc": "f64", "half": "f16", "count": "i64", "alone": "i32", "alone_float": "f32"}


def test_literals_alone_are_as_wide_as_they_must_be():
    @kernel
    def k():
        a = 2147483647
        a = 0
        b = 2147483648
        b = 0
        c = 2**63
        c = 0
        d = 1.0
        d = 2

    assert variables(k) == {"a": "i32", "b": "i64", "c": "u64", "d": "f32"}


def test_variables_in_a_circle_are_solved_together():
    @kernel
    def k(x: Ptr[f64], n: i32):
        a = 0.0
        b = 0.0
        lo = 0
        hi = n
        for i in range(n):
            b = a + x[i]
            a = b
        while lo < hi:
            middle = (lo + hi) // 2
            if x[middle] < 0.0:
                lo = middle + 1
            else:
                hi = middle

    assert variables(k) == {"a": "f64", "b": "f64", "lo": "i32", "hi": "i32", "i": "i32", "middle": "i32"}


def test_arithmetic_follows_the_table():
    @kernel
    def k(b: bool, s: i8, t: i16, i: i32, l: i64, us: u8, ut: u16, u: u32, ul: u64, h: f16, bh: bf16, f: f32, d: f64):
        bb = b + b
        ss = s + s
        us_t = us * t
        us_i = us + i
        u_l = u + l
        t_f = t * f
        l_f = l * f
        h_i = h * i
        h_f = h + f
        bh_d = bh + d
        div_i = i / i
        div_l = l / i
        div_h = h / h
        shift = us << l
        shift_l = l >> us
        both = b & (i > 0)
        minus = -us
        inverted = ~b
        power = i**2
        compared = us < t

    assert variables(k) == {
        "bb": "i32",
        "ss": "i32",
        "us_t": "i32",
        "us_i": "i32",
        "u_l": "i64",
        "t_f": "f32",
        "l_f": "f32",
        "h_i": "f16",
        "h_f": "f32",
        "bh_d": "f64",
        "div_i": "f32",
        "div_l": "f64",
        "div_h": "f16",
        "shift": "i32",
        "shift_l": "i64",
        "both": "bool",
        "minus": "i32",
        "inverted": "i32",
        "power": "i32",
        "compared": "bool",
    }


def test_augmented_assignment_narrows_back():
    @kernel
    def k(a: Ptr[u8], h: Ptr[u16]):
        x = a[0]
        x += 1
        x <<= 2
        x += a[1]
        h[0] += a[0]

    assert variables(k) == {"x": "u8", "address": "Ptr[u16]"}
    assert "x = u8(i32(x) + 1)" in tree(k)


def test_a_choice_between_two_of_one_type_keeps_it():
    @kernel
    def k(a: Ptr[u8], h: Ptr[f16]):
        smaller = min(a[0], a[1], 3)
        chosen = a[0] if h[0] > 0 else a[1]
        literal = 1 if a[0] > 0 else 2
        joined = (1 if a[0] > 0 else 2) * h[0]

    assert variables(k) == {"smaller": "u8", "chosen": "u8", "literal": "i32", "joined": "f16"}


def test_captured_numbers_are_weak_and_numpy_scalars_strong():
    @kernel
    def k(x: Ptr[f32]):
        a = x[0] * FACTOR
        b = x[0] * STRONG
        c = COUNT * x[0]

    assert variables(k) == {"a": "f32", "b": "f64", "c": "f32"}


def test_a_name_bound_once_to_a_constant_is_the_constant():
    @kernel
    def k(x: Ptr[f64]):
        n = 16
        scale = n * 2 + 0.5
        x[n] = x[n] * scale

    assert variables(k) == {}
    assert tree(k) == "    x[16] = x[16] * 32.5"


def test_declared_variables_convert_what_they_are_given():
    @kernel
    def k(x: Ptr[f32], n: i32):
        total: f64 = 0
        total += x[0]
        wide: "i64" = n
        wide += n

    assert variables(k) == {"total": "f64", "wide": "i64"}
    assert "total = total + f64(x[0])" in tree(k)


def test_ranges_and_tuples():
    @kernel
    def k(n: i64, a: Array[f32, 2]):
        for i in range(n):
            pass
        for j in range(10):
            pass
        x, y = grid(2)
        pair = (x, a[0, 0])
        first = pair[0]
        rows, columns = a.shape
        last = pair[-1]

    found = variables(k)
    assert {name: found[name] for name in ("i", "j", "x", "y", "pair", "first", "rows", "columns", "last")} == {
        "i": "i64",
        "j": "i32",
        "x": "i32",
        "y": "i32",
        "pair": "tuple[i32, f32]",
        "first": "i32",
        "rows": "i32",
        "columns": "i32",
        "last": "f32",
    }


def test_unannotated_parameters_get_their_types_from_the_launch():
    @kernel
    def k(x, n):
        y = x[0] * n

    assert variables(k, Ptr[f64], i32) == {"y": "f64"}


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [(np.float32, "f32"), (np.dtype("u2"), "u16"), (int, "i32"), (float, "f32"), (bool, "bool")],
)
def test_annotations_may_be_python_or_numpy_types(annotation, expected):
    def k(x):
        y = x

    k.__annotations__["x"] = annotation
    assert variables(k) == {"y": expected}


def test_casts():
    @kernel
    def k(x: f32, i: i32):
        a = i8(i)
        b = int(x)
        c = float(i)
        d = bool(x)
        e = np.float64(x)
        f = u32(-1)
        f = u32(0)
        g = i32(2.7)
        g = 0

    assert variables(k) == {"a": "i8", "b": "i32", "c": "f32", "d": "bool", "e": "f64", "f": "u32", "g": "i32"}
    assert "f: u32 = 4294967295" in tree(k)
    assert "g: i32 = 2" in tree(k)
