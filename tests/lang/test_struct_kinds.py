"""Structs that a function makes for each type, and fields that are members of an enum."""

# mypy: ignore-errors

import enum
from functools import cache
from typing import Generic, TypeVar

import numpy as np
import pytest

import kdsl
from kdsl import Array, Ptr, f32, f64, grid, i8, i32, kernel, size_of, struct, u8
from tests.lang import postponed_struct

T = TypeVar("T")


class Color(enum.IntEnum):
    RED = 1
    GREEN = 2


class Flags(enum.IntFlag):
    A = 1
    B = 4


@cache
def pair(T):
    @struct
    class Pair:
        a: T
        b: T = 0

        def total(self) -> T:
            return self.a + T(2) * self.b

        def swapped(self) -> "Pair":
            return Pair(self.b, self.a)

        def plus(self, x: "T") -> "T":
            return self.a + x

        def __add__(self, other: "Pair") -> "Pair":
            return Pair(self.a + other.a, self.b + other.b)

    return Pair


Pair32, Pair64 = pair(f32), pair(f64)
Postponed = postponed_struct.pair(f64)


def test_a_function_makes_a_struct_for_each_type(device):
    @kernel
    def k(a: Array[Pair32, 1], b: Ptr[Pair64], p: Pair32):
        b[0] = b[0].swapped() + Pair64(1, 2)
        a[0] = a[0].swapped() + p
        a[1].a = a[0].total()
        a[1].b = f32(b[0].plus(1e-12) - b[0].a)

    assert pair(f32) is Pair32
    assert (size_of(Pair32), size_of(Pair64)) == (8, 16)
    a, b = np.zeros(2, Pair32.dtype), np.zeros(1, Pair64.dtype)
    a[0], b[0] = (1, 2), (3, 4)
    k[1, 1](a, b, Pair32(1, 2))
    assert b.tolist() == [(5, 5)]
    assert a.tolist() == [(3, 3), (9, np.float32((5 + 1e-12) - 5))]


def test_with_postponed_annotations(device):
    @kernel
    def k(a: Array[Postponed, 1], out: Ptr[f64]):
        out[0] = a[0].scaled(2).total()

    a, out = np.zeros(1, Postponed.dtype), np.zeros(1)
    a[0] = (1, (3, 4))
    k[1, 1](a, out)
    assert out.tolist() == [9]


@struct
class Body:
    mass: f32
    color: Color = Color.RED
    flags: Flags = Flags.A
    small: u8 = Color.GREEN

    def turned(self, to: Color) -> "Body":
        return Body(self.mass, to, self.flags | Flags.B, u8(to))


def test_members_of_enums(device):
    @kernel
    def k(a: Array[Body, 1], out: Ptr[i32], p: Body, c: Color):
        i = grid(1)
        if a[i].color == Color.GREEN:
            a[i] = p.turned(Color.RED)
        else:
            a[i].color = c
        match p.color:
            case Color.GREEN:
                out[i] = a[i].flags & Flags.B
            case _:
                out[i] = -1

    a, out = np.zeros(2, Body.dtype), np.zeros(2, np.int32)
    a["color"][1] = Color.GREEN
    p = Body(2.0, Color.GREEN)
    assert (p.color, type(p.color), Body(1.0).flags) == (Color.GREEN, Color, Flags.A)
    k[1, 2](a, out, p, Color.RED)
    assert a.tolist() == [(0, 1, 0, 0), (2, 1, 5, 1)]
    assert out.tolist() == [0, 4]
    assert Body.dtype["color"] == np.int32
    assert kdsl.size_of(Body) == 16


def refused(annotation: object) -> str:
    with pytest.raises(TypeError) as caught:
        struct(type("Bad", (), {"__annotations__": {"a": annotation}}))
    return str(caught.value)


def test_what_is_refused_says_what_to_write():
    instead = "write a function that makes the class, `@cache def bad(T)`, and bad(f32) for Bad[f32]"
    assert refused(T) == f"field `a` of Bad is ~T: a struct has no type parameters: {instead}"
    with pytest.raises(TypeError) as caught:

        @struct
        class Bad(Generic[T]):
            a: T

    assert str(caught.value) == f"Bad: a struct has no type parameters: {instead}"
    assert refused(tuple[f32, i32]).endswith("or a struct; make a struct of its elements, or fields")
    large = enum.IntEnum("Large", {"X": 1 << 31})
    assert refused(large).startswith("field `a` of Bad is Large: Large.X = 2147483648 does not fit into an i32")
    assert "which is no type of the kernel language" in refused(enum.Enum("Other", {"X": 1}))
    with pytest.raises(TypeError, match=r"has no base class \(Body\): make that a field, as in base: Body"):
        struct(type("Derived", (Body,), {"__annotations__": {"b": i8}}))
