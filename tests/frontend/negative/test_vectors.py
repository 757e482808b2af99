"""Mistakes with vectors, each with what to write instead."""

# mypy: ignore-errors

from __future__ import annotations

import math

import numpy as np

from kdsl import (
    FULL_MASK,
    Constexpr,
    Ptr,
    atomic,
    bitcast,
    constant,
    f8e4m3x4,
    f32,
    f32x2,
    f32x4,
    f64,
    fma,
    i32,
    i32x4,
    kernel,
    load,
    shfl_sync,
    u8x4,
    u32,
)

from ..harness import check_errors

PAIR = (1, 2)
ROW = np.ones(4, np.float32)
ROWS = np.ones((2, 4), np.float32)


def test_operators():
    @kernel
    def k(p: Ptr[f32x4], q: Ptr[i32x4], h: Ptr[u8x4], x: f32, n: i32, d: f64):
        v = p[0]
        w = q[0]
        b = h[0]
        if v == v:  # error: a test takes numbers, and this is tuple[bool, bool, bool, bool]
            #   # hint: all(v == v), any(v == v)
            pass
        if v:  # error: a test takes numbers, and this is f32x4 # hint: take its components: v.x
            pass
        r1 = v < v < v  # error: this compares vectors, which gives a bool for each lane # hint: test each: all(v == w)
        r2 = v not in (v, v)  # error: this compares vectors, which gives a bool for each lane
        r3 = v // v.xy  # error: f32x4 and f32x2 have not as many components
        r4 = w**-1  # error: an int has no negative power # hint: write f32(w) ** ...
        r5 = n << w  # error: `<<` moves the bits of its left operand, which is no vector
        r6 = v << 1  # error: `<<` takes ints or bools, and this is f32
        r20 = w << v  # error: `<<` takes ints or bools, and this is f32
        r21 = w == v  # error: i32x4 and f32x4 have no common type # hint: convert one: i32x4(v)
        r22 = w << q[0].xy  # error: i32x4 and i32x2 have not as many components
        r7 = v & v  # error: `&` is no operator of f32x4 # hint: take the bits of each component: bitcast(v.x, u32)
        r8 = ~v  # error: `~` is no operator of f32x4 # hint: take the bits of each component: bitcast(v.x, u32)
        r9 = v + w  # error: f32x4 and i32x4 have no common type # hint: convert one: f32x4(w)
        r10 = v + v.xy  # error: f32x4 and f32x2 have not as many components
        r11 = v + d  # error: this is f64, and `+` takes f32x4 or f32 # hint: cast it: f32(d)
        r12 = w + 1.5  # error: this is a float literal, and `+` takes i32x4 or i32
        r13 = x * w  # error: this is f32, and `*` takes i32x4 or i32 # hint: cast it: i32(x)
        r14 = b + 300  # error: 300 does not fit u8, which holds 0 to 255 # hint: write u8(300) to keep the low bits
        r15 = b + n  # error: this is i32, and `+` takes u8x4 or u8 # hint: cast it: u8(n)
        r16 = fma(w, w, w)  # error: fma() takes floats, and this is i32x4 # hint: write a * b + c
        r17 = math.isnan(v)  # error: math.isnan() of a vector gives no vector
        #   # hint: take its components: math.isnan(v.x)
        r18 = v if n > 0 else w  # error: the two arms are f32x4 and i32x4 # hint: convert one: f32x4(...)
        r19 = v + PAIR  # error: this is tuple[i32, i32], and `+` takes f32x4 or f32

    check_errors(k)


def test_components():
    def changed(v):
        return v

    @kernel
    def k(p: Ptr[f32x4], n: i32, d: f64):
        v = p[0]
        u = v.xy
        r1 = v.r  # error: f32x4 has no component `r`
        #   # hint: its components are x, y, z and w; up to four of them make another vector: v.wzyx
        r2 = u.z  # error: f32x2 has no component `z`
        #   # hint: its components are x and y; up to four of them make another vector: v.yx
        r3 = v.xyzwx  # error: f32x4 has no component `xyzwx`
        r4 = v[4]  # error: index 4 is out of range: f32x4 has 4 components
        r5 = v[-1]  # error: index -1 is out of range: f32x4 has 4 components
        r6 = v[n]  # error: a vector is indexed with a constant # hint: a local.array(4, f32) is indexed at run time
        r7 = v[0:2]  # error: a vector has no slices # hint: name the components: v.xy
        v.xyx = v.xyz  # error: `v.xyx` names the component `x` twice # hint: name each once
        v.xy = v  # error: this is f32x4, but `v.xy` takes f32x2
        v.zw = 1.0  # error: this is f32, but `v.zw` takes f32x2 # hint: convert it: f32x2(1.0)
        v.xr = u  # error: f32x4 has no component `xr`
        u.xz += u  # error: f32x2 has no component `xz`
        v.xy += d  # error: this is f64, and `+` takes f32x2 or f32 # hint: cast it: f32(d)
        v.yy += 1.0  # error: `v.yy` names the component `y` twice # hint: name each once
        changed(v).xy = u  # error: `changed(v)` is no variable of this function, and no element of an array
        #   # hint: bind it to a name first: v = changed(v)
        v.x = d  # error: this is f64, but `v.x` takes f32 # hint: cast it: f32(d)
        v.q += 1.0  # error: f32x4 has no component `q`
        changed(v).x = 1.0  # error: `changed(v)` is no variable of this function, and no element of an array
        #   # hint: bind it to a name first: v = changed(v)
        for t in (v, v):
            t.x = 1.0  # error: `t` is no variable of this function, and no element of an array
        a, b, c = v  # error: 4 values are unpacked to 3 names

    check_errors(k)


