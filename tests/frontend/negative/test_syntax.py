"""Statements and expressions of Python's grammar that are no part of the kernel language."""

from __future__ import annotations

import dataclasses
import functools
import math

from kdsl import Array, Ptr, f32, i32, kernel

from ..harness import check_errors


class Context:
    pass


def test_with_one_context():
    @kernel
    def k(n: i32):
        with Context():  # error: `with` cannot run in a kernel # hint: do it on the host, around the launch
            pass

    check_errors(k)


def test_with_several_contexts():
    @kernel
    def k(x: Ptr[f32]):
        with Context() as p, open("file") as q:  # error: `with` cannot run in a kernel
            x[0] = undefined_name

    check_errors(k)


def test_try_except():
    @kernel
    def k(x: Ptr[f32]):
        try:  # error: a kernel cannot catch exceptions: there are none on the device # hint: test with if, or assert
            x[0] = 1
        except ValueError as error:
            x[0] = 2
        else:
            x[0] = 3

    check_errors(k)


def test_try_finally():
    @kernel
    def k(x: Ptr[f32]):
        try:  # error: a kernel cannot catch exceptions: there are none on the device
            x[0] = 1
        finally:
            x[0] = 2

    check_errors(k)


def test_try_star():
    @kernel
    def k(x: Ptr[f32]):
        try:  # error: a kernel cannot catch exceptions: there are none on the device
            x[0] = 1
        except* ValueError:
            x[0] = 2

    check_errors(k)


def test_raise_nothing():
    @kernel
    def k(n: i32):
        raise  # error: a kernel cannot raise # hint: use assert, or store an error code in an array

    check_errors(k)


def test_raise_from():
    @kernel
    def k(n: i32):
        raise ValueError("text") from None  # error: a kernel cannot raise

    check_errors(k)


def test_delete():
    @kernel
    def k(x: Ptr[f32], n: i32):
        del x[0]  # error: `del` cannot be used in a kernel # hint: variables end with the function; leave it out
        del n  # error: `del` cannot be used in a kernel
        del x, n  # error: `del` cannot be used in a kernel

    check_errors(k)


def test_imports():
    @kernel
    def k(n: i32):
        import os  # error: a kernel cannot import # hint: import at the top of the file
        import os.path as path  # error: a kernel cannot import
        from os import sep  # error: a kernel cannot import

        from . import harness  # error: a kernel cannot import

    check_errors(k)


def test_classes():
    @kernel
    def k(n: i32):
        class Inner:  # error: a class cannot be defined in a kernel # hint: define it outside of the kernel, with @struct
            value = 1

        class Derived(Context, metaclass=type):  # error: a class cannot be defined in a kernel
            def method(self):
                return undefined_name

    check_errors(k)


def test_decorated_class():
    @kernel
    def k(n: i32):
        @dataclasses.dataclass
        class Inner:  # error: a class cannot be defined in a kernel
            value: int

    check_errors(k)


def test_global_names():
    @kernel
    def k(x: Ptr[f32]):
        global COUNT  # error: `global` cannot be used in a kernel: it cannot change the host's variables
        #   # hint: store it in an array
        COUNT = 1
        x[0] = COUNT

    check_errors(k)


def test_global_names_updated():
    @kernel
    def k(x: Ptr[f32]):
        global TOTAL, LIMIT  # error: `global` cannot be used in a kernel: it cannot change the host's variables
        TOTAL += 1
        x[0] = LIMIT + TOTAL  # error: `LIMIT` is not defined

    check_errors(k)


def test_yield_statement():
    @kernel
    def k(n: i32):
        for i in range(3):
            yield i  # error: a kernel cannot yield # hint: store the value in an array

    check_errors(k)


def test_yield_expression():
    @kernel
    def k(n: i32):
        q = yield  # error: a kernel cannot yield

    check_errors(k)


def test_yield_from():
    @kernel
    def k(x: Ptr[f32]):
        yield from x  # error: a kernel cannot yield # hint: store the values in an array

    check_errors(k)


def test_async_function_inside():
    @kernel
    def k(n: i32):
        async def inner():  # error: an async function cannot be defined in a kernel # hint: write a plain def
            await inner()

    check_errors(k)


def test_lambdas_with_star():
    @kernel
    def k(n: i32):
        f1 = lambda *p: 1
        f1(n)
        f2 = lambda **p: 1
        f2(p=n)  # error: `f2` takes **kwargs # hint: name each parameter

    check_errors(k)


