"""enumerate, zip, reversed, sum, any, all of what is no tuple, or must not be taken apart; unroll hints."""

from __future__ import annotations

from kdsl import Array, Ptr, f32, i32, kernel, unroll

from ..harness import check_errors

RANGE, ENUMERATE = range, enumerate


def pair(p):
    return p[0], p[1]


def test_no_tuples():
    @kernel
    def k(x: Ptr[f32], a: Array[f32, 1], n: i32):
        any(x)  # error: any() takes a tuple, and this is Ptr[f32] # hint: write a loop, or x or y
        all(a)  # error: all() takes a tuple, and this is Array[f32, 1] # hint: write a loop, or x and y
        sum(x)  # error: sum() takes a tuple, and this is Ptr[f32] # hint: write a loop that adds
        sum(range(n))  # error: sum() takes a tuple, and this is a range
        reversed(x)  # error: reversed() takes a tuple or range(), and this is Ptr[f32]
        #   # hint: range(n - 1, -1, -1) counts down
        enumerate(x)  # error: enumerate() takes a tuple or range(), and this is Ptr[f32]
        #   # hint: for i in range(n): x = a[i]
        zip(x, a)  # error: zip() takes tuples, and this is Ptr[f32] # hint: for i in range(n): x, y = a[i], b[i]
        #   # error: zip() takes tuples, and this is Array[f32, 1]
        zip(range(n))  # error: zip() takes tuples, and this is a range
        any("text")  # error: any() takes a tuple, and this is the string 'text'
        any((x, n))  # error: a test does not take a pointer
        any((1.5, n))  # error: this is f32; a test takes a bool or an int # hint: say what is tested: (1.5, n) != 0.0
        sum((x, x))  # error: two pointers have no sum

    check_errors(k)


def test_arguments():
    @kernel
    def k(x: Ptr[f32], n: i32):
        any()  # error: any() takes 1 argument, and this gives 0
        sum((1, 2), 3, 4)  # error: sum() takes 1 to 2 arguments (iterable, start), and this gives 3
        enumerate()  # error: enumerate() needs `iterable`
        enumerate((1, 2), n)  # error: enumerate() of a tuple takes a constant start # hint: add it to the number
        enumerate(range(n), x)  # error: enumerate() starts at an int, and this is Ptr[f32]
        enumerate(range(n), 0.5)  # error: enumerate() starts at an int, and this is a float literal (f32)
        enumerate(enumerate(range(n)))  # error: an enumerate() of an enumerate()
        zip((1,), key=2)  # error: zip() has no parameter `key`
        zip((1,), strict=n)  # error: strict is True or False
        zip((1,), (1, 2), strict=True)  # error: zip() of tuples with 1 and 2 elements
        reversed(pair(x))  # error: reversed() takes a tuple apart, and calls in it would be made out of order
        #   # hint: bind it to a name first: t = pair(x)
        reversed(reversed(range(n)))  # error: reversed() of what is no sequence in Python either
        #   # hint: reverse the range() in it
        x[0] = enumerate(range(n))  # error: a range is only for a `for` loop

    check_errors(k)


def test_variables():
    @kernel
    def k(x: Ptr[f32], n: i32):
        for i in enumerate(range(n)):  # error: enumerate() gives pairs # hint: for i, x in enumerate(...): ...
            x[i] = 0
        for i, (j, k) in enumerate(range(n)):  # error: the variable of a range() loop is a plain name
            pass
        for q in zip((1, 2), (3, 4)):
            x[q[0]] = q[1]
        for m, p, q in zip((1, 2), (3, 4)):  # error: 2 values are unpacked to 3 names
            pass

    check_errors(k)


def test_other_names():
    @kernel
    def k(x: Ptr[f32], n: i32):
        for _ in RANGE(n):  # error: a `for` over a range names range() itself
            #   # hint: for i in range(n): ..., also in enumerate() and reversed()
            x[0] = 1
        for i, j in ENUMERATE(range(n)):  # error: a `for` over a range names range() itself
            x[i] = j
        for i, j in ENUMERATE((1, 2)):
            x[i] = j

    check_errors(k)


def test_unroll_hints():
    @kernel
    def k(x: Ptr[f32], n: i32):
        for _ in range(n, unroll=n):  # error: unroll takes a constant from 1 to 1024, True or False
            #   # hint: unroll=4, unroll=True for all iterations, unroll=False for none
            pass
        for _ in range(n, unroll=0):  # error: unroll takes a constant from 1 to 1024, True or False
            pass
        for _ in range(n, unroll=2000):  # error: unroll takes a constant from 1 to 1024, True or False
            pass
        for _ in range(n, unroll=2.0):  # error: unroll takes a constant from 1 to 1024, True or False
            pass
        for _ in unroll(range(n), n):  # error: unroll takes a constant from 1 to 1024, True or False
            pass
        for _ in unroll(range(n, unroll=2), 2):  # error: this range() says already how often it is unrolled
            pass
        for _ in unroll((1, 2), 2):  # error: unroll() takes a range() # hint: a tuple's loop is unrolled anyway
            pass
        for _ in unroll(n, 2):  # error: unroll() takes a range() # hint: for i in unroll(range(n), 4)
            pass
        for _ in range(n, step=2):  # error: range() takes no keyword arguments in a kernel
            pass

    check_errors(k)