def test_a_nested_function_cannot_change_a_vector_around_it():
    @kernel
    def k(p: Ptr[f32x4]):
        v = p[0]

        def change():
            v.x = 1.0  # error: `v` is no variable of this function, and no element of an array
            #   # hint: bind it to a name first: v = v
            return v.y

        p[1].x = change()

    check_errors(k)


def test_construction_and_conversion():
    @kernel
    def k(p: Ptr[f32x4], out: Ptr[f32]):
        v = p[0]
        r1 = f32x4(1.0, 2.0)  # error: f32x4() has 4 components, and this gives 2 components
        #   # hint: f32x4(a, b, c, d)
        r2 = f32x4(v, 1.0)  # error: f32x4() has 4 components, and this gives 5 components
        r3 = f32x4()  # error: f32x4() has 4 components, and this gives 0 components
        r4 = f32x4(x=1.0)  # error: f32x4() takes its components in order, not by name
        r5 = f32x4(p)  # error: f32x4() takes scalars and vectors, and this is Ptr[f32x4]
        r6 = f32x2(v)  # error: f32x2() of f32x4, which has 4 components # hint: f32x2(v.xy)
        r7 = f32x4(v.xy)  # error: f32x4() of f32x2, which has 2 components # hint: f32x4(v.xy, c, d)
        r8 = u8x4(-1)  # error: -1 does not fit u8, which holds 0 to 255 # hint: write u8(-1) to keep the low bits
        r9 = i32x4(1.5)  # error: this is a float literal, and i32x4() takes i32 # hint: write an int
        p[0] = 1.0  # error: this is f32, but `p` takes f32x4 # hint: convert it: f32x4(1.0)
        p[0] = i32x4(v)  # error: this is i32x4, but `p` takes f32x4 # hint: convert it: f32x4(i32x4(v))
        out[0] = v  # error: this is f32x4, but `out` takes f32 # hint: take its components: v.x
        r10 = f32(v)  # error: f32() takes numbers, and this is f32x4 # hint: take its components: v.x

    check_errors(k)


def test_what_takes_no_vector():
    def changed(v):
        return v

    @kernel
    def k(p: Ptr[f32x4], n: i32):
        v = p[0]
        print(f"{v:.2f}")  # error: `.2f` is no format for a vector # hint: print its components: {v.x:.2f}
        atomic.max(p, 0, v)  # error: atomic.max() takes elements of i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64,
        #   and these are f32x4 # hint: take a component's address: bitcast(p, Ptr[f32])
        r2 = shfl_sync(FULL_MASK, (v, p), 0)  # error: shfl_sync() takes bool, i8, i16, i32, i64, u8, u16, u32, u64,
        #   f16, bf16, f32 or f64, and this is tuple[f32x4, Ptr[f32x4]]
        r3 = bitcast(v, u32)  # error: bitcast() makes scalars of scalars and pointers of pointers, not u32 of f32x4
        #   # hint: take its components: v.x
        r4 = constant.array(f32x4)  # error: constant.array() takes a NumPy array of the host
        r5 = p[v]  # error: an index is an int, and this is f32x4
        r6 = len(p[0] + changed(v))  # error: len() of a vector does not evaluate it # hint: bind it to a name first
        r7 = max(*changed(v))  # error: `*` takes a vector apart, and calls in it would be made again
        #   # hint: name it: t = changed(v)
        r8 = v + ROW  # error: this is a Python object, and `+` takes f32x4 or f32 # hint: write f32x4(ROW)
        p[0] = ROW  # error: `ROW` (a NumPy array of the host) is not a value that a kernel computes with
        #   # hint: f32x4(ROW) is a vector of what it holds
        r10 = f32x4(ROWS)  # error: f32x4() takes scalars and vectors, and this is an array of the host of shape (2, 4)
        #   # hint: constant.array() makes an array of it

    check_errors(k)


def test_a_kernel_takes_no_vector_of_8_bit_floats_by_value():
    @kernel
    def k(
        v: f8e4m3x4,  # error: `v` is f8e4m3x4, which a kernel cannot take
        #   # hint: pass an f32x4, and convert it in the kernel
    ):
        pass

    check_errors(k)


def test_components_are_known_with_types_only():
    @kernel
    def k(x, v, n: Constexpr[int]):
        v.x = 1.0
        v.w += 1.0
        nonsense()  # error: `nonsense` is not defined

    from kdsl import CompileError

    try:
        k.check()
    except CompileError as error:
        assert [d.message for d in error.diagnostics] == ["`nonsense` is not defined"]
    else:
        raise AssertionError
