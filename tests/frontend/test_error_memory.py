"""Mistakes in indexing, arrays, tuples and atomics."""

from __future__ import annotations

import numpy as np

from kdsl import (
    Array,
    Ptr,
    atomic,
    bitcast,
    constant,
    f16,
    f32,
    f64,
    i32,
    kernel,
    load,
    local,
    prefetch,
    shared,
    store,
    u32,
)

from .harness import check_errors

TABLE = np.zeros(4)
EXTENDED = np.zeros(4, np.clongdouble)
SCALAR = np.array(1.0)
LARGE = np.ones(65536 - 96, np.uint8)
LARGER = np.zeros(65, np.uint8)


def test_indices():
    @kernel
    def k(x: Ptr[f32], a: Array[f32, 2], v: Array[f32, 1], n: i32):
        x[n > 0] = 1  # error: an index is an int, and this is bool # hint: cast it: i32(n > 0)
        x[n / 2] = 1  # error: an index is an int, and this is f32 # hint: divide with //: n // 2
        x[0.5] = 1  # error: an index is an int, and this is f32
        x[0, 1] = 1  # error: `x` has 1 dimension, and this is 2 indices # hint: write x[i]
        a[0] = 1  # error: `a[0]` is not one element, but a part of `a`
        v[-1] = 1  # error: a negative index does not count from the end: `v` would be read before its start
        #   # hint: write v[v.shape[0] - 1]
        a[0, -2]  # error: a negative index does not count from the end: `a` would be read before its start
        #   # hint: write a.shape[1] - 2
        x[-1] = 1
        n[0] = 1  # error: i32 cannot be indexed
        TABLE[0]  # error: `TABLE` (a NumPy array of the host) cannot be indexed
        #   # hint: pass it to the kernel as a parameter
        a[0:1, 0, 0]  # error: `a` has 2 dimensions, and this is 3 indices
        x.shape  # error: `x` is a Ptr, which has no attribute `shape`
        #   # hint: pass the length as a parameter, or declare it as Array[T, ndim]
        a.mean  # error: an array has no attribute `mean` in a kernel
        n.real  # error: `n` is i32, which has no attribute `real`
        a.shape[2]  # error: index 2 is out of range: the tuple has 2 elements
        x.y = 1  # error: a kernel cannot set attributes

    check_errors(k)


def test_shared_and_local_arrays():
    @kernel
    def k(n: i32):
        a = shared.array(n, f32)  # error: the shape of shared.array() is constant
        b = shared.array(4, 4)  # error: shared.array() takes a scalar, vector or struct type here
        c = shared.array((8, 0), f32)  # error: an extent of shared.array() is at least 1, and this is 0
        d = local.array((2, 2, 2, 2, 2), f32)  # error: local.array() takes 1 to 4 dimensions, and this has 5
        e = shared.array(4)  # error: shared.array() needs `dtype`
        # hint: it takes shape, dtype; such as shared.array(64, f32)
        f = shared.array((4, 4), f32)
        f[4, 0] = 1  # error: index 4 is out of range: `f` has extent 4 along axis 0
        f[0, -1] = 1  # error: a negative index does not count from the end: `f` would be read before its start
        #   # hint: write 4 - 1
        h = shared.array((4, 4), f32)
        h = shared.array((8, 4), f64)  # error: `h` is a shared array of 8 x 4 f64 here but a shared array of 4 x 4 f32
        #   at line {-1} (`h = shared.array((4, 4), f32)`); a variable keeps one type
        g = shared.array(12288, f32)  # error: the kernel's shared arrays take 49536 bytes with this one, and a block
        #   has 49152 # hint: use a smaller shape, or shared.dynamic(dtype), which may be as large as the device allows

    check_errors(k)


def test_dynamic_shared_memory():
    @kernel
    def k(n: i32, d: f32):
        a = shared.dynamic(4)  # error: shared.dynamic() takes a scalar, vector or struct type here
        #   # hint: such as shared.dynamic(f32)
        b = shared.dynamic(f64, 12)  # error: 12 is no offset in bytes for f64: no multiple of 8
        #   # hint: 16 is the next that is
        c = shared.dynamic(f32, -4)  # error: the offset of shared.dynamic() is not negative
        e = shared.dynamic(f32, d)  # error: the offset of shared.dynamic() is an int, and this is f32
        #   # hint: cast it: i32(d)
        f = shared.dynamic()  # error: shared.dynamic() needs `dtype` # hint: it takes dtype, offset
        g = shared.dynamic(f32, n)
        g[0, 1] = 1  # error: `g` has 1 dimension, and this is 2 indices
        g.shape  # error: `g` is a Ptr, which has no attribute `shape`
        g = shared.dynamic(u32, n)  # error: `g` is Ptr[u32] into shared memory here but Ptr[f32] into shared memory
        #   at line {-3} (`g = shared.dynamic(f32, n)`); a variable keeps one type

    check_errors(k)


def test_constant_memory():
    @kernel
    def k(x: Ptr[f32], n: i32):
        c = constant.array(TABLE)
        c[0] = 1  # error: a kernel cannot write constant memory # hint: copy it into a shared or local array first
        c[n] += 1  # error: a kernel cannot write constant memory
        atomic.exch(c, 0, 1)  # error: a kernel cannot write constant memory
        atomic.store(c, 0, 1)  # error: a kernel cannot write constant memory
        c[4]  # error: index 4 is out of range: `c` has extent 4 along axis 0
        constant.array(x)  # error: constant.array() takes a NumPy array of the host
        #   # hint: make it on the host, outside of the kernel, and name it here
        constant.array(3)  # error: constant.array() takes a NumPy array of the host
        constant.array(EXTENDED)  # error: a kernel has no type for elements of complex256
        constant.array(SCALAR)  # error: constant.array() takes 1 to 4 dimensions with elements, and this has shape ()
        constant.array(TABLE, f32)  # error: the array's elements are f64, not f32
        constant.array(LARGE)
        constant.array(LARGER)  # error: constant memory has 65536 bytes, and with this array 65552 are needed
        #   # hint: pass it to the kernel as a parameter

    check_errors(k)


