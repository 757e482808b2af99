"""Mistakes about types: each is reported once, where it is, with the cast or the spelling that helps."""

from __future__ import annotations

from kdsl import Array, Ptr, bf16, f16, f32, f64, i8, i32, i64, kernel, u8, u32

from .harness import check_errors


def test_a_variable_keeps_one_type():
    @kernel
    def k(x: Ptr[f32], i: i32, n: i32):
        acc = i32(0)
        acc = x[i] * 2.0  # error: `acc` is f32 here but i32 at line {-1} (`acc = i32(0)`); a variable keeps one type
        # hint: start it as a literal, which takes the type it meets: acc = 0
        total = 0.0
        total = n  # error: `total` is i32 here but f32 at line {-1} (`total = 0.0`); a variable keeps one type
        # hint: cast it: total = f32(n)
        flag = i > 0
        flag = 1  # error: `flag` is an int literal (i32) here but bool at line {-1} (`flag = i > 0`); a variable
        #   keeps one type
        n = x[0]  # error: this is f32, but `n` takes i32 # hint: cast it: i32(x[0])
        for q in range(n):
            pass
        q = 2.5  # error: `q` is a float literal (f32) here but i32 at line {-2} (`for q in range(n):`); a variable
        #   keeps one type

    check_errors(k)


def test_what_depends_on_a_mistake_is_not_reported_again():
    @kernel
    def k(x: Ptr[f32], n: i32, u: u32):
        a = n + u  # error: i32 and u32 have no common type # hint: cast one: u32(n) or i32(u)
        b = a * 2
        x[b] = a + b
        for i in range(a):
            x[i] = b
        c = nothing  # error: `nothing` is not defined
        c += 1
        if c > b:
            x[c] = c.y

    check_errors(k)


def test_operands_without_a_common_type():
    @kernel
    def k(x: Ptr[f32], i: i32, u: u32, l: i64, h: f16, b: bf16, s: i8, w: u8):
        i * u  # error: i32 and u32 have no common type
        i < u  # error: i32 and u32 have no common type
        h - b  # error: f16 and bf16 have no common type # hint: cast both: f32(h) and f32(b)
        max(i, u)  # error: i32 and u32 have no common type
        s + u  # error: i8 and u32 have no common type # hint: cast one: u32(s) or i32(u)
        i if i > 0 else u  # error: i32 and u32 have no common type
        x * 2  # error: `*` does not take a pointer # hint: index it instead: p[i]; atomics take (p, i, value)
        (i, l) + 1  # error: `+` takes numbers, and this is tuple[i32, i64] # hint: take its elements: x, y = ...
        "a" + i  # error: the string 'a' is not a number: `+` takes numbers
        h & 1  # error: `&` takes ints or bools, and this is f16 # hint: for its bits: bitcast(h, u16)
        ~x[0]  # error: `~` takes ints or bools, and this is f32 # hint: for its bits: bitcast(x[0], u32)
        1 << h  # error: `<<` takes ints or bools, and this is f16
        not h  # error: this is f16; a test takes a bool or an int # hint: say what is tested: h != 0.0
        i @ i  # error: a kernel has no `@`
        w + s
        i + l + s

    check_errors(k)


def test_what_is_stored_needs_a_cast():
    @kernel
    def k(x: Ptr[f32], y: Array[f64, 2], h: Ptr[f16], c: Ptr[u8], i: i32, u: u32, d: f64, flags: Ptr[bool]):
        x[0] = d  # error: this is f64, but `x` takes f32 # hint: cast it: f32(d)
        x[0] = i
        h[0] = x[0]  # error: this is f32, but `h` takes f16 # hint: cast it: f16(x[0])
        c[0] = c[1] + 1  # error: this is i32, but `c` takes u8 # hint: cast it: u8(c[1] + 1)
        c[0] += 1
        y[0, 1] += i
        x[1] += d  # error: this is f64, but `x` takes f32 # hint: cast it: f32(d)
        flags[0] = i  # error: this is i32, but `flags` takes bool # hint: cast it: bool(i)
        flags[1] = 1  # error: 1 is a number where a bool is needed # hint: write True
        u = i  # error: this is i32, but `u` takes u32 # hint: cast it: u32(i)
        total: f32 = d  # error: this is f64, but `total` takes f32 # hint: cast it: f32(d)
        x[0] = (1, 2)  # error: this is tuple[i32, i32], but `x` takes f32
        x[0] = None  # error: None is not a value that a kernel computes with

    check_errors(k)


def test_literals_that_do_not_fit():
    @kernel
    def k(x: Ptr[f32], c: Ptr[u8], h: Ptr[f16], i: i32, u: u32):
        u = -1  # error: -1 does not fit u32, which holds 0 to 4294967295 # hint: write u32(-1) to keep the low bits
        i = 5000000000  # error: 5000000000 does not fit i32, which holds -2147483648 to 2147483647
        #   # hint: write i64(5000000000), or i32(5000000000) to keep the low bits
        c[0] = 256  # error: 256 does not fit u8, which holds 0 to 255 # hint: write u8(256) to keep the low bits
        u < -1  # error: -1 does not fit u32, which holds 0 to 4294967295
        h[0] = 100000  # error: 100000 does not fit f16
        x[0] = 1e39  # error: 1e+39 does not fit f32 # hint: the largest f32 is about 3.4e38; use f64
        i = 0.5  # error: 0.5 is a float literal where i32 is needed # hint: write an int, or cast it: i32(0.5)
        i += 0.5  # error: this is f32, but `i` takes i32 # hint: cast it: i32(0.5)
        c[0] + 300
        f32(1e39)  # error: 1e+39 does not fit f32
        y = 2**70
        x[0] = y
        i = y  # error: 1180591620717411303424 does not fit i32, which holds -2147483648 to 2147483647

    check_errors(k)


def test_constants_that_python_cannot_compute():
    @kernel
    def k(i: i32):
        a = 1 // 0  # error: this constant divides by zero
        b = 2**5000  # error: this constant is too large
        c = 1 << -1  # error: this constant cannot be computed: negative shift count
        d = 1.5 & 1  # error: this constant cannot be computed: unsupported operand type(s) for &: 'float' and 'int'
        e = (-1.0) ** 0.5  # error: this constant is (6.123233995736766e-17+1j), not a real number
        f = i**-1  # error: an int has no negative power # hint: write f32(i) ** ...
        g = i << -1  # error: a shift by a negative amount
        h = 2**-1  # error: an int has no negative power here; write a float base
        j = 10.0**1000  # error: this constant is too large

    check_errors(k)


def test_values_that_a_kernel_does_not_have():
    @kernel
    def k(x: Ptr[f32]):
        b = b"x"  # error: a kernel has no bytes
        c = ...  # error: `...` is no value in a kernel
        e = {1: 2}  # error: a kernel has no dicts
        f = {1, 2}  # error: a kernel has no sets
        g = f"{x}"  # error: an f-string is only for print() and assert
        h = x[1:]  # error: `x` is a Ptr, whose end nobody knows
        x[0] = "text"  # error: the string 'text' is not a value that a kernel computes with
        i = [y for y in x]  # error: a comprehension runs over what is known while the kernel is compiled, and this is
        #   Ptr[f32]

    check_errors(k)
