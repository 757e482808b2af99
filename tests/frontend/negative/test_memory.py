"""Shared and local arrays, and indices of whatever is indexed."""

from __future__ import annotations

import math

import numpy as np

from kdsl import Array, Ptr, constant, f16, f32, f64, i32, kernel, local, shared, u8, u32

from ..harness import check_errors

PAIR = (1, 5)
CONSTANTS = np.ones(4, np.float32)
EMPTY = ()


def test_missing_arguments():
    @kernel
    def k(n: i32):
        shared.array()  # error: shared.array() needs `shape` and `dtype`
        # hint: it takes shape, dtype; such as shared.array(64, f32)
        shared.array(4)  # error: shared.array() needs `dtype`
        shared.array(f32)  # error: shared.array() needs `dtype`
        local.array(4)  # error: local.array() needs `dtype`
        shared.array(4, f32, 3)  # error: shared.array() takes 2 arguments (shape, dtype), and this gives 3
        shared.array(4, f32, align=3)  # error: shared.array() has no parameter `align`

    check_errors(k)


def test_extents():
    @kernel
    def k(n: i32):
        shared.array(-1, f32)  # error: an extent of shared.array() is at least 1, and this is -1
        shared.array(0, f32)  # error: an extent of shared.array() is at least 1, and this is 0
        shared.array((4, 0), f32)  # error: an extent of shared.array() is at least 1, and this is 0
        local.array(0, f32)  # error: an extent of local.array() is at least 1, and this is 0
        local.array((2, -2), f32)  # error: an extent of local.array() is at least 1, and this is -2

    check_errors(k)


def test_dimensions():
    @kernel
    def k(n: i32):
        shared.array((), f32)  # error: shared.array() takes 1 to 4 dimensions, and this has 0
        shared.array((1, 1, 1, 1, 1), f32)  # error: shared.array() takes 1 to 4 dimensions, and this has 5
        local.array(EMPTY, f32)  # error: local.array() takes 1 to 4 dimensions, and this has 0

    check_errors(k)


def test_shapes_that_are_not_constant():
    @kernel
    def k(n: i32):
        shared.array(n, f32)  # error: the shape of shared.array() is constant
        #   # hint: a number, or a name that is bound once to one
        shared.array((4, n), f32)  # error: the shape of shared.array() is constant
        local.array(n * 2, f32)  # error: the shape of local.array() is constant
        m = 4
        m += 1
        local.array(m, f32)  # error: the shape of local.array() is constant

    check_errors(k)


def test_shapes_that_are_no_ints():
    @kernel
    def k(n: i32):
        shared.array(4.0, f32)  # error: an extent of shared.array() is an int, and this is `4.0`
        shared.array("4", f32)  # error: an extent of shared.array() is an int, and this is `"4"`
        shared.array(None, f32)  # error: an extent of shared.array() is an int, and this is `None`
        shared.array(True, f32)  # error: an extent of shared.array() is an int, and this is `True`
        shared.array([4], f32)  # error: the shape of shared.array() is constant
        shared.array((4, (2, 2)), f32)  # error: an extent of shared.array() is an int, and this is `(2, 2)`

    check_errors(k)


def test_element_types():
    @kernel
    def k(x: Ptr[f32]):
        shared.array(4, 4)  # error: shared.array() takes a scalar, vector or struct type here
        #   # hint: such as shared.array(64, f32)
        shared.array(4, "f32")  # error: shared.array() takes a scalar, vector or struct type here
        shared.array(4, list)  # error: shared.array() takes a scalar, vector or struct type here
        shared.array(4, np.clongdouble)  # error: shared.array() takes a scalar, vector or struct type here
        local.array(4, None)  # error: local.array() takes a scalar, vector or struct type here
        #   # hint: such as local.array(64, f32)
        local.array(4, x)  # error: local.array() takes a scalar, vector or struct type here
        shared.array(4, Ptr[f32])  # error: shared.array() takes a scalar, vector or struct type here

    check_errors(k)


def test_one_array_too_large():
    @kernel
    def k(n: i32):
        shared.array(12289, f32)  # error: the kernel's shared arrays take 49156 bytes with this one, and a block has
        #   49152
        shared.array(2**40, f32)  # error: the kernel's shared arrays take 4398046511104 bytes with this one, and a
        #   block has 49152
        local.array(2**20, f32)  # error: this array takes 4194304 bytes of each thread, which has 524288

    check_errors(k)


def test_together_too_large():
    @kernel
    def k(n: i32):
        p = shared.array(12000, f32)
        q = shared.array((16, 16), f64)  # error: the kernel's shared arrays take 50048 bytes with this one, and a block
        #   has 49152
        r = shared.array(64, u8)

    check_errors(k)


