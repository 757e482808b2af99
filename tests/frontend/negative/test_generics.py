"""TypeVars that say nothing, two things, or what they may not; and questions about types that have no answer."""

from __future__ import annotations

from typing import Any, TypeVar

import pytest

import kdsl
from kdsl import Array, Ptr, atomic, f32, f64, i32, i64, kernel, shared, type_of

from ..harness import check_errors

T = TypeVar("T", f32, f64)
A = TypeVar("A")
B = TypeVar("B", bound=float)
WRONG = TypeVar("WRONG", bound=str)


def same(x: A, y: A) -> A:
    return x


def floats(x: T) -> T:
    return x


def bounded(p: Ptr[B], q: Array[B, 1]) -> B:
    return p[0]


def result_only(x) -> A:
    return x


def body_only(x):
    y: A = x
    return y


def test_device_functions():
    @kernel
    def k(x: Ptr[f32], a: Array[f64, 1], n: i32, m: i64):
        same(n, m)  # error: `y` of `same` makes A i64, and `x` makes it i32
        #   # hint: cast one, or give each parameter a TypeVar of its own
        same(n, 2.5)  # error: 2.5 is a float literal where i32 is needed
        floats(n)  # error: `x` of `floats` makes T i32, and T may be f32 or f64 # hint: cast it: f32(n)
        floats(x)  # error: `x` of `floats` makes T Ptr[f32], and T may be f32 or f64
        bounded(x, a)  # error: `q` of `bounded` makes B f64, and `p` makes it f32
        bounded(shared.array(4, i32), a)  # error: `p` of `bounded` makes B i32, and B may be any float type
        result_only(n)  # error: no parameter of `result_only` says what the TypeVar `A` stands for
        #   # hint: annotate a parameter with it, as in x: A or a: Ptr[A]
        y: A = 1  # error: no parameter of `k` says what the TypeVar `A` stands for
        shared.array(8, B)  # error: no parameter of `k` says what the TypeVar `B` stands for

    check_errors(k)


def test_in_a_body():
    @kernel
    def k(x: Ptr[f32], n: i32):
        x[0] = body_only(n)

    with pytest.raises(kdsl.CompileError, match="no parameter of `body_only` says what the TypeVar `A` stands for"):
        k.check()


def test_a_bound_that_is_no_type():
    @kernel
    def k(x: WRONG):  # error: `x` is annotated `WRONG`, which is no type of the kernel language
        pass

    check_errors(k)


def test_without_a_type():
    @kernel
    def k(x: Ptr[T], n: i32):  # error: `x` is Ptr[T], and nothing says what T stands for
        #   # hint: say it in signature={'T': f32}
        pass

    check_errors(k)


def test_questions_about_types():
    @kernel
    def k(x: Ptr[f32], n: i32):
        type_of(atomic.add(x, 0, 1))  # error: type_of() evaluates nothing, and this has an effect
        #   # hint: name it first: x = atomic.add(x, 0, 1)
        type_of(f32)  # error: type_of() takes a value of the kernel, and this is the type `f32`
        type_of(range(n))  # error: type_of() takes a value of the kernel, and this is a range
        type_of()  # error: type_of() takes 1 argument, and this gives 0
        isinstance(atomic.add(x, 0, 1), f32)  # error: isinstance() evaluates nothing, and this has an effect
        x[0] = type_of(n)  # error: the type `type_of(n)` is not a value that a kernel computes with

    check_errors(k)


def test_branches_that_live():
    @kernel
    def k(x: Ptr[f32], n: i32):
        if x.dtype is f32:
            x[0] = missing  # error: `missing` is not defined
        else:
            x[0] = absent
        if isinstance(n, float):
            v = undefined
        else:
            v = unknown  # error: `unknown` is not defined
        x[1] = v
        match n:
            case f32():
                x[2] = undefined
            case i32():
                x[2] = lacking  # error: `lacking` is not defined
            case _:
                x[2] = undefined

    check_errors(k)


def test_the_host_knows_no_type_of():
    with pytest.raises(TypeError, match="call it inside a @kernel function"):
        type_of(Any)
