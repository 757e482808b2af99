"""Operators on what they do not take, and operands without a common type."""

from __future__ import annotations

import math

from kdsl import Array, Ptr, atomic, bf16, f16, f32, f64, i8, i16, i32, i64, kernel, shared, thread_idx, u32, u64

from ..harness import check_errors


def test_floats_have_no_bits():
    @kernel
    def k(n: i32, d: f64, f: f32, h: f16):
        f & 1  # error: `&` takes ints or bools, and this is f32 # hint: for its bits: bitcast(f, u32)
        n & f  # error: `&` takes ints or bools, and this is f32
        n | 1.5  # error: `|` takes ints or bools, and this is a float literal # hint: write an int
        f ^ f  # error: `^` takes ints or bools, and this is f32
        ~f  # error: `~` takes ints or bools, and this is f32
        ~d  # error: `~` takes ints or bools, and this is f64 # hint: for its bits: bitcast(d, u64)
        h | h  # error: `|` takes ints or bools, and this is f16 # hint: for its bits: bitcast(h, u16)

    check_errors(k)


def test_floats_are_not_shifted():
    @kernel
    def k(n: i32, d: f64, f: f32):
        f << 1  # error: `<<` takes ints or bools, and this is f32
        n << f  # error: `<<` takes ints or bools, and this is f32
        n << 1.5  # error: `<<` takes ints or bools, and this is a float literal
        d >> n  # error: `>>` takes ints or bools, and this is f64
        1.5 << n  # error: `<<` takes ints or bools, and this is a float literal

    check_errors(k)


def test_floats_in_augmented_bit_operators():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32, f: f32):
        f &= 1  # error: `&` takes ints or bools, and this is f32
        f <<= 1  # error: `<<` takes ints or bools, and this is f32
        n <<= 1.5  # error: `<<` takes ints or bools, and this is a float literal
        n |= f  # error: `|` takes ints or bools, and this is f32
        x[0] &= 1  # error: `&` takes ints or bools, and this is f32 # hint: for its bits: bitcast(x[0], u32)
        y[0] ^= 1.5  # error: `^` takes ints or bools, and this is a float literal

    check_errors(k)


def test_pointers():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        x * 1  # error: `*` does not take a pointer # hint: index it instead: p[i]; atomics take (p, i, value)
        n - x  # error: `-` does not take a pointer
        x + x  # error: two pointers have no sum # hint: p - q counts the elements between them
        x + 0.5  # error: a pointer moves by ints, and this is f32 # hint: cast it: i32(0.5)
        x - n / 2  # error: a pointer moves by ints, and this is f32 # hint: divide with //: n // 2
        (n > 0) + x  # error: a pointer moves by ints, and this is bool # hint: cast it: i32(n > 0)
        x - y  # error: `-` of Ptr[f32] and Ptr[i32], which count different elements # hint: bitcast(y, Ptr[f32])
        x == y  # error: `==` of Ptr[f32] and Ptr[i32], which count different elements # hint: bitcast(y, Ptr[f32])
        x < shared.dynamic(f32)  # error: `<` of pointers into global and shared memory, which nothing relates
        x < n  # error: `<` does not take a pointer
        x == None  # error: `==` does not take a pointer
        -x  # error: `-` does not take a pointer
        ~x  # error: `~` does not take a pointer
        +x  # error: `+` does not take a pointer
        not x  # error: a test does not take a pointer
        x << 1  # error: `<<` does not take a pointer
        x and n  # error: a test does not take a pointer

    check_errors(k)


def test_pointers_augmented():
    @kernel
    def k(x: Ptr[f32]):
        x += 1.5  # error: a pointer moves by ints, and this is f32 # hint: cast it: i32(1.5)
        x -= x  # error: this is i64, but `x` takes Ptr[f32]
        x *= 2  # error: `*` does not take a pointer

    check_errors(k)


def test_arrays():
    @kernel
    def k(a: Array[f32, 2], v: Array[f32, 1]):
        a + 1  # error: `+` takes numbers, and this is Array[f32, 2] # hint: index it instead: a[i, j]
        a + a  # error: `+` takes numbers, and this is Array[f32, 2]
        v * 2  # error: `*` takes numbers, and this is Array[f32, 1] # hint: index it instead: v[i]
        a == a  # error: `==` takes numbers, and this is Array[f32, 2]
        -v  # error: `-` takes numbers, and this is Array[f32, 1]
        not v  # error: a test takes numbers, and this is Array[f32, 1]
        if a:  # error: a test takes numbers, and this is Array[f32, 2]
            pass

    check_errors(k)


def test_tuples():
    @kernel
    def k(n: i32):
        (1, 2) + (3, 4)  # error: `+` takes numbers, and this is tuple[i32, i32] # hint: take its elements: x, y = ...
        (1, n) * 2  # error: `*` takes numbers, and this is tuple[i32, i32]
        (1, 2) == (1, 2)  # error: `==` takes numbers, and this is tuple[i32, i32]
        -(1, 2)  # error: `-` takes numbers, and this is tuple[i32, i32]
        (1, 2) and n  # error: a test takes numbers, and this is tuple[i32, i32]
        n < (1, 2)  # error: `<` takes numbers, and this is tuple[i32, i32]
        () == ()  # error: `==` takes numbers, and this is tuple[]

    check_errors(k)


