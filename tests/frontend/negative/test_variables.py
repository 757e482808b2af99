"""Variables: each keeps one type."""

from __future__ import annotations

import math

from kdsl import Array, Ptr, f16, f32, f64, i32, i64, kernel, local, shared, u32

from ..harness import check_errors


def test_int_and_float():
    @kernel
    def k(n: i32, f: f32):
        q = n
        q = f  # error: `q` is f32 here but i32 at line {-1} (`q = n`); a variable keeps one type
        #   # hint: cast it: q = i32(f)

    check_errors(k)


def test_float_and_int():
    @kernel
    def k(n: i32, f: f32):
        q = f
        q = n  # error: `q` is i32 here but f32 at line {-1} (`q = f`); a variable keeps one type
        #   # hint: cast it: q = f32(n)

    check_errors(k)


def test_literals_join_as_floats():
    @kernel
    def k(n: i32):
        q = 1
        q = 2.5
        q = n  # error: `q` is i32 here but f32 at line {-2} (`q = 1`); a variable keeps one type

    check_errors(k)


def test_signs():
    @kernel
    def k(n: i32, u: u32):
        q = n
        q = u  # error: `q` is u32 here but i32 at line {-1} (`q = n`); a variable keeps one type
        #   # hint: cast it: q = i32(u)

    check_errors(k)


def test_widths():
    @kernel
    def k(n: i32, l: i64):
        q = n
        q = l  # error: `q` is i64 here but i32 at line {-1} (`q = n`); a variable keeps one type
        #   # hint: cast it: q = i32(l)

    check_errors(k)


def test_precisions():
    @kernel
    def k(f: f32, h: f16):
        q = h
        q = f  # error: `q` is f32 here but f16 at line {-1} (`q = h`); a variable keeps one type
        #   # hint: cast it: q = f16(f)

    check_errors(k)


def test_bool_and_int():
    @kernel
    def k(n: i32, b: bool):
        q = b
        q = n  # error: `q` is i32 here but bool at line {-1} (`q = b`); a variable keeps one type
        #   # hint: cast it: q = bool(n)

    check_errors(k)


def test_pointers_of_two_types():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32]):
        q = x
        q = y  # error: `q` is Ptr[i32] here but Ptr[f32] at line {-1} (`q = x`); a variable keeps one type
        #   # hint: give each value its own name

    check_errors(k)


def test_pointer_and_number():
    @kernel
    def k(x: Ptr[f32]):
        q = x
        q = 1  # error: `q` is an int literal (i32) here but Ptr[f32] at line {-1} (`q = x`); a variable keeps one
        #   type

    check_errors(k)


def test_arrays_of_two_ranks():
    @kernel
    def k(a: Array[f32, 2], v: Array[f32, 1]):
        q = a
        q = v  # error: `q` is Array[f32, 1] here but Array[f32, 2] at line {-1} (`q = a`); a variable keeps one
        #   type

    check_errors(k)


def test_shared_and_local():
    @kernel
    def k(v: Array[f32, 1]):
        q = shared.array(4, f32)
        q = local.array(4, f32)  # error: `q` is a local array of 4 f32 here but a shared array of 4 f32 at line
        #   {-1} (`q = shared.array(4, f32)`); a variable keeps one type
        q = v  # error: `q` is Array[f32, 1] here but a shared array of 4 f32 at line {-3} (`q = shared.array(4,
        #   f32)`); a variable keeps one type

    check_errors(k)


def test_tuples_of_two_lengths():
    @kernel
    def k(n: i32):
        q = (1, 2)
        q = (1, 2, 3)  # error: `q` is tuple[i32, i32, i32] here but tuple[i32, i32] at line {-1} (`q = (1, 2)`);
        #   a variable keeps one type
        q = 1  # error: `q` is an int literal (i32) here but tuple[i32, i32] at line {-3} (`q = (1, 2)`); a
        #   variable keeps one type

    check_errors(k)


def test_tuples_of_two_types():
    @kernel
    def k(n: i32, f: f32):
        q = (1, n)
        q = (1.5, f)  # error: `q` is tuple[f32, f32] here but tuple[i32, i32] at line {-1} (`q = (1, n)`); a
        #   variable keeps one type

    check_errors(k)


def test_number_and_none():
    @kernel
    def k(x: Ptr[f32]):
        q = 1
        q = None  # error: None is not a value that a kernel computes with
        x[0] = q

    check_errors(k)


def test_string_and_number():
    @kernel
    def k(x: Ptr[f32]):
        q = "a"  # error: the string 'a' is not a value that a kernel computes with
        q = 1
        x[0] = q

    check_errors(k)


def test_two_functions():
    @kernel
    def k(x: Ptr[f32], f: f32):
        q = math.sin  # error: `q` is bound more than once: a name for a function or type is bound once
        #   # hint: give each its own name
        q = math.cos  # error: `q` is bound more than once: a name for a function or type is bound once
        x[0] = q(f)

    check_errors(k)


def test_loop_variable_and_variable():
    @kernel
    def k(n: i32):
        q = 0.5
        for q in range(n):  # error: `q` is i32 here but f32 at line {-1} (`q = 0.5`); a variable keeps one type
            #   # hint: give the loop's variable its own name
            pass

    check_errors(k)


def test_two_loops():
    @kernel
    def k(n: i32, l: i64):
        for i in range(n):
            pass
        for i in range(l):  # error: `i` is i64 here but i32 at line {-2} (`for i in range(n):`); a variable keeps
            #   one type
            pass

    check_errors(k)


def test_walrus():
    @kernel
    def k(n: i32, f: f32):
        q = 0
        q = n
        if (q := f) > 0:  # error: `q` is f32 here but i32 at line {-1} (`q = n`); a variable keeps one type
            pass

    check_errors(k)


def test_in_an_unrolled_loop():
    @kernel
    def k(x: Ptr[f32], n: i32, d: f64, f: f32):
        for value in (1, 2.5, f, d):
            x[0] = value  # error: this is f64, but `x` takes f32 # hint: cast it: f32(value)
        for other in (n, x):
            kept = other  # error: `kept` is Ptr[f32] here but i32 at line {0} (`kept = other`); a variable keeps
            #   one type

    check_errors(k)
