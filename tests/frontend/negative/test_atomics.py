"""Atomics on the wrong array, index or value."""

from __future__ import annotations

from kdsl import Array, Ptr, atomic, f32, f64, i16, i32, i64, kernel, shared, u8, u32

from ..harness import check_errors


def test_counts():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32]):
        atomic.add()  # error: atomic.add() needs `array` and `index` and `value`
        #   # hint: it takes array, index, value, order, scope
        atomic.add(x)  # error: atomic.add() needs `index` and `value`
        atomic.add(x, 0)  # error: atomic.add() needs `value`
        atomic.add(x, 0, 1, 2, 3, 4, 5)  # error: atomic.add() takes 3 arguments (array, index, value), and this gives 7
        atomic.cas(x, 0, 1)  # error: atomic.cas() needs `new` # hint: it takes array, index, expected, new, order,
        #   scope
        atomic.min(x, 0)  # error: atomic.min() needs `value`
        atomic.exch(y)  # error: atomic.exch() needs `index` and `value`

    check_errors(k)


def test_keywords():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32]):
        atomic.add(x, 0, 1, undefined=1)  # error: atomic.add() has no parameter `undefined`
        atomic.add(x, 0, value=1, index=0)  # error: atomic.add() got `index` twice
        atomic.add(*x)  # error: `*` takes a tuple apart, and this is Ptr[f32] # hint: write each argument
        atomic.add(x, **y)  # error: a kernel has no ** unpacking

    check_errors(k)


def test_arrays():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], a: Array[f32, 2], n: i32):
        atomic.add(x[0], 0, 1)  # error: f32 cannot be indexed
        atomic.add(n, 0, 1)  # error: i32 cannot be indexed
        atomic.add(5, 0, 1)  # error: an int literal (i32) cannot be indexed
        atomic.add("a", 0, 1)  # error: the string 'a' cannot be indexed
        atomic.add(None, 0, 1)  # error: None cannot be indexed
        atomic.add((x, y), 0, 1)  # error: tuple[Ptr[f32], Ptr[i32]] cannot be indexed
        atomic.add(a.shape, 0, 1)  # error: tuple[i32, i32] cannot be indexed

    check_errors(k)


def test_indices():
    @kernel
    def k(x: Ptr[f32], a: Array[f32, 2], v: Array[f32, 1], n: i32):
        atomic.add(x, 0.5, 1)  # error: an index is an int, and this is f32 # hint: cast it: i32(0.5)
        atomic.add(x, n > 0, 1)  # error: an index is an int, and this is bool # hint: cast it: i32(n > 0)
        atomic.add(x, (0, 0), 1)  # error: `x` has 1 dimension, and this is 2 indices # hint: write x[i]
        atomic.add(x, None, 1)  # error: None is not a value that a kernel computes with
        atomic.add(a, 0, 1)  # error: `a` has 2 dimensions, and this is 1 index # hint: write a[i, j]
        atomic.add(a, (0, 0, 0), 1)  # error: `a` has 2 dimensions, and this is 3 indices
        atomic.add(a, (0, -1), 1)  # error: a negative index does not count from the end: `a` would be read before its
        #   start # hint: write a.shape[1] - 1
        atomic.add(v, -1, 1)  # error: a negative index does not count from the end: `v` would be read before its start
        #   # hint: write v[v.shape[0] - 1]
        atomic.add(shared.array(4, f32), 5, 1)  # error: index 5 is out of range: `shared.array(4, f32)` has extent 4
        #   along axis 0

    check_errors(k)


def test_values():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32, u: u32, d: f64, f: f32, l: i64):
        atomic.add(x, 0, d)  # error: this is f64, but atomic.add() takes f32 # hint: cast it: f32(d)
        atomic.add(x, 0, x)  # error: this is Ptr[f32], but atomic.add() takes f32
        atomic.add(x, 0, (1, 2))  # error: this is tuple[i32, i32], but atomic.add() takes f32
        atomic.add(x, 0, None)  # error: None is not a value that a kernel computes with
        atomic.add(y, 0, f)  # error: this is f32, but atomic.add() takes i32 # hint: cast it: i32(f)
        atomic.add(y, 0, u)  # error: this is u32, but atomic.add() takes i32 # hint: cast it: i32(u)
        atomic.cas(x, 0, d, 2)  # error: this is f64, but atomic.cas() takes f32
        atomic.max(y, 0, l)  # error: this is i64, but atomic.max() takes i32 # hint: cast it: i32(l)
        n = atomic.add(x, 0, 1)  # error: this is f32, but `n` takes i32 # hint: cast it: i32(atomic.add(x, 0, 1))

    check_errors(k)


def test_element_types():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], a: Array[f32, 2], v: Array[f32, 1]):
        atomic.and_(x, 0, 1)  # error: atomic.and_() takes elements of i16, u16, i32, u32, i64, u64, and
        #   these are f32
        atomic.or_(v, 0, 1)  # error: atomic.or_() takes elements of i16, u16, i32, u32, i64, u64, and
        #   these are f32
        atomic.xor(a, (0, 0), 1)  # error: atomic.xor() takes elements of i16, u16, i32, u32, i64, u64, and
        #   these are f32
        atomic.inc(y, 0, 1)  # error: atomic.inc() takes elements of u32, and these are i32
        atomic.dec(x, 0, 1)  # error: atomic.dec() takes elements of u32, and these are f32
        atomic.add(shared.array(4, u8), 0, 1)  # error: atomic.add() takes elements of i16, u16, i32, u32, i64, u64,
        #   f16, bf16, f32, f64, and these are u8
        #   # hint: no GPU has atomics of 8 bits: make the elements u16 or u32

    check_errors(k)


def test_what_atomic_is():
    @kernel
    def k(x: Ptr[f32]):
        atomic.undefined(x, 0, 1)  # error: the module `atomic` has no attribute `undefined`
        atomic.loads(x, 0)  # error: the module `atomic` has no attribute `loads` # hint: did you mean `load`?
        atomic(x, 0, 1)  # error: `atomic` is a module, not a function that a kernel can call
        x[0] = atomic  # error: the module `atomic` is not a value that a kernel computes with
        x[1] = atomic.add  # error: the function `atomic.add` is not a value that a kernel computes with
        atomic.add(x, 0, 1)[0]  # error: f32 cannot be indexed

    check_errors(k)
