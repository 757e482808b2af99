"""8-bit floats are stored and converted; everything else is refused, and says what to write."""

from __future__ import annotations

import math

from kdsl import Ptr, asm, atomic, f8e4m3, f8e4m3x2, f8e5m2, f16, f32, fma, i32, kernel, u16

from ..harness import check_errors


def test_operators():
    @kernel
    def k(a: Ptr[f8e4m3], b: Ptr[f8e5m2], v: Ptr[f8e4m3x2], x: Ptr[f32]):
        x[0] = a[0] + 1  # error: `+` does not take f8e4m3, which is only stored # hint: convert it: f32(a[0])
        x[0] = 2.0 * b[0]  # error: `*` does not take f8e5m2, which is only stored
        x[0] = f32(-a[0])  # error: `-` does not take f8e4m3, which is only stored
        x[0] = min(a[0], a[1])  # error: `min` does not take f8e4m3, which is only stored
        if a[0] < a[1]:  # error: `<` does not take f8e4m3, which is only stored
            x[0] = 1
        if a[0]:  # error: a test does not take f8e4m3, which is only stored
            x[0] = 1
        x[0] = abs(a[0])  # error: abs() does not take f8e4m3, which is only stored
        v[0] = v[0] + v[1]  # error: `+` does not take f8e4m3x2, which is only stored
        #   # hint: convert it: f32x2(...)
        v[0] = -v[0]  # error: `-` does not take f8e4m3x2, which is only stored
        a[0] += 1  # error: `+` does not take f8e4m3, which is only stored

    check_errors(k)


def test_conversions_are_casts():
    @kernel
    def k(a: Ptr[f8e4m3], b: Ptr[f8e5m2], x: Ptr[f32], i: i32):
        a[0] = x[0]  # error: this is f32, but `a` takes f8e4m3 # hint: cast it: f8e4m3(x[0])
        x[0] = a[0]  # error: this is f8e4m3, but `x` takes f32 # hint: cast it: f32(a[0])
        a[0] = b[0]  # error: this is f8e5m2, but `a` takes f8e4m3
        a[0] = i  # error: this is i32, but `a` takes f8e4m3
        a[0] = 465.0  # error: 465.0 does not fit f8e4m3 # hint: the largest f8e4m3 is 448; f8e4m3(465.0) gives it
        a[0] = math.inf  # error: this constant does not fit f8e4m3
        b[0] = 61440  # error: 61440 does not fit f8e5m2

    check_errors(k)


def test_functions():
    @kernel
    def k(a: Ptr[f8e4m3], v: Ptr[f8e4m3x2], x: Ptr[f32], i: i32):
        x[0] = math.sqrt(a[0])  # error: math.sqrt() takes f32 or f64, and this is f8e4m3
        v[0] = fma(v[0], v[0], v[0])  # error: fma() does not take f8e4m3x2, which is only stored
        atomic.add(a, 0, 1)  # error: atomic.add() takes elements of i16, u16, i32, u32, i64, u64, f16, bf16, f32,
        #   f64, and these are f8e4m3 # hint: no GPU has atomics of 8 bits: make the elements u16 or u32
        print(f"{a[0]}")  # error: print() does not take f8e4m3, which is only stored: convert it with f32(...)
        x[a[0]] = 1  # error: an index is an int, and this is f8e4m3
        y = asm("add.u16 {d}, {b}, {b};", b=a[0], out=u16)  # error: `b` is f8e4m3, and `add.u16` takes an int of 16
        #   bits here

    check_errors(k)


def test_parameters():
    @kernel
    def k(x: Ptr[f16], y: f8e4m3):  # error: `y` is f8e4m3, which a kernel cannot take
        #   # hint: pass an f32, and convert it in the kernel
        x[0] = f16(y)

    check_errors(k)
