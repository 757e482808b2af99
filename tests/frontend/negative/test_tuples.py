"""Tuples: what unpacks, into how many names, and their elements."""

from __future__ import annotations

from kdsl import Array, Ptr, f32, f64, grid, i32, kernel

from ..harness import check_errors


def test_unpacked_numbers():
    @kernel
    def k(x: Ptr[f32], n: i32):
        q, w = 1  # error: an int literal (i32) cannot be unpacked: it is no tuple
        q1, w1 = n  # error: i32 cannot be unpacked: it is no tuple
        q2, w2 = x  # error: Ptr[f32] cannot be unpacked: it is no tuple
        q3, w3 = "ab"  # error: the string 'ab' cannot be unpacked: it is no tuple
        q4, w4 = print  # error: the function `print` cannot be unpacked: it is no tuple

    check_errors(k)


def test_unpacked_lengths():
    @kernel
    def k(a: Array[f32, 2]):
        q, w = (1, 2, 3)  # error: 3 values are unpacked to 2 names
        [q1, w1] = 1, 2, 3  # error: 3 values are unpacked to 2 names
        (q2,) = 1, 2  # error: 2 values are unpacked to 1 name
        q3, w3, z3 = a.shape  # error: 2 values are unpacked to 3 names
        q4, w4 = (1,)  # error: 1 value is unpacked to 2 names
        q5, w5, z5 = grid(2)  # error: 2 values are unpacked to 3 names
        q6, w6 = grid(1)  # error: i32 cannot be unpacked: it is no tuple

    check_errors(k)


def test_unpacked_nested():
    @kernel
    def k(n: i32):
        (q, w), z = (1, 2)  # error: an int literal (i32) cannot be unpacked: it is no tuple
        (q1, w1), z1 = ((1, 2, 3), 4)  # error: 3 values are unpacked to 2 names
        q2, v2, z2, *w2 = (1, 2)  # error: 2 values are unpacked to 3 names at least

    check_errors(k)


def test_unpacked_types():
    @kernel
    def k(x: Ptr[f32], n: i32, d: f64, f: f32):
        q = f
        q, w = n, 1  # error: `q` is i32 here but f32 at line {-1} (`q = f`); a variable keeps one type
        x[0], z = d, 1  # error: this is f64, but `x` takes f32
        n, x = 1, 2  # error: this is i32, but `x` takes Ptr[f32]

    check_errors(k)


def test_tuple_elements():
    @kernel
    def k(x: Ptr[f32], n: i32):
        q = ((1, n), 2)
        x[0] = q[0]  # error: this is tuple[i32, i32], but `x` takes f32
        x[0] = q[0][2]  # error: index 2 is out of range: the tuple has 2 elements
        q[0][1] = 5  # error: the elements of a tuple cannot be assigned
        #   # hint: local.array(n, dtype) has elements that can
        q[1] += 1  # error: the elements of a tuple cannot be assigned
        x[0] = q[n]  # error: a tuple is indexed with a constant # hint: local.array(n, dtype) is indexed at run time
        x[0] = q[0.5]  # error: a tuple is indexed with a constant
        x[0] = q[0:1]  # error: a tuple has no slices in a kernel # hint: take each element: t[0], t[1]
        x[0] = q[-3]  # error: index -3 is out of range: the tuple has 2 elements
        x[0] = q.count(1)  # error: `q` is tuple[tuple[i32, i32], i32], which has no attribute `count`

    check_errors(k)


def test_tuples_of_pointers():
    @kernel
    def k(x: Ptr[f32], n: i32, d: f64):
        q = (x, n)
        q[0][0] = d  # error: this is f64, but `q[0]` takes f32
        q[0] = x  # error: the elements of a tuple cannot be assigned

    check_errors(k)
