"""Tuples and named tuples: as arguments of kernels, in parts; of device functions and as their results; with fields."""

from __future__ import annotations

from collections import namedtuple
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pytest

import kdsl
from kdsl import Array, Ptr, f32, f64, grid, i32, i64, kernel, struct, type_of, u8

T = TypeVar("T")


class Point(NamedTuple):
    x: f32
    y: f32 = 2.0


class Line(NamedTuple):
    start: Point
    end: Point
    count: i32


@struct
class Cell:
    a: i32
    b: f32


Pair = namedtuple("Pair", "first second", defaults=(7,))
ORIGIN = Point(0.0, 0.5)
LIMITS = Pair(3, np.float64(0.1))


@kernel
def parts(arrays: tuple[Ptr[f32], Array[i32, 1]], n: i32, pair: tuple[u8, tuple[f64, bool]], cell: tuple[Cell]):
    i = grid(1)
    if i < n:
        x, counts = arrays
        x[i] += f32(pair[1][0]) * pair[0]
        if pair[1][1]:
            counts[i] = counts.shape[0] + cell[0].a


def test_each_element_is_a_parameter():
    (fields,) = kdsl.compile(parts, target="sm_90").params.values()
    assert [(f.name, f.type.name if hasattr(f.type, "name") else "", f.offset) for f in fields] == [
        ("arrays[0]", "u64", 0),
        ("arrays[1]", "u64", 8),
        ("arrays[1].extent0", "i32", 16),
        ("n", "i32", 20),
        ("pair[0]", "u8", 24),
        ("pair[1][0]", "f64", 32),
        ("pair[1][1]", "bool", 40),
        ("cell[0]", "Cell", 44),
    ]


def test_as_an_argument(device: Any):
    for flag in (True, False):
        x, counts = np.ones(4, np.float32), np.zeros(4, np.int32)
        parts[1, 4]((x, counts), 3, (2, (0.5, flag)), (Cell(5, 1.0),))
        assert list(x) == [2, 2, 2, 1]
        assert list(counts) == ([9, 9, 9, 0] if flag else [0, 0, 0, 0])
    dx, dcounts = kdsl.to_device(x), kdsl.to_device(counts)
    for _ in range(3):
        parts[1, 4]((dx, dcounts), 4, pair=(1, (1.0, True)), cell=(Cell(1, 1.0),))
    assert list(dx.to_host()) == [5, 5, 5, 4]
    assert list(dcounts.to_host()) == [5, 5, 5, 5]


def test_the_same_array_twice(device: Any):
    @kernel
    def k(pair: tuple[Ptr[f32], Ptr[f32]]):
        pair[0][0] = 1
        pair[1][1] = pair[0][0] + 1

    x = np.zeros(2, np.float32)
    k[1, 1]((x, x))
    assert list(x) == [1, 2]


@kernel
def unannotated(out, t):
    a, (b, c) = t
    out[0] = a[1] * b + c
    if type_of(c) is f32:
        out[1] = len(t)


