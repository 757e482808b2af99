"""Kernels of a `cuda_module` with Constexpr and TypeVar parameters, tuples and functions: `load(signatures=)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import pytest

import kdsl
from kdsl import Array, Constexpr, Ptr, f32, f64, i32, kernel, shared

T = TypeVar("T", f32, f64)


@kdsl.cuda_module
class kernels:
    @kernel
    def sized(out: Ptr[i32], shape: Constexpr[tuple[int, int]], n: i32):
        tile = shared.array(shape, i32)
        tile[0, 0] = n
        out[0] = tile[0, 0] * shape[0] + shape[1]

    @kernel
    def generic(x: Array[T, 1], by: T, kind: Constexpr[type] = f32):
        x[0] *= by if kind is T else 1

    @kernel
    def paired(arrays: tuple[Ptr[f32], Ptr[f32]], n: i32):
        arrays[0][0] = n
        arrays[1][0] = n + 1

    @kernel
    def plain(out: Ptr[f32], n: i32 = 3):
        out[0] = n


def doubled(by: float) -> Callable[[float], float]:
    return lambda v: v * by


@kdsl.cuda_module
class mapping:
    @kernel
    def mapped(out: Ptr[f32], f: Callable[[float], float], n: i32):
        out[0] = f(n)


SIGNATURES = {"sized": {"shape": (4, 5)}, "generic": {"T": f64, "kind": np.float64}}


def test_load(device: Any):
    loaded = kernels.load(signatures=SIGNATURES)
    out = np.zeros(1, np.int32)
    loaded.sized[1, 1](out, 7)
    loaded.sized[1, 1](out, n=7)
    assert out[0] == 33
    x = np.full(1, 3.0)
    loaded.generic[1, 1](x, 0.5)
    assert x[0] == 1.5
    a, b = np.zeros(1, np.float32), kdsl.zeros(1, f32)
    loaded.paired[1, 1]((a, b), 8)
    assert (a[0], b.to_host()[0]) == (8, 9)
    loaded.plain[1, 1](a, 4)
    assert a[0] == 4


def test_a_function(device: Any):
    loaded = mapping.load(signatures={"mapped": {"f": doubled(2.0)}})
    out = np.zeros(1, np.float32)
    for by in (2.0, 3.0):
        loaded.mapped[1, 1](out, doubled(by), 5)
        assert out[0] == 5 * by
    with pytest.raises(TypeError, match="argument `f` is another function than was compiled"):
        loaded.mapped[1, 1](out, abs, 5)


def test_what_is_missing_or_wrong():
    with pytest.raises(TypeError, match=r"'shape' is Constexpr.*, for sized in signatures=\{'sized': ...\}"):
        kernels.load()
    with pytest.raises(TypeError, match="signatures names 'other', which is no kernel; there are: "):
        kernels.load(signatures={**SIGNATURES, "other": {}})
    loaded = kernels.load(signatures=SIGNATURES)
    out = np.zeros(1, np.int32)
    for run, message in (
        (lambda: loaded.sized[1, 1](out), r"sized\(out: Ptr\[i32\], n: i32\) takes 2 arguments, got 1: `n` is missing"),
        (lambda: loaded.sized[1, 1](out, (4, 5), 7), "takes 2 arguments, got 3: drop 1"),
        (lambda: loaded.paired[1, 1](out, 7), "`arrays` takes .*; pass a tuple of 2"),
        (lambda: loaded.paired[1, 1]((out, out), 7), r"`arrays\[0\]` takes Ptr\[f32\]"),
        (lambda: loaded.generic[1, 1](np.zeros(1, np.float32), 7), "`x` takes Array"),
    ):
        with pytest.raises(TypeError, match=message):
            run()


def test_compile():
    compilation = kernels.compile("sm_90", signatures=SIGNATURES)
    assert compilation.kernels == ("sized", "generic", "paired", "plain")
    assert [f.name for f in compilation.params["sized"]] == ["out", "n"]
