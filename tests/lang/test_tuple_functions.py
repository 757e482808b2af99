"""enumerate, zip, reversed, sum, any, all, min and max in kernels, against the same function run by Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from kdsl import Array, grid, i8, i32, i64, kernel, u32

WEIGHTS = (3, 1, 4, 1, 5)


def enumerated(n):
    total = 0
    for i, w in enumerate(WEIGHTS):
        total = total * 7 + i * w
    for i, v in enumerate((n, n + 2), start=10):
        total += i * v
    return total


def counted(n):
    total = 0
    for i, x in enumerate(range(n, 40, 3), 5):
        if x % 2:
            continue
        total = total * 3 + i * x
        i = 100
        if total > 10000:
            break
    return total


def zipped(n):
    total = 0
    for a, b in zip(WEIGHTS, (n, n * 2, n * 3)):
        total = total * 5 + a * b
    for i, (a, b) in enumerate(zip(WEIGHTS, WEIGHTS, strict=True)):
        total += (i + 1) * a * b
    for (only,) in zip((n,)):
        total += only
    return total


def backwards(n):
    total = 0
    for w in reversed(WEIGHTS):
        total = total * 3 + w
    for i in reversed(range(n)):
        total = total * 2 + i
        if i == 3:
            break
    for i in reversed(range(n, -9, -4)):
        total = total * 3 + i
    for k, i in enumerate(reversed(range(n, 20, 7))):
        total += k * i
    return total


def summed(n):
    return sum(WEIGHTS) + sum((n, n * n, 1)) * 3 + sum((n > 2, n > 5, True), 10) + sum(()) + sum((n,), n)


def asked(n):
    a = any((n > 20, n == 3)) + 2 * all((n, n < 7, n != 4)) + 4 * any(()) + 8 * all(())
    return a + 16 * any(WEIGHTS) + 32 * all((n - 1, 1)) + 64 * all((False, n))


def extremes(n):
    return max((n, 4, n * 2 - 10)) * 100 + min((n, 4)) + max(WEIGHTS) - min(WEIGHTS)


ASKED = (enumerated, counted, zipped, backwards, summed, asked, extremes)


@kernel
def answers(out: Array[i32, 2], n: Array[i32, 1]):
    i = grid(1)
    out[0, i] = enumerated(n[i])
    out[1, i] = counted(n[i])
    out[2, i] = zipped(n[i])
    out[3, i] = backwards(n[i])
    out[4, i] = summed(n[i])
    out[5, i] = asked(n[i])
    out[6, i] = extremes(n[i])


def wrapped(value: int) -> int:
    return (int(value) + 2**31) % 2**32 - 2**31


def test_as_python(device: Any):
    n = np.arange(-8, 24, dtype=np.int32)
    out = np.zeros((len(ASKED), 32), np.int32)
    answers[1, 32](out, n)
    for row, function in zip(out, ASKED, strict=True):
        assert list(row) == [wrapped(function(int(x))) for x in n], function.__name__


@kernel
def edges(out: Array[i64, 2], last: Array[i32, 1], low: Array[i8, 1], none: u32):
    k = 0
    for i in reversed(range(last[0], -2147483648, -2147483648)):
        out[0, k] = i
        k += 1
    for i in reversed(range(low[0], 127, 100)):
        out[1, k] = i
        k += 1
    for u in reversed(range(none)):
        out[2, k] = u
        k += 1
    for u in reversed(range(u32(4294967293), u32(4294967295))):
        out[2, k] = u
        k += 1


def test_reversed_ranges_never_wrap(device: Any):
    out = np.zeros((3, 8), np.int64)
    edges[1, 1](out, np.array([2**31 - 1], np.int32), np.array([-128], np.int8), 0)
    assert list(out[0, :2]) == [-1, 2**31 - 1]
    assert list(out[1, 2:5]) == [72, -28, -128]
    assert list(out[2, 5:7]) == [2**32 - 2, 2**32 - 3]
    assert np.count_nonzero(out) == 7


def test_each_element_is_evaluated_once_and_in_order(device: Any):
    def push(log, value):
        log[0] += 1
        log[log[0]] = value
        return value

    def pair(log, value):
        return push(log, value), push(log, value + 1)

    @kernel
    def k(log: Array[i32, 1], out: Array[i32, 1]):
        out[0] = sum((push(log, 1), push(log, 2)))
        out[1] = any((push(log, 3), push(log, 4)))
        out[2] = all(pair(log, 0))
        out[3] = sum(pair(log, 6))

    log, out = np.zeros(12, np.int32), np.zeros(4, np.int32)
    k[1, 1](log, out)
    assert list(log) == [8, 1, 2, 3, 4, 0, 1, 6, 7, 0, 0, 0]
    assert list(out) == [3, 1, 0, 13]