def test_without_an_annotation(device: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(globals(), "unannotated", kernel(unannotated.function))  # not launched by any test yet
    for dtype in (np.float32, np.float64):
        a, out = np.array([3, 4], dtype), np.zeros(2, dtype)
        for b, c in ((2, 0.5), (3, 1.5)):
            unannotated[1, 1](out, (a, (b, c)))
            assert list(out) == [4 * b + c, 2]
        da, dout = kdsl.to_device(a), kdsl.to_device(out)
        for b in range(3):
            unannotated[1, 1](dout, (da, (b, 0.5)))
            assert dout.to_host()[0] == 4 * b + 0.5
    assert len({types for _, types in unannotated._specializations}) == 2
    unannotated[1, 1](dout, (da, (2**40, np.float64(0.5))))
    assert dout.to_host()[0] == 2**42 + 0.5


def moved(p: Point, by: Point) -> Point:
    return Point(p.x + by.x, y=p.y + by.y)


def swapped(t):
    a, b = t
    return Pair(second=a, first=b)


def plain(p: tuple[f32, f32]) -> f32:
    return p[0] * p[1]


def first_of(pair: tuple[T, T]) -> T:
    return pair[0]


@kernel
def fields(out: Ptr[f64], line: Line, n: i32):
    p = moved(line.start, line.end)
    out[0], out[1] = p
    q = Point(1)
    out[2] = q.x + q.y
    s = swapped((n, p.x))
    out[3], out[4] = s.first, s.second
    r = Pair(n)
    out[5] = r.first + r.second
    x, y = line.start
    out[6] = x * y + line[2] + line.count
    kept = line.end

    def inner(by):
        return line.start.x + kept.y * by

    out[7] = inner(2)
    acc = Point(0, 0)
    for i in range(n):
        acc = Point(acc.x + i, acc.y - 1)
    out[8] = acc.x * 10 + acc.y
    out[9] = plain(line.end) + plain((2.0, n)) + first_of((n, 5))
    out[10] = ORIGIN.y + LIMITS.first + f64(LIMITS.second)
    out[11] = len(line) + len(Point._fields)
    best = line.start if n > 3 else line.end
    out[12] = best.y
    out[13] = 1 if isinstance(best, Point) and isinstance(best, tuple) and not isinstance(s, Point) else 0
    out[14] = 1 if "x" in Point._fields else best.no_such_field if False else 2
    match best:
        case (3.0, v):
            out[15] = v
        case (u, v):
            out[15] = u - v
    out[16] = sum(best)


def test_named_tuples(device: Any):
    for n in (3, 5):
        out = np.zeros(17)
        fields[1, 1](out, Line(Point(1.0, 4.0), Point(3.0, 7.0), 9), n)
        best = (1, 4) if n > 3 else (3, 7)
        assert list(out) == [
            4, 11, 3, 4, n, n + 7, 22, 15, sum(range(n)) * 10 - n, 21 + 2 * n + n, 0.5 + 3 + 0.1,
            5, best[1], 1, 1, best[1] if best[0] == 3 else best[0] - best[1], sum(best),
        ]  # fmt: skip
    names = [f.name for f in kdsl.compile(fields, target="sm_90").params["fields"]]
    assert names == ["out", "line.start.x", "line.start.y", "line.end.x", "line.end.y", "line.count", "n"]


def test_a_class_of_its_own_for_each_specialisation():
    @kernel
    def k(out: Ptr[f32], p):
        out[0] = p.x if isinstance(p, Point) else p[1]

    out = np.zeros(1, np.float32)
    for p, expected in ((Point(5.0, 6.0), 5), ((5.0, 6.0), 6), (Point(7.0, 6.0), 7)):
        k[1, 1](out, p)
        assert out[0] == expected
    assert len(k._specializations) == 2


def test_assigned_to(device: Any):
    @kernel
    def k(out: Ptr[f32], p: Point, t: tuple[i32, i64]):
        for i in range(3):
            p = Point(p.x + i, p.y * 2)
            t = t[0] + 1, t[1] * 3
        out[0], out[1] = p
        out[2] = t[0]
        out[3] = f32(t[1])

    out = np.zeros(4, np.float32)
    k[1, 1](out, Point(1.0), (1, 2))
    assert list(out) == [4, 16, 4, 54]


def test_functions_in_a_tuple(device: Any):
    @kernel
    def k(out: Array[f32, 1], steps):
        for i, (f, scale) in enumerate(steps):
            out[i] = f(out[i]) * scale

    for by in (2.0, 3.0):
        out = np.ones(2, np.float32)
        k[1, 1](out, ((lambda v: v + by, 2), (abs, by)))
        assert list(out) == [(1 + by) * 2, by]
    assert len(k._specializations) == 1


def test_orders_of_evaluation(device: Any):
    def counted(x, i):
        x[0] += 1
        return x[0] * 10 + i

    @kernel
    def k(x: Ptr[i32], out: Ptr[i32]):
        p = Pair(second=counted(x, 1), first=counted(x, 2))
        out[0], out[1] = p.first, p.second

    x, out = np.zeros(1, np.int32), np.zeros(2, np.int32)
    k[1, 1](x, out)
    assert list(out) == [22, 11]


def test_what_a_launch_refuses():
    x, counts = np.ones(4, np.float32), np.zeros(4, np.int32)
    cell = (Cell(1, 1.0),)
    for arrays, pair, message in (
        (
            (x,),
            (1, (1.0, True)),
            r"`arrays` takes tuple\[Ptr\[f32\], Array\[i32, 1\]\], got a tuple of 1; pass a tuple of 2",
        ),
        ([x, counts], (1, (1.0, True)), "`arrays` takes .*, got list; pass a tuple of 2"),
        ((x, x), (1, (1.0, True)), r"`arrays\[1\]` takes Array\[i32, 1\] .* got a NumPy array of float32"),
        ((x, counts), (1, (1.0,)), r"`pair\[1\]` takes tuple\[f64, bool\], got a tuple of 1"),
        ((x, counts), (1, (1.0, 1)), r"`pair\[1\]\[1\]` takes a bool, got int 1"),
        ((x, counts), (1.5, (1.0, True)), r"`pair\[0\]` takes an int \(u8\), got float 1.5"),
    ):
        with pytest.raises(TypeError, match=message):
            parts[1, 1](arrays, 1, pair, cell)
    with pytest.raises(ValueError, match=r"`pair\[0\]` takes u8, 0 to 255, got 256"):
        parts[1, 1]((x, counts), 1, (256, (1.0, True)), cell)
    with pytest.raises(TypeError, match=r"`line` takes Line, got tuple; pass Line\(...\)"):
        fields[1, 1](np.zeros(16), (Point(1.0), Point(1.0), 2), 3)
    with pytest.raises(TypeError, match=r"`line.end` takes Point, got tuple; pass Point\(...\)"):
        fields[1, 1](np.zeros(16), Line(Point(1.0), (1.0, 2.0), 2), 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"`t\[1\]\[0\]` is str 'a', which gives no type"):
        unannotated[1, 1](x, (x, ("a", 1)))


def test_without_a_launch():
    ptx = kdsl.compile(
        unannotated, target="sm_90", signature={"out": Ptr[f32], "t": tuple[Ptr[f32], tuple[i32, f32]]}
    ).ptx
    assert ".local" not in ptx
    assert ".local" not in kdsl.compile(fields, target="sm_90").ptx
    kdsl.compile(unannotated, target="sm_90", signature=(Array[f64, 1], tuple[Ptr[f64], Pair64]))


class Pair64(NamedTuple):
    b: i64
    c: f64
