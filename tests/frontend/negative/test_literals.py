"""Literals that do not fit, and constants that cannot be computed."""

from __future__ import annotations

import math

import numpy as np

from kdsl import FULL_MASK, Ptr, atomic, bf16, f16, f32, i8, i16, i32, i64, kernel, shfl_sync, u8, u16, u32, u64

from ..harness import check_errors

BIG = 2**40
NUMPY_INT = np.int32(3)
NUMPY_DOUBLE = np.float64(1.5)
NUMPY_U64 = np.uint64(2**63)
NUMPY_BOOL = np.bool_(True)


def test_too_large_for_small_ints():
    @kernel
    def k(n: i32):
        w8: u8 = 256  # error: 256 does not fit u8, which holds 0 to 255 # hint: write u8(256) to keep the low bits
        s8: i8 = -129  # error: -129 does not fit i8, which holds -128 to 127
        #   # hint: write i8(-129) to keep the low bits
        s8 = 128  # error: 128 does not fit i8, which holds -128 to 127 # hint: write i8(128) to keep the low bits
        s16: i16 = 32768  # error: 32768 does not fit i16, which holds -32768 to 32767
        #   # hint: write i16(32768) to keep the low bits
        w16: u16 = -1  # error: -1 does not fit u16, which holds 0 to 65535 # hint: write u16(-1) to keep the low bits

    check_errors(k)


def test_too_large_for_wide_ints():
    @kernel
    def k(n: i32):
        w32: u32 = 2**32  # error: 4294967296 does not fit u32, which holds 0 to 4294967295
        #   # hint: write i64(4294967296), or u32(4294967296) to keep the low bits
        s32: i32 = 2**31  # error: 2147483648 does not fit i32, which holds -2147483648 to 2147483647
        #   # hint: write i64(2147483648), or i32(2147483648) to keep the low bits
        s64: i64 = 2**63  # error: 9223372036854775808 does not fit i64, which holds -9223372036854775808 to
        #   9223372036854775807 # hint: write i64(9223372036854775808) to keep the low bits
        w64: u64 = 2**64  # error: 18446744073709551616 does not fit u64, which holds 0 to 18446744073709551615
        w64 = -1  # error: -1 does not fit u64, which holds 0 to 18446744073709551615
        #   # hint: write u64(-1) to keep the low bits

    check_errors(k)


def test_too_large_for_floats():
    @kernel
    def k(x: Ptr[f32], f: f32):
        half: f16 = 65520  # error: 65520 does not fit f16
        brain: bf16 = 3.4e38  # error: 3.4e+38 does not fit bf16
        single: f32 = 1e39  # error: 1e+39 does not fit f32 # hint: the largest f32 is about 3.4e38; use f64
        x[0] = 1e39  # error: 1e+39 does not fit f32
        f = -1e39  # error: -1e+39 does not fit f32
        f += 1e39  # error: 1e+39 does not fit f32

    check_errors(k)


def test_no_bool():
    @kernel
    def k(b: bool):
        flag: bool = 1  # error: 1 is a number where a bool is needed # hint: write True
        flag = 0.5  # error: 0.5 is a number where a bool is needed
        b = 1  # error: 1 is a number where a bool is needed
        b = 0  # error: 0 is a number where a bool is needed # hint: write False

    check_errors(k)


def test_floats_where_ints_are_needed():
    @kernel
    def k(y: Ptr[i32], n: i32):
        i: i32 = 1.0  # error: 1.0 is a float literal where i32 is needed # hint: write an int, or cast it: i32(1.0)
        n = 0.5  # error: 0.5 is a float literal where i32 is needed # hint: write an int, or cast it: i32(0.5)
        y[0] = 1.5  # error: 1.5 is a float literal where i32 is needed # hint: write an int, or cast it: i32(1.5)
        y[1] = math.nan  # error: nan is a float literal where i32 is needed # hint: write an int, or cast it: i32(nan)
        i += 0.5  # error: this is f32, but `i` takes i32 # hint: cast it: i32(0.5)

    check_errors(k)


def test_operands():
    @kernel
    def k(n: i32, u: u32, f: f32, h: f16, l: i64):
        n + 2**31  # error: 2147483648 does not fit i32, which holds -2147483648 to 2147483647
        n + 2**40  # error: 1099511627776 does not fit i32, which holds -2147483648 to 2147483647
        u + 2**32  # error: 4294967296 does not fit u32, which holds 0 to 4294967295
        u - (-1)  # error: -1 does not fit u32, which holds 0 to 4294967295 # hint: write u32(-1) to keep the low bits
        u == -1  # error: -1 does not fit u32, which holds 0 to 4294967295
        l + 2**63  # error: 9223372036854775808 does not fit i64, which holds -9223372036854775808 to
        #   9223372036854775807
        h + 1e6  # error: 1000000.0 does not fit f16
        f * 1e39  # error: 1e+39 does not fit f32
        n < 2**35  # error: 34359738368 does not fit i32, which holds -2147483648 to 2147483647
        #   # hint: write i64(34359738368), or i32(34359738368) to keep the low bits
        n ^ 0xFFFFFFFF  # error: 4294967295 does not fit i32, which holds -2147483648 to 2147483647
        #   # hint: write i64(4294967295), or i32(4294967295) to keep the low bits
        u & -1  # error: -1 does not fit u32, which holds 0 to 4294967295
        n if n else 2**40  # error: 1099511627776 does not fit i32, which holds -2147483648 to 2147483647

    check_errors(k)