def test_arrays_are_no_values():
    @kernel
    def k(x: Ptr[f32]):
        x[0] = shared.array(4, f32)  # error: this is a shared array of 4 f32, but `x` takes f32
        x[1] = shared.array  # error: the function `shared.array` is not a value that a kernel computes with
        x[2] = shared.undefined  # error: `shared` has no attribute `undefined`
        shared(4, f32)  # error: `shared` is a class, and a kernel makes no objects
        #   # hint: pass the values, or a tuple of them
        x[3] = local.array(4, f32) + 1  # error: `+` takes numbers, and this is a local array of 4 f32
        #   # hint: index it instead: local.array(4, f32)[i]
        print(local.array(4, f32))  # error: a local array of 4 f32 cannot be printed # hint: print its elements

    check_errors(k)


def test_constant_indices():
    @kernel
    def k(n: i32):
        t = shared.array(4, f32)
        t[4] = 1  # error: index 4 is out of range: `t` has extent 4 along axis 0
        t[-1] = 1  # error: a negative index does not count from the end: `t` would be read before its start
        #   # hint: write t[4 - 1]
        t[2**40] = 1  # error: index 1099511627776 is out of range: `t` has extent 4 along axis 0
        s = t
        s[5] += 1  # error: index 5 is out of range: `s` has extent 4 along axis 0

    check_errors(k)


def test_constant_indices_of_two_dimensions():
    @kernel
    def k(n: i32):
        t = local.array((4, 8), i32)
        t[4, 0] = 1  # error: index 4 is out of range: `t` has extent 4 along axis 0
        t[0, 8] = 1  # error: index 8 is out of range: `t` has extent 8 along axis 1
        t[n, -1] = 1  # error: a negative index does not count from the end: `t` would be read before its start
        #   # hint: write 8 - 1
        t[(0, 9)] = 1  # error: index 9 is out of range: `t` has extent 8 along axis 1

    check_errors(k)


def test_counts_of_indices():
    @kernel
    def k(x: Ptr[f32], a: Array[f32, 2], v: Array[f32, 1]):
        t = local.array((4, 8), i32)
        t[0] = 1  # error: `t[0]` is not one element, but a part of `t`
        #   # hint: write t[0, ...] = for all elements of it, or all 2 indices for one
        t[0][0, 0] = 1  # error: `t[0]` has 1 dimension, and this is 2 indices
        t[0][9] = 1  # error: index 9 is out of range: `t[0]` has extent 8 along axis 0
        t[0, 0, 0] = 1  # error: `t` has 2 dimensions, and this is 3 indices
        x[0, 1] = 1  # error: `x` has 1 dimension, and this is 2 indices # hint: write x[i]
        x[()] = 1  # error: `x` has 1 dimension, and this is 0 indices
        a[0] = 1  # error: `a[0]` is not one element, but a part of `a`
        a[0] += 1  # error: a part of an array has no such assignment # hint: loop over its elements
        a[0, 0, 0]  # error: `a` has 2 dimensions, and this is 3 indices
        v[0, 0]  # error: `v` has 1 dimension, and this is 2 indices # hint: write v[i]
        v[PAIR]  # error: `v` has 1 dimension, and this is 2 indices

    check_errors(k)


def test_types_of_indices():
    @kernel
    def k(x: Ptr[f32], a: Array[f32, 2], v: Array[f32, 1], n: i32, d: f64, h: f16, b: bool):
        x[0.5] = 1  # error: an index is an int, and this is f32 # hint: cast it: i32(0.5)
        x[n > 0] = 1  # error: an index is an int, and this is bool # hint: cast it: i32(n > 0)
        x[True] = 1  # error: an index is an int, and this is bool # hint: cast it: i32(True)
        x[h] = 1  # error: an index is an int, and this is f16 # hint: cast it: i32(h)
        a[d, 0] = 1  # error: an index is an int, and this is f64 # hint: cast it: i32(d)
        a[0, b] = 1  # error: an index is an int, and this is bool # hint: cast it: i32(b)
        v[x] = 1  # error: an index is an int, and this is Ptr[f32]
        x["a"] = 1  # error: the string 'a' is not a value that a kernel computes with
        x[f32] = 1  # error: the type `f32` is not a value that a kernel computes with

    check_errors(k)


def test_negative_indices():
    @kernel
    def k(x: Ptr[f32], a: Array[f32, 2], v: Array[f32, 1], n: i32):
        a[-1, 0] = 1  # error: a negative index does not count from the end: `a` would be read before its start
        #   # hint: write a.shape[0] - 1
        a[0, -2] = 1  # error: a negative index does not count from the end: `a` would be read before its start
        #   # hint: write a.shape[1] - 2
        v[-1] = 1  # error: a negative index does not count from the end: `v` would be read before its start
        #   # hint: write v[v.shape[0] - 1]
        v[-5] += 1  # error: a negative index does not count from the end: `v` would be read before its start
        #   # hint: write v[v.shape[0] - 5]
        x[0] = a[n, -1]  # error: a negative index does not count from the end: `a` would be read before its start
        #   # hint: write a.shape[1] - 1

    check_errors(k)


