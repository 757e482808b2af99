"""`match`: patterns that are outside of the language, captures that may be unbound, tuples of another length."""

from __future__ import annotations

from kdsl import Ptr, f32, i32, kernel

from ..harness import check_errors


class Point:
    pass


def test_patterns():
    @kernel
    def k(x: Ptr[f32], n: i32, m: i32):
        match n:
            case m():  # error: isinstance() takes types, and this is i32
                pass
            case Point(a=q):  # error: a pattern asks for a type alone, without parts # hint: case Point():
                x[0] = q
            case {"a": 1, **rest}:  # error: a kernel has no dicts to match # hint: match a tuple of the values
                pass
            case "text":  # error: the string 'text' is not a number: `==` takes numbers
                pass
            case None:  # error: None is not a value that a kernel computes with # hint: leave the case out
                pass
            case True:  # error: `case True` asks for a bool, and the subject is i32 # hint: case 1
                pass
            case 3000000000:  # error: 3000000000 does not fit i32, which holds -2147483648 to 2147483647
                pass
            case (1, 2):  # error: the subject is i32, which is no tuple # hint: name the parts: match (x, y): ...
                pass

    check_errors(k)


def test_tuples():
    @kernel
    def k(x: Ptr[f32], n: i32, m: i32):
        match n, m:
            case (1, 2, 3):  # error: the subject has 2 elements, and this pattern 3: it never matches
                #   # hint: leave the case out, or write `_` for each element
                pass
            case (1, *others):  # error: a pattern has no `*`: a tuple has a fixed length
                #   # hint: write `_` for each element
                x[0] = others
            case (1, q) | (q, 1):  # error: an alternative of `|` captures no name # hint: write a case for each
                x[0] = q
            case 1:  # error: the subject is tuple[i32, i32], which is never one value
                #   # hint: write a tuple of patterns: case (0, 1)
                pass
            case (undefined.name, _):  # error: `undefined` is not defined
                pass

    check_errors(k)


def test_captures_that_may_be_unbound():
    @kernel
    def k(x: Ptr[f32], n: i32, m: i32):
        match n:
            case 1:
                a = 1
            case 2:
                a = b = 2
        x[0] = a  # error: `a` may be read before it has a value
        match n:
            case 1:
                c = 1
            case d:
                c = d
        x[1] = c
        x[2] = d  # error: `d` may be read before it has a value
        match n, m:
            case (1, e) if e > 2:
                x[3] = e
            case _:
                x[4] = e  # error: `e` may be read before it has a value
        match n:
            case 1:
                return
            case f if f > 2:
                pass
            case _:
                x[4] = f

    check_errors(k)


def test_types():
    @kernel
    def k(x: Ptr[f32], n: i32, f: f32):
        q = 1
        q = n
        match x[0]:  # error: this is f32, but `n` takes i32 # hint: cast it: i32(x[0])
            case 2:
                pass
            case n:
                pass
        match x[0]:
            case q:  # error: `q` is f32 here but i32 at line {-7} (`q = n`); a variable keeps one type
                #   # hint: cast it: q = i32(x[0])
                pass
        match x:  # error: `==` does not take a pointer
            case 1:
                pass
        match undefined:  # error: `undefined` is not defined
            case 1:
                x[0] = missing  # error: `missing` is not defined
            case g:
                x[1] = g
        match n:
            case 1 if f:  # error: this is f32; a test takes a bool or an int # hint: say what is tested: f != 0.0
                pass

    check_errors(k)
