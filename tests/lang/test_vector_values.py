"""Vectors as Python's sequences, assignment to swizzles, vectors of the host as constants, and what print shows of them."""

# mypy: ignore-errors
# No postponed annotations: those of the kernels inside of tests name variables of the tests.

import sys
from typing import NamedTuple

import numpy as np

import kdsl
from kdsl import Array, Ptr, f32, f32x2, f32x3, f32x4, i32, i32x2, i32x3, i32x4, kernel, struct, u8


class Pair(NamedTuple):
    x: i32
    y: f32


@struct
class Small:
    u: u8


@struct
class Body:
    a: u8
    p: f32x2
    b: bool
    i: Small


def weighted(a, b, c):
    return a + b * 10 + c * 100


def test_sequences(device: str) -> None:
    @kernel
    def k(a: Array[f32x4, 1], b: Array[i32x3, 1], out: Ptr[f32], ints: Ptr[i32]):
        v, q = a[0], b[0]
        x, y, z, w = v
        out[0] = x + 10 * y + 100 * z + 1000 * w
        total = 0.0
        for c in v:
            v.x = 9.0
            total = total * 10 + c
        out[1] = total
        for i, c in enumerate(v):
            v[1] = 0.0
            out[2 + i] = c
        out[6] = sum(v)
        out[7] = max(a[0]) - min(a[0])
        out[8] = tuple(a[0])[3]
        ints[0] = len(q)
        ints[1] = 3 in q
        ints[2] = 7 in q
        ints[3] = weighted(*q)
        first, *others = q
        ints[4] = first + others[1]
        ints[5] = any(q == 2)
        dot = 0
        for m, n in zip(q, b[1].zyx):
            dot += m * n
        ints[6] = dot
        ints[7] = sum(e * e for e in q)
        match b[0]:
            case (1, middle, 3):
                ints[8] = middle
            case _:
                ints[8] = -1
        for e in reversed(q):
            ints[9] = ints[9] * 10 + e
        ints[10] = tuple(e * 2 for e in q)[2]
        ints[11] = tuple((1, 2))[1]

    a, b = np.array([[1, 2, 3, 4]], np.float32), np.array([[1, 2, 3], [4, 5, 6]], np.int32)
    out, ints = np.zeros(9, np.float32), np.zeros(12, np.int32)
    k[1, 1](a, b, out, ints)
    assert out.tolist() == [4321, 1234, 9, 2, 3, 4, 9 + 0 + 3 + 4, 3, 4]
    assert ints.tolist() == [3, 1, 0, 321, 4, 1, 28, 14, 2, 321, 6, 2]


def test_assignment_to_swizzles(device: str) -> None:
    @kernel
    def k(p: Array[f32x4, 1], s: Array[Body, 1], q: Array[f32x3, 1], arg: f32x4):
        v = p[0]
        v.xy = v.yx
        v.zw += 10
        p[1] = v
        p[2].wx = v.xy
        p[2].yz -= v.zw
        p[3].zyx = q[0]
        a, v.zyx = 1.0, q[0]
        p[4] = v
        arg.xyzw = arg.wzyx
        p[5] = arg
        q[1].xz *= 3
        s[0].p.yx = f32x2(1, 2)
        t = s[0]
        t.p.xy = t.p.yx
        s[1] = t

    p, q = np.arange(24, dtype=np.float32).reshape(6, 4), np.arange(6, dtype=np.float32).reshape(2, 3)
    s = np.zeros(2, Body.dtype)
    k[1, 1](p, s, q, (1, 2, 3, 4))
    expected = [[0, 1, 2, 3], [1, 0, 12, 13], [0, -3, -3, 1], [2, 1, 0, 15], [2, 1, 0, 13], [4, 3, 2, 1]]
    assert p.tolist() == expected
    assert q.tolist() == [[0, 1, 2], [9, 4, 15]]
    assert s["p"].tolist() == [[2, 1], [1, 2]]


def test_the_address_of_a_swizzle_is_computed_once(device: str) -> None:
    def next_of(count):
        count[0] += 1
        return count[0]

    @kernel
    def k(p: Array[i32x4, 1], count: Ptr[i32]):
        p[next_of(count)].xw += i32x2(10, 20)
        p[next_of(count)].zy = p[0].xy

    p, count = np.arange(12, dtype=np.int32).reshape(3, 4), np.zeros(1, np.int32)
    k[1, 1](p, count)
    assert p.tolist() == [[0, 1, 2, 3], [14, 5, 6, 27], [8, 1, 0, 11]]
    assert count[0] == 2


def test_vectors_of_the_host_are_constants(device: str) -> None:
    colour, corner = f32x4(1, 2, 3, 4), np.array([7, 8], np.int32)

    @kernel
    def k(p: Array[f32x4, 1]):
        p[0] = f32x4(colour) * 2
        p[1] = f32x4(corner, 0, 1)
        p[2] = f32x4(i32x2(corner), 0, 1)

    p = np.zeros((3, 4), np.float32)
    k[1, 1](p)
    assert p.tolist() == [[2, 4, 6, 8], [7, 8, 0, 1], [7, 8, 0, 1]]
    colour[0] = 50
    k[1, 1](p)
    assert p[0].tolist() == [100, 4, 6, 8]


def printed(capfd) -> list[str]:
    kdsl.synchronize()
    sys.stdout.flush()
    return capfd.readouterr().out.splitlines()


def test_print(device: str, capfd) -> None:
    def changed(s):
        s[0].a += 1
        return s[0]

    @kernel
    def k(s: Array[Body, 1], p: Array[i32x3, 1], v: f32x3):
        print(f"{p[0]} {p[1] * 2!r} {p[0]!s} end")
        print(s[0], s[0].p, v.xy)
        print((1, "a", p[0].x), Pair(1, 2.5), Pair(p[0].y, v.x), (p[0],), "x", sep="; ")
        print(f"{changed(s)}")

    s, p = np.zeros(1, Body.dtype), np.arange(6, dtype=np.int32).reshape(2, 3)
    s[0] = (1, (1, 2), True, (7,))
    k[1, 1](s, p, (0.5, 1, 2))
    assert printed(capfd) == [
        "(0, 1, 2) (6, 8, 10) (0, 1, 2) end",
        "Body(a=1, p=(1.000000, 2.000000), b=True, i=Small(u=7)) (1.000000, 2.000000) (0.500000, 1.000000)",
        f"{(1, 'a', 0)}; {Pair(1, 2.5)}; Pair(x=1, y=0.500000); ((0, 1, 2),); x",
        "Body(a=2, p=(1.000000, 2.000000), b=True, i=Small(u=7))",
    ]


def test_records_print_as_numpys(device: str, capfd) -> None:
    dtype = np.dtype([("a", "i4"), ("b", "i4", 3)], align=True)

    @kernel
    def k(s):
        print(s[0])

    s = np.array([(1, (2, 3, 4))], dtype)
    k[1, 1](s)
    assert printed(capfd) == ["(1, (2, 3, 4))"]
