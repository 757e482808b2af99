"""Statements that are valid but unusual: each gives what Python would."""

import numpy as np

from kdsl import Ptr, f32, i32, kernel, static_range, u8

from .running import run


def following(v):
    return v, v + 1


def test_docstring():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        """doc"""
        "second"
        y[0] = 1
        """end"""

    x, y = run(k)
    assert y[:1] == [1]


def test_nested_tuples():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        t = ((n, 1), (2.5, (n, x[0])))
        (a, b), (c, (d, e)) = t
        y[0] = a + d
        x[0] = c + e + t[1][1][0]

    x, y = run(k)
    assert y[:1] == [10]
    assert x[:1] == [7.5]


def test_walrus_while():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        i = 0
        while (j := i * 2) < n:
            y[i] = j
            i += 1
        y[7] = j

    x, y = run(k)
    assert y[:8] == [0, 2, 4, 0, 0, 0, 0, 6]


def test_for_else():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        for i in range(n):
            if i == 9:
                break
        else:
            y[0] = 1
        for i in range(n):
            if i == 3:
                break
        else:
            y[1] = 1
        while n > 0:
            n -= 1
        else:
            y[2] = 7

    x, y = run(k)
    assert y[:3] == [1, 0, 7]


def test_if_true():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        if True:
            y[0] = 1
        else:
            y[0] = 2
        if False:
            y[1] = 1
        if 1:
            y[2] = 5
        if 0:
            pass
        elif 1:
            y[3] = 6
        while 0:
            y[4] = 1
        if not True:
            y[5] = 3

    x, y = run(k)
    assert y[:6] == [1, 0, 5, 6, 0, 0]


def test_while_true_break():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        i = 0
        while True:
            if i >= n:
                break
            y[i] = i
            i += 1
        while 1:
            return

    x, y = run(k)
    assert y[:6] == [0, 1, 2, 3, 4, 0]


def test_early_returns():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        if n < 0:
            return
        if n == 5:
            y[0] = 1
            return
        y[0] = 2

    x, y = run(k)
    assert y[:1] == [1]


def test_comments():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        # type: ignore
        y[0] = 1  # type: int
        # a comment

        # end

    x, y = run(k)
    assert y[:1] == [1]


def test_semicolons():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        y[0] = 1
        y[1] = 2
        i = 3
        y[2] = i

    x, y = run(k)
    assert y[:3] == [1, 2, 3]


def test_line_continuation():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        y[0] = 1 + 2
        y[1] = 1 + n + 3
        y[2] = 5

    x, y = run(k)
    assert y[:3] == [3, 9, 5]


def test_swap():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        a, b = 1, n
        a, b = b, a
        y[0], y[1] = a, b
        y[0], y[1] = y[1], y[0]
        (c, d), e = (a, b), a
        [g, h] = 1, 2
        y[2] = c + d + e + g + h

    x, y = run(k)
    assert y[:3] == [1, 5, 14]


def test_chained_assign():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        a = b = c = n
        a += 1
        y[0] = a
        y[1] = b
        y[2] = y[3] = c

    x, y = run(k)
    assert y[:4] == [6, 5, 5, 5]


def test_annotated():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        a: i32 = 3
        b: "f32" = 1
        c: float = 2
        d: int
        d = 4
        e: np.int32 = 5
        g: bool = n > 3
        h: u8 = 255
        h += 1
        y[0] = a + d + e + g
        x[0] = b + c
        y[1] = h

    x, y = run(k)
    assert y[:2] == [13, 0]
    assert x[:1] == [3]


def test_static_range():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        for i in static_range(3):
            y[i] = i * i
        for i, (a, b) in ((3, (1, 2)), (4, (3, 4))):
            y[i] = a * b
        for v in (1, 2.5, n):
            x[0] += v

    x, y = run(k)
    assert y[:5] == [0, 1, 4, 2, 12]
    assert x[:1] == [8.5]


def test_range_variants():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        for i in range(n, 0, -2):
            y[i] = i
        for _ in range(2):
            y[7] += 1
        for i in range(-1):
            y[6] = 1
        for i in range(3, 3):
            y[6] = 1
        s = 0
        for i in range(2147483640, 2147483647, 4):
            s += 1
        y[0] = s
        for i in range(n):
            i += 10
            s = i
        y[2] = s

    x, y = run(k)
    assert y[:8] == [2, 1, 14, 3, 0, 5, 0, 2]


def test_pass_only():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        pass

    assert run(k) == ([0.0] * 8, [0] * 8)


def test_ellipsis_free_docstring_only():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        """only doc"""

    assert run(k) == ([0.0] * 8, [0] * 8)


def test_return_none():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        return None

    assert run(k) == ([0.0] * 8, [0] * 8)


def test_return_bare():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        y[0] = 1
        return

    x, y = run(k)
    assert y[:1] == [1]


def test_empty_for():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        for i in ():
            y[0] = 1
        for i in range(0):
            y[0] = 1

    x, y = run(k)
    assert y[:1] == [0]


def test_list_target():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        [a, b] = n, 2
        for [c, d] in ((1, 2),):
            y[0] = c + d
        y[1] = a + b

    x, y = run(k)
    assert y[:2] == [3, 7]


def test_assert():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        assert n > 0, "pos"
        assert n
        y[0] = n
        assert True

    x, y = run(k)
    assert y[:1] == [5]


def test_walrus_chain():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        if (a := n) > 3 and (b := a * 2) > 5:
            y[0] = b
        y[1] = (c := (d := 3) + 1) + d
        while (a := a - 1) > 0:
            y[2] += 1

    x, y = run(k)
    assert y[:3] == [10, 7, 4]


def test_divmod_reads_its_dividend_before_the_divisor_assigns_to_it():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        y[0], y[1] = divmod(n, (n := 3))

    x, y = run(k)
    assert y[:2] == [1, 2]


def test_walrus_at_the_end_of_a_chain():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        if 0 < n < (last := n + 3):
            y[0] = last
        while 0 < n <= (rest := n - 1) + 1 < 100:
            y[1] += rest
            n = rest

    x, y = run(k)
    assert y[:2] == [8, 10]


def test_is_none_free():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        OPT = None
        y[0] = 1 if OPT else 2

    x, y = run(k)
    assert y[:1] == [2]


def test_for_over_tuple_var():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        t = (1, 2, 3)
        for i in t:
            y[0] += i
        for i in following(n):
            y[1] += i
        for i in (n,):
            y[2] = i

    x, y = run(k)
    assert y[:3] == [6, 11, 5]


def test_inner_loops_else():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        for i in range(3):
            for j in range(3):
                if j == 1:
                    continue
                if i == 2:
                    break
                y[i] += j
            else:
                y[4] += 1
                continue
            break

    x, y = run(k)
    assert y[:5] == [2, 2, 0, 0, 2]
