"""What print() and assert do not take."""

from __future__ import annotations

import math

from kdsl import Array, Ptr, f32, f64, i32, i64, kernel, static_assert, thread_idx, u32

from ..harness import check_errors


def test_options():
    @kernel
    def k(x: Ptr[f32], n: i32):
        print(n, file=None)  # error: print() takes no `file` in a kernel # hint: it prints to the standard output
        print(n, flush=True)  # error: print() takes no `flush` in a kernel
        print(n, undefined=1)  # error: print() takes no `undefined` in a kernel
        print(n, sep=n)  # error: this text is constant: it may hold no values of the device
        #   # hint: print() shows values
        print(n, end=None)  # error: None is no text # hint: write a string
        print(n, sep=1.5, end=x)  # error: this text is constant: it may hold no values of the device
        print(*x)  # error: `*` takes a tuple apart, and this is Ptr[f32] # hint: write each argument
        print(**x)  # error: a kernel has no ** unpacking

    check_errors(k)


def test_values():
    @kernel
    def k(x: Ptr[f32], a: Array[f32, 2], n: i32):
        print(a)  # error: Array[f32, 2] cannot be printed # hint: print its elements
        print(f"{a}")  # error: Array[f32, 2] cannot be printed
        print(None)  # error: None cannot be printed in a kernel
        print(print)  # error: the function `print` cannot be printed in a kernel
        print(f32)  # error: the type `f32` cannot be printed in a kernel
        print(math)  # error: the module `math` cannot be printed in a kernel
        print(thread_idx)  # error: `thread_idx` cannot be printed in a kernel
        print(lambda: 1)  # error: the function `lambda: 1` cannot be printed in a kernel
        print(...)  # error: `...` is no value in a kernel
        print([1, 2])  # error: a local array of 2 i32 cannot be printed # hint: print its elements
        print({1: 2})  # error: a kernel has no dicts # hint: use arrays, or a chain of if and elif
        print(n for n in x)  # error: a generator expression is only for sum, min, max, any and all
        print(undefined_name)  # error: `undefined_name` is not defined

    check_errors(k)


def test_text_is_not_computed():
    @kernel
    def k(n: i32):
        print("a" + "b")  # error: the string 'a' is not a number: `+` takes numbers
        #   # hint: print() takes f-strings: f"{x}", f"{x:.3f}"
        print("a" * n)  # error: the string 'a' is not a number: `*` takes numbers
        print("%d" % n)  # error: the string '%d' is not a number: `%` takes numbers
        print("{}".format(n))  # error: the string '{}' has no attributes in a kernel

    check_errors(k)


def test_statements_only():
    @kernel
    def k(x: Ptr[f32], n: i32):
        q = print(1)  # error: print() is a statement of its own in a kernel
        x[0] = print(1)  # error: print() is a statement of its own in a kernel
        print(print(1))  # error: print() is a statement of its own in a kernel
        print(1) or 2  # error: print() is a statement of its own in a kernel
        print(1) if n else None  # error: print() is a statement of its own in a kernel
        print(n)[0]  # error: print() is a statement of its own in a kernel

    check_errors(k)


def test_conversions():
    @kernel
    def k(x: Ptr[f32], n: i32):
        print(f"{n!a}")  # error: print() has no !a in a kernel
        print(f"{x!a}")  # error: print() has no !a in a kernel

    check_errors(k)


def test_formats_of_ints():
    @kernel
    def k(n: i32):
        print(f"{n:b}")  # error: vprintf has no format `b` for i32
        print(f"{3:>1000000000000}")  # error: `>1000000000000` makes a text of more than 9999 characters
        assert n > 0, f"{n:1000000000000d}"  # error: `1000000000000d` makes a text of more than 9999 characters
        print(f"{n:c}")  # error: vprintf has no format `c` for i32
        print(f"{n:n}")  # error: vprintf has no format `n` for i32
        print(f"{n:_}")  # error: vprintf has no format `_` for i32
        print(f"{n:,}")  # error: vprintf has no format `,` for i32
        print(f"{n:^5}")  # error: vprintf has no format `^5` for i32
        print(f"{n:*>5}")  # error: vprintf has no format `*>5` for i32
        print(f"{n:.2}")  # error: vprintf has no format `.2` for i32
        print(f"{n:5.2d}")  # error: vprintf has no format `5.2d` for i32

    check_errors(k)


def test_formats_of_signed_ints():
    @kernel
    def k(n: i32, u: u32, l: i64):
        print(f"{n:x}")  # error: `x` takes unsigned ints on the device, and this is i32 # hint: cast it: u32(n)
        print(f"{n:#X}")  # error: `#X` takes unsigned ints on the device, and this is i32
        print(f"{n:o}")  # error: `o` takes unsigned ints on the device, and this is i32
        print(f"{l:x}")  # error: `x` takes unsigned ints on the device, and this is i64 # hint: cast it: u64(l)
        print(f"{u:#o}")  # error: vprintf has no format `#o` for u32

    check_errors(k)