def test_functions_and_types():
    @kernel
    def k(n: i32):
        print + 1  # error: the function `print` is not a number: `+` takes numbers
        f32 + 1  # error: the type `f32` is not a number: `+` takes numbers
        math.sin * 2  # error: the function `math.sin` is not a number: `*` takes numbers
        thread_idx == 1  # error: `thread_idx` is not a number: `==` takes numbers
        n + len  # error: the function `len` is not a number: `+` takes numbers

    check_errors(k)


def test_signed_and_unsigned():
    @kernel
    def k(n: i32, u: u32, l: i64):
        n + u  # error: i32 and u32 have no common type # hint: cast one: u32(n) or i32(u)
        n < u  # error: i32 and u32 have no common type
        n == u64(1)  # error: i32 and u64 have no common type # hint: cast one: u64(n) or i32(u64(1))
        l + u64(1)  # error: i64 and u64 have no common type # hint: cast one: u64(l) or i64(u64(1))
        n // u  # error: i32 and u32 have no common type
        n**u  # error: i32 and u32 have no common type
        u & n  # error: u32 and i32 have no common type # hint: cast one: i32(u) or u32(n)
        u % n  # error: u32 and i32 have no common type
        min(n, u)  # error: i32 and u32 have no common type

    check_errors(k)


def test_small_ints():
    @kernel
    def k(u: u32):
        i8(1) + u64(1)  # error: i8 and u64 have no common type # hint: cast one: u64(i8(1)) or i32(u64(1))
        u + i8(1)  # error: u32 and i8 have no common type # hint: cast one: i32(u) or u32(i8(1))
        i16(1) * u  # error: i16 and u32 have no common type # hint: cast one: u32(i16(1)) or i32(u)
        i8(1) < u  # error: i8 and u32 have no common type # hint: cast one: u32(i8(1)) or i32(u)

    check_errors(k)


def test_half_precision():
    @kernel
    def k(n: i32, h: f16):
        h + bf16(1)  # error: f16 and bf16 have no common type # hint: cast both: f32(h) and f32(bf16(1))
        h < bf16(1)  # error: f16 and bf16 have no common type
        max(h, bf16(1))  # error: f16 and bf16 have no common type
        h if n else bf16(1)  # error: f16 and bf16 have no common type

    check_errors(k)


def test_conditionals():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], a: Array[f32, 2], v: Array[f32, 1], n: i32, u: u32, b: bool):
        n if b else u  # error: i32 and u32 have no common type
        x if b else y  # error: the two arms are Ptr[f32] and Ptr[i32]
        x if b else 1  # error: the two arms are Ptr[f32] and i32
        (1, 2) if b else 1  # error: the two arms are tuple[i32, i32] and i32
        a if b else v  # error: the two arms are Array[f32, 2] and Array[f32, 1]
        "a" if b else "b"  # error: a conditional chooses between values, and the string 'a' is none
        #   # hint: write if and else
        math.sin if b else math.cos  # error: a conditional chooses between values, and the function `math.sin` is none
        None if b else 1  # error: None is not a value that a kernel computes with

    check_errors(k)


def test_tests():
    @kernel
    def k(x: Ptr[f32], n: i32, d: f64, f: f32):
        if f:  # error: this is f32; a test takes a bool or an int # hint: say what is tested: f != 0.0
            pass
        while d:  # error: this is f64; a test takes a bool or an int # hint: say what is tested: d != 0.0
            pass
        if x:  # error: a test does not take a pointer
            pass
        if "text":  # error: the string 'text' is not a number: a test takes numbers
            pass
        while (n, 2):  # error: a test takes numbers, and this is tuple[i32, i32]
            pass
        1 if f else 2  # error: this is f32; a test takes a bool or an int
        not f  # error: this is f32; a test takes a bool or an int
        f and n  # error: this is f32; a test takes a bool or an int
        n or f  # error: this is f32; a test takes a bool or an int
        assert f  # error: this is f32; a test takes a bool or an int

    check_errors(k)


def test_walrus_tests():
    @kernel
    def k(x: Ptr[f32], f: f32):
        while m := f:  # error: this is f32; a test takes a bool or an int # hint: say what is tested: (m := f) != 0.0
            pass
        if q := x:  # error: a test does not take a pointer
            pass

    check_errors(k)


def test_membership_and_identity():
    @kernel
    def k(x: Ptr[f32], n: i32, u: u32):
        n in (1, "a")  # error: the string 'a' is not a number: `==` takes numbers
        n not in (1, u)  # error: i32 and u32 have no common type
        n in x  # error: `in` takes a tuple in a kernel, and this is Ptr[f32]
        #   # hint: write a loop that compares each element
        n in 3  # error: `in` takes a tuple in a kernel, and this is an int literal (i32)
        atomic.add(x, 0, 1) in ()  # error: nothing is in an empty tuple
        n is u  # error: `is` compares Python objects, and a kernel has only values # hint: write ==
        n is not u  # error: `is not` compares Python objects, and a kernel has only values # hint: write !=
        x is i32  # error: `is` compares Python objects, and a kernel has only values

    check_errors(k)


