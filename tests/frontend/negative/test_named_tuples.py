"""Named tuples that are made or read wrongly, and classes whose fields are no types."""

from __future__ import annotations

from typing import NamedTuple

from kdsl import Ptr, f32, i32, kernel

from ..harness import check_errors


class Point(NamedTuple):
    x: f32
    y: f32


class Other(NamedTuple):
    x: f32
    y: f32


class Text(NamedTuple):
    text: str


def takes(p: Point) -> f32:
    return p.x


def test_making_and_reading():
    @kernel
    def k(x: Ptr[f32], n: i32, p: Point):
        Point(1)  # error: Point() needs `y` # hint: it takes x, y
        Point(1, 2, 3)  # error: Point() takes 2 arguments (x, y), and this gives 3
        Point(1, z=2)  # error: Point() has no parameter `z` # hint: it takes x, y
        Point(x, 1)  # error: this is Ptr[f32], but `x` of `Point` takes f32
        x[0] = p.z  # error: `p` is Point, which has no field `z` # hint: it has x, y
        takes((1.0, 2.0))  # error: this is tuple[f32, f32], but `p` of `takes` takes Point
        takes(Other(1, 2))  # error: this is Other, but `p` of `takes` takes Point
        Text("a")  # error: field `text` of Text is no type of the kernel language: <class 'str'> is not a type of the
        #   kernel language
        p.x = 1  # error: a kernel cannot set attributes # hint: store to an element: a[i] = value
        q = p
        q = Other(1, 2)  # error: `q` is Other here but Point at line {-1} (`q = p`); a variable keeps one type
        x[1] = q.x

    check_errors(k)
