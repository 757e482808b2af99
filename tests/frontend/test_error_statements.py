# ruff: noqa: F401, F823 (the mistakes are what is tested)
"""Statements outside of the language, and names that may have no value."""

from __future__ import annotations

from kdsl import Array, Ptr, f32, i32, kernel, static_assert, static_range

from .harness import check_errors


def test_statements_that_a_kernel_does_not_have():
    @kernel
    def k(x: Ptr[f32], n: i32):
        try:  # error: a kernel cannot catch exceptions: there are none on the device
            pass
        except ValueError:
            pass
        with n:  # error: `with` cannot run in a kernel
            pass

        class D:  # error: a class cannot be defined in a kernel
            pass

        del n  # error: `del` cannot be used in a kernel
        import os  # error: a kernel cannot import
        from os import path  # error: a kernel cannot import

        raise ValueError  # error: a kernel cannot raise

        async def f():  # error: an async function cannot be defined in a kernel
            pass

        return n  # error: a kernel returns nothing # hint: store the value in an array

    check_errors(k)


def test_scopes_that_a_kernel_cannot_reach():
    outside = 1

    @kernel
    def k(n: i32):
        global OUTSIDE  # error: `global` cannot be used in a kernel: it cannot change the host's variables
        nonlocal outside  # error: `nonlocal` cannot be used in a kernel

    check_errors(k)


def test_a_generator_is_no_kernel():
    @kernel
    def k(n: i32):
        yield n  # error: a kernel cannot yield

    check_errors(k)


def test_names_that_may_have_no_value():
    @kernel
    def k(x: Ptr[f32], n: i32):
        if n > 0:
            a = 1.0
        x[0] = a  # error: `a` may be read before it has a value
        #   # hint: give `a` a value before the branch or loop
        for i in range(n):
            b = i
        x[i] = b  # error: `i` may be read before it has a value # error: `b` may be read before it has a value
        while n < 10:
            c = n
            n += 1
        x[1] = c  # error: `c` may be read before it has a value
        x[2] = a
        if n > 0 or (d := n) > 1:
            x[3] = d  # error: `d` may be read before it has a value
        e += 1  # error: `e` may be read before it has a value
        for j in range(4):
            if n > j:
                break
            f = j
        x[4] = f  # error: `f` may be read before it has a value
        min = min(n, 1)  # error: `min` may be read before it has a value

    check_errors(k)


def test_loops():
    @kernel
    def k(x: Ptr[f32], a: Array[f32, 1], n: i32, f: f32):
        for i in x:  # error: a `for` runs over range(), static_range(), a tuple or an array, not over a pointer
            pass
        for j in a:
            x[0] = j
        for l in n:  # error: a `for` runs over range(), static_range(), a tuple or an array, and this is i32 # hint:
            #   range(n)
            pass
        for m in range(0, n, 0):  # error: a range with step 0 never ends
            pass
        for o in range(f):  # error: range() takes ints, and this is f32 # hint: cast it: i32(f)
            pass
        for p, q in range(n):  # error: the variable of a range() loop is a plain name
            pass
        for r in static_range(n):  # error: static_range() takes constants
            pass
        for s in static_range(5000):  # error: static_range() would copy its body 5000 times
            pass
        for x[0] in range(3):  # error: the variable of a range() loop is a plain name
            pass
        for t, u in ((1, 2), 3):  # error: an int literal (i32) cannot be unpacked: it is no tuple
            pass
        while f:  # error: this is f32; a test takes a bool or an int # hint: say what is tested: f != 0.0
            pass
        if x:  # error: a test does not take a pointer
            pass
        y = range(n)  # error: a range is only for a `for` loop

    check_errors(k)


def test_declarations_and_assertions():
    @kernel
    def k(x: Ptr[f32], n: i32):
        a: list = 1  # error: `list` is no type of the kernel language
        b: f32 = 1
        b: i32 = 2  # error: `b` is declared at line {-1} already
        n: i32 = 3  # error: `n` is a parameter and has its type already
        x[0]: f32 = 1  # error: only a variable can be declared with a type
        assert x[0]  # error: this is f32; a test takes a bool or an int
        assert n, f"{n}"
        static_assert(n > 0)  # error: static_assert() takes a constant condition
        static_assert(1 > 2, "one is less")  # error: static_assert failed: one is less

    check_errors(k)


def test_comparisons():
    @kernel
    def k(x: Ptr[f32], n: i32):
        a = n is n  # error: `is` compares Python objects, and a kernel has only values # hint: write ==
        b = n is not x  # error: `is not` compares Python objects, and a kernel has only values
        c = n in x  # error: `in` takes a tuple in a kernel, and this is Ptr[f32]
        d = n not in 1  # error: `in` takes a tuple in a kernel, and this is an int literal (i32)
        e = x == n  # error: `==` does not take a pointer
        f = n == "a"  # error: the string 'a' is not a number: `==` takes numbers

    check_errors(k)