def test_slices():
    @kernel
    def k(x: Ptr[f32], a: Array[f32, 2], v: Array[f32, 1], n: i32):
        x[:] = 1  # error: `x` is a Ptr, whose end nobody knows # hint: say it: p[0:n]
        x[0] = v[n:]  # error: this is Array[f32, 1], but `x` takes f32 # hint: write an element of it: v[n:][i]
        x[0] = a[1:2]  # error: this is Array[f32, 2], but `x` takes f32 # hint: write an element of it: a[1:2][i, j]
        x[0] = v[1:2]  # error: this is a global array of 1 f32, but `x` takes f32
        v[n:] += 1  # error: a part of an array has no such assignment # hint: loop over its elements
        x[:n, :] = 1  # error: `x` has 1 dimension, and this is 2 indices
        a[:, :, :]  # error: `a` has 2 dimensions, and this is 3 indices
        a[..., ...]  # error: an index has one `...` at most
        a[-1:]  # error: a negative bound does not count from the end # hint: write a.shape[0] - 1
        a[:, :-2]  # error: a negative bound does not count from the end # hint: write a.shape[1] - 2
        a[1.5:]  # error: the bounds of a slice are ints, and this is f32 # hint: cast it: i32(1.5)
        a[: n / 2]  # error: the bounds of a slice are ints, and this is f32 # hint: divide with //: n // 2
        a[v:]  # error: the bounds of a slice are ints, and this is Array[f32, 1]
        a[::0]  # error: a slice with step 0 never ends
        a[None, 0]  # error: None is not a value that a kernel computes with
        x[::-1]  # error: `x` is a Ptr, whose end nobody knows
        x[:4:-1]  # error: `x` is a Ptr, whose end nobody knows # hint: say where to start
        n[0:1]  # error: only an array or a Ptr has slices
        f = shared.array((4, 8), f32)
        f[5:]  # error: the slice leaves the array: `f` has extent 4 along axis 0
        #   # hint: a kernel does not clamp the bounds of a slice
        f[1, 2:9]  # error: the slice leaves the array: `f` has extent 8 along axis 1
        f[4::-1]  # error: the slice leaves the array: `f` has extent 4 along axis 0
        f[1:3][2, 0]  # error: index 2 is out of range: `f[1:3]` has extent 2 along axis 0
        v + 1  # error: `+` takes numbers, and this is Array[f32, 1]

    check_errors(k)


def test_copies():
    @kernel
    def k(x: Ptr[f32], a: Array[f32, 2], d: Array[f64, 1], n: i32):
        f = shared.array((4, 8), f32)
        f[0, :] = f[:, 0]  # error: a shared array of 4 f32 is copied to a shared array of 8 f32
        #   # hint: extents must be equal
        f[0, :] = a  # error: this has 2 dimensions, and `f[0, :]` has 1
        #   # hint: a part of each with the same dimensions
        f[0, :] = d  # error: this is f64, but `f` takes f32 # hint: cast it: f32(d)
        f[0, :] = x  # error: `x` is a Ptr, whose end nobody knows # hint: say it: x[0:n]
        f[0, :] = (1, 2)  # error: this is tuple[i32, i32], but `f` takes f32
        f[:] = 0.0
        f[:] = None  # error: None is not a value that a kernel computes with
        constant.array(CONSTANTS)[0:2] = 1.0  # error: a kernel cannot write constant memory

    check_errors(k)


def test_shapes():
    @kernel
    def k(a: Array[f32, 2], n: i32):
        f = shared.array((4, 8), f32)
        f.reshape(5, -1)  # error: an array of 32 elements has no shape (5, -1)
        f.reshape(4, 4)  # error: an array of 32 elements has no shape (4, 4)
        f.reshape(-1, -1)  # error: an extent is not negative, but one -1 stands for what is left
        f.reshape(-2, 4)  # error: an extent is not negative, but one -1 stands for what is left
        f.reshape(2.0)  # error: an extent is an int, and this is f32 # hint: cast it: i32(2.0)
        f.reshape()  # error: reshape() takes 1 to 4 arguments, and this gives 0
        f.T.reshape(32)  # error: the elements of a strided array do not lie side by side
        #   # hint: copy it into an array that is contiguous
        a[:, 0].view(u32)  # error: the elements of a strided array do not lie side by side
        f.view(3)  # error: view() takes a scalar or vector type # hint: such as a.view(f32x4)
        f[0, :3].view(f64)  # error: elements of f64 do not fill 3 f32
        f.reshape  # error: an array has no attribute `reshape` in a kernel

    check_errors(k)


