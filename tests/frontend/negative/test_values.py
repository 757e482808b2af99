"""Python's values that are none of the kernel language: literals, and objects that a kernel captures."""

from __future__ import annotations

import collections
import dataclasses
import enum
import math

import numpy as np

from kdsl import Array, Ptr, f32, f64, i32, kernel, shared, thread_idx

from ..harness import check_errors

LIST = [1, 2, 3]
DICT = {1: 2}
SET = {1}
STRING = "text"
NOTHING = None
COMPLEX = 1j
BYTES = b"text"
ARRAY = np.zeros(4, np.float32)
SCALAR_ARRAY = np.array(3.0)
HUGE = 10**400
DATE = np.datetime64("2020")
COMPLEX64 = np.complex64(1)


class Plain:
    number = 3

    def __init__(self):
        self.field = 5

    def method(self):
        return 1

    @classmethod
    def create(cls, value):
        return value


@dataclasses.dataclass
class Record:
    field: int = 1


class Color(enum.Enum):
    RED = 1


INSTANCE = Plain()
RECORD = Record()
Pair = collections.namedtuple("Pair", "first second")
PAIR = Pair(1, 2)


def test_complex_numbers():
    @kernel
    def k(x: Ptr[f32], n: i32):
        x[0] = 1j  # error: 1j is a complex literal where f32 is needed # hint: take a part: .real or .imag
        x[1] = 2.5j + 1  # error: (1+2.5j) is a complex literal where f32 is needed
        x[2] = n * 1j  # error: this is complex64, but `x` takes f32 # hint: take a part: (n * 1j).real
        x[3] = COMPLEX  # error: 1j is a complex literal where f32 is needed
        x[4] = COMPLEX * 2  # error: 2j is a complex literal where f32 is needed
        x[5] = COMPLEX64  # error: this is complex64, but `x` takes f32 # hint: take a part: COMPLEX64.real

    check_errors(k)


def test_bytes():
    @kernel
    def k(x: Ptr[f32]):
        x[0] = b"a"  # error: a kernel has no bytes # hint: pass them to the kernel as an array of u8
        x[1] = BYTES  # error: `BYTES` (a bytes of the host) is not a value that a kernel computes with
        print(b"a")  # error: a kernel has no bytes
        x[2] = BYTES[0]  # error: `BYTES` (a bytes of the host) cannot be indexed

    check_errors(k)


def test_strings():
    @kernel
    def k(x: Ptr[f32], n: i32):
        x[0] = "s"  # error: the string 's' is not a value that a kernel computes with
        x[1] = "ab"  # error: the string 'ab' is not a value that a kernel computes with
        x[2] = STRING  # error: the string 'text' is not a value that a kernel computes with
        x[3] = "a" + "b"  # error: the string 'a' is not a number: `+` takes numbers
        x[4] = "a" * 2  # error: the string 'a' is not a number: `*` takes numbers
        x[5] = -"a"  # error: the string 'a' is not a number: `-` takes numbers
        x[6] = n + "a"  # error: the string 'a' is not a number: `+` takes numbers
        x[7] = STRING[0]  # error: the string 'text' cannot be indexed
        x[8] = STRING == "text"  # error: this is bool, but `x` takes f32 # hint: cast it: f32(STRING == "text")
        x[9] = "a".upper()  # error: the string 'a' has no attributes in a kernel

    check_errors(k)


def test_ellipsis():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], a: Array[f32, 2]):
        x[0] = ...  # error: `...` is no value in a kernel
        x[1] = y[...]  # error: `y` is a Ptr, whose end nobody knows # hint: say it: p[0:n]
        x[2] = a[..., 0]  # error: this is Array[f32, 1], but `x` takes f32 # hint: write an element of it: a[..., 0][i]
        x[3] = not ...  # error: `...` is no value in a kernel
        x[4] = Ellipsis  # error: `Ellipsis` (an ellipsis of the host) is not a value that a kernel computes with

    check_errors(k)


