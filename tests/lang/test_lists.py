"""List literals, comprehensions and loops over arrays: local arrays of a fixed length; Python's lists are the oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import Array, FixedArray, Ptr, f32, f32x2, f64, i32, i64, kernel, shared, static_range, struct, thread_idx

X = np.arange(1, 9, dtype=np.float32)


def weigh(w, a, b, c):
    return w[0] * a + w[1] * b + w[2] * c


@kernel
def literals(x: Ptr[f32], out: Ptr[f32], n: i32):
    w = [0.25, 0.5, 0.25]
    out[0] = weigh(w, x[0], x[1], x[2])
    w[1] = 2.0
    out[1] = weigh(w, x[0], x[1], x[2])
    out[2] = weigh([x[0], 1, 2], 1.0, 1.0, 1.0)
    acc = [0.0] * 8
    for i in range(8):
        acc[i] += x[i]
    out[3] = sum(acc)
    out[4] = f32(len(acc)) + f32(len([1, 2] * 3))
    grid = [[1, 2, 3], [4, 5, n]]
    out[5] = f32(grid[1, 2] * 100 + grid[0][1] * 10 + grid.shape[0])
    squares = [i * i for i in range(5)]
    out[6] = f32(squares[n % 5])
    table = [[i * 10 + j for j in range(3)] for i in range(2)]
    out[7] = f32(table[n % 2, 2])
    both = [i + x[i] for i in range(6) if i % 2]
    out[8] = f32(both[2]) + len(both)
    rows = [[0.0] * 3 for _ in range(2)]
    rows[0, 0] = 1.0
    out[9] = rows[1, 0] + rows[0, 0]
    t = (1, 2, 3)
    more = [0, *t, 4]
    out[10] = f32(more[n % 5])
    a, b, c = w
    out[11] = a + b * c
    w[0], w[2] = w[1], w[0]
    out[12] = w[0] * 100.0 + w[2]


def test_literals(device: str) -> None:
    out = np.zeros(13, np.float32)
    literals[1, 1](X, out, 7)
    w, n = [0.25, 0.5, 0.25], 7
    first = 0.25 * 1 + 0.5 * 2 + 0.25 * 3
    expected = [
        first,
        0.25 + 4 + 0.75,
        1 + 1 + 2,
        36.0,
        14.0,
        700 + 20 + 2,
        4.0,
        12.0,
        11.0 + 3,
        1.0,
        2.0,
        0.25 + 0.5,
        200.25,
    ]
    assert out.tolist() == expected


@kernel
def loops(x: Array[f32, 1], m: Array[f32, 2], out: Ptr[f32], n: i32):
    total = 0.0
    for v in x:
        total += v
    out[0] = total
    total = 0.0
    for v in x[1:n]:
        if v > 4.0:
            break
        total += v
    else:
        total = -1.0
    out[1] = total
    for row in m:
        row[0] = 5.0
        for v in row:
            total += v
    out[2] = total
    w = [1, 2, 3, 4]
    count = 0
    for i, v in enumerate(w):
        if i < 3:
            w[i + 1] += v
        count += v * i
    out[3] = f32(count)
    for a, b in zip(w, (10, 20, 30)):
        count += a * b
    out[4] = f32(count)
    for v in reversed(w):
        count = count * 2 + v
    out[5] = f32(count)
    for i, (a, *rest) in enumerate([[1, 2, 3], [4, 5, 6]]):
        count += a + len(rest) + rest[1]
    out[6] = f32(count)
    tile = shared.array((2, 3), f32)
    for i, row in enumerate(tile):
        for j in range(3):
            row[j] = i * 3.0 + j
    out[7] = sum(tile[1]) + max(tile[0]) + min(tile[1])


def test_loops(device: str) -> None:
    m, out = np.arange(6, dtype=np.float32).reshape(2, 3), np.zeros(8, np.float32)
    expected = [X.sum(), 2 + 3 + 4.0]
    rows = m.copy()
    rows[:, 0] = 5
    expected.append(9.0 + rows.sum())
    w, count = [1, 2, 3, 4], 0
    for i, v in enumerate(w):
        if i < 3:
            w[i + 1] += v
        count += v * i
    expected.append(count)
    for a, b in zip(w, (10, 20, 30)):
        count += a * b
    expected.append(count)
    for v in reversed(w):
        count = count * 2 + v
    expected.append(count)
    for a, *rest in [[1, 2, 3], [4, 5, 6]]:
        count += a + len(rest) + rest[1]
    expected += [count, 12 + 2 + 3]
    loops[1, 1](X, m, out, 8)
    assert out.tolist() == expected
    assert m.tolist() == rows.tolist()


def pair(p, i):
    p[0] += 1.0
    return (f32(i), p[0])


@kernel
def calls(p: Ptr[f32], out: Ptr[f32], n: i32):
    total = 0.0
    for a, b in zip(pair(p, 1), pair(p, 2)):
        total = total * 10.0 + a + b
    out[0] = total
    for i, a in enumerate(pair(p, 3), 1):
        total = total * 10.0 + i * a
    out[1] = total
    for a in reversed(pair(p, 4)):
        total = total * 10.0 + a
    out[2] = total
    for i, (a, b) in enumerate(zip(reversed(pair(p, 5)), pair(p, 6))):
        total = total + i * 100.0 + a * b
    out[3] = total
    out[4] = sum(v * v for v in pair(p, 7))
    out[5] = max(abs(v - 8.0) for v in pair(p, 8))
    out[6] = p[0]
    first, *others = pair(p, n)
    out[7] = first + others[0]
    *front, last = (1, 2, 3)
    four, *nothing, five = (4, 5)
    out[8] = f32(front[0] + front[1] + last * 10 + len(nothing) + four * five)


def test_calls_are_made_once_and_in_order(device: str) -> None:
    p, out = np.zeros(1, np.float32), np.zeros(9, np.float32)
    calls[1, 1](p, out, 3)
    first = (1 + 2) * 10 + (1 + 2)
    second = (first * 10 + 3) * 10 + 2 * 3
    third = (second * 10 + 4) * 10 + 4
    fourth = third + 5 * 6 + 100 + 5 * 6
    assert out.tolist() == [first, second, third, fourth, 49 + 49, 0, 8, 3 + 9, 3 + 30 + 0 + 20]


@kernel
def generators(x: Array[f32, 1], out: Ptr[f32], flags: Ptr[i32], n: i32):
    out[0] = sum(x[i] for i in range(4))
    out[1] = sum(x[i] * j for i in static_range(2) for j in range(1, 3))
    out[2] = min(x[n + i] for i in range(3))
    out[3] = max(x[i] for i in range(8) if i != 7)
    flags[0] = all(v > 0.0 for v in (x[0], x[1]))
    flags[1] = any(x[i] == 3.0 for i in range(4))
    flags[2] = any(i < len(x) and x[i] > 100.0 for i in range(6, 10))
    flags[3] = sum(1 for _ in range(5))
    flags[4] = sum(a * b for a, b in zip((1, 2, 3), (4, 5, 6)))
    flags[5] = sum(i * v for i, v in enumerate([2, 4, n]))
    i = 5
    flags[6] = sum(i for i in range(3)) + i


def test_generator_expressions(device: str) -> None:
    out, flags = np.zeros(4, np.float32), np.zeros(7, np.int32)
    generators[1, 1](X, out, flags, 3)
    assert out.tolist() == [10.0, 1 * 3 + 2 * 3, 4.0, 7.0]
    assert flags.tolist() == [1, 1, 0, 5, 32, 4 + 6, 8]


def bump(p, i):
    p[0] += 1
    return i == 1


@kernel
def short_circuit(p: Ptr[i32], out: Ptr[i32]):
    out[0] = any(bump(p, i) for i in range(4))
    out[1] = p[0]
    out[2] = all(bump(p, i + 1) for i in range(4))
    out[3] = p[0]


def test_a_generator_stops_where_the_result_is_known(device: str) -> None:
    p, out = np.zeros(1, np.int32), np.zeros(4, np.int32)
    short_circuit[1, 1](p, out)
    assert out.tolist() == [1, 2, 0, 4]


@kernel
def vectors(out: Ptr[f32]):
    pairs = [f32x2(1.0, 2.0), f32x2(3.0)]
    out[0] = pairs[0].y * 10.0 + pairs[1].x
    pairs[0].x = 9.0
    out[1] = pairs[0].x


def test_element_types(device: str) -> None:
    out = np.zeros(2, np.float32)
    vectors[1, 1](out)
    assert out.tolist() == [23.0, 9.0]
    out64 = np.zeros(4)
    typed[1, 1](out64, 1.5, 1 << 40)
    assert out64.tolist() == [1 << 40, 1 / 3 + 1.5, 1.0, 7.0]


@kernel
def typed(out: Ptr[f64], h: f64, n: i64):
    wide = [0, n, 1]
    out[0] = f64(wide[1])
    reals = [1, h]
    out[1] = reals[0] / 3.0 + reals[1]
    flags = [h > 1.0, False]
    out[2] = 1.0 if flags[0] and not flags[1] else 0.0
    big = [0] * 200
    big[199] = 7
    out[3] = big[199] + big[100]


@kernel
def made_anew(out: Ptr[i32], n: i32):
    total = 0
    for i in range(n):
        w = [i, 1, 0]
        w[1] += w[0]
        w[2] = w[1] * 2
        total += w[2]
    out[0] = total


def test_a_list_is_made_anew(device: str) -> None:
    out = np.zeros(1, np.int32)
    made_anew[1, 1](out, 5)
    assert out.tolist() == [sum((i + 1) * 2 for i in range(5))]


@struct
class Two:
    w: FixedArray[i32, 2]

    def grow(self, n: i32) -> None:
        self.w[0] += n


def two(n: i32) -> Two:
    return Two((n, n + 1))


def same(w):
    return w


@kernel
def kept_in_loops(out: Ptr[i32], n: i32):
    a, b, held = [0, 0], [0, 1], two(0)
    view = held.w
    for i in range(n):
        now = same([i, i + 1])
        part = now[1:]  # of this iteration only
        last = (lambda w: w)(two(i).w)
        a, b = b, a  # these are made once
        a[:] = now
        out[i] = a[0] * 1000 + b[0] * 100 + part[0] * 10 + last[1]
        held.grow(2)
        held.w = (view[0] + 1, 5)  # changes of one variable
        now = [7, 7]
    out[n] = view[0]


def test_lists_that_are_kept_within_an_iteration(device: str) -> None:
    out = np.zeros(6, np.int32)
    kept_in_loops[1, 1](out, 5)
    assert out.tolist() == [i * 1000 + max(i - 1, 0) * 100 + (i + 1) * 11 for i in range(5)] + [15]


@kernel
def filter3(x: Ptr[f32], out: Ptr[f32]):
    w = [0.25, 0.5, 0.25]
    i = thread_idx.x
    total = 0.0
    for k, v in enumerate(w):
        total += v * x[i + k]
    out[i] = total


@kernel
def in_registers(x: Ptr[f32], out: Ptr[f32]):
    i = thread_idx.x
    acc = [0.0] * 8
    for k in range(8):
        acc[k] += x[i + k]
    m = [[acc[r * 4 + c] for c in range(4)] for r in range(2)]
    total = 0.0
    for row in m:
        for v in row:
            total += v * v
    out[i] = total + weigh([total, 1.0, 2.0], 1.0, 2.0, 3.0) + max(acc)


@pytest.mark.parametrize("k", [filter3, in_registers])
def test_constant_indices_stay_in_registers(k: Any) -> None:
    ptx = kdsl.compile(k, target="sm_90").ptx
    assert ".local" not in ptx
    assert "bra" not in ptx


def test_filter(device: str) -> None:
    out = np.zeros(6, np.float32)
    filter3[1, 6](X, out)
    assert out.tolist() == (0.25 * X[:6] + 0.5 * X[1:7] + 0.25 * X[2:]).tolist()