def test_what_has_no_elements():
    @kernel
    def k(x: Ptr[f32], n: i32, f: f32):
        n[0]  # error: i32 cannot be indexed
        n[0] = 1  # error: i32 cannot be indexed
        n[0] += 1  # error: i32 cannot be indexed
        x[0][0] = 1  # error: f32 cannot be indexed
        f[0]  # error: f32 cannot be indexed
        print[0]  # error: the function `print` cannot be indexed
        f32[1]  # error: the type `f32` cannot be indexed
        math[0]  # error: the module `math` cannot be indexed

    check_errors(k)


def test_what_is_stored():
    @kernel
    def k(x: Ptr[f32], n: i32, d: f64):
        t = shared.array(4, f32)
        t[0] = d  # error: this is f64, but `t` takes f32 # hint: cast it: f32(d)
        t[0] = x  # error: this is Ptr[f32], but `t` takes f32
        t[0] = (1, 2)  # error: this is tuple[i32, i32], but `t` takes f32
        u8s = local.array(4, u8)
        u8s[0] = n  # error: this is i32, but `u8s` takes u8 # hint: cast it: u8(n)
        u8s[0] = 256  # error: 256 does not fit u8, which holds 0 to 255 # hint: write u8(256) to keep the low bits
        u8s[0] = 1.5  # error: 1.5 is a float literal where u8 is needed # hint: write an int, or cast it: u8(1.5)
        x[0] = None  # error: None is not a value that a kernel computes with

    check_errors(k)


def test_attributes_of_arrays():
    @kernel
    def k(a: Array[f32, 2]):
        a.sum()  # error: an array has no attribute `sum` in a kernel
        #   # hint: it has shape, size, ndim, dtype, T, reshape() and view()
        a.astype(f32)  # error: an array has no attribute `astype` in a kernel
        a.strides  # error: an array has no attribute `strides` in a kernel
        a.data  # error: an array has no attribute `data` in a kernel
        a.fill(0)  # error: an array has no attribute `fill` in a kernel
        #   # hint: its length is fixed; its elements can be assigned: a[i] = x, a[:] = b
        a.ndim.x  # error: `a.ndim` is an int literal (i32), which has no attribute `x`
        a.dtype  # error: the type `a.dtype` is not a value that a kernel computes with
        a.size()  # error: `a.size` is i32, not a function

    check_errors(k)


def test_attributes_of_pointers_and_numbers():
    @kernel
    def k(x: Ptr[f32], n: i32, f: f32):
        x.shape  # error: `x` is a Ptr, which has no attribute `shape`
        #   # hint: pass the length as a parameter, or declare it as Array[T, ndim]
        x.size  # error: `x` is a Ptr, which has no attribute `size`
        x.T  # error: `x` is a Ptr, which has no attribute `T`
        n.dtype  # error: `n` is i32, which has no attribute `dtype`
        n.real  # error: `n` is i32, which has no attribute `real`
        n.bit_length()  # error: `n` is i32, which has no attribute `bit_length`
        f.is_integer()  # error: `f` is f32, which has no attribute `is_integer`

    check_errors(k)


def test_attributes_are_not_set():
    @kernel
    def k(x: Ptr[f32], a: Array[f32, 2], n: i32):
        a.shape = 1  # error: a kernel cannot set attributes # hint: store to an element: a[i] = value
        x.y = 1  # error: a kernel cannot set attributes
        n.z += 1  # error: a kernel cannot set attributes
        a.shape[0] = 1  # error: the elements of a tuple cannot be assigned
        #   # hint: local.array(n, dtype) has elements that can
        math.pi = 3  # error: a kernel cannot set attributes

    check_errors(k)


def test_shapes():
    @kernel
    def k(x: Ptr[f32], a: Array[f32, 2], v: Array[f32, 1], n: i32):
        a.shape[2]  # error: index 2 is out of range: the tuple has 2 elements
        a.shape[-3]  # error: index -3 is out of range: the tuple has 2 elements
        a.shape[n]  # error: a tuple is indexed with a constant # hint: local.array(n, dtype) is indexed at run time
        p, q, r = a.shape  # error: 2 values are unpacked to 3 names
        x[0] = a.shape  # error: this is tuple[i32, i32], but `x` takes f32
        len(x)  # error: `x` is a Ptr, which has no length # hint: pass the length, or declare it as Array[T, 1]
        len(n)  # error: `n` has no length
        len(a[0, 0])  # error: `a[0, 0]` has no length
        len(5)  # error: `5` has no length
        len()  # error: len() takes 1 argument, and this gives 0
        len(a, v)  # error: len() takes 1 argument, and this gives 2

    check_errors(k)