def test_none():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], a: Array[f32, 2], n: i32):
        x[0] = None  # error: None is not a value that a kernel computes with
        x[1] = n + None  # error: None is not a number: `+` takes numbers
        x[2] = NOTHING  # error: None is not a value that a kernel computes with
        x[3] = NOTHING == 1  # error: None is not a number: `==` takes numbers
        x[4] = y[None]  # error: None is not a value that a kernel computes with
        x[5] = a[n, None]  # error: None is not a value that a kernel computes with
        n = None  # error: None is not a value that a kernel computes with

    check_errors(k)


def test_lists():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        x[0] = [1]  # error: this is a local array of 1 i32, but `x` takes f32
        x[1] = [1][1]  # error: index 1 is out of range: `[1]` has extent 1 along axis 0
        x[2] = n + [1]  # error: a kernel joins no lists
        x[3] = y[[0]]  # error: an index is an int, and this is a local array of 1 i32
        x[4] = LIST  # error: `LIST` (a list of the host) is not a value that a kernel computes with
        x[5] = LIST[0]  # error: `LIST` (a list of the host) cannot be indexed
        #   # hint: make it a tuple, or pass an array as a parameter
        x[6] = LIST + 1  # error: `LIST` (a list of the host) is not a number: `+` takes numbers
        x[7] = len(LIST)  # error: `LIST` (a list of the host) has no len() in a kernel
        LIST[0] = 1  # error: `LIST` (a list of the host) cannot be indexed
        LIST.append(1)  # error: `LIST` (a list of the host) has no attributes in a kernel

    check_errors(k)


def test_dicts_and_sets():
    @kernel
    def k(x: Ptr[f32]):
        x[0] = {}  # error: a kernel has no dicts # hint: use arrays, or a chain of if and elif
        x[1] = {1: 2}  # error: a kernel has no dicts
        x[2] = {1}  # error: a kernel has no sets # hint: compare with each value: x == 1 or x == 2
        x[3] = DICT  # error: `DICT` (a dict of the host) is not a value that a kernel computes with
        x[4] = DICT[1]  # error: `DICT` (a dict of the host) cannot be indexed
        x[5] = SET  # error: `SET` (a set of the host) is not a value that a kernel computes with
        DICT[1] += 1  # error: `DICT` (a dict of the host) cannot be indexed

    check_errors(k)


def test_comprehensions():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32]):
        x[0] = [i for i in x]  # error: a comprehension runs over what is known while the kernel is compiled, and this
        #   is
        #   Ptr[f32] # hint: range(4), a tuple, or an array of known shape
        x[1] = {i for i in x}  # error: a comprehension makes a set, and a kernel has none # hint: write a for loop
        x[2] = {i: i for i in x}  # error: a comprehension makes a dict, and a kernel has none
        x[3] = (i for i in x)  # error: a generator expression is only for sum, min, max, any and all
        x[4] = sum(i for i in x)  # error: a comprehension runs over what is known while the kernel is compiled, and
        #   this is
        #   Ptr[f32]

    check_errors(k)


def test_f_strings_are_no_values():
    @kernel
    def k(x: Ptr[f32], n: i32):
        x[0] = f"{n}"  # error: an f-string is only for print() and assert
        s = f"{n}"  # error: an f-string is only for print() and assert
        f"{n}"  # error: an f-string is only for print() and assert

    check_errors(k)


def test_numpy_arrays_of_the_host():
    @kernel
    def k(x: Ptr[f32]):
        x[0] = ARRAY  # error: `ARRAY` (a NumPy array of the host) is not a value that a kernel computes with
        x[1] = ARRAY[0]  # error: `ARRAY` (a NumPy array of the host) cannot be indexed
        x[2] = ARRAY.shape[0]  # error: `ARRAY` (a NumPy array of the host) has no attributes in a kernel
        x[3] = SCALAR_ARRAY  # error: `SCALAR_ARRAY` (a NumPy array of the host) is not a value that a kernel computes
        #   with
        x[4] = ARRAY + 1  # error: `ARRAY` (a NumPy array of the host) is not a number: `+` takes numbers
        ARRAY[0] = 1  # error: `ARRAY` (a NumPy array of the host) cannot be indexed

    check_errors(k)


