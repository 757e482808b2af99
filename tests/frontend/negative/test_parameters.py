"""Parameters and results that a kernel cannot have."""

from __future__ import annotations

import collections
import typing
from collections.abc import Callable

import numpy as np

from kdsl import Array, Ptr, f32, i32, kernel, thread_idx, u8

from ..harness import check_errors


def test_no_annotation():
    @kernel
    def k(p, n: i32, q):  # error: `p` has no type # hint: annotate it, as in p: f32, or say it in signature={'p': f32}
        #   # error: `q` has no type # hint: annotate it, as in q: f32, or say it in signature={'q': f32}
        pass

    check_errors(k)


def test_methods():
    @kernel
    def k(self, x: Ptr[f32]):  # error: a kernel cannot be a method: `self` is an object of the host
        #   # hint: move it out of the class, or make it a @staticmethod
        pass

    check_errors(k)


def test_star():
    @kernel
    def k(x: Ptr[f32], *rest):  # error: `k` takes *args or **kwargs # hint: name each parameter
        pass

    check_errors(k)


def test_double_star():
    @kernel
    def k(**rest):  # error: `k` takes *args or **kwargs
        pass

    check_errors(k)


def test_typed_star():
    @kernel
    def k(*rest: f32):  # error: `k` takes *args or **kwargs
        pass

    check_errors(k)


def test_python_types():
    @kernel
    def k(p: list, q: str, r: tuple, s: slice, t: object, o: dict, m: bytes):  # error: `p` is annotated `list`, which
        #   is no type of the kernel language # error: `q` is annotated `str`, which is no type of the kernel language
        #   # error: `r` is annotated `tuple`, which is no type of the kernel language
        #   # error: `s` is annotated `slice`, which is no type of the kernel language
        #   # error: `t` is annotated `object`, which is no type of the kernel language
        #   # error: `o` is annotated `dict`, which is no type of the kernel language
        #   # error: `m` is annotated `bytes`, which is no type of the kernel language
        pass

    check_errors(k)


def test_unknown_names():
    @kernel
    def k(p: undefined_type, q: "undefined_type", r: np.undefined_type):  # error: `p` is annotated `undefined_type`,
        #   which is no type of the kernel language (name 'undefined_type' is not defined)
        #   # error: `q` is annotated `undefined_type`, which is no type of the kernel language (name 'undefined_type'
        #   is not defined)
        #   # error: `r` is annotated `np.undefined_type`, which is no type of the kernel language (module 'numpy' has
        #   no attribute 'undefined_type')
        pass

    check_errors(k)


def test_values():
    @kernel
    def k(p: 5, q: None, r: {}, s: [f32], t: lambda: f32, o: thread_idx, m: print):
        #   # error: `p` is annotated `5`, which is no type of the kernel language
        #   # error: `q` is annotated `None`, which is no type of the kernel language
        #   # error: `r` is annotated `{}`, which is no type of the kernel language
        #   # error: `s` is annotated `[f32]`, which is no type of the kernel language
        #   # error: `t` is annotated `lambda: f32`, which is no type of the kernel language
        #   # error: `o` is annotated `thread_idx`, which is no type of the kernel language
        #   # error: `m` is annotated `print`, which is no type of the kernel language
        pass

    check_errors(k)


def test_incomplete_types():
    @kernel
    def k(p: Ptr, q: Array, r: typing.Any, s: typing.Optional[f32], t: collections.abc.Iterable):
        #   # error: `p` is annotated `Ptr`, which is no type of the kernel language
        #   # error: `q` is annotated `Array`, which is no type of the kernel language
        #   # error: `r` is annotated `typing.Any`, which is no type of the kernel language
        #   # error: `s` is annotated `typing.Optional[f32]`, which is no type of the kernel language
        #   # error: `t` is annotated `collections.abc.Iterable`, which is no type of the kernel language
        pass

    check_errors(k)


def test_impossible_types():
    @kernel
    def k(p: Array[f32, 0], q: Array[f32, 5], r: Ptr[str], s: "Ptr[", t: "1/0", o: Array[Ptr[f32], 1]):
        #   # error: `p` is annotated `Array[f32, 0]`, which is no type of the kernel language
        #   # error: `q` is annotated `Array[f32, 5]`, which is no type of the kernel language
        #   # error: `r` is annotated `Ptr[str]`, which is no type of the kernel language
        #   # error: `s` is annotated `Ptr[`, which is no type of the kernel language
        #   # error: `t` is annotated `1/0`, which is no type of the kernel language
        #   # error: `o` is annotated `Array[Ptr[f32], 1]`, which is no type of the kernel language
        pass

    check_errors(k)


def test_numpy_types():
    @kernel
    def k(p: np.clongdouble, q: np.dtype("U3"), r: np.ndarray, s: np.datetime64, t: np.dtype([("a", "f4")])):
        #   # error: `p` is annotated `np.clongdouble`, which is no type of the kernel language
        #   # error: `q` is annotated `np.dtype('U3')`, which is no type of the kernel language
        #   # error: `r` is annotated `np.ndarray`, which is no type of the kernel language
        #   # error: `s` is annotated `np.datetime64`, which is no type of the kernel language
        #   # error: `t` is annotated `np.dtype([('a', 'f4')])`, which is no type of the kernel language
        pass

    check_errors(k)


def test_unions():
    @kernel
    def k(p: f32 | i32, q: Ptr[f32] | None, r: "typing.Union[f32, i32]"):  # error: `p` is annotated `f32 | i32`, which
        #   is no type of the kernel language
        #   # error: `q` is annotated `Ptr[f32] | None`, which is no type of the kernel language
        #   # error: `r` is annotated `typing.Union[f32, i32]`, which is no type of the kernel language
        pass

    check_errors(k)


def test_tuples():
    @kernel
    def k(p: tuple[f32, Callable[[], None]]):  # error: `p` is annotated `tuple[f32, Callable[[], None]]`, which is no
        #   type of the kernel language
        pass

    check_errors(k)


def test_results():
    @kernel
    def k(x: Ptr[f32]) -> f32:  # error: a kernel returns nothing
        return x[0]

    check_errors(k)


def test_results_that_are_no_types():
    @kernel
    def k(x: Ptr[f32]) -> list:  # error: the result is annotated `list`, which is no type of the kernel language
        pass

    check_errors(k)


def test_lambdas():
    k = kernel(lambda x: x)  # error: a kernel is written with def, not lambda # hint: def kernel(a: Ptr[f32]): ...

    check_errors(k)


def test_async():
    @kernel
    async def k(x: Ptr[f32]):  # error: `k` is an async function # hint: write a plain def
        pass

    check_errors(k)


def test_itself():
    @kernel
    def k(x: Ptr[f32]):
        k(x)  # error: `k` is a kernel, and a kernel cannot call one
        #   # hint: put what both need in a plain function, without @kernel
        x[0] = k  # error: `k` (a Kernel of the host) is not a value that a kernel computes with

    check_errors(k)


def test_types_are_kept():
    @kernel
    def k(x: Ptr[f32], n: i32, m: u8, b: bool):
        n = 1.5  # error: 1.5 is a float literal where i32 is needed # hint: write an int, or cast it: i32(1.5)
        m = 256  # error: 256 does not fit u8, which holds 0 to 255 # hint: write u8(256) to keep the low bits
        m = n  # error: this is i32, but `m` takes u8 # hint: cast it: u8(n)
        b = n  # error: this is i32, but `b` takes bool # hint: cast it: bool(n)
        x = n  # error: this is i32, but `x` takes Ptr[f32]

    check_errors(k)
