"""Functions that call themselves without saying their types, and functions where a value is wanted."""

from __future__ import annotations

from collections.abc import Callable

from kdsl import Constexpr, Ptr, f32, i32, kernel

from ..harness import check_errors


def no_result(n: i32):
    return n * no_result(n - 1) if n > 1 else 1  # error: `no_result` calls itself, and not all of its parameters and
    #   its result are annotated # hint: say their types, as in def f(n: i32) -> i32, or write a loop


def no_parameter(n) -> i32:
    if n > 1:
        return no_parameter(n - 1)  # error: `no_parameter` calls itself, and not all of its parameters and its result
        #   are annotated
    return 1


def first(n):
    return second(n)


def second(n):
    return first(n)  # error: `first` calls itself, and not all of its parameters and its result are annotated


def deeper(n):
    return deeper(n - 1)  # error: `deeper` calls itself with other types or constants, 16 deep
    #   # hint: annotate its parameters and its result, or write a loop


def constant(n: Constexpr[int], m: i32) -> i32:
    return m + constant(n, m)  # error: `constant` calls itself, and not all of its parameters and its result are
    #   annotated


def applied(f: Callable[[int], int], x):
    return f(x)


def test_annotations():
    @kernel
    def k(x: Ptr[f32], n: i32):
        no_result(n)
        no_parameter(n)
        first(n)
        deeper(5)
        constant(3, n)

    check_errors(k, helpers=(no_result, no_parameter, second, deeper, constant))


def test_nested():
    @kernel
    def k(x: Ptr[f32], n: i32):
        def inner(m: i32) -> i32:
            return inner(m - 1)  # error: `inner` calls itself, which a nested function cannot
            #   # hint: define it outside of the kernel

        x[0] = inner(n)

    check_errors(k)


def test_what_is_no_function():
    @kernel
    def k(x: Ptr[f32], n: i32, f: Callable[[int], int]):  # error: `f` is Constexpr[Callable], and has no value
        applied(n, 1)  # error: this is i32, but `f` of `applied` takes a function
        applied("text", 1)  # error: this is the string 'text', but `f` of `applied` takes a function
        applied(3, 1)  # error: this is an int literal (i32), but `f` of `applied` takes a function
        applied(lambda v: v, 1)
        x[0] = applied  # error: the function `applied` is not a value that a kernel computes with

    check_errors(k)
