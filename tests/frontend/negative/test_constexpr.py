"""Constexpr where it says nothing or cannot be, and live branches that are wrong."""

from __future__ import annotations

from kdsl import Constexpr, Ptr, f32, i32, kernel, local

from ..harness import check_errors

COUNT = Constexpr[int]


def repeated(x, n: Constexpr[int], s: Constexpr[f32] = 1):
    for i in range(n):
        x[i] = s


def result(x) -> Constexpr[int]:  # error: the result is annotated `Constexpr[int]`, which is no type of the kernel
    #   language
    return 1


def test_without_a_value():
    @kernel
    def k(x: Ptr[f32], n: Constexpr[int]):  # error: `n` is Constexpr[int], and has no value
        #   # hint: say it in signature={'n': value}, or give it a default
        pass

    check_errors(k)


def test_where_it_cannot_be():
    @kernel
    def k(x: Ptr[f32], n: i32):
        a: COUNT = 5  # error: only a parameter of a kernel or plain function is a Constexpr
        #   # hint: leave the annotation out: a name that is bound once to a constant is that constant
        result(x)
        repeated(x, n)  # error: `n` of `repeated` is Constexpr[int], and this is known at run time only
        #   # hint: pass a constant
        repeated(x, 3, x[0])  # error: `s` of `repeated` is Constexpr[f32], and this is known at run time only
        repeated(x, 3, 0.5)
        local.array(n, f32)  # error: the shape of local.array() is constant

    check_errors(k, helpers=(result,))


def test_dropped_branches():
    @kernel
    def k(x: Ptr[f32], n: i32):
        size = 4
        if size == 4:
            q = 1
        else:
            q = undefined
        x[0] = q
        if size < 4:
            w = 1
            undefined()
        elif n:
            x[1] = 2
        elif size:
            x[2] = missing  # error: `missing` is not defined
        else:
            x[3] = undefined
        x[4] = w  # error: `w` may be read before it has a value
        x[5] = q if size else undefined
        x[6] = undefined if not size else q
        if n:
            x[7] = other  # error: `other` is not defined

    check_errors(k)
