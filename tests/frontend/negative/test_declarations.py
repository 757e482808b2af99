"""Declarations of variables: `name: type`, with and without a value."""

from __future__ import annotations

import numpy as np

from kdsl import Array, Ptr, f16, f32, f64, i32, i64, kernel, u8

from ..harness import check_errors


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
        m: bytes = 1  # error: `bytes` is no type of the kernel language

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
        q: [f32] = 1  # error: a list holds scalars, vectors, structs or lists, and this is a Python object
        r: lambda: 1 = 1  # error: `lambda: 1` is no type of the kernel language
        s: f32 = i32  # error: the type `i32` is not a value that a kernel computes with
        t: f32 = (1, 2)  # error: this is tuple[i32, i32], but `t` takes f32
        o: np.clongdouble = 1  # error: `np.clongdouble` is no type of the kernel language
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
