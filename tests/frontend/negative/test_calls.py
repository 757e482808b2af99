"""Calls: what cannot be called, arguments that do not fit, and results that are not there."""

from __future__ import annotations

import functools
import math

from kdsl import Array, Ptr, f32, i32, kernel

from ..harness import check_errors


class Plain:
    def method(self):
        return 1

    @staticmethod
    def static(value):
        return value

    def __call__(self):
        return 1


OPAQUE = object()
PART = functools.partial(math.sin, 1)
ALIAS = map


@kernel
def other_kernel(x: Ptr[f32]):
    pass


def plain(p, q=1, *, r=2):
    return p + q + r


def positional(p, /, q):
    return p + q


def variadic(*p):
    return p


def keywords(**p):
    return p


def typed(p: i32, q: Ptr[f32]) -> f32:
    return q[p]


def no_value(p):
    p[0] = 1


def generator(p):
    yield p


async def asynchronous(p):
    return p


def test_what_cannot_be_called():
    @kernel
    def k(x: Ptr[f32], a: Array[f32, 2], n: i32):
        n()  # error: `n` is i32, not a function
        x()  # error: `x` is Ptr[f32], not a function
        x[0]()  # error: `x[0]` is f32, not a function
        a()  # error: `a` is Array[f32, 2], not a function
        math()  # error: `math` is a module, not a function that a kernel can call
        OPAQUE()  # error: `OPAQUE` is an object, not a function that a kernel can call
        Plain()  # error: `Plain` is a class, and a kernel makes no objects # hint: pass the values, or a tuple of them
        PART()  # error: `PART` wraps the function `sin`, no plain function
        #   # hint: write a lambda
        ALIAS(x)  # error: `ALIAS` cannot be called in a kernel # hint: write a loop
        OPAQUE.method()  # error: `OPAQUE` (an object of the host) has no attributes in a kernel

    check_errors(k)


def test_kernels():
    @kernel
    def k(x: Ptr[f32]):
        other_kernel(x)  # error: `other_kernel` is a kernel, and a kernel cannot call one
        #   # hint: put what both need in a plain function, without @kernel
        other_kernel[1, 1](x)  # error: `other_kernel` is a kernel, and a kernel cannot launch one
        x[0] = other_kernel  # error: `other_kernel` (a Kernel of the host) is not a value that a kernel computes with

    check_errors(k)


def test_counts():
    @kernel
    def k(x: Ptr[f32], n: i32):
        plain()  # error: plain() needs `p` # hint: it takes p, q, r
        plain(1, 2, 3)  # error: plain() takes 1 to 2 arguments (p, q), and this gives 3
        plain(q=1)  # error: plain() needs `p`
        typed(n)  # error: typed() needs `q` # hint: it takes p, q
        typed(n, x, 1)  # error: typed() takes 2 arguments (p, q), and this gives 3
        positional(1)  # error: positional() needs `q`

    check_errors(k)


def test_keyword_arguments():
    @kernel
    def k(x: Ptr[f32], n: i32):
        plain(1, s=4)  # error: plain() has no parameter `s`
        plain(1, p=2)  # error: plain() got `p` twice
        positional(p=1, q=2)  # error: positional() has no parameter `p`
        typed(p=n, z=x)  # error: typed() has no parameter `z`

    check_errors(k)


def test_variadic_functions():
    @kernel
    def k(x: Ptr[f32]):
        keywords(p=1)  # error: `keywords` takes **kwargs # hint: name each parameter
        plain(*x)  # error: `*` takes a tuple apart, and this is Ptr[f32] # hint: write each argument
        plain(**x)  # error: a kernel has no ** unpacking

    check_errors(k)


def test_types_of_arguments():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32, f: f32):
        typed(f, x)  # error: this is f32, but `p` of `typed` takes i32 # hint: cast it: i32(f)
        typed(n, n)  # error: this is i32, but `q` of `typed` takes Ptr[f32]
        typed(x, x)  # error: this is Ptr[f32], but `p` of `typed` takes i32
        typed(n, y)  # error: this is Ptr[i32], but `q` of `typed` takes Ptr[f32]
        typed("a", x)  # error: the string 'a' is not a value that a kernel computes with
        typed(None, x)  # error: None is not a value that a kernel computes with
        typed((1, 2), x)  # error: this is tuple[i32, i32], but `p` of `typed` takes i32
        typed(2**40, x)  # error: 1099511627776 does not fit i32, which holds -2147483648 to 2147483647

    check_errors(k)


def test_calls_without_a_value():
    @kernel
    def k(x: Ptr[f32]):
        x[0] = no_value(x)  # error: `no_value(x)` returns no value # hint: call it in a statement of its own
        q = no_value(x)  # error: `no_value(x)` returns no value
        x[1] = no_value(x) + 1  # error: `no_value(x)` returns no value
        if no_value(x):  # error: `no_value(x)` returns no value
            pass
        for i in no_value(x):  # error: `no_value(x)` returns no value
            pass
        x[no_value(x)] = 1  # error: `no_value(x)` returns no value
        math.sin(no_value(x))  # error: `no_value(x)` returns no value
        print(no_value(x))  # error: `no_value(x)` returns no value
        p, r = no_value(x)  # error: `no_value(x)` returns no value
        plain(no_value(x))  # error: `no_value(x)` returns no value
        x[2] += no_value(x)  # error: `no_value(x)` returns no value

    check_errors(k)


def test_other_kinds_of_functions():
    @kernel
    def k(x: Ptr[f32], n: i32):
        generator(n)  # error: `generator` is a generator, and a kernel cannot yield # hint: write the loop here
        x[0] = generator(n)  # error: `generator` is a generator, and a kernel cannot yield
        asynchronous(n)  # error: `asynchronous` is an async function # hint: write a plain def
        x[1] = asynchronous(n)  # error: `asynchronous` is an async function

    check_errors(k)


def test_nested_functions():
    @kernel
    def k(x: Ptr[f32], n: i32, f: f32):
        def typed_inside(p: i32) -> f32:
            return p

        def list_inside(p: list):  # error: `list` is no type of the kernel language
            return p

        def default_inside(p, q=n):  # error: a default value is constant in a kernel # hint: pass it as an argument
            return q

        def variadic_inside(*p):
            return p

        x[0] = typed_inside(f)  # error: this is f32, but `p` of `typed_inside` takes i32
        x[1] = list_inside(n)
        x[2] = default_inside(n)
        x[3] = variadic_inside(f)  # error: this is tuple[f32], but `x` takes f32

    check_errors(k)


def test_lambdas():
    @kernel
    def k(x: Ptr[f32], n: i32):
        g = lambda p: p + undefined_name  # error: `undefined_name` is not defined
        x[0] = g(n)
        x[1] = g()  # error: g() needs `p`
        x[2] = g(1, 2)  # error: g() takes 1 argument (p), and this gives 2
        x[3] = (lambda: 1)(2)  # error: lambda() takes 0 arguments, and this gives 1
        x[4] = g  # error: the function `g` is not a value that a kernel computes with

    check_errors(k)


def test_nested_function_and_variable():
    @kernel
    def k(x: Ptr[f32]):
        def g(p):  # error: `g` is bound more than once: a name for a function or type is bound once
            #   # hint: give each its own name
            return p

        g = 5
        x[0] = g

    check_errors(k)


def test_nested_functions_without_a_value():
    @kernel
    def k(x: Ptr[f32]):
        def g(p):
            p[0] = 1

        x[0] = g(x)  # error: `g(x)` returns no value
        h2 = g(x)  # error: `g(x)` returns no value

    check_errors(k)
