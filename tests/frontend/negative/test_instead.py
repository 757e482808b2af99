"""What Python and its library offer and a kernel has not: each message says what to write instead."""

from __future__ import annotations

import collections
import copy
import functools
import io
import itertools
import logging
import math
import operator
import os
import random
import struct
import sys
import threading
import time
import warnings

import numpy as np

from kdsl import Array, Ptr, f32, f64, i32, kernel

from ..harness import check_errors


def test_pythons_own_functions():
    @kernel
    def k(x: Ptr[f32], n: i32):
        q0 = sorted((2, 1))  # error: `sorted` cannot be called in a kernel
        #   # hint: sort on the host, or with a loop of compares and swaps
        q1 = hasattr(x, "a")  # error: `hasattr` cannot be called in a kernel
        #   # hint: types are known while the kernel is compiled
        q2 = delattr(x, "a")  # error: `delattr` cannot be called in a kernel # hint: leave it out
        q3 = id(x)  # error: `id` cannot be called in a kernel # hint: a pointer is compared with ==
        q4 = hash(n)  # error: `hash` cannot be called in a kernel
        #   # hint: philox4x32() of kdsl.random mixes the bits of words
        q5 = dir(x)  # error: `dir` cannot be called in a kernel # hint: name the variables
        q6 = vars()  # error: `vars` cannot be called in a kernel # hint: name the variables
        q7 = globals()["x"]  # error: `globals` cannot be called in a kernel # hint: name the variables
        q8 = locals()  # error: `locals` cannot be called in a kernel # hint: name the variables
        q9 = eval("1")  # error: `eval` cannot be called in a kernel # hint: write the expression itself
        q10 = exec("a")  # error: `exec` cannot be called in a kernel # hint: write the statements themselves
        q11 = compile("1", "", "eval")  # error: `compile` cannot be called in a kernel
        #   # hint: write the statements themselves
        q12 = __import__("os")  # error: `__import__` cannot be called in a kernel
        #   # hint: import at the top of the file
        q13 = aiter(x)  # error: `aiter` cannot be called in a kernel # hint: write a for loop
        q14 = anext(x)  # error: `anext` cannot be called in a kernel # hint: write a for loop
        q15 = memoryview(x)  # error: `memoryview` cannot be called in a kernel # hint: pass the array itself
        q16 = next(x)  # error: `next` cannot be called in a kernel # hint: write a for loop
        exit()  # error: `exit` is a Quitter, not a function that a kernel can call
        #   # hint: return ends the thread, trap() the kernel
        q18 = int.from_bytes(n, "big")  # error: `int.from_bytes` cannot be called in a kernel
        #   # hint: bitcast(p, Ptr[u32]) has the words of memory
        q19 = float.fromhex(n)  # error: `float.fromhex` cannot be called in a kernel # hint: write the number

    check_errors(k)


def test_math_without_counterpart():
    @kernel
    def k(f: f32, n: i32):
        q0 = math.comb(n, 2)  # error: `math.comb` has no counterpart on the device
        #   # hint: write a loop of products and divisions
        q1 = math.perm(n, 2)  # error: `math.perm` has no counterpart on the device # hint: write a loop of products
        q2 = math.factorial(n)  # error: `math.factorial` has no counterpart on the device
        #   # hint: write a loop of products, or math.tgamma(n + 1.0)
        q3 = math.dist((f,), (f,))  # error: `math.dist` has no counterpart on the device
        #   # hint: math.hypot(x1 - x0, y1 - y0)
        q4 = math.fsum((f, f))  # error: `math.fsum` has no counterpart on the device
        #   # hint: write a loop that adds; sum() takes a tuple
        q5 = math.prod((n, n))  # error: `math.prod` has no counterpart on the device
        #   # hint: write a loop that multiplies
        q6 = math.gcd(n, n)  # error: `math.gcd` has no counterpart on the device
        #   # hint: write Euclid's loop: while b != 0: a, b = b, a % b
        q7 = math.lcm(n, n)  # error: `math.lcm` has no counterpart on the device
        #   # hint: a // gcd * b, with Euclid's loop for the gcd
        q8 = math.isclose(f, f)  # error: `math.isclose` has no counterpart on the device
        #   # hint: abs(x - y) <= tolerance
        q9 = math.isqrt(n)  # error: `math.isqrt` has no counterpart on the device # hint: i32(math.sqrt(f64(n)))
        q10 = math.ulp(f)  # error: `math.ulp` has no counterpart on the device
        #   # hint: math.nextafter(x, math.inf) - x

    check_errors(k)


