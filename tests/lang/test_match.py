"""`match` in kernels, against the same function run by Python."""

from __future__ import annotations

import enum
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kdsl import Array, CompileError, Constexpr, f32, grid, i32, kernel


class Shape(enum.IntEnum):
    SQUARE = 1
    DISC = 2
    LINE = 3


LIMITS = SimpleNamespace(low=-3, high=7)


def literals(n):
    match n:
        case 0:
            return 10
        case -1 | -2:
            return 20
        case 5 | 6 as v:
            return v * 100
        case LIMITS.low:
            return 30
        case LIMITS.high:
            return 40
        case _:
            return 50


def members(n):
    result = 0
    match n:
        case Shape.SQUARE:
            result = 4
        case Shape.DISC | Shape.LINE:
            result = 1
    return result


def guards(n):
    match n * 3 - 1:
        case 2 if n > 100:
            return 1
        case v if v < 0:
            result = -v
        case v if v % 2 == 0 and v > 6:
            return v + 1000
        case w:
            result = w + v
    return result


def tuples(n):
    match n % 3, n % 2:
        case 0, 0:
            return 1
        case (0, _):
            return 2
        case [a, 1]:
            return 10 + a
        case (1 | 2, b) if b == n:
            return 99
        case pair:
            return 20 + pair[0] * 3 + pair[1]


def nested(n):
    pair = (n % 2, (n % 3, n))
    match pair:
        case 0, (0, x):
            return x
        case _, (1 as y, _):
            return -y
        case _:
            return 7


def bools(n):
    match n > 3:
        case True:
            return 1
        case False:
            return 2
    return 3


def flow(n):
    total = 0
    for i in range(8):
        match i:
            case 1:
                continue
            case 5 if n > 2:
                break
            case j:
                total += j
    return total


ASKED = (literals, members, guards, tuples, nested, bools, flow)


@kernel
def answers(out: Array[i32, 2], n: Array[i32, 1]):
    i = grid(1)
    out[0, i] = literals(n[i])
    out[1, i] = members(n[i])
    out[2, i] = guards(n[i])
    out[3, i] = tuples(n[i])
    out[4, i] = nested(n[i])
    out[5, i] = bools(n[i])
    out[6, i] = flow(n[i])


def test_as_python(device: Any):
    n = np.arange(-8, 24, dtype=np.int32)
    out = np.zeros((len(ASKED), 32), np.int32)
    answers[1, 32](out, n)
    for row, function in zip(out, ASKED, strict=True):
        assert list(row) == [function(int(x)) for x in n], function.__name__


@kernel
def floats(out: Array[f32, 1], x: Array[f32, 1], n: i32):
    i = grid(1)
    match x[i]:
        case 0.5 | 2:
            out[i] = 1.0
        case v if v != v:
            out[i] = 2.0
        case v:
            out[i] = v * 2.0


def test_floats(device: Any):
    x = np.array([0.5, 2.0, np.nan, -1.5], np.float32)
    out = np.zeros(4, np.float32)
    floats[1, 4](out, x, 0)
    assert list(out) == [1.0, 1.0, 2.0, -3.0]


def test_a_subject_is_evaluated_once(device: Any):
    def counted(count):
        count[0] += 1
        return count[0]

    @kernel
    def k(count: Array[i32, 1], out: Array[i32, 1]):
        match counted(count):
            case 7:
                out[0] = 7
            case 8:
                out[0] = 8
            case 1:
                out[0] = 1

    count, out = np.zeros(1, np.int32), np.zeros(1, np.int32)
    k[1, 1](count, out)
    assert (count[0], out[0]) == (1, 1)


def test_a_constant_subject(device: Any):
    def area(shape, r):
        match shape:
            case Shape.SQUARE:
                return r * r
            case Shape.DISC:
                return r * 3
            case _:
                return r

    @kernel
    def k(out: Array[i32, 1]):
        out[0] = area(Shape.SQUARE, 5)
        out[1] = area(Shape.DISC, 5)
        out[2] = area(Shape.LINE, 5)

    out = np.zeros(3, np.int32)
    k[1, 1](out)
    assert list(out) == [25, 15, 5]


def test_cases_are_typed_apart(device: Any):
    def written(mode, x, n):
        match mode:
            case Shape.SQUARE:
                value = x[0]
            case Shape.DISC | Shape.LINE if n > 100:
                value = n * 3
            case Shape.DISC | Shape.LINE:
                value = n * 2
            case _:
                value = undefined  # noqa: F821
        return value

    @kernel
    def k(out: Array[f32, 1], x: Array[f32, 1], n: i32, mode: Constexpr[int]):
        out[0] = written(Shape.SQUARE, x, n)
        out[1] = f32(written(Shape.LINE, x, i32(7)))
        match mode:
            case 1:
                half = n // 2
                out[2] = half
            case 2 as m:
                half = x[0] / m
                out[2] = half
            case other if other > 5:
                out[2] = other
            case _:
                out[2] = x.no_such_attribute

    x = np.array([1.5], np.float32)
    out = np.zeros(3, np.float32)
    for mode, expected in ((1, 3), (2, 0.75), (9, 9)):
        k[1, 1](out, x, 7, mode)
        assert list(out) == [1.5, 14, expected]
    with pytest.raises(CompileError, match="no_such_attribute"):
        k[1, 1](out, x, 7, 4)
