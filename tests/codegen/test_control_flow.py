"""Control flow: each kernel below is also run by Python itself, on lists, and the two must agree.

The numbers stay small, so that Python's ints and the kernel's are the same.
"""

# mypy: ignore-errors

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import kdsl
from kdsl import Ptr, bitcast, f32, i32, kernel, thread_idx

LANES = 48
VALUES = 6
"""Results of a lane."""


def while_else(x: Ptr[i32], out: Ptr[i32], lane: i32, at: i32):
    n = x[lane]
    count = 0
    while n > 0:
        if n == 7:
            out[at + 1] = 70
            break
        n -= 3
        if n % 2 == 0:
            continue
        count += n
    else:
        out[at + 2] = 20 + count
    out[at + 0] = count
    out[at + 3] = n


def for_else_and_returns(x: Ptr[i32], out: Ptr[i32], lane: i32, at: i32):
    total = 0
    for i in range(x[lane], 20, 3):
        for j in range(i):
            if j == 4:
                break
            total += j
        else:
            total += 100
            if total > 300:
                out[at + 0] = -total
                return
        if i == 17:
            out[at + 1] = 1
            return
    else:
        out[at + 2] = 3
    out[at + 0] = total


def short_circuit(x: Ptr[i32], out: Ptr[i32], lane: i32, at: i32):
    n = x[lane]
    calls = m = 0
    # What is on the right of `and` and `or` reads memory that is not there for other lanes.
    if n < 6 and x[n] > 2:
        calls += 1
    if n >= 6 or x[n] == 3:
        calls += 10
    if not (n > 2 and n < 9) or n == 5:
        calls += 100
    if 0 < n <= (m := n * 2) < 12:
        calls += 1000
        out[at + 1] = m
    out[at + 0] = calls
    out[at + 2] = 5 if n > 3 else 7 if n > 1 else 9
    out[at + 3] = x[n] if n < 6 else -1


def tuples_and_swaps(x: Ptr[i32], out: Ptr[i32], lane: i32, at: i32):
    a, b = x[lane], lane
    for step in (1, 2, 5):
        if step == 2 and a > 4:
            continue
        a, b = b + step, a
        if a > 40:
            break
    else:
        b = b + 1000
    pair = (a, (b, a - b))
    p, (q, r) = pair
    out[at + 0], out[at + 1], out[at + 2] = p, q, r
    c = d = a
    c += 1
    out[at + 3] = c * 100 + d


def nested_while(x: Ptr[i32], out: Ptr[i32], lane: i32, at: i32):
    i = 0
    seen = 0
    while True:
        i += 1
        j = x[lane]
        while j != 0:
            j = j // 2
            if j == 3:
                continue
            seen += j
            if seen > 60:
                break
        if i >= 4:
            break
    out[at + 0] = seen
    out[at + 1] = i
    for i in range(3):
        pass
    out[at + 2] = i


def rebinding(x: Ptr[i32], out: Ptr[i32], lane: i32, at: i32):
    lane = lane + 0
    n = x[lane]
    total = 0
    for i in range(n):
        total += i
        i = i * 100
        n = 0
        total += i % 7
    x_is_small = n < 3
    out[at + 0] = total
    out[at + 1] = n
    out[at + 2] = i32(x_is_small)


KERNELS = [while_else, for_else_and_returns, short_circuit, tuples_and_swaps, nested_while, rebinding]


@pytest.mark.parametrize("function", KERNELS, ids=lambda f: f.__name__)
def test_a_kernel_does_what_python_does(function: Callable[..., None]) -> None:
    x = np.arange(LANES, dtype=np.int32) % 13
    expected = []
    for lane in range(LANES):
        row = [0] * VALUES
        with_casts = dict(function.__globals__, i32=int)
        type(function)(function.__code__, with_casts)(x.tolist(), row, lane, 0)
        expected.append(row)
    assert run(function, x) == expected


def run(function: Callable[..., None], x: np.ndarray) -> list[list[int]]:
    """The device function for every lane, each with its own stretch of the results."""

    @kernel
    def each(x: Ptr[i32], out: Ptr[i32]):
        function(x, out, thread_idx.x, thread_idx.x * VALUES)

    out = np.zeros((LANES, VALUES), np.int32)
    each[1, LANES](x, out)
    return out.tolist()


def test_a_side_of_a_conditional_is_evaluated_only_when_it_is_chosen() -> None:
    @kernel
    def guarded(x: Ptr[f32], out: Ptr[f32], n: i32):
        i = thread_idx.x
        out[i] = x[i] if i < n else -1.0

    x, out = np.arange(4, dtype=np.float32), np.zeros(32, np.float32)
    guarded[1, 32](x, out, 4)  # the emulator refuses a read past the array
    assert out.tolist() == [0.0, 1.0, 2.0, 3.0, *[-1.0] * 28]


def test_conditions_without_effects_are_one_branch() -> None:
    @kernel
    def box(out: Ptr[f32], n: i32, m: i32):
        i = thread_idx.x
        j = thread_idx.y
        if i > 0 and i < n and j < m and (i != j or n == m):
            out[i] = 1.0

    ptx = kdsl.compile(box, target="sm_90").ptx
    assert sum("bra" in line for line in ptx.splitlines()) == 1


def test_bits_and_values() -> None:
    @kernel
    def bits(x: Ptr[f32], out: Ptr[i32]):
        i = thread_idx.x
        out[i] = bitcast(x[i], i32)

    x, out = np.array([1.0, -0.0, np.inf], np.float32), np.zeros(3, np.int32)
    bits[1, 3](x, out)
    assert out.tolist() == x.view(np.int32).tolist()