def test_time_and_randomness():
    @kernel
    def k(n: i32):
        q0 = time.time()  # error: `time.time` cannot be called in a kernel
        #   # hint: clock64() counts cycles, globaltimer() nanoseconds, and nanosleep(ns) waits
        q1 = time.time_ns()  # error: `time.time_ns` cannot be called in a kernel
        #   # hint: clock64() counts cycles, globaltimer() nanoseconds, and nanosleep(ns) waits
        q2 = time.perf_counter()  # error: `time.perf_counter` cannot be called in a kernel
        #   # hint: clock64() counts cycles, globaltimer() nanoseconds, and nanosleep(ns) waits
        q3 = time.monotonic()  # error: `time.monotonic` cannot be called in a kernel
        #   # hint: clock64() counts cycles, globaltimer() nanoseconds, and nanosleep(ns) waits
        q4 = time.sleep(1)  # error: `time.sleep` cannot be called in a kernel
        #   # hint: clock64() counts cycles, globaltimer() nanoseconds, and nanosleep(ns) waits
        q5 = random.random()  # error: `random.random` cannot be called in a kernel
        #   # hint: philox4x32(), uniform() and normal() of kdsl.random
        q6 = random.randint(0, 5)  # error: `random.randint` is a function of the host
        #   # hint: philox4x32(), uniform() and normal() of kdsl.random
        q7 = random.uniform(0, 1)  # error: `random.uniform` is a function of the host
        #   # hint: philox4x32(), uniform() and normal() of kdsl.random
        q8 = random.gauss(0, 1)  # error: `random.gauss` is a function of the host
        #   # hint: philox4x32(), uniform() and normal() of kdsl.random
        q9 = random.seed(1)  # error: `random.seed` is a function of the host
        #   # hint: philox4x32(), uniform() and normal() of kdsl.random
        q10 = random.Random(1)  # error: `random.Random` is a class, and a kernel makes no objects
        #   # hint: philox4x32(), uniform() and normal() of kdsl.random

    check_errors(k)


def test_the_host_s_world():
    @kernel
    def k(n: i32):
        q0 = os.getenv("A")  # error: `os.getenv` is a function of the host
        #   # hint: do it on the host, and pass what the kernel needs as parameters
        q1 = os.getpid()  # error: `os.getpid` cannot be called in a kernel
        #   # hint: do it on the host, and pass what the kernel needs as parameters
        q2 = os.environ["A"]  # error: `os.environ` (a _Environ of the host) cannot be indexed
        #   # hint: bind the value to a name outside of the kernel
        q3 = sys.exit()  # error: `sys.exit` cannot be called in a kernel
        #   # hint: do it on the host, and pass what the kernel needs as parameters
        q5 = threading.get_ident()  # error: `threading.get_ident` cannot be called in a kernel
        #   # hint: sync_threads(), barrier() and atomic order the threads of a block
        q6 = io.StringIO()  # error: `io.StringIO` is a class, and a kernel makes no objects
        #   # hint: print() writes to the standard output
        q7 = logging.info("a")  # error: `logging.info` is a function of the host
        #   # hint: print() writes to the standard output
        q8 = warnings.warn("a")  # error: `warnings.warn` cannot be called in a kernel
        #   # hint: print() writes to the standard output

    check_errors(k)


def test_standard_library():
    @kernel
    def k(n: i32, m: i32):
        q0 = itertools.product((1, 2), (3, 4))  # error: `itertools.product` is a class, and a kernel makes no objects
        #   # hint: write the loops
        q1 = itertools.chain((1, 2))  # error: `itertools.chain` is a class, and a kernel makes no objects
        #   # hint: write the loops
        q2 = itertools.count()  # error: `itertools.count` is a class, and a kernel makes no objects
        #   # hint: write the loops
        q3 = functools.reduce(max, (n, m))  # error: `functools.reduce` cannot be called in a kernel
        #   # hint: write a loop, or a def
        q4 = functools.partial(max, n)  # error: `functools.partial` is a class, and a kernel makes no objects
        #   # hint: write a loop, or a def
        q5 = operator.add(n, m)  # error: `operator.add` cannot be called in a kernel
        #   # hint: write the operator: a + b
        q6 = operator.itemgetter(1)  # error: `operator.itemgetter` is a class, and a kernel makes no objects
        #   # hint: write the operator: a + b
        q7 = collections.deque()  # error: `collections.deque` is a class, and a kernel makes no objects
        #   # hint: use arrays, or a @struct class
        q8 = collections.Counter()  # error: `collections.Counter` is a class, and a kernel makes no objects
        #   # hint: use arrays, or a @struct class
        q9 = copy.copy(n)  # error: `copy.copy` is a function of the host # hint: an assignment copies a value
        q10 = struct.pack("f", n)  # error: `struct.pack` cannot be called in a kernel
        #   # hint: bitcast(x, u32) gives the bits of a value

    check_errors(k)


