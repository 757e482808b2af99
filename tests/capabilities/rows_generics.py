"""Rows: what is decided while a kernel is compiled."""

from collections.abc import Callable
from enum import IntEnum
from functools import partial
from typing import TypeVar

import numpy as np

from kdsl import (
    Array,
    Constexpr,
    Ptr,
    f32,
    f64,
    grid,
    i32,
    i64,
    kernel,
    shared,
    static_assert,
    sync_threads,
    thread_idx,
    type_of,
    unroll,
)

from .capability import Capability, row

N = np.arange(32)


class Mode(IntEnum):
    DOUBLE = 2
    SQUARE = 3


@row("Generics", "Constexpr[int]", "a parameter whose value is part of the compiled kernel", out=N[::-1],
     keywords={"size": 32}, signature={"size": 32}, instructions=("st.shared.b32",))  # fmt: skip
@kernel
def sized(out: Ptr[i64], size: Constexpr[int]):
    tile = shared.array(size, i32)
    tile[thread_idx.x] = thread_idx.x
    sync_threads()
    out[thread_idx.x] = tile[size - 1 - thread_idx.x]


@row("Generics", "Constexpr[float] and Constexpr[bool]", "constants as literals are", out=N * 0.25,
     keywords={"factor": 0.25, "negate": False}, signature={"factor": 0.25, "negate": False}, without=("neg",))  # fmt: skip
@kernel
def scaled(out: Ptr[f64], factor: Constexpr[float], negate: Constexpr[bool]):
    x = f64(grid(1)) * factor
    out[grid(1)] = -x if negate else x


@row("Generics", "IntEnum constants", "members are constants in kernels, and Constexpr arguments", out=N**2,
     keywords={"mode": Mode.SQUARE}, signature={"mode": Mode.SQUARE}, without=("no_such",))  # fmt: skip
@kernel
def by_mode(out: Ptr[i64], mode: Constexpr[int]):
    i = grid(1)
    if mode == Mode.DOUBLE:
        out[i] = i.no_such_attribute
    else:
        out[i] = i * i


@row("Generics", "unannotated parameters", "specialise at each launch on dtype, rank and strides", out=N * 2.0,
     inputs=(N.astype(np.float32), 2), signature=(Array[f64, 1], Array[f32, 1], i32))  # fmt: skip
@kernel
def unannotated(out, x, factor):
    i = grid(1)
    if i < out.shape[0]:
        out[i] = x[i] * factor


@row("Generics", "types by dtype", "`x.dtype` is the type of an array's elements", out=N + 0.5, inputs=(N + 0.0,),
     signature=(Array[f64, 1], Array[f64, 1]))  # fmt: skip
@kernel
def by_dtype(out, x):
    i = grid(1)
    half = out.dtype(1) / 2
    out[i] = x[i] + half


SHIFT = 3


@row("Generics", "captured constants", "Python numbers around a kernel are constants in it", out=N + 3)
@kernel
def capturing(out: Ptr[i64]):
    out[grid(1)] = grid(1) + SHIFT


@row("Generics", "static_assert", "a condition that must hold while the kernel is compiled", out=N,
     keywords={"size": 8}, signature={"size": 8})  # fmt: skip
@kernel
def asserted(out: Ptr[i64], size: Constexpr[int]):
    static_assert(size % 4 == 0, "whole vectors")
    out[grid(1)] = grid(1)


@row("Generics", "functions as arguments of kernels", "part of the specialisation; captured values too", out=N * 1.5,
     inputs=(lambda x: x * 1.5,), signature={"f": lambda x: x * 1.5})  # fmt: skip
@kernel
def mapped(out: Ptr[f64], f: Callable[[float], float]):
    out[grid(1)] = f(f64(grid(1)))


def twice(f, x):
    return f(f(x))


@row("Generics", "functions as arguments of functions", "lambdas with the variables around them", out=N + 2 * 5,
     inputs=(np.int32(5),))  # fmt: skip
@kernel
def higher_order(out: Ptr[i64], step: i32):
    out[grid(1)] = twice(lambda x: x + step, grid(1))


@row(
    "Generics",
    "default and keyword arguments at launch",
    "`k[grid, block](out, n=4)`",
    out=N * 4 + 1,
    keywords={"n": 4},
)
@kernel
def with_defaults(out: Ptr[i64], n: i32 = 2, offset: i32 = 1):
    out[grid(1)] = grid(1) * n + offset


T = TypeVar("T", f32, f64)


def of_a_type_variable(S: object, dtype: object) -> Capability:
    @row("Generics", f"TypeVar, here {S}", "one kernel for several types; `acc: T = 0`, `T(1)`", out=(N * 3 + 1).astype(dtype),
         inputs=(dtype(3), N.astype(dtype)), signature={"T": S}, instructions=(f"fma.rn.{S}",))  # fmt: skip
    @kernel
    def axpy(out: Array[T, 1], a: T, x: Ptr[T]):
        acc: T = 0
        acc += a * x[grid(1)] + T(1)
        out[grid(1)] = acc

    return axpy


VARIABLES = [of_a_type_variable(f32, np.float32), of_a_type_variable(f64, np.float64)]


def size_of(x):
    if isinstance(x, float):
        return 100 if type_of(x) is f64 else 50
    else:
        match x:
            case i32():
                return 4
            case _:
                return x.no_such_attribute


@row("Generics", "choosing by type", "isinstance, `type_of(x) is f64`, `case i32():` are constants", out=N * 0 + 154)
@kernel
def by_type(out: Ptr[i64]):
    out[grid(1)] = size_of(f64(1)) + size_of(f32(1)) + size_of(grid(1))


def scaled_by(factor: float) -> Callable[[float], float]:
    return lambda x: x * factor


@row("Generics", "captured values of a function", "are passed as parameters: another factor compiles nothing", out=N * 2.5,
     inputs=(scaled_by(np.float64(2.5)),), signature={"f": scaled_by(np.float64(2.5))})  # fmt: skip
@kernel
def with_captures(out: Ptr[f64], f: Callable[[float], float]):
    out[grid(1)] = f(f64(grid(1)))


def plus(x, y):
    return x + y


@row("Generics", "functools.partial", "as a function argument; what it holds is passed", out=N + 7.0,
     inputs=(partial(plus, np.float64(7)),), signature={"f": partial(plus, np.float64(7))})  # fmt: skip
@kernel
def partially(out: Ptr[f64], f: Callable[[float], float]):
    out[grid(1)] = f(f64(grid(1)))


@row("Statements", "unroll(range(n))", "as `range(n, unroll=True)`, which type checkers refuse", out=N * 28,
     without=(r"\bbra\b",))  # fmt: skip
@kernel
def unrolled(out: Ptr[i64]):
    total = 0
    for k in unroll(range(8)):
        total += k * grid(1)
    out[grid(1)] = total
