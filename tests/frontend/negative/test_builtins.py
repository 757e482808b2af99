"""Python's builtin functions, NumPy's functions, and casts."""

from __future__ import annotations

import functools
import os
import random

import numpy as np

from kdsl import Array, Ptr, f32, f64, i32, kernel, u32

from ..harness import check_errors


def test_inspection():
    @kernel
    def k(x: Ptr[f32], n: i32):
        type(n)  # error: `type` cannot be called in a kernel # hint: type_of(x) is the type of a value
        isinstance(n, 3)  # error: isinstance() takes types, and this is an int literal (i32) # hint: such as f32
        isinstance(n, str)  # error: `str` is no type of the kernel language # hint: such as f32, int or float
        isinstance(n)  # error: isinstance() takes 2 arguments, and this gives 1
        issubclass(int, int)  # error: `issubclass` cannot be called in a kernel
        callable(n)  # error: `callable` cannot be called in a kernel
        id(x)  # error: `id` cannot be called in a kernel
        hash(n)  # error: `hash` cannot be called in a kernel
        dir()  # error: `dir` cannot be called in a kernel
        vars()  # error: `vars` cannot be called in a kernel
        globals()  # error: `globals` cannot be called in a kernel
        locals()  # error: `locals` cannot be called in a kernel

    check_errors(k)


def test_attributes_by_name():
    @kernel
    def k(x: Ptr[f32]):
        getattr(x, "a")  # error: `getattr` cannot be called in a kernel # hint: write the attribute: a.shape
        setattr(x, "a", 1)  # error: `setattr` cannot be called in a kernel # hint: store to an element: a[i] = value
        hasattr(x, "a")  # error: `hasattr` cannot be called in a kernel
        delattr(x, "a")  # error: `delattr` cannot be called in a kernel

    check_errors(k)


def test_iteration():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32]):
        sorted(x)  # error: `sorted` cannot be called in a kernel
        map(abs, x)  # error: `map` cannot be called in a kernel # hint: write a loop
        filter(None, x)  # error: `filter` cannot be called in a kernel # hint: write a loop with an if
        iter(x)  # error: `iter` cannot be called in a kernel # hint: write a for loop
        next(x)  # error: `next` cannot be called in a kernel
        aiter(x)  # error: `aiter` cannot be called in a kernel

    check_errors(k)


def test_text():
    @kernel
    def k(n: i32):
        str(n)  # error: `str` cannot be called in a kernel # hint: print() takes f-strings
        repr(n)  # error: `repr` cannot be called in a kernel
        ascii(n)  # error: `ascii` cannot be called in a kernel
        format(n)  # error: `format` cannot be called in a kernel
        chr(n)  # error: `chr` cannot be called in a kernel
        ord("a")  # error: `ord` cannot be called in a kernel # hint: write the number
        bin(n)  # error: `bin` cannot be called in a kernel
        oct(n)  # error: `oct` cannot be called in a kernel
        hex(n)  # error: `hex` cannot be called in a kernel # hint: print() takes f-strings, such as f"{u32(x):x}"

    check_errors(k)


def test_containers():
    @kernel
    def k(x: Ptr[f32]):
        list()  # error: `list` cannot be called in a kernel
        #   # hint: local.array(n, dtype) holds values that are indexed at run time
        tuple(x)  # error: tuple() takes a tuple, and this is Ptr[f32] # hint: write the tuple: (a, b)
        dict()  # error: `dict` cannot be called in a kernel # hint: use arrays, or a chain of if and elif
        set()  # error: `set` cannot be called in a kernel # hint: compare with each value
        frozenset()  # error: `frozenset` cannot be called in a kernel
        bytes(1)  # error: `bytes` cannot be called in a kernel # hint: pass them to the kernel as an array of u8
        bytearray(1)  # error: `bytearray` cannot be called in a kernel
        memoryview(x)  # error: `memoryview` cannot be called in a kernel # hint: pass the array itself
        slice(1)  # error: `slice` cannot be called in a kernel # hint: loop over the indices
        object()  # error: `object` is a class, and a kernel makes no objects

    check_errors(k)


def test_outside_world():
    @kernel
    def k(n: i32):
        open("file")  # error: `open` cannot be called in a kernel
        #   # hint: read the file on the host, and pass its contents as an array
        input()  # error: `input` cannot be called in a kernel # hint: pass values as parameters
        eval("1")  # error: `eval` cannot be called in a kernel
        exec("1")  # error: `exec` cannot be called in a kernel
        compile("1", "", "eval")  # error: `compile` cannot be called in a kernel
        breakpoint()  # error: `breakpoint` cannot be called in a kernel
        __import__("os")  # error: `__import__` cannot be called in a kernel
        os.getpid()  # error: `os.getpid` cannot be called in a kernel
        random.random()  # error: `random.random` cannot be called in a kernel

    check_errors(k)


def test_classes_and_decorators():
    @kernel
    def k(n: i32):
        classmethod(n)  # error: `classmethod` is a class, and a kernel makes no objects
        staticmethod(n)  # error: `staticmethod` is a class, and a kernel makes no objects
        property(n)  # error: `property` is a class, and a kernel makes no objects
        super()  # error: `super` is a class, and a kernel makes no objects
        ValueError("text")  # error: `ValueError` is a class, and a kernel makes no objects
        functools.partial(abs, n)  # error: `functools.partial` is a class, and a kernel makes no objects

    check_errors(k)