def test_starred_values():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32]):
        q = *x, 1  # error: a kernel has no * unpacking # hint: name each value
        w = (*x, *y)  # error: a kernel has no * unpacking
        z = [*x]  # error: only a tuple is taken apart in a list # hint: name each value

    check_errors(k)


def test_starred_targets():
    @kernel
    def k(n: i32):
        *q, w, z = (1,)  # error: 1 value is unpacked to 2 names at least
        q2, *w2 = n  # error: i32 cannot be unpacked: it is no tuple

    check_errors(k)


def test_starred_arguments():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32]):
        min(*x)  # error: `*` takes a tuple apart, and this is Ptr[f32] # hint: write each argument
        f32(*x)  # error: `*` takes a tuple apart, and this is Ptr[f32]
        print(*x, **x)  # error: `*` takes a tuple apart, and this is Ptr[f32]
        math.sin(*x, **y)  # error: `*` takes a tuple apart, and this is Ptr[f32]

    check_errors(k)


def test_attribute_targets():
    @kernel
    def k(x: Ptr[f32], a: Array[f32, 2], n: i32):
        x.y = 1  # error: a kernel cannot set attributes # hint: store to an element: a[i] = value
        n.z: i32 = 1  # error: only a variable can be declared with a type # hint: leave the annotation out
        a.shape, n = 1, 2  # error: a kernel cannot set attributes
        x.y += 1  # error: a kernel cannot set attributes

    check_errors(k)


def test_expressions_that_are_refused_as_statements():
    @kernel
    def k(x: Ptr[f32], n: i32):
        {1: 2}  # error: a kernel has no dicts # hint: use arrays, or a chain of if and elif
        {1}  # error: a kernel has no sets # hint: compare with each value: x == 1 or x == 2
        ...  # error: `...` is no value in a kernel
        b"text"  # error: a kernel has no bytes # hint: pass them to the kernel as an array of u8
        f"{n}"  # error: an f-string is only for print() and assert
        [i for i in x]  # error: a comprehension runs over what is known while the kernel is compiled, and this is
        #   Ptr[f32] # hint: range(4), a tuple, or an array of known shape

    check_errors(k)


def test_decorated_nested_function():
    @kernel
    def k(x: Ptr[f32], n: i32):
        @functools.cache  # error: a function inside of a kernel takes no decorators # hint: leave it out
        def inner(p):
            return p

        x[0] = inner(n)

    check_errors(k)


def test_nested_generator():
    @kernel
    def k(x: Ptr[f32], n: i32):
        def inner(p):
            yield p

        x[0] = inner(n)  # error: `inner` is a generator, and a kernel cannot yield # hint: write the loop here

    check_errors(k)


def test_nested_class_method():
    @kernel
    def k(x: Ptr[f32], n: i32):
        def inner(p):
            class Local:  # error: a class cannot be defined in a kernel
                pass

            return p

        x[0] = inner(n)

    check_errors(k)


def test_nonlocal_inside():
    @kernel
    def k(x: Ptr[f32], n: i32):
        q = n

        def inner(p):
            nonlocal q  # error: `nonlocal` cannot be used in a kernel # hint: return the value to the caller
            q = p
            return q

        x[0] = inner(n)

    check_errors(k)


def test_unreachable_code_is_checked():
    @kernel
    def k(x: Ptr[f32]):
        x[0] = 1
        return
        x[1] = undefined_name  # error: `undefined_name` is not defined

    check_errors(k)


def test_code_behind_an_endless_loop_is_checked():
    @kernel
    def k(x: Ptr[f32]):
        while True:
            pass
        x[1] = undefined_name  # error: `undefined_name` is not defined

    check_errors(k)


def test_returns_of_values():
    @kernel
    def k(x: Ptr[f32], n: i32):
        if n > 1:
            return n  # error: a kernel returns nothing
        if n > 2:
            return x  # error: a kernel returns nothing
        if n > 3:
            return (n, 1)  # error: a kernel returns nothing
        if n > 4:
            return undefined_name  # error: a kernel returns nothing # error: `undefined_name` is not defined
        return 1.5  # error: a kernel returns nothing

    check_errors(k)


def test_string_concatenation():
    @kernel
    def k(x: Ptr[f32], n: i32):
        q = "a" + f"{n}"  # error: an f-string is only for print() and assert
        w = "ab"
        x[0] = w  # error: the string 'ab' is not a value that a kernel computes with

    check_errors(k)