def test_numpy_functions():
    @kernel
    def k(x: Ptr[f32], n: i32, f: f32):
        q0 = np.sqrt(f)  # error: `np.sqrt` is a NumPy function of the host # hint: math.sqrt(x)
        q1 = np.exp(f)  # error: `np.exp` is a NumPy function of the host # hint: math.exp(x)
        q2 = np.sum(x)  # error: `np.sum` is a NumPy function of the host # hint: write a loop
        q3 = np.mean(x)  # error: `np.mean` is a NumPy function of the host # hint: write a loop
        q4 = np.max(x)  # error: `np.max` is a NumPy function of the host # hint: write a loop
        q5 = np.dot(x, x)  # error: `np.dot` is a NumPy function of the host # hint: write a loop
        q6 = np.sort(x)  # error: `np.sort` is a NumPy function of the host # hint: write a loop
        q7 = np.zeros(4)  # error: `np.zeros` is a NumPy function of the host
        #   # hint: local.array(n, dtype) or shared.array(n, dtype), or make it on the host and pass it
        q8 = np.arange(4)  # error: `np.arange` is a NumPy function of the host
        #   # hint: local.array(n, dtype) or shared.array(n, dtype), or make it on the host and pass it
        q9 = np.array((1, 2))  # error: `np.array` is a NumPy function of the host
        #   # hint: local.array(n, dtype) or shared.array(n, dtype), or make it on the host and pass it
        q10 = np.clip(n, 1, 2)  # error: `np.clip` is a NumPy function of the host # hint: min(max(x, low), high)
        q11 = np.where(n > 1, 1, 2)  # error: `np.where` is a NumPy function of the host
        #   # hint: write a conditional expression: a if p else b
        q12 = np.power(n, 2)  # error: `np.power` is a NumPy function of the host # hint: x ** y
        q13 = np.sign(f)  # error: `np.sign` is a NumPy function of the host # hint: math.copysign(1.0, x)
        q14 = np.arctan2(f, f)  # error: `np.arctan2` is a NumPy function of the host # hint: math.atan2(y, x)
        q15 = np.random.rand()  # error: `np.random.rand` is a NumPy function of the host
        #   # hint: philox4x32(), uniform() and normal() of kdsl.random
        q16 = np.linalg.norm(x)  # error: `np.linalg.norm` is a NumPy function of the host
        #   # hint: do it on the host, and pass what the kernel needs as parameters
        q17 = np.iinfo(np.int32)  # error: `np.iinfo` is a class, and a kernel makes no objects
        #   # hint: pass the values, or a tuple of them

    check_errors(k)


def test_methods_of_a_pointer():
    @kernel
    def k(x: Ptr[f32]):
        q0 = x.append(1)  # error: `x` is a Ptr, which has no attribute `append`
        #   # hint: it has elements, p[i], and dtype; arrays, Array[T, ndim], have more
        q1 = x.sum()  # error: `x` is a Ptr, which has no attribute `sum`
        #   # hint: it has elements, p[i], and dtype; arrays, Array[T, ndim], have more
        q2 = x.copy()  # error: `x` is a Ptr, which has no attribute `copy`
        #   # hint: it has elements, p[i], and dtype; arrays, Array[T, ndim], have more
        q3 = x.T  # error: `x` is a Ptr, which has no attribute `T`
        #   # hint: it has elements, p[i], and dtype; arrays, Array[T, ndim], have more
        q4 = x.astype(f64)  # error: `x` is a Ptr, which has no attribute `astype`
        #   # hint: it has elements, p[i], and dtype; arrays, Array[T, ndim], have more
        q5 = x.item()  # error: `x` is a Ptr, which has no attribute `item`
        #   # hint: it has elements, p[i], and dtype; arrays, Array[T, ndim], have more
        q6 = x.shape  # error: `x` is a Ptr, which has no attribute `shape`
        #   # hint: pass the length as a parameter, or declare it as Array[T, ndim]
        q7 = x.__class__  # error: `x` is a Ptr, which has no attribute `__class__`
        #   # hint: it has elements, p[i], and dtype; arrays, Array[T, ndim], have more

    check_errors(k)


