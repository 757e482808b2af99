"""Calls that a kernel cannot make, and device functions with mistakes in them."""

from __future__ import annotations

import functools
import math

import numpy as np

from kdsl import (
    FULL_MASK,
    Ptr,
    barrier,
    barrier_arrive,
    bitcast,
    f32,
    f64,
    fence,
    grid,
    i32,
    kernel,
    shfl_xor_sync,
    thread_idx,
    u32,
)

from .harness import check_errors, errors_of


@kernel
def other(x: Ptr[f32]):
    pass


class Thing:
    def method(self):
        return 1


def wrap(f):
    @functools.wraps(f)
    def wrapper(*arguments):
        return f(*arguments)

    return wrapper


@wrap
def wrapped(x):
    return x


def test_named_barriers():
    @kernel
    def k(n: i32, d: f32):
        barrier(16, 64)  # error: a block has the barriers 0 to 15, and this is 16
        barrier(1, 40)  # error: a barrier counts whole warps, 32 to 1024 threads, and this is 40 # hint: write 64
        barrier_arrive(1, 0)  # error: a barrier counts whole warps, 32 to 1024 threads, and this is 0
        # hint: write 32
        barrier(2, 2048)  # error: a barrier counts whole warps, 32 to 1024 threads, and this is 2048
        # hint: write 1024
        barrier(1)  # error: barrier() needs `count`
        # hint: it takes id, count; sync_threads() waits for all threads of the block, and barrier(id, count) for
        #   count of them
        barrier(d, 64)  # error: this is f32, but `id` takes u32 # hint: cast it: u32(d)
        barrier(n, n)

    check_errors(k)


def test_names_that_are_not_imported():
    @kernel
    def k(x: Ptr[f32]):
        x[lane_id()] = 1.0  # error: `lane_id` is not defined # hint: from kdsl import lane_id
        x[0] = sqrt(x[1])  # error: `sqrt` is not defined # hint: from kdsl import math, and write math.sqrt
        synchthreads()  # error: `synchthreads` is not defined # hint: did you mean `sync_threads`?

    check_errors(k)


def test_a_variable_that_hides_a_function_of_kdsl():
    gridsize = 4

    @kernel
    def k(x: Ptr[f32]):
        x[0] = gridsize(1)  # error: `gridsize` is an int literal (i32), not a function
        #   # hint: a variable hides kdsl's `gridsize`: give it another name

    check_errors(k)


def wrong(x):
    return x + missing  # error: `missing` is not defined


def endless(n):
    return n * endless(n - 1) if n > 1 else 1  # error: `endless` calls itself, and not all of its parameters and its
    #   result are annotated # hint: say their types, as in def f(n: i32) -> i32, or write a loop


def sometimes(x):  # error: `sometimes` returns f32 at line {3}, but may end without a return
    #   # hint: return a value at its end, too
    if x > 0:
        return x


def either(x):
    if x > 0:
        return x
    return  # error: `either` returns f32 elsewhere, and nothing here


def nothing(p):
    p[0] = 1


def many(*x):
    return x[0]  # error: index 0 is out of range: the tuple has 0 elements


def annotated(x: i32, p: Ptr[f32]) -> f32:
    return x * 0.5


def narrow(x: f64) -> f32:
    return x  # error: this is f64, but the result of `narrow` takes f32


part = functools.partial(wrong, 1)


def test_what_cannot_be_called():
    @kernel
    def k(x: Ptr[f32], n: i32):
        other(x)  # error: `other` is a kernel, and a kernel cannot call one
        Thing()  # error: `Thing` is a class, and a kernel makes no objects
        wrapped(n)  # error: `wrapped` is wrapped by a decorator, which a kernel cannot run
        part(n)  # error: wrong() takes 0 arguments, and this gives 1
        sorted(x)  # error: `sorted` cannot be called in a kernel
        np.sqrt(x[0])  # error: `np.sqrt` is a NumPy function of the host # hint: math.sqrt(x)
        math.gcd(n, 2)  # error: `math.gcd` has no counterpart on the device
        n(1)  # error: `n` is i32, not a function
        x.sum()  # error: `x` is a Ptr, which has no attribute `sum`
        thread_idx.w  # error: `thread_idx` has no attribute `w` # hint: it has x, y and z
        y = thread_idx + 1  # error: `thread_idx` is not a number: `+` takes numbers
        thread_idx.x()  # error: `thread_idx.x` is i32, not a function
        math.foo(1)  # error: the module `math` has no attribute `foo`
        many()
        unknown_function(n)  # error: `unknown_function` is not defined

    check_errors(k, helpers=(many,))