def test_chained_comparisons():
    @kernel
    def k(x: Ptr[f32], n: i32, u: u32, f: f32):
        n < f < x  # error: `<` does not take a pointer
        1 < 2 < x  # error: `<` does not take a pointer
        n < u < 3  # error: i32 and u32 have no common type
        0 <= n < x[0] < "a"  # error: the string 'a' is not a number: `<` takes numbers

    check_errors(k)


def test_matrix_product():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        n @ n  # error: a kernel has no `@` # hint: write the loops over rows, columns and the inner dimension
        x @ y  # error: a kernel has no `@`
        n @= n  # error: a kernel has no `@`
        x[0] @= 1  # error: a kernel has no `@`

    check_errors(k)


def test_division_of_an_int_in_place():
    @kernel
    def k(y: Ptr[i32], n: i32, l: i64):
        n /= 2  # error: `/` gives a float, and `n` is i32 # hint: write n //= 2, or n = i32(n / 2)
        y[0] /= 2  # error: `/` gives a float, and `y[0]` is i32 # hint: write y[0] //= 2, or y[0] = i32(y[0] / 2)
        l /= l  # error: `/` gives a float, and `l` is i64 # hint: write l //= l, or l = i64(l / l)

    check_errors(k)


def test_augmented_results_that_do_not_fit():
    @kernel
    def k(y: Ptr[i32], n: i32, u: u32, d: f64, f: f32, h: f16, b: bool):
        n += f  # error: this is f32, but `n` takes i32 # hint: cast it: i32(f)
        n += 1.5  # error: this is f32, but `n` takes i32 # hint: cast it: i32(1.5)
        y[0] += d  # error: this is f64, but `y` takes i32 # hint: cast it: i32(d)
        h += f  # error: this is f32, but `h` takes f16 # hint: cast it: f16(f)
        f -= d  # error: this is f64, but `f` takes f32 # hint: cast it: f32(d)
        u += n  # error: u32 and i32 have no common type
        b += 1  # error: `+` gives i32, and `b` is bool # hint: b = bool(b + 1)
        b |= n  # error: this is i32, but `b` takes bool # hint: cast it: bool(n)
        b &= 1  # error: this is i32, but `b` takes bool # hint: cast it: bool(1)

    check_errors(k)


def test_conversions_between_ints():
    @kernel
    def k(y: Ptr[i32], n: i32, u: u32, l: i64, b: bool):
        n = l  # error: this is i64, but `n` takes i32 # hint: cast it: i32(l)
        n = u  # error: this is u32, but `n` takes i32 # hint: cast it: i32(u)
        u = n  # error: this is i32, but `u` takes u32 # hint: cast it: u32(n)
        l = u64(1)  # error: this is u64, but `l` takes i64 # hint: cast it: i64(u64(1))
        b = n  # error: this is i32, but `b` takes bool
        y[0] = l  # error: this is i64, but `y` takes i32
        y[0] = u  # error: this is u32, but `y` takes i32

    check_errors(k)


def test_conversions_to_floats():
    @kernel
    def k(x: Ptr[f32], d: f64, f: f32, h: f16, b: bool):
        f = d  # error: this is f64, but `f` takes f32
        h = f  # error: this is f32, but `h` takes f16
        h = bf16(1)  # error: this is bf16, but `h` takes f16 # hint: cast it: f16(bf16(1))
        x[0] = d  # error: this is f64, but `x` takes f32
        f = b  # error: this is bool, but `f` takes f32 # hint: cast it: f32(b)
        x[0] = True  # error: this is bool, but `x` takes f32 # hint: cast it: f32(True)

    check_errors(k)


def test_conversions_from_floats():
    @kernel
    def k(y: Ptr[i32], n: i32, u: u32, d: f64, f: f32, b: bool):
        n = f  # error: this is f32, but `n` takes i32
        y[0] = d  # error: this is f64, but `y` takes i32
        u = f  # error: this is f32, but `u` takes u32 # hint: cast it: u32(f)
        b = f  # error: this is f32, but `b` takes bool # hint: cast it: bool(f)

    check_errors(k)


def test_scalars_and_others():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], a: Array[f32, 2], n: i32):
        n = x  # error: this is Ptr[f32], but `n` takes i32
        n = (1, 2)  # error: this is tuple[i32, i32], but `n` takes i32
        n = "a"  # error: the string 'a' is not a value that a kernel computes with
        x = 1  # error: this is i32, but `x` takes Ptr[f32]
        x = y  # error: this is Ptr[i32], but `x` takes Ptr[f32]
        x[0] = x  # error: this is Ptr[f32], but `x` takes f32
        x[0] = (1, 2)  # error: this is tuple[i32, i32], but `x` takes f32
        x[0] = a  # error: this is Array[f32, 2], but `x` takes f32

    check_errors(k)