def test_methods_of_an_array():
    @kernel
    def k(a: Array[f32, 2]):
        q0 = a.append(1)  # error: an array has no attribute `append` in a kernel
        #   # hint: its length is fixed; its elements can be assigned: a[i] = x, a[:] = b
        q1 = a.sort()  # error: an array has no attribute `sort` in a kernel
        #   # hint: its length is fixed; its elements can be assigned: a[i] = x, a[:] = b
        q2 = a.fill(0)  # error: an array has no attribute `fill` in a kernel
        #   # hint: its length is fixed; its elements can be assigned: a[i] = x, a[:] = b
        q3 = a.copy()  # error: an array has no attribute `copy` in a kernel
        #   # hint: its length is fixed; its elements can be assigned: a[i] = x, a[:] = b
        q4 = a.sum()  # error: an array has no attribute `sum` in a kernel
        #   # hint: it has shape, size, ndim, dtype, T, reshape() and view()
        q5 = a.mean()  # error: an array has no attribute `mean` in a kernel
        #   # hint: it has shape, size, ndim, dtype, T, reshape() and view()
        q6 = a.max()  # error: an array has no attribute `max` in a kernel
        #   # hint: it has shape, size, ndim, dtype, T, reshape() and view()
        q7 = a.dot(a)  # error: an array has no attribute `dot` in a kernel
        #   # hint: it has shape, size, ndim, dtype, T, reshape() and view()
        q8 = a.astype(f64)  # error: an array has no attribute `astype` in a kernel
        #   # hint: it has shape, size, ndim, dtype, T, reshape() and view()
        q9 = a.tolist()  # error: an array has no attribute `tolist` in a kernel
        #   # hint: it has shape, size, ndim, dtype, T, reshape() and view()

    check_errors(k)


def test_methods_of_a_number():
    @kernel
    def k(n: i32, f: f32):
        q0 = n.bit_length()  # error: `n` is i32, which has no attribute `bit_length` # hint: 32 - clz(n), of an i32
        q1 = n.bit_count()  # error: `n` is i32, which has no attribute `bit_count` # hint: popc(n)
        q2 = n.to_bytes(4)  # error: `n` is i32, which has no attribute `to_bytes`
        #   # hint: bitcast(p, Ptr[u8]) has the bytes of memory
        q3 = n.real  # error: `n` is i32, which has no attribute `real` # hint: a number has no parts: leave it out
        q4 = n.conjugate()  # error: `n` is i32, which has no attribute `conjugate`
        #   # hint: a number has no parts: leave it out
        q5 = f.is_integer()  # error: `f` is f32, which has no attribute `is_integer` # hint: x == math.floor(x)
        q6 = f.hex()  # error: `f` is f32, which has no attribute `hex`
        #   # hint: a number has no attributes in a kernel: functions take it, such as math.floor(x)
        q7 = n.item()  # error: `n` is i32, which has no attribute `item` # hint: a number needs none: leave it out
        q8 = f.astype(f64)  # error: `f` is f32, which has no attribute `astype` # hint: a type's name casts: f32(x)
        q9 = n.foo  # error: `n` is i32, which has no attribute `foo`
        #   # hint: a number has no attributes in a kernel: functions take it, such as math.floor(x)
        q10 = i32.max  # error: the type `i32` has no attributes in a kernel
        #   # hint: name what NumPy knows of it outside of the kernel, such as LARGEST = np.iinfo(np.int32).max

    check_errors(k)


