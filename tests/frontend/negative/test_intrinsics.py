"""Calls of intrinsics and mathematical functions that do not fit."""

from __future__ import annotations

import math

from kdsl import (
    FULL_MASK,
    Array,
    Ptr,
    active_mask,
    all_sync,
    any_sync,
    ballot_sync,
    bitcast,
    block_idx,
    f16,
    f32,
    f64,
    fast,
    fence,
    fma,
    grid,
    gridsize,
    i32,
    kernel,
    lane_id,
    rsqrt,
    shfl_sync,
    shfl_xor_sync,
    sync_threads,
    sync_threads_and,
    sync_threads_count,
    sync_threads_or,
    sync_warp,
    thread_idx,
    u32,
    u64,
    warp_size,
)

from ..harness import check_errors

KEY = "warp"


def test_grid():
    @kernel
    def k(n: i32):
        grid()  # error: grid() needs `ndim`
        grid(0)  # error: `ndim` takes 1 or 2 or 3, known while the kernel is compiled
        grid(4)  # error: `ndim` takes 1 or 2 or 3, known while the kernel is compiled
        grid(n)  # error: `ndim` takes 1 or 2 or 3, known while the kernel is compiled
        grid(1.0)  # error: `ndim` takes 1 or 2 or 3, known while the kernel is compiled
        grid("1")  # error: `ndim` takes 1 or 2 or 3, known while the kernel is compiled
        grid(1, 2)  # error: grid() takes 1 argument (ndim), and this gives 2
        grid(ndim=5)  # error: `ndim` takes 1 or 2 or 3, known while the kernel is compiled
        gridsize(4)  # error: `ndim` takes 1 or 2 or 3, known while the kernel is compiled
        grid(1).x  # error: `grid(1)` is i32, which has no attribute `x`
        grid(2) + 1  # error: `+` takes numbers, and this is tuple[i32, i32]

    check_errors(k)


def test_index_functions_are_called():
    @kernel
    def k(x: Ptr[f32]):
        x[0] = lane_id  # error: the function `lane_id` is not a value that a kernel computes with
        #   # hint: call it: lane_id(...)
        x[1] = lane_id + 1  # error: the function `lane_id` is not a number: `+` takes numbers
        x[2] = grid  # error: the function `grid` is not a value that a kernel computes with
        # hint: call it: grid(...)
        lane_id(1)  # error: lane_id() takes 0 arguments, and this gives 1
        warp_size()  # error: `warp_size` is an int literal (i32), not a function
        thread_idx.x()  # error: `thread_idx.x` is i32, not a function
        block_idx.w  # error: `block_idx` has no attribute `w` # hint: it has x, y and z

    check_errors(k)


def test_shuffles():
    @kernel
    def k(n: i32, f: f32):
        shfl_sync()  # error: shfl_sync() needs `mask` and `value` and `lane`
        # hint: it takes mask, value, lane, width; the mask comes first: shfl_sync(FULL_MASK, value, lane)
        shfl_sync(FULL_MASK, n)  # error: shfl_sync() needs `lane`
        shfl_sync(FULL_MASK, n, f)  # error: this is f32, but `lane` takes u32 # hint: cast it: u32(f)
        shfl_sync(f, n, 0)  # error: this is f32, but `mask` takes u32
        shfl_sync(FULL_MASK, n, 0, undefined=1)  # error: shfl_sync() has no parameter `undefined`
        shfl_sync(FULL_MASK, n, 0, 32, 5)  # error: shfl_sync() takes 3 to 4 arguments (mask, value, lane, width), and
        #   this gives 5
        shfl_xor_sync(FULL_MASK, n, 1, mask=1)  # error: shfl_xor_sync() got `mask` twice

    check_errors(k)


def test_votes():
    @kernel
    def k(x: Ptr[f32], n: i32, f: f32):
        all_sync(FULL_MASK)  # error: all_sync() needs `predicate`
        # hint: it takes mask, predicate; the mask comes first: all_sync(FULL_MASK, predicate)
        all_sync(FULL_MASK, f)  # error: this is f32, but `predicate` takes bool # hint: cast it: bool(f)
        all_sync(FULL_MASK, x)  # error: this is Ptr[f32], but `predicate` takes bool
        any_sync(FULL_MASK, n > 0, 1)  # error: any_sync() takes 2 arguments (mask, predicate), and this gives 3
        ballot_sync(FULL_MASK, None)  # error: None is not a value that a kernel computes with
        active_mask(1)  # error: active_mask() takes 0 arguments, and this gives 1
        n + active_mask()  # error: i32 and u32 have no common type # hint: cast one: u32(n) or i32(active_mask())

    check_errors(k)


