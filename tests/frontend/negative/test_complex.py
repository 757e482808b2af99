"""What is wrong with complex numbers, and what to write instead."""

from __future__ import annotations

import cmath

from kdsl import Ptr, atomic, complex64, complex128, f32, f64, groups, i32, kernel, math

from ..harness import check_errors


def test_mistakes():
    @kernel
    def k(a: Ptr[complex64], b: Ptr[complex128], x: f32, y: f64, n: i32, p: Ptr[f32]):
        z = a[0]
        a[1] = b[0]  # error: this is complex128, but `a` takes complex64 # hint: convert it: complex64(b[0])
        a[2] = y  # error: this is f64, but `a` takes complex64 # hint: convert it: complex64(y)
        a[3] = z * y  # error: this is complex128, but `a` takes complex64 # hint: convert it: complex64(z * y)
        p[0] = z  # error: this is complex64, but `p` takes f32 # hint: take a part: z.real
        p[1] = z + 1  # error: this is complex64, but `p` takes f32 # hint: take a part: (z + 1).real
        n = z  # error: this is complex64, but `n` takes i32
        z // 2  # error: `//` takes real numbers, and this is complex64 # hint: take a part: z.real
        2 % z  # error: `%` takes real numbers, and this is complex64
        z & 1  # error: `&` takes real numbers, and this is complex64
        z << 1  # error: `<<` takes real numbers, and this is complex64
        ~z  # error: `~` takes real numbers, and this is complex64
        round(z)  # error: round() takes real numbers, and this is complex64
        z < 1  # error: `<` of complex numbers, which have no order # hint: compare abs(z), or z.real
        1.0 >= z  # error: `>=` of complex numbers, which have no order
        1j < 2j  # error: `<` of complex numbers, which have no order
        max(z, z)  # error: max() takes real numbers, and this is complex64 # hint: compare abs(z), or z.real
        min(1, z)  # error: min() takes real numbers, and this is complex64
        z + p  # error: `+` takes numbers, and this is Ptr[f32]
        z + (1, 2)  # error: `+` takes numbers, and this is tuple[i32, i32]
        z == p  # error: `==` takes numbers, and this is Ptr[f32]
        z + "a"  # error: `+` takes numbers, and this is the string 'a'
        z.phase  # error: complex64 has no field `phase` # hint: its fields are real, imag
        z[0]  # error: complex64 has no elements # hint: take a part: z.real
        z(1)  # error: `z` is complex64, not a function
        if z:  # error: this is complex64; a test takes a bool or an int # hint: say what is tested: z != 0
            pass
        while 1j:  # error: this is a complex literal (complex64); a test takes a bool or an int
            pass
        f32(z)  # error: f32() takes numbers, and this is complex64
        f32(1j)  # error: f32() takes real numbers, and this is a complex literal (complex64)
        p[1j]  # error: an index is an int, and this is complex64
        print(f"{z:>9}")  # error: `>9` is no format for a complex64
        #   # hint: such as .3f, or print its parts: {z.real:>9}

    check_errors(k)


def test_mistakes_in_calls():
    @kernel
    def k(a: Ptr[complex64], x: f32, z: complex64):
        complex64(z, 1)  # error: complex64() takes two real numbers, and this is complex64 # hint: take a part: z.real
        complex64("1j")  # error: complex64() takes a number, and this is the string '1j' # hint: write the number
        complex(1, 2, 3)  # error: complex() takes 0 to 2 arguments (real, imag), and this gives 3
        complex64(1e39)  # error: 1e+39 does not fit f32 # hint: the largest f32 is about 3.4e38; use f64
        math.sqrt(z)  # error: math.sqrt() takes f32 or f64, and this is complex64 # hint: cmath.sqrt(z)
        math.sqrt(1j)  # error: math.sqrt() takes real numbers, and this is a complex literal (complex64)
        math.hypot(z, 1)  # error: math.hypot() takes f32 or f64, and this is complex64 # hint: abs(z)
        atomic.add(a, 0, z)  # error: atomic.add() takes elements of
        #   i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64, and these are complex64
        #   # hint: take a field's address: atomic.add(address_of(a[0].real), 0, ...)
        groups.tile(8).reduce(z, "max")  # error: "max" combines real numbers, and this is complex64
        z.conjugate(1)  # error: conjugate() takes 0 arguments, and this gives 1
        z.conjugate().real = 2  # error: `z.conjugate()` is no variable of this function, and no element of an array
        1j / 0  # error: this constant divides by zero

    check_errors(k)


def test_mistakes_with_cmath():
    @kernel
    def k(x: f32, z: complex64, p: Ptr[f32]):
        cmath.acos(z)  # error: `cmath.acos` has no counterpart on the device
        #   # hint: 1j * cmath.log(z - 1j * cmath.sqrt(1.0 - z * z))
        cmath.log(z, 2)  # error: cmath.log() takes no base in a kernel # hint: cmath.log(z) / math.log(base)
        cmath.exp(p)  # error: cmath.exp() takes numbers, and this is Ptr[f32]
        cmath.exp("1")  # error: cmath.exp() takes numbers, and this is the string '1'
        cmath.exp()  # error: cmath.exp() takes 1 argument, and this gives 0
        cmath.rect(z, 1)  # error: cmath.rect() takes real numbers, and this is complex64 # hint: take a part: z.real
        cmath.rect(x)  # error: cmath.rect() takes 2 arguments, and this gives 1
        cmath.log(0)  # error: this constant cannot be computed: math domain error
        cmath.exp(1e6)  # error: this constant cannot be computed: math range error
        cmath.rect(1e400, 1e400)  # error: this constant cannot be computed: math domain error
        cmath.rect(1j, 1)  # error: cmath.rect() takes real numbers, and this is a complex literal (complex64)
        cmath.nothing(z)  # error: the module `cmath` has no attribute `nothing`

    check_errors(k)