def test_methods_of_a_tuple():
    @kernel
    def k(n: i32):
        q0 = (1, n).count(1)  # error: `(1, n)` is tuple[i32, i32], which has no attribute `count`
        #   # hint: take its elements: t[0], t[1]
        q1 = (1, n).index(1)  # error: `(1, n)` is tuple[i32, i32], which has no attribute `index`
        #   # hint: take its elements: t[0], t[1]
        q2 = (1, n) + (2,)  # error: `+` takes numbers, and this is tuple[i32, i32]
        #   # hint: take its elements: x, y = ...
        q3 = (1, n) * 2  # error: `*` takes numbers, and this is tuple[i32, i32] # hint: take its elements: x, y = ...
        q4 = (1, n) == (1, n)  # error: `==` takes numbers, and this is tuple[i32, i32]
        #   # hint: take its elements: x, y = ...
        q5 = (1, n) < (2, n)  # error: `<` takes numbers, and this is tuple[i32, i32]
        #   # hint: take its elements: x, y = ...
        q6 = -(1, n)  # error: `-` takes numbers, and this is tuple[i32, i32] # hint: take its elements: x, y = ...
        q7 = (1, n)[n]  # error: a tuple is indexed with a constant
        #   # hint: local.array(n, dtype) is indexed at run time
        q8 = (1, n)[2]  # error: index 2 is out of range: the tuple has 2 elements

    check_errors(k)


def test_text():
    @kernel
    def k(n: i32):
        q0 = "a".upper()  # error: the string 'a' has no attributes in a kernel
        #   # hint: print() takes f-strings: f"{x}", f"{x:.3f}"
        q1 = "a,b".split(",")  # error: the string 'a,b' has no attributes in a kernel
        #   # hint: print() takes f-strings: f"{x}", f"{x:.3f}"
        q2 = "%d" % n  # error: the string '%d' is not a number: `%` takes numbers
        #   # hint: print() takes f-strings: f"{x}", f"{x:.3f}"
        q3 = "a" * 3  # error: the string 'a' is not a number: `*` takes numbers
        #   # hint: print() takes f-strings: f"{x}", f"{x:.3f}"
        q4 = "a" + "b"  # error: the string 'a' is not a number: `+` takes numbers
        #   # hint: print() takes f-strings: f"{x}", f"{x:.3f}"
        q5 = "abc"[0]  # error: the string 'abc' cannot be indexed # hint: print() takes f-strings: f"{x}", f"{x:.3f}"
        q6 = "a" in "abc"  # error: `in` takes a tuple in a kernel, and this is the string 'abc'
        #   # hint: write a loop that compares each element
        q7 = n == "a"  # error: the string 'a' is not a number: `==` takes numbers
        #   # hint: print() takes f-strings: f"{x}", f"{x:.3f}"
        q8 = f"{n}"  # error: an f-string is only for print() and assert # hint: write it there: print(f"{x}")
        q9 = f"{n:{n}}"  # error: an f-string is only for print() and assert # hint: write it there: print(f"{x}")
        q10 = b"a"  # error: a kernel has no bytes # hint: pass them to the kernel as an array of u8
        q11 = str(n) + "a"  # error: `str` cannot be called in a kernel # hint: print() takes f-strings

    check_errors(k)


def test_values_that_are_none():
    @kernel
    def k(n: i32, x: Ptr[f32], a: Array[f32, 2]):
        q0 = n + None  # error: None is not a number: `+` takes numbers
        #   # hint: write a number that stands for it, such as -1
        q1 = n == None  # error: None is not a number: `==` takes numbers
        #   # hint: write a number that stands for it, such as -1
        q2 = n if n else None  # error: None is not a value that a kernel computes with
        #   # hint: write a number that stands for it, such as -1
        q3 = a[None, 0]  # error: None is not a value that a kernel computes with
        #   # hint: write a number that stands for it, such as -1
        q_none = None + n  # error: None is not a number: `+` takes numbers
        #   # hint: write a number that stands for it, such as -1

    check_errors(k)


def test_matrix_multiplication():
    @kernel
    def k(a: Array[f32, 2], x: Ptr[f32], n: i32):
        q0 = a @ a  # error: a kernel has no `@` # hint: write the loops over rows, columns and the inner dimension
        q1 = x @ x  # error: a kernel has no `@` # hint: write the loops over rows, columns and the inner dimension
        q2 = n @ n  # error: a kernel has no `@` # hint: write the loops over rows, columns and the inner dimension

    check_errors(k)