def test_barriers():
    @kernel
    def k(x: Ptr[f32], f: f32):
        sync_threads(1)  # error: sync_threads() takes 0 arguments, and this gives 1
        sync_threads(x=1)  # error: sync_threads() has no parameter `x`
        sync_threads  # error: the function `sync_threads` is not a value that a kernel computes with
        #   # hint: call it: sync_threads(...)
        sync_threads_count()  # error: sync_threads_count() needs `predicate`
        sync_threads_count(f)  # error: this is f32, but `predicate` takes bool
        sync_threads_and(x)  # error: this is Ptr[f32], but `predicate` takes bool
        sync_threads_or("a")  # error: the string 'a' is not a value that a kernel computes with
        sync_warp(f)  # error: this is f32, but `mask` takes u32
        sync_warp(1, 2)  # error: sync_warp() takes 0 to 1 arguments (mask), and this gives 2

    check_errors(k)


def test_barriers_have_no_value():
    @kernel
    def k(x: Ptr[f32]):
        x[0] = sync_threads()  # error: `sync_threads()` returns no value # hint: call it in a statement of its own
        q = sync_warp()  # error: `sync_warp()` returns no value
        if sync_threads():  # error: `sync_threads()` returns no value
            pass
        sync_threads() + 1  # error: `sync_threads()` returns no value
        print(fence())  # error: `fence()` returns no value

    check_errors(k)


def test_fences():
    @kernel
    def k(n: i32):
        fence(1)  # error: `scope` takes 'block' or 'cluster' or 'gpu' or 'system', known while the kernel is compiled
        fence("device")  # error: `scope` takes 'block' or 'cluster' or 'gpu' or 'system', known while the kernel is
        #   compiled
        fence(n)  # error: `scope` takes 'block' or 'cluster' or 'gpu' or 'system', known while the kernel is compiled
        fence(KEY)  # error: `scope` takes 'block' or 'cluster' or 'gpu' or 'system', known while the kernel is compiled
        fence(scope="gpu", undefined=1)  # error: fence() has no parameter `undefined` # hint: it takes scope

    check_errors(k)


def test_math_arguments():
    @kernel
    def k(x: Ptr[f32], a: Array[f32, 2], f: f32):
        math.sin()  # error: math.sin() needs `x`
        math.sin(1, 2)  # error: math.sin() takes 1 argument (x), and this gives 2
        math.sin(x)  # error: math.sin() takes f32 or f64, and this is Ptr[f32]
        math.sin("a")  # error: math.sin() takes f32 or f64, and this is the string 'a'
        math.sin(None)  # error: math.sin() takes f32 or f64, and this is None
        math.sin(f32)  # error: math.sin() takes f32 or f64, and this is the type `f32`
        math.sin(a)  # error: math.sin() takes f32 or f64, and this is Array[f32, 2]
        math.sin((1, 2))  # error: math.sin() takes f32 or f64, and this is tuple[i32, i32]
        math.sqrt(f, f)  # error: math.sqrt() takes 1 argument (x), and this gives 2
        math.pow(f)  # error: math.pow() needs `y` # hint: it takes x, y
        math.atan2(f)  # error: math.atan2() needs `x` # hint: it takes y, x
        math.log(f, 2)  # error: math.log() takes no base in a kernel
        #   # hint: math.log2(x), math.log10(x), or math.log(x) / math.log(base)
        math.ldexp(f, f)  # error: this is f32, but `n` takes i32 # hint: cast it: i32(f)
        math.exp(*x)  # error: `*` takes a tuple apart, and this is Ptr[f32] # hint: write each argument
        math.exp(f, undefined=1)  # error: math.exp() has no parameter `undefined` # hint: it takes x

    check_errors(k)