def test_index_that_no_type_holds():
    @kernel
    def k(x: Ptr[f32]):
        x[2**70] = 1  # error: 1180591620717411303424 does not fit u64, which holds 0 to 18446744073709551615

    check_errors(k)


def test_ranges():
    @kernel
    def k(n: i32):
        for i in range(2**64):  # error: 18446744073709551616 does not fit u64, which holds 0 to 18446744073709551615
            pass
        for j in range(n, 2**40):  # error: 1099511627776 does not fit i32, which holds -2147483648 to 2147483647
            pass
        for k in range(0, n, 2**31):  # error: 2147483648 does not fit i32, which holds -2147483648 to 2147483647
            pass

    check_errors(k)


def test_captured_numbers():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32, h: f16, b: bool):
        y[0] = BIG  # error: 1099511627776 does not fit i32, which holds -2147483648 to 2147483647
        y[1] = NUMPY_DOUBLE  # error: this is f64, but `y` takes i32 # hint: cast it: i32(NUMPY_DOUBLE)
        y[2] = NUMPY_U64  # error: this is u64, but `y` takes i32 # hint: cast it: i32(NUMPY_U64)
        x[0] = NUMPY_DOUBLE  # error: this is f64, but `x` takes f32 # hint: cast it: f32(NUMPY_DOUBLE)
        h = NUMPY_DOUBLE  # error: this is f64, but `h` takes f16 # hint: cast it: f16(NUMPY_DOUBLE)
        b = NUMPY_INT  # error: this is i32, but `b` takes bool # hint: cast it: bool(NUMPY_INT)
        n + NUMPY_U64  # error: i32 and u64 have no common type # hint: cast one: u64(n) or i32(NUMPY_U64)

    check_errors(k)


def test_arguments():
    @kernel
    def k(y: Ptr[i32], n: i32):
        shfl_sync(FULL_MASK, n, -1)  # error: -1 does not fit u32, which holds 0 to 4294967295
        shfl_sync(-1, n, 0)  # error: -1 does not fit u32, which holds 0 to 4294967295
        shfl_sync(2**32, n, 0)  # error: 4294967296 does not fit u32, which holds 0 to 4294967295
        atomic.add(y, 0, 2**40)  # error: 1099511627776 does not fit i32, which holds -2147483648 to 2147483647
        atomic.add(y, 0, 1.5)  # error: 1.5 is a float literal where i32 is needed
        atomic.cas(y, 0, 1.5, 2)  # error: 1.5 is a float literal where i32 is needed

    check_errors(k)


def test_divisions_by_zero():
    @kernel
    def k(n: i32):
        1 // 0  # error: this constant divides by zero
        1 % 0  # error: this constant divides by zero
        1 / 0  # error: this constant divides by zero
        1.0 / 0  # error: this constant divides by zero
        1.0 // 0  # error: this constant divides by zero
        1.0 % 0.0  # error: this constant divides by zero
        divmod(1, 0)  # error: this constant divides by zero

    check_errors(k)


def test_powers():
    @kernel
    def k(y: Ptr[i32], n: i32, u: u32):
        2**-1  # error: an int has no negative power here; write a float base
        n**-1  # error: an int has no negative power # hint: write f32(n) ** ...
        u**-1  # error: an int has no negative power # hint: write f32(u) ** ...
        pow(2, -1)  # error: an int has no negative power here; write a float base
        pow(n, -1)  # error: an int has no negative power
        y[0] **= -1  # error: an int has no negative power # hint: write f32(y[0]) ** ...

    check_errors(k)


def test_shifts():
    @kernel
    def k(n: i32, u: u32):
        1 << -1  # error: this constant cannot be computed: negative shift count
        1 >> -1  # error: this constant cannot be computed: negative shift count
        n << -1  # error: a shift by a negative amount # hint: shift the other way
        n >> -1  # error: a shift by a negative amount
        u >> -2  # error: a shift by a negative amount
        1.5 << 1  # error: this constant cannot be computed: unsupported operand type(s) for <<: 'float' and 'int'
        1 << 1.5  # error: this constant cannot be computed: unsupported operand type(s) for <<: 'int' and 'float'
        1 << 2**20  # error: this constant is too large

    check_errors(k)


def test_too_large_to_compute():
    @kernel
    def k(n: i32):
        10**5000  # error: this constant is too large
        9**9**9  # error: this constant is too large
        2.0**10000  # error: this constant is too large
        math.exp(1000)  # error: this constant is too large
        1 << 5000  # error: this constant is too large

    check_errors(k)


def test_casts_that_floats_do_not_take():
    @kernel
    def k(n: i32):
        f16(1e9)  # error: 1000000000.0 does not fit f16
        bf16(1e39)  # error: 1e+39 does not fit bf16
        f32(1e39)  # error: 1e+39 does not fit f32
        f32(10**400)  # error: this constant is too large

    check_errors(k)