def test_operators_of_whole_arrays():
    @kernel
    def k(a: Array[f32, 2], x: Ptr[f32]):
        q0 = a + a  # error: `+` takes numbers, and this is Array[f32, 2] # hint: index it instead: a[i, j]
        q1 = a * 2  # error: `*` takes numbers, and this is Array[f32, 2] # hint: index it instead: a[i, j]
        q2 = -a  # error: `-` takes numbers, and this is Array[f32, 2] # hint: index it instead: a[i, j]
        q3 = a == a  # error: `==` takes numbers, and this is Array[f32, 2] # hint: index it instead: a[i, j]
        q4 = x * 2  # error: `*` does not take a pointer # hint: index it instead: p[i]; atomics take (p, i, value)
        q5 = x + x  # error: two pointers have no sum # hint: p - q counts the elements between them
        q6 = not x  # error: a test does not take a pointer # hint: index it instead: p[i]; atomics take (p, i, value)
        q7 = x and x  # error: a test does not take a pointer
        #   # hint: index it instead: p[i]; atomics take (p, i, value)  # error: a test does not take a pointer
        #   # hint: index it instead: p[i]; atomics take (p, i, value)
        q8 = a < a  # error: `<` takes numbers, and this is Array[f32, 2] # hint: index it instead: a[i, j]
        q9 = abs(a)  # error: abs() takes numbers, and this is Array[f32, 2] # hint: index it instead: a[i, j]

    check_errors(k)


def test_comprehensions():
    @kernel
    def k(x: Ptr[f32], n: i32):
        q0 = {i for i in range(3)}  # error: a comprehension makes a set, and a kernel has none
        #   # hint: write a for loop
        q1 = {i: i for i in range(3)}  # error: a comprehension makes a dict, and a kernel has none
        #   # hint: write a for loop
        q2 = (i for i in range(3))  # error: a generator expression is only for sum, min, max, any and all
        #   # hint: a list has elements: [... for ... in ...]
        q3 = [x[i] for i in range(n)]  # error: a comprehension runs over what is known while the kernel is compiled,
        #   and this range is not # hint: write a loop
        q4 = sum(i for i in range(n))  # error: a comprehension runs over what is known while the kernel is
        #   compiled, and this range is not # hint: write a loop
        q5 = []  # error: a list has at least one element # hint: its length is fixed: write all elements in one list
        q6 = list(range(3))  # error: `list` cannot be called in a kernel
        #   # hint: local.array(n, dtype) holds values that are indexed at run time
        q7 = tuple(range(3))  # error: tuple() takes a tuple, and this is a range # hint: write the tuple: (a, b)
        q8 = dict(a=n)  # error: `dict` cannot be called in a kernel # hint: use arrays, or a chain of if and elif
        q9 = {}  # error: a kernel has no dicts # hint: use arrays, or a chain of if and elif
        q10 = {n}  # error: a kernel has no sets # hint: compare with each value: x == 1 or x == 2
        q11 = set()  # error: `set` cannot be called in a kernel # hint: compare with each value
        q12 = frozenset((1, 2))  # error: `frozenset` cannot be called in a kernel # hint: compare with each value
        q13 = {**{}}  # error: a kernel has no dicts # hint: use arrays, or a chain of if and elif

    check_errors(k)


def test_generators_and_coroutines():
    @kernel
    def k(n: i32):
        q0 = yield  # error: a kernel cannot yield # hint: store the value in an array
        q1 = yield n  # error: a kernel cannot yield # hint: store the value in an array
        q2 = yield from (n,)  # error: a kernel cannot yield # hint: store the values in an array

    check_errors(k)


def test_constants_of_other_types():
    @kernel
    def k(n: i32):
        q0 = b""  # error: a kernel has no bytes # hint: pass them to the kernel as an array of u8
        q1 = ...  # error: `...` is no value in a kernel # hint: an empty body is pass

    check_errors(k)


def test_ranges_and_print_are_no_values():
    @kernel
    def k(n: i32):
        q0 = print(n)  # error: print() is a statement of its own in a kernel # hint: write it on a line of its own
        q1 = range(n) == range(n)  # error: a range is only for a `for` loop # hint: for i in range(n)
        q2 = range(n)[0]  # error: a range cannot be indexed
        q3 = len(range(n))  # error: `range(n)` has no length

    check_errors(k)


def test_is():
    @kernel
    def k(x: Ptr[f32], n: i32):
        q0 = x is x  # error: `is` compares Python objects, and a kernel has only values # hint: write ==
        q1 = n is n  # error: `is` compares Python objects, and a kernel has only values # hint: write ==
        q2 = n is not n  # error: `is not` compares Python objects, and a kernel has only values # hint: write !=

    check_errors(k)
