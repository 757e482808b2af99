"""Constexpr parameters: part of the specialisation, constants in the kernel, passed by no launch; and dropped branches."""

from __future__ import annotations

import enum
import math
import re
from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import Array, Constexpr, Ptr, f32, f64, i32, i64, kernel, shared, static_range, sync_threads, thread_idx


class Mode(enum.IntEnum):
    REVERSE = 1
    ROTATE = 2


@kernel
def shuffled(out: Array[i32, 1], size: Constexpr[int], mode: Constexpr[int], bias: i32):
    tile = shared.array(size, i32)
    i = thread_idx.x
    tile[i] = i + bias
    sync_threads()
    if mode == Mode.REVERSE:
        out[i] = tile[size - 1 - i]
    elif mode == Mode.ROTATE:
        out[i] = tile[(i + 1) % size]
    else:
        out[i] = tile[i].no_such_attribute


def test_shapes_and_branches(device: Any):
    for size in (4, 8):
        out = np.zeros(size, np.int32)
        shuffled[1, size](out, size, Mode.REVERSE, 10)
        assert list(out) == [10 + size - 1 - i for i in range(size)]
        shuffled[1, size](out, mode=Mode.ROTATE, size=size, bias=5)
        assert list(out) == [5 + (i + 1) % size for i in range(size)]
    with pytest.raises(kdsl.CompileError, match="no_such_attribute"):
        shuffled[1, 8](np.zeros(8, np.int32), 8, 3, 0)


def test_one_specialisation_for_each_value():
    @kernel
    def k(out: Array[f64, 1], s: Constexpr[float]):
        out[0] = s

    out = np.zeros(1)
    for value in (0.0, -0.0, math.nan, math.nan, 1, 1.0, 1e300, True):
        k[1, 1](out, value)
        np.testing.assert_array_equal(out, [float(value)])
        assert math.copysign(1, out[0]) == math.copysign(1, value)
    assert len(k._specializations) == 5


@kernel
def typed(out: Ptr[f64], a: Constexpr[int], b: Constexpr[i64], c: Constexpr[f32], d: Constexpr[bool]):
    total = 0.0
    for i in range(a):
        total += i
    a += 1
    out[0] = total + a
    out[1] = f64(b + 2**40)
    out[2] = c
    out[3] = 1 if d else 0


def test_types_of_values(device: Any):
    out = np.zeros(4)
    typed[1, 1](out, 4, -5, 0.1, True)
    assert list(out) == [6 + 5, 2**40 - 5, float(np.float32(0.1)), 1]


def test_no_parameter_slot():
    @kernel
    def plain(x: Ptr[f32], n: i32):
        x[n] = 16

    @kernel
    def constant(x: Ptr[f32], size: Constexpr[int], n: i32):
        x[n] = size

    ptx = kdsl.compile(constant, target="sm_90", signature={"size": 16}).ptx
    assert len(re.findall(r"^\t\.param", ptx, re.M)) == 2
    assert kdsl.compile(constant, target="sm_90", signature=(16,)).ptx == ptx
    assert kdsl.compile(constant, target="sm_90", signature=(Ptr[f32], 16, i32)).ptx == ptx
    layouts = kdsl.compile(constant, target="sm_90", signature=(16,)).tree.kernels[0].parameters
    assert [p.name for p in layouts] == [p.name for p in kdsl.compile(plain, target="sm_90").tree.kernels[0].parameters]


def test_what_a_launch_refuses():
    out = np.zeros(4)
    for arguments, message in (
        ((4.5, 1, 1.0, True), "`a` takes an int .*, got float 4.5"),
        ((4, 2**70, 1.0, True), "`b` takes i64"),
        ((4, 1, "x", True), "`c` takes a real number"),
        ((4, 1, 1.0, 1), "`d` takes a bool"),
        ((4, 1, 1.0), "`d` is missing"),
        ((4, 1, 1.0, True, 5), "takes 5 arguments"),
    ):
        with pytest.raises(TypeError if "i64" not in message else ValueError, match=message):
            typed[1, 1](out, *arguments)
    with pytest.raises(TypeError, match="has no parameter 'e'"):
        typed[1, 1](out, 4, 1, 1.0, True, e=1)
    with pytest.raises(TypeError, match=r"^typed\(\) got multiple values for argument 'a'$"):
        typed[1, 1](out, 4, 1, 1.0, True, a=1)


def test_what_a_signature_lacks():
    with pytest.raises(TypeError, match=r"'a' is Constexpr\[int\]; say its value, as in signature=\{'a': 16\}"):
        typed.compile(target="sm_90")
    with pytest.raises(TypeError, match="`a` takes an int"):
        typed.compile(target="sm_90", signature={"a": i32, "b": 1, "c": 1.0, "d": True})
    typed.check()  # syntax and names only


def test_with_unannotated_arrays(device: Any):
    @kernel
    def k(x, size: Constexpr[int] = 3):
        for i in static_range(size):
            x[i] += i

    for dtype in (np.float32, np.int64):
        x = np.zeros(4, dtype)
        k[1, 1](x)
        k[1, 1](x, 4)
        assert list(x) == [0, 2, 4, 3]


def area(shape, x, kind):
    if kind == f32:
        scale = f32(0.5)
    else:
        scale = i32(2)
    if len(shape) == 2:
        w, h = shape
        return w * h * scale
    return shape[0] * scale


def test_branches_are_typed_apart(device: Any):
    @kernel
    def k(x: Ptr[f32], n: i32):
        x[0] = area((n, n), x, f32)
        x[1] = area((n,), x, i32)
        for i in static_range(3):
            if i == 1:
                v = n
                x[2 + i] = v
            else:
                x[2 + i] = 7

    x = np.zeros(5, np.float32)
    k[1, 1](x, 3)
    assert list(x) == [4.5, 6, 7, 3, 7]


def test_values_with_a_type_are_constants_too(device: Any):
    @kernel
    def k(out: Ptr[i32], n: Constexpr[i32], scale: Constexpr[f32]):
        tile = shared.array(n // 2 + n % 2, i32)
        tile[0] = n
        if n > 4 and scale < 0.5:
            out[0] = tile[0]
        elif n <= 4 or out.no_such_attribute:
            out[0] = -tile[0]

    out = np.zeros(1, np.int32)
    for n, scale, expected in ((7, 0.25, 7), (4, 0.25, -4), (3, 2.0, -3)):
        k[1, 1](out, n, scale)
        assert out[0] == expected
    with pytest.raises(kdsl.CompileError, match="no_such_attribute"):
        k[1, 1](out, 7, 2.0)


@pytest.mark.parametrize("value", [int, "5", None, np.array(2.5), np.array("5"), np.array([3, 4]), np.ma.masked])
def test_what_is_no_constant_number(value: Any):
    with pytest.raises(kdsl.ArgumentError, match="argument `size` takes"):
        shuffled[1, 4](np.zeros(4, np.int32), value, Mode.REVERSE, 10)


def test_what_counts_as_an_int_is_a_constant(device: Any):
    class Index:
        def __index__(self) -> int:
            return 4

    for four in (Index(), np.array(4), np.uint8(4)):
        out = np.zeros(4, np.int32)
        shuffled[1, 4](out, four, Mode.REVERSE, 10)
        assert list(out) == [13, 12, 11, 10]