def test_arguments():
    @kernel
    def k(x: Ptr[f32], n: i32, u: u32, d: f64):
        annotated(n)  # error: annotated() needs `p` # hint: it takes x, p
        annotated(n, x, 3)  # error: annotated() takes 2 arguments (x, p), and this gives 3
        annotated(n, q=x)  # error: annotated() has no parameter `q`
        annotated(n, x, x=n)  # error: annotated() got `x` twice
        annotated(d, x)  # error: this is f64, but `x` of `annotated` takes i32 # hint: cast it: i32(d)
        annotated(n, n)  # error: this is i32, but `p` of `annotated` takes Ptr[f32]
        annotated(*x)  # error: `*` takes a tuple apart, and this is Ptr[f32]
        annotated(n, **x)  # error: a kernel has no ** unpacking
        f32(1, 2)  # error: f32() takes 1 argument, and this gives 2
        min(n)  # error: min() takes 2 or more arguments, or a tuple
        round(d, 2)  # error: round() takes no number of digits in a kernel
        pow(n, 2, 3)  # error: pow() takes no modulus in a kernel
        len(n)  # error: `n` has no length
        len(x)  # error: `x` is a Ptr, which has no length
        annotated(lambda y: y, x)  # error: the function `lambda y: y` is not a value that a kernel computes with
        math.sqrt(x)  # error: math.sqrt() takes f32 or f64, and this is Ptr[f32]
        math.sqrt("x")  # error: math.sqrt() takes f32 or f64, and this is the string 'x'
        shfl_xor_sync(FULL_MASK, n, -1)  # error: -1 does not fit u32, which holds 0 to 4294967295
        shfl_xor_sync(d, n, 1)  # error: this is f64, but `mask` takes u32 # hint: cast it: u32(d)
        shfl_xor_sync(n, n, n)
        fence("thread")  # error: `scope` takes 'block' or 'cluster' or 'gpu' or 'system', known while the kernel is
        #   compiled
        grid(n)  # error: `ndim` takes 1 or 2 or 3, known while the kernel is compiled
        grid(4)  # error: `ndim` takes 1 or 2 or 3, known while the kernel is compiled
        bitcast(n)  # error: bitcast() needs `dtype`

    check_errors(k)


def test_device_functions_with_mistakes_name_their_callers():
    @kernel
    def k(x: Ptr[f32], n: i32):
        wrong(n)
        wrong(x[0])
        endless(n)
        sometimes(x[0])
        either(x[0])
        narrow(x[0])
        y = nothing(x)  # error: `nothing(x)` returns no value

        @other  # error: a function inside of a kernel takes no decorators
        def inner(z):
            return z

    check_errors(k, helpers=(wrong, endless, sometimes, either, narrow))
    first = next(d for d in errors_of(k) if "missing" in d.message)
    assert [(c.line, c.column) for c in first.calls] == [(k.function.__code__.co_firstlineno + 2, 9)]


def test_functions_are_bound_once():
    @kernel
    def k(n: i32):
        f = wrong  # error: `f` is bound more than once: a name for a function or type is bound once
        f = narrow  # error: `f` is bound more than once: a name for a function or type is bound once

    check_errors(k)


def test_print():
    @kernel
    def k(x: Ptr[f32], n: i32, d: f64):
        print(n, file=x)  # error: print() takes no `file` in a kernel
        print(n, sep=n)  # error: this text is constant: it may hold no values of the device
        print(f"{n:b}")  # error: vprintf has no format `b` for i32
        print(f"{n:x}")  # error: `x` takes unsigned ints on the device, and this is i32 # hint: cast it: u32(n)
        print(f"{d:.3}")  # error: `.3` is no format of vprintf's # hint: write .3g or .3f
        print(f"{d:^8.2f}")  # error: vprintf has no format `^8.2f` for f64
        print(f"{n:,}")  # error: vprintf has no format `,` for i32
        print(print)  # error: the function `print` cannot be printed in a kernel
        y = print(n)  # error: print() is a statement of its own in a kernel
        print(n) if n > 0 else print(d)  # error: print() is a statement of its own in a kernel
        #   # error: print() is a statement of its own in a kernel

    check_errors(k)


def test_a_captured_variable_that_never_gets_a_type():
    @kernel
    def k(x: Ptr[f32], n: i32):
        def inner(v):
            return v + p

        x[0] = inner(n)
        p = q  # error: `q` may be read before it has a value
        q = p

    check_errors(k)