def test_objects():
    @kernel
    def k(x: Ptr[f32]):
        x[0] = INSTANCE  # error: `INSTANCE` (a Plain of the host) is not a value that a kernel computes with
        x[1] = RECORD  # error: `RECORD` (a Record of the host) is not a value that a kernel computes with
        x[2] = Color.RED  # error: `Color.RED` (a Color of the host) is not a value that a kernel computes with
        x[3] = DATE  # error: `DATE` (a datetime64 of the host) is not a value that a kernel computes with
        INSTANCE.field = 1  # error: a kernel cannot set attributes # hint: store to an element: a[i] = value
        Plain.number = 3  # error: a kernel cannot set attributes
        x[4] = Plain()  # error: `Plain` is a class, and a kernel makes no objects
        #   # hint: pass the values, or a tuple of them

    check_errors(k)


def test_numbers_that_no_type_holds():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], d: f64):
        x[0] = HUGE  # error: this constant does not fit f32 # hint: the largest f32 is about 3.4e38; use f64
        y[0] = HUGE  # error: this constant does not fit i32, which holds -2147483648 to 2147483647
        d = HUGE  # error: this constant does not fit f64

    check_errors(k)


def test_functions_modules_and_types():
    @kernel
    def k(x: Ptr[f32]):
        x[0] = math  # error: the module `math` is not a value that a kernel computes with
        x[1] = f32  # error: the type `f32` is not a value that a kernel computes with
        x[2] = len  # error: the function `len` is not a value that a kernel computes with
        x[3] = Plain  # error: the type `Plain` is not a value that a kernel computes with
        x[4] = math.sin  # error: the function `math.sin` is not a value that a kernel computes with
        x[5] = lambda: 1  # error: the function `lambda: 1` is not a value that a kernel computes with
        x[6] = Ptr  # error: the type `Ptr` is not a value that a kernel computes with
        x[7] = shared  # error: the type `shared` is not a value that a kernel computes with
        x[8] = range  # error: the type `range` is not a value that a kernel computes with
        x[9] = np.int32  # error: the type `np.int32` is not a value that a kernel computes with

    check_errors(k)


def test_special_registers_need_an_axis():
    @kernel
    def k(x: Ptr[f32]):
        x[0] = thread_idx  # error: `thread_idx` is not a value that a kernel computes with
        #   # hint: write thread_idx.x, .y or .z
        x[1] = thread_idx.w  # error: `thread_idx` has no attribute `w` # hint: it has x, y and z
        x[2] = thread_idx[0]  # error: `thread_idx` cannot be indexed
        x[3] = thread_idx + 1  # error: `thread_idx` is not a number: `+` takes numbers
        x[4] = thread_idx.x.y  # error: `thread_idx.x` is i32, which has no attribute `y`
        x[5] = thread_idx()  # error: `thread_idx` is a Registers, not a function that a kernel can call
        thread_idx.x = 1  # error: a kernel cannot set attributes

    check_errors(k)


def test_named_tuples():
    @kernel
    def k(x: Ptr[f32]):
        x[0] = PAIR  # error: this is Pair, but `x` takes f32
        x[1] = PAIR[2]  # error: index 2 is out of range: the tuple has 2 elements
        x[3] = PAIR.third  # error: `PAIR` is Pair, which has no field `third` # hint: it has first, second

    check_errors(k)


def test_names_of_other_languages():
    @kernel
    def k(x: Ptr[f32]):
        x[0] = threadIdx.x  # error: `threadIdx` is not defined
        x[1] = blockIdx.x  # error: `blockIdx` is not defined
        syncthreads()  # error: `syncthreads` is not defined
        cuda.grid(1)  # error: `cuda` is not defined
        x[2] = WARP_SIZE  # error: `WARP_SIZE` is not defined

    check_errors(k)


def test_names_of_the_module():
    @kernel
    def k(x: Ptr[f32]):
        x[2] = undefined_name  # error: `undefined_name` is not defined
        x[3] = undefined_name + 1  # error: `undefined_name` is not defined

    check_errors(k)