def test_math_results():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32, d: f64, f: f32, h: f16):
        y[0] = math.sin(f)  # error: this is f32, but `y` takes i32 # hint: cast it: i32(math.sin(f))
        x[0] = math.sin(d)  # error: this is f64, but `x` takes f32 # hint: cast it: f32(math.sin(d))
        n = math.sqrt(n)  # error: this is f32, but `n` takes i32 # hint: cast it: i32(math.sqrt(n))
        h = math.exp(h)  # error: this is f32, but `h` takes f16 # hint: cast it: f16(math.exp(h))
        math.sin(f)(f)  # error: `math.sin(f)` is f32, not a function
        math.sin(f).real  # error: `math.sin(f)` is f32, which has no attribute `real`

    check_errors(k)


def test_math_that_the_device_does_not_have():
    @kernel
    def k(n: i32, f: f32):
        math.factorial(n)  # error: `math.factorial` has no counterpart on the device
        math.gcd(n, n)  # error: `math.gcd` has no counterpart on the device
        math.comb(n, n)  # error: `math.comb` has no counterpart on the device
        math.fsum((1, 2))  # error: `math.fsum` has no counterpart on the device
        math.isclose(f, f)  # error: `math.isclose` has no counterpart on the device
        math.dist((1,), (2,))  # error: `math.dist` has no counterpart on the device

    check_errors(k)


def test_modules():
    @kernel
    def k(d: f64, f: f32):
        math.undefined(f)  # error: the module `math` has no attribute `undefined`
        math.pi()  # error: `math.pi` is a float literal (f32), not a function
        math.pi.real  # error: `math.pi` is a float literal (f32), which has no attribute `real`
        fast.undefined(f)  # error: the module `fast` has no attribute `undefined`
        fast(f)  # error: `fast` is a module, not a function that a kernel can call
        fast.sin(d)  # error: this is f64, but `x` takes f32 # hint: cast it: f32(d)

    check_errors(k)


def test_fma_and_rsqrt():
    @kernel
    def k(x: Ptr[f32], f: f32):
        fma(f, f)  # error: fma() needs `z` # hint: it takes x, y, z
        fma(f, f, f, f)  # error: fma() takes 3 arguments (x, y, z), and this gives 4
        fma(f, f, x)  # error: fma() takes f32 or f64, and this is Ptr[f32]
        rsqrt()  # error: rsqrt() needs `x`
        rsqrt(x)  # error: rsqrt() takes f32 or f64, and this is Ptr[f32]
        rsqrt("a")  # error: rsqrt() takes f32 or f64, and this is the string 'a'

    check_errors(k)


def test_bitcasts():
    @kernel
    def k(f: f32):
        bitcast()  # error: bitcast() needs `value` and `dtype` # hint: it takes value, dtype
        bitcast(f)  # error: bitcast() needs `dtype`
        bitcast(f, u64)  # error: bitcast() keeps the bits: f32 and u64 differ in size
        #   # hint: a type of 32 bits, such as u32
        bitcast(f, 1)  # error: bitcast() takes a type here # hint: such as bitcast(x, u32)
        bitcast(f, "u32")  # error: bitcast() takes a type here
        bitcast(f, Array)  # error: bitcast() takes a type here
        bitcast(1.0, u64)  # error: bitcast() keeps the bits: f32 and u64 differ in size
        bitcast(f, u32, 1)  # error: bitcast() takes 2 arguments (value, dtype), and this gives 3
        bitcast(f, dtype=u32, undefined=1)  # error: bitcast() has no parameter `undefined`

    check_errors(k)


def test_bitcasts_of_pointers():
    @kernel
    def k(x: Ptr[f32], a: Array[f32, 2], f: f32):
        bitcast(x, u64)  # error: bitcast() makes scalars of scalars and pointers of pointers, not u64 of Ptr[f32]
        bitcast(f, Ptr[f32])  # error: bitcast() makes scalars of scalars and pointers of pointers, not Ptr[f32] of f32
        bitcast((1, 2), u64)  # error: bitcast() makes scalars of scalars and pointers of pointers, not u64 of
        #   tuple[i32, i32]
        bitcast(a, u32)  # error: bitcast() makes scalars of scalars and pointers of pointers, not u32 of Array[f32, 2]
        bitcast(x, Ptr[i32])[0] = 1.5  # error: 1.5 is a float literal where i32 is needed
        #   # hint: write an int, or cast it: i32(1.5)

    check_errors(k)