def test_caching():
    @kernel
    def k(x: Ptr[f32], n: i32):
        s = shared.array(4, f32)
        own = local.array(4, f32)
        load(x, 0, cache="L1")  # error: `cache` of load() takes 'ca' or 'cg' or 'cs' or 'lu' or 'cv' or 'nc', known
        #   while the kernel is compiled
        store(x, 0, 1, cache="nc")  # error: `cache` of store() takes 'wb' or 'cg' or 'cs' or 'wt', known while the
        #   kernel is compiled
        load(x, 0, volatile=1)  # error: `volatile` of load() takes False or True, known while the kernel is compiled
        load(x, 0, volatile=n > 0)  # error: `volatile` of load() takes False or True, known while the kernel is
        #   compiled
        load(x, 0, cache="cg", volatile=True)  # error: a volatile access has no cache operator
        #   # hint: leave out one of them
        load(s, 0, cache="cg")  # error: `cache` of load() is of global memory, and this is shared memory
        store(own, 0, 1, volatile=True)  # error: no other thread changes local memory: nothing is volatile there
        store(constant.array(TABLE), 0, 1)  # error: a kernel cannot write constant memory
        prefetch(s, 0)  # error: prefetch() is of global memory, and this is shared memory
        prefetch(x, 0, level="L3")  # error: `level` of prefetch() takes 'L1' or 'L2' or 'L2::evict_last' or
        #   'L2::evict_normal', known while the kernel is compiled
        y = prefetch(x, 0)  # error: prefetch() returns no value # hint: call it in a statement of its own
        z = store(x, 0, 1)  # error: store() returns no value # hint: call it in a statement of its own
        load(x, 0.5)  # error: an index is an int, and this is f32
        store(x, 0, 1, "cg")  # error: store() takes 3 arguments (array, index, value), and this gives 4

    check_errors(k)


def test_tuples():
    @kernel
    def k(x: Ptr[f32], n: i32):
        t = (n, x[0])
        t[n]  # error: a tuple is indexed with a constant # hint: local.array(n, dtype) is indexed at run time
        t[2]  # error: index 2 is out of range: the tuple has 2 elements
        t[0] = 1  # error: the elements of a tuple cannot be assigned
        t[0] += 1  # error: the elements of a tuple cannot be assigned
        a, b = 1, 2, 3  # error: 3 values are unpacked to 2 names
        c, d = n  # error: i32 cannot be unpacked: it is no tuple
        e, g, h, *f = t  # error: 2 values are unpacked to 3 names at least
        t = (x[0], n)  # error: `t` is tuple[f32, i32] here but tuple[i32, f32] at line {-8} (`t = (n,
        #   x[0])`); a variable keeps one type

    check_errors(k)


def test_atomics_and_bitcasts():
    @kernel
    def k(x: Ptr[f32], h: Ptr[f16], c: Ptr[i32], a: Array[f64, 2], n: i32, d: f64):
        atomic.add(x, 0)  # error: atomic.add() needs `value`
        atomic.add(x, (0, 1), 1)  # error: `x` has 1 dimension, and this is 2 indices
        atomic.add(a, 0, 1)  # error: `a` has 2 dimensions, and this is 1 index
        atomic.add(a, (0, n), n)
        atomic.add(x, 0, d)  # error: this is f64, but atomic.add() takes f32 # hint: cast it: f32(d)
        atomic.and_(x, 0, 1)  # error: atomic.and_() takes elements of i16, u16, i32, u32, i64, u64, and these are f32
        atomic.inc(c, 0, 1)  # error: atomic.inc() takes elements of u32, and these are i32
        atomic.min(h, 0, 1)
        atomic.add(n, 0, 1)  # error: i32 cannot be indexed
        atomic.add(c, 0, 1, "relaxed")  # error: atomic.add() takes 3 arguments (array, index, value), and this gives 4
        atomic.add(c, 0, 1, order="seq")  # error: `order` of atomic.add() takes 'relaxed' or 'acquire' or 'release' or
        #   'acq_rel' or 'seq_cst', known while the kernel is compiled
        atomic.cas(c, 0, 1, 2, scope=n)  # error: `scope` of atomic.cas() takes 'block' or 'cluster' or 'gpu' or
        #   'system', known while the kernel is compiled
        atomic.load(c, 0, order="release")  # error: `order` of atomic.load() takes 'relaxed' or 'acquire' or 'seq_cst',
        #   known while the kernel is compiled
        atomic.store(c, 0, 1, order="acquire")  # error: `order` of atomic.store() takes 'relaxed' or 'release' or
        #   'seq_cst', known while the kernel is compiled
        atomic.store(c, 0, d)  # error: this is f64, but atomic.store() takes i32 # hint: cast it: i32(d)
        n = atomic.store(c, 0, 1)  # error: atomic.store() returns no value # hint: call it in a statement of its own
        bitcast(n, f64)  # error: bitcast() keeps the bits: i32 and f64 differ in size
        #   # hint: a type of 32 bits, such as u32
        bitcast(n, 4)  # error: bitcast() takes a type here # hint: such as bitcast(x, u32)
        bitcast(n, u32)

    check_errors(k)