def test_abs_and_round():
    @kernel
    def k(x: Ptr[f32], d: f64):
        abs()  # error: abs() takes 1 argument, and this gives 0
        abs(1, 2)  # error: abs() takes 1 argument, and this gives 2
        abs(x)  # error: abs() does not take a pointer # hint: index it instead: p[i]; atomics take (p, i, value)
        abs("a")  # error: the string 'a' is not a number: abs() takes numbers
        abs(None)  # error: None is not a number: abs() takes numbers
        abs(x=1)  # error: abs() takes no keyword arguments in a kernel
        round(x)  # error: round() does not take a pointer
        round(d, 2)  # error: round() takes no number of digits in a kernel # hint: round(x * 100.0) / 100.0
        round()  # error: round() takes 1 to 2 arguments, and this gives 0

    check_errors(k)


def test_min_and_max():
    @kernel
    def k(x: Ptr[f32], n: i32, u: u32):
        max()  # error: max() takes 1 or more arguments, and this gives 0
        max(n)  # error: max() takes 2 or more arguments, or a tuple
        max(x)  # error: max() takes 2 or more arguments, or a tuple
        max(n, x)  # error: `max` does not take a pointer
        max(n, u)  # error: i32 and u32 have no common type # hint: cast one: u32(n) or i32(u)
        max(n, key=abs)  # error: max() takes no keyword arguments in a kernel
        max((1, 2), default=3)  # error: max() takes no keyword arguments in a kernel
        min("a", "b")  # error: the string 'a' is not a number: `min` takes numbers
        min(1, None)  # error: None is not a number: `min` takes numbers
        min(())  # error: min() of an empty tuple

    check_errors(k)


def test_pow_and_divmod():
    @kernel
    def k(x: Ptr[f32], n: i32, u: u32):
        pow(n)  # error: pow() takes 2 to 3 arguments, and this gives 1
        pow(n, 2, 3)  # error: pow() takes no modulus in a kernel # hint: take % after each multiplication
        pow(x, 2)  # error: `**` does not take a pointer
        divmod(n)  # error: divmod() takes 2 arguments, and this gives 1
        divmod(x, 2)  # error: `//` does not take a pointer
        divmod(n, u)  # error: i32 and u32 have no common type

    check_errors(k)


def test_numpy():
    @kernel
    def k(x: Ptr[f32], n: i32, f: f32):
        np.sqrt(f)  # error: `np.sqrt` is a NumPy function of the host # hint: math.sqrt(x)
        np.add(n, n)  # error: `np.add` is a NumPy function of the host
        np.array([1])  # error: `np.array` is a NumPy function of the host
        np.zeros(3)  # error: `np.zeros` is a NumPy function of the host
        np.dot(x, x)  # error: `np.dot` is a NumPy function of the host
        np.maximum(n, n)  # error: `np.maximum` is a NumPy function of the host # hint: max(x, y)
        np.clongdouble(1)  # error: `np.clongdouble` is a class, and a kernel makes no objects
        np.dtype("f4")(1)  # error: `np.dtype` is a class, and a kernel makes no objects

    check_errors(k)


def test_casts():
    @kernel
    def k(x: Ptr[f32], a: Array[f32, 2], n: i32):
        i32()  # error: i32() takes 1 argument, and this gives 0
        i32(1, 2)  # error: i32() takes 1 argument, and this gives 2
        i32(v=1)  # error: i32() takes no keyword arguments in a kernel
        i32(*x)  # error: `*` takes a tuple apart, and this is Ptr[f32] # hint: write each argument
        f32(x)  # error: f32() does not take a pointer
        f32(a)  # error: f32() takes numbers, and this is Array[f32, 2] # hint: index it instead: a[i, j]
        i32((1, 2))  # error: i32() takes numbers, and this is tuple[i32, i32] # hint: take its elements: x, y = ...
        bool((n,))  # error: bool() takes numbers, and this is tuple[i32]
        i32(None)  # error: None is not a number: i32() takes numbers
        i32(print)  # error: the function `print` is not a number: i32() takes numbers
        int(x)  # error: int() does not take a pointer
        int(5, 10)  # error: int() takes 1 argument, and this gives 2
        float(n, n)  # error: float() takes 1 argument, and this gives 2
        np.float32(x)  # error: np.float32() does not take a pointer
        np.int32(1, 2)  # error: np.int32() takes 1 argument, and this gives 2

    check_errors(k)


def test_casts_of_strings():
    @kernel
    def k(n: i32):
        float("nan")  # error: float() takes numbers, and this is the string 'nan' # hint: write math.nan
        float("inf")  # error: float() takes numbers, and this is the string 'inf' # hint: write math.inf
        float("-Infinity")  # error: float() takes numbers, and this is the string '-Infinity'
        int("5")  # error: int() takes numbers, and this is the string '5'
        i32("1")  # error: i32() takes numbers, and this is the string '1'

    check_errors(k)


def test_types_are_no_functions_of_other_things():
    @kernel
    def k(x: Ptr[f32]):
        f32.name  # error: the type `f32` has no attributes in a kernel
        Ptr(1)  # error: `Ptr` is a class, and a kernel makes no objects
        Array(1)  # error: `Array` is a class, and a kernel makes no objects
        Ptr[f32](x)  # error: `Ptr[f32]` is a type, which converts nothing # hint: bitcast(p, Ptr[f32])
        x[0] = f32  # error: the type `f32` is not a value that a kernel computes with

    check_errors(k)


def test_a_generator_among_several_arguments():
    @kernel
    def k(x: Ptr[f32]):
        min((i for i in range(3)), 2)  # error: a generator expression is only for sum, min, max, any and all

    check_errors(k)
