"""Variables: one type each, declarations, and tuples."""

from __future__ import annotations

import math

import numpy as np

from kdsl import Array, Ptr, f16, f32, f64, grid, i32, i64, kernel, local, shared, u8, u32

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


def test_declared_types():
    @kernel
    def k(f: f32, l: i64):
        q: i32 = 1
        q = 2.5  # error: 2.5 is a float literal where i32 is needed # hint: write an int, or cast it: i32(2.5)
        q = f  # error: this is f32, but `q` takes i32 # hint: cast it: i32(f)
        q += f  # error: this is f32, but `q` takes i32
        for q in range(l):  # error: `q` is i64 here but i32 at line {-4} (`q: i32 = 1`); a variable keeps one
            #   type
            pass

    check_errors(k)


def test_declarations_that_are_no_types():
    @kernel
    def k(n: i32):
        p: list = 1  # error: `list` is no type of the kernel language
        q: 5 = 1  # error: `5` is no type of the kernel language
        r: undefined_type = 1  # error: `undefined_type` is not defined
        s: "undefined_type" = 1  # error: `undefined_type` is not defined
        o: str = "a"  # error: `str` is no type of the kernel language
        m: complex = 1  # error: `complex` is no type of the kernel language

    check_errors(k)


def test_declarations_with_the_wrong_shape():
    @kernel
    def k(x: Ptr[f32], v: Array[f32, 1], n: i32):
        p: Ptr = x  # error: `Ptr` is no type of the kernel language
        q: Array = v  # error: `Array` is no type of the kernel language
        r: Array[f32, 5] = v  # error: Array takes a dtype and 1 to 4 dimensions, got 5
        s: Array[f32, n] = v  # error: Array[] takes types, known while the kernel is compiled
        t: tuple = (1, 2)  # error: `tuple` is no type of the kernel language
        o: (f32, i32) = (1, 2)  # error: `(f32, i32)` is no type of the kernel language

    check_errors(k)


def test_declarations_of_other_things():
    @kernel
    def k(n: i32):
        p: {} = 1  # error: a kernel has no dicts # hint: use arrays, or a chain of if and elif
        q: [f32] = 1  # error: a kernel has no lists # hint: write a tuple, (a, b), or local.array(n, dtype)
        r: lambda: 1 = 1  # error: `lambda: 1` is no type of the kernel language
        s: f32 = i32  # error: the type `i32` is not a value that a kernel computes with
        t: f32 = (1, 2)  # error: this is tuple[i32, i32], but `t` takes f32
        o: np.complex64 = 1  # error: `np.complex64` is no type of the kernel language
        m: object = 1  # error: `object` is no type of the kernel language

    check_errors(k)


def test_declarations_need_casts():
    @kernel
    def k(n: i32, d: f64, f: f32):
        p: bool = n  # error: this is i32, but `p` takes bool # hint: cast it: bool(n)
        q: u8 = n  # error: this is i32, but `q` takes u8 # hint: cast it: u8(n)
        r: f16 = f  # error: this is f32, but `r` takes f16 # hint: cast it: f16(f)
        s: np.int32 = 1.5  # error: 1.5 is a float literal where i32 is needed
        #   # hint: write an int, or cast it: i32(1.5)
        t: "np.float32" = d  # error: this is f64, but `t` takes f32 # hint: cast it: f32(d)

    check_errors(k)


def test_declared_without_a_value():
    @kernel
    def k(x: Ptr[f32]):
        q: f32
        x[0] = q  # error: `q` is declared at line {-1}, and has no value # hint: give it one there

    check_errors(k)


def test_declared_from_itself():
    @kernel
    def k(n: i32):
        q: f32 = q  # error: `q` may be read before it has a value # hint: give `q` a value before the branch or loop

    check_errors(k)


def test_declared_twice():
    @kernel
    def k(n: i32):
        q: f32 = 1
        q: i32 = 2  # error: `q` is declared at line {-1} already

    check_errors(k)


def test_parameters_are_declared():
    @kernel
    def k(x: Ptr[f32], n: i32):
        n: i32 = 1  # error: `n` is a parameter and has its type already # hint: leave the annotation out
        x: f32 = 2  # error: `x` is a parameter and has its type already

    check_errors(k)


def test_declared_elements():
    @kernel
    def k(x: Ptr[f32], a: Array[f32, 2]):
        x[0]: f32 = 1  # error: only a variable can be declared with a type
        a.b: f32 = 1  # error: only a variable can be declared with a type

    check_errors(k)


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
        q2, *w2 = (1, 2)  # error: a kernel has no * unpacking # hint: name each value

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
        x[0] = q[0:1]  # error: a kernel has no slices # hint: take each element: t[0], t[1]
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