def test_formats_of_floats():
    @kernel
    def k(d: f64, f: f32):
        print(f"{f:x}")  # error: vprintf has no format `x` for f32
        print(f"{f:d}")  # error: vprintf has no format `d` for f32
        print(f"{f:.3}")  # error: `.3` is no format of vprintf's # hint: write .3g or .3f
        print(f"{f:,}")  # error: vprintf has no format `,` for f32
        print(f"{d:^8.2f}")  # error: vprintf has no format `^8.2f` for f64

    check_errors(k)


def test_formats_of_others():
    @kernel
    def k(x: Ptr[f32], n: i32, b: bool):
        print(f"{b:x}")  # error: `x` takes unsigned ints on the device, and this is i32 # hint: cast it: u32(b)
        print(f"{x:d}")  # error: vprintf has no format `d` for a pointer
        print(f"{(1, n):d}")  # error: `d` is no format for a tuple

    check_errors(k)


def test_formats_of_the_device():
    @kernel
    def k(n: i32, f: f32):
        print(f"{n:{n}}")  # error: a format specification is constant in a kernel
        #   # hint: the width or precision is a number, or a name that is bound once to one
        print(f"{f:.{n}f}")  # error: a format specification is constant in a kernel

    check_errors(k)


def test_asserts():
    @kernel
    def k(x: Ptr[f32], a: Array[f32, 2], f: f32):
        assert f  # error: this is f32; a test takes a bool or an int # hint: say what is tested: f != 0.0
        assert x  # error: a test does not take a pointer # hint: index it instead: p[i]; atomics take (p, i, value)
        assert "text"  # error: the string 'text' is not a number: a test takes numbers
        assert undefined_name  # error: `undefined_name` is not defined
        assert a  # error: a test takes numbers, and this is Array[f32, 2] # hint: index it instead: a[i, j]

    check_errors(k)


def test_assert_messages():
    @kernel
    def k(n: i32, f: f32):
        assert n, n  # error: this text is constant: it may hold no values of the device
        #   # hint: an f-string shows values: f"{x}"
        assert n, f  # error: this text is constant: it may hold no values of the device
        assert n, f"{n:{n}}"  # error: a format specification is constant in a kernel
        assert n, f"{n:.2d}"  # error: `.2d` is no format for this: Precision not allowed in integer format specifier
        assert n, f"{f:d}"  # error: `d` is no format for this: Unknown format code 'd' for object of type 'float'
        assert n, f"{math} {n}"  # error: the module `math` cannot be shown in a message
        assert n, f"{[n]}"  # error: a local array of 1 i32 cannot be shown in a message # hint: show its elements
        assert n, "a" + "b"  # error: the string 'a' is not a number: `+` takes numbers
        assert n, ("a", 1)  # error: this text is constant: it may hold no values of the device
        assert n, None  # error: None is no text
        assert n, [1]  # error: this text is constant: it may hold no values of the device
        assert n, undefined_name  # error: `undefined_name` is not defined
        assert undefined_name, undefined_name_too  # error: `undefined_name` is not defined
        #   # error: `undefined_name_too` is not defined

    check_errors(k)


def test_static_asserts():
    @kernel
    def k(n: i32):
        static_assert()  # error: static_assert() takes 1 to 2 arguments, and this gives 0
        static_assert(n)  # error: static_assert() takes a constant condition # hint: assert is checked at run time
        static_assert(n > 0, "text")  # error: static_assert() takes a constant condition
        static_assert(1 > 2)  # error: static_assert failed: 1 > 2
        static_assert(1 > 2, "one is less")  # error: static_assert failed: one is less
        static_assert(1 > 2, f"{1} is less")  # error: static_assert failed: 1 is less
        static_assert(1 > 2, n)  # error: this text is constant: it may hold no values of the device
        static_assert(1 > 2, "text", 3)  # error: static_assert() takes 1 to 2 arguments, and this gives 3
        static_assert("text")  # error: static_assert() takes a constant condition
        static_assert(None)  # error: static_assert() takes a constant condition
        static_assert(undefined_name)  # error: `undefined_name` is not defined
        static_assert(f32 == f64)  # error: static_assert failed: f32 == f64

    check_errors(k)


def test_ranges():
    @kernel
    def k(n: i32):
        print(range(n))  # error: a range is only for a `for` loop
        print(f"{range(3)}")  # error: a range is only for a `for` loop

    check_errors(k)


def test_formats_of_text():
    @kernel
    def k(x: Ptr[f32], n: i32):
        print(f"{n!r:d}")  # error: vprintf has no format `d` for text, which !r makes
        print(f"{x[0]!s:.3f}")  # error: vprintf has no format `.3f` for text, which !s makes
        print(f"{n!r:05}")  # error: vprintf has no format `05` for text, which !r makes
        print(f"{n!s:^5}")  # error: vprintf has no format `^5` for text, which !s makes
        print(f"{n!r:+5}")  # error: vprintf has no format `+5` for text, which !r makes

    check_errors(k)


def test_texts_that_the_device_cannot_hold():
    @kernel
    def k(n: i32):
        print("a\0b", n)  # error: a text holds no NUL and no lone surrogate # hint: leave it out
        print(f"\ud800 {n}")  # error: a text holds no NUL and no lone surrogate
        print(f"{n:10000d}")  # error: `10000d` makes a text of more than 9999 characters
        assert n > 0, "\0"  # error: a text holds no NUL and no lone surrogate

    check_errors(k)
