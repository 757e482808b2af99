"""Loops over what a kernel cannot loop over."""

from __future__ import annotations

from kdsl import Array, Ptr, f32, i32, kernel, shared, static_range, u32

from ..harness import check_errors

NUMBERS = [1, 2]


def test_range_arguments():
    @kernel
    def k(x: Ptr[f32]):
        for i in range():  # error: range() takes 1 to 3 arguments, and this gives 0
            pass
        for i in range(1, 2, 3, 4):  # error: range() takes 1 to 3 arguments, and this gives 4
            pass
        for i in range(stop=3):  # error: range() takes no keyword arguments in a kernel
            pass
        for i in range(*x):  # error: `*` takes a tuple apart, and this is Ptr[f32] # hint: write each argument
            pass

    check_errors(k)


def test_range_steps():
    @kernel
    def k(n: i32):
        for i in range(0, n, 0):  # error: a range with step 0 never ends
            pass
        for i in range(0, n, 0.5):  # error: range() takes ints, and this is a float literal # hint: cast it: i32(0.5)
            pass
        for i in range(n, 0, -0):  # error: a range with step 0 never ends
            pass

    check_errors(k)


def test_range_types():
    @kernel
    def k(x: Ptr[f32], n: i32, u: u32, f: f32):
        for i in range(f):  # error: range() takes ints, and this is f32 # hint: cast it: i32(f)
            pass
        for i in range(1.5):  # error: range() takes ints, and this is a float literal # hint: cast it: i32(1.5)
            pass
        for i in range("a"):  # error: the string 'a' is not a number: range() takes numbers
            pass
        for i in range(None):  # error: None is not a number: range() takes numbers
            pass
        for i in range(x):  # error: range() does not take a pointer
            #   # hint: index it instead: p[i]; atomics take (p, i, value)
            pass
        for i in range((1, 2)):  # error: range() takes numbers, and this is tuple[i32, i32]
            #   # hint: take its elements: x, y = ...
            pass
        for i in range(n, u):  # error: i32 and u32 have no common type # hint: cast one of them
            pass

    check_errors(k)


def test_range_targets():
    @kernel
    def k(x: Ptr[f32], a: Array[f32, 2], n: i32):
        for i, j in range(n):  # error: the variable of a range() loop is a plain name # hint: for i in range(n): ...
            pass
        for x[0] in range(n):  # error: the variable of a range() loop is a plain name
            pass
        for a.b in range(n):  # error: the variable of a range() loop is a plain name
            pass

    check_errors(k)


def test_ranges_are_no_values():
    @kernel
    def k(x: Ptr[f32], n: i32):
        q = range(n)  # error: a range is only for a `for` loop
        x[0] = range(n)  # error: a range is only for a `for` loop
        range(n) + 1  # error: a range is only for a `for` loop
        print(range(n))  # error: a range is only for a `for` loop
        for (
            i
        ) in range:  # error: a `for` runs over range(), static_range(), a tuple or an array, not over the type `range`
            pass
        for i in range(n) + 1:  # error: a range is only for a `for` loop
            pass

    check_errors(k)


def test_over_numbers():
    @kernel
    def k(n: i32, f: f32):
        for i in 5:  # error: a `for` runs over range(), static_range(), a tuple or an array, and this is an int
            #   literal (i32)
            #   # hint: range(5)
            pass
        for i in f:  # error: a `for` runs over range(), static_range(), a tuple or an array, and this is f32 # hint:
            #   range(f)
            pass
        for i in n:  # error: a `for` runs over range(), static_range(), a tuple or an array, and this is i32 # hint:
            #   range(n)
            pass

    check_errors(k)


def test_over_memory():
    @kernel
    def k(x: Ptr[f32], a: Array[f32, 2]):
        for p in x:  # error: a `for` runs over range(), static_range(), a tuple or an array, not over a pointer
            #   # hint: for value in x[0:n]
            pass

    check_errors(k)


def test_over_python_objects():
    @kernel
    def k(n: i32):
        for i in NUMBERS:  # error: a `for` runs over range(), static_range(), a tuple or an array, not over `NUMBERS`
            #   (a list of
            #   the host) # hint: make it a tuple: NUMBERS = (...)
            pass
        for (
            i
        ) in "ab":  # error: a `for` runs over range(), static_range(), a tuple or an array, not over the string 'ab'
            pass
        for i in None:  # error: a `for` runs over range(), static_range(), a tuple or an array, not over None
            pass
        for i in print:  # error: a `for` runs over range(), static_range(), a tuple or an array, not over the
            #   function `print`
            pass
        for i in undefined_name:  # error: `undefined_name` is not defined
            pass

    check_errors(k)


def test_over_literals():
    @kernel
    def k(x: Ptr[f32]):
        for i in {1}:  # error: a kernel has no sets # hint: compare with each value: x == 1 or x == 2
            pass
        for i in {}:  # error: a kernel has no dicts # hint: use arrays, or a chain of if and elif
            pass
        for i in (j for j in x):  # error: a generator expression is only for sum, min, max, any and all
            pass

    check_errors(k)


def test_over_pythons_iterators():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32]):
        for i in zip(x, (1, 2)):  # error: zip() takes tuples, and this is Ptr[f32]
            #   # hint: for i in range(n): x, y = a[i], b[i]
            pass
        for i, p in enumerate(x):  # error: enumerate() takes a tuple or range(), and this is Ptr[f32]
            #   # hint: for i in range(n): x = a[i]
            pass
        for i in reversed(x):  # error: reversed() takes a tuple or range(), and this is Ptr[f32]
            #   # hint: range(n - 1, -1, -1) counts down
            pass
        for i in map(abs, x):  # error: `map` cannot be called in a kernel # hint: write a loop
            pass
        for i in iter(x):  # error: `iter` cannot be called in a kernel
            pass

    check_errors(k)


def test_over_tuples_unpacked():
    @kernel
    def k(n: i32):
        for i, j in ((1, 2), (3,)):  # error: 1 value is unpacked to 2 names
            pass
        for p, q in (1, 2):  # error: an int literal (i32) cannot be unpacked: it is no tuple
            pass
        for r, (s, t) in ((1, 2),):  # error: an int literal (i32) cannot be unpacked: it is no tuple
            pass
        for o, l, *m in ((1,),):  # error: 1 value is unpacked to 2 names at least
            pass

    check_errors(k)


def test_static_range_arguments():
    @kernel
    def k(n: i32):
        for i in static_range(n):  # error: static_range() takes constants
            #   # hint: range() counts to what is known at run time
            pass
        for i in static_range(1.5):  # error: static_range() takes constants
            pass
        for i in static_range():  # error: static_range() takes 1 to 3 arguments, and this gives 0
            pass
        for i in static_range(0, 5, 0):  # error: a range with step 0 never ends
            pass
        for i in static_range(10**6):  # error: static_range() would copy its body 1000000 times
            #   # hint: write range(), or at most 1024
            pass
        for i in static_range(stop=5):  # error: static_range() takes no keyword arguments in a kernel
            pass

    check_errors(k)


def test_too_many_copies():
    @kernel
    def k(x: Ptr[f32]):
        for i in static_range(1000):
            for j in static_range(1000):  # error: unrolled loops would make more than 4096 copies of their bodies
                #   # hint: write range()
                x[i] = j

    check_errors(k)
