"""Structs in memory: addresses of fields and atomics on them, constant memory, variables of a module, debug builds."""

# mypy: ignore-errors
# No postponed annotations: those of the kernels inside of tests name variables of the tests.

import numpy as np
import pytest

import kdsl
from kdsl import (
    Array,
    MemoryFault,
    Ptr,
    address_of,
    atomic,
    bitcast,
    constant,
    f32,
    f32x4,
    i32,
    i64,
    kernel,
    local,
    shared,
    struct,
    sync_threads,
    thread_idx,
    u8,
)


@struct
class Bin:
    total: f32
    count: i32 = 0


@struct
class Body:
    position: f32x4
    bin: Bin
    tag: u8


TABLE = np.array([((1, 2, 3, 4), (5, 6), 7), ((8, 9, 10, 11), (12, 13), 14)], Body.dtype)
COUNTS = kdsl.device.array(4, Bin)


def test_atomics_on_fields(device):
    @kernel
    def k(bins: Array[Bin, 1], x: Ptr[f32]):
        i = thread_idx.x
        s = shared.array(4, Bin)
        if i < 4:
            s[i] = Bin(0)
        sync_threads()
        b = i % 4
        atomic.add(address_of(s[b].total), 0, x[i])
        atomic.add(address_of(s[b].count), 0, 1)
        sync_threads()
        if i < 4:
            atomic.add(address_of(bins[i].total), 0, s[i].total)
            atomic.max(address_of(bins[i].count), 0, s[i].count)

    bins, x = np.zeros(4, Bin.dtype), np.arange(64, dtype=np.float32)
    bins["count"][3] = 99
    k[1, 64](bins, x)
    assert bins.tolist() == [(x[i::4].sum(), 99 if i == 3 else 16) for i in range(4)]


def test_addresses(device):
    def bump(p: Ptr[f32], by):
        p[0] += by

    @kernel
    def k(a: Array[Body, 1], out: Ptr[i64]):
        bump(address_of(a[1].bin.total), 1)
        bump(address_of(a[1].position.z), 2)
        whole = address_of(a[2])
        whole[0].tag = 9
        whole += 1
        whole[0].bin.count = 8
        out[0] = address_of(a[3]) - address_of(a[0])
        out[1] = bitcast(address_of(a[0].tag), Ptr[u8]) - bitcast(a, Ptr[u8])
        s = local.array(2, Bin)
        s[0] = Bin(1, 2)
        bump(address_of(s[0].total), 4)
        a[0].bin = s[0]

    a, out = np.zeros(4, Body.dtype), np.zeros(2, np.int64)
    k[1, 1](a, out)
    assert (a["bin"]["total"].tolist(), a["bin"]["count"].tolist()) == ([5, 1, 0, 0], [2, 0, 0, 8])
    assert (a["position"][1].tolist(), a["tag"].tolist()) == ([0, 0, 2, 0], [0, 0, 9, 0])
    assert out.tolist() == [3, Body.dtype.fields["tag"][1]]


def test_pointers_to_pointers_to_structs(device):
    @kernel
    def k(a: Ptr[Ptr[Bin]], out: Ptr[i32]):
        out[0] = a[1][2].count
        a[0][1].total = 4

    bins = kdsl.zeros(4, Bin)
    host = bins.to_host()
    host["count"] = np.arange(4)
    bins.copy_from(host)
    out = np.zeros(1, np.int32)
    k[1, 1](np.full(2, bins.address, np.uint64), out)
    assert out[0] == 2
    assert bins.to_host()["total"].tolist() == [0, 4, 0, 0]


def test_constant_memory(device):
    @kernel
    def k(out: Ptr[f32], i: i32):
        table, named = constant.array(TABLE), constant.array(TABLE, Body)
        b: Body = named[i]
        out[0] = table[i].position.y + b.bin.total
        out[1] = table[1].bin.count + b.tag

    out = np.zeros(2, np.float32)
    k[1, 1](out, 0)
    assert out.tolist() == [7, 20]


def test_variables_of_a_module(device):
    @kernel
    def k():
        atomic.add(address_of(COUNTS[thread_idx.x % 4].count), 0, 1)
        COUNTS[0].total = 2.5

    COUNTS.fill(np.asarray(Bin(1, 0)))
    k[1, 32]()
    assert COUNTS.to_host().tolist() == [(2.5, 8), (1, 8), (1, 8), (1, 8)]


def test_arrays_of_two_dimensions(device):
    @kernel
    def k(a: Array[Bin, 2]):
        i = thread_idx.x
        s = shared.array((4, 8), Bin)
        s[i // 8, i % 8] = a[i // 8, i % 8]
        sync_threads()
        a[i // 8, i % 8] = s[3 - i // 8, 7 - i % 8]

    a = np.zeros((4, 8), Bin.dtype)
    a["count"] = np.arange(32).reshape(4, 8)
    expected = a[::-1, ::-1].copy()
    k[1, 32](a)
    assert (a == expected).all()


def test_recursion_with_structs(device):
    def descend(b: Bin, n: i32) -> Bin:
        if n == 0:
            return b
        b.count += n
        b.total *= 2
        return descend(b, n - 1)

    @kernel
    def k(a: Array[Bin, 1], n: i32):
        a[0] = descend(a[0], n)

    a = np.array([(1, 5)], Bin.dtype)
    k[1, 1](a, 6)
    assert a.tolist() == [(64, 26)]


def test_debug_builds_check_indices():  # on a GPU the failed check would end the context
    @kernel(debug=True)
    def k(a: Array[Bin, 1], n: i32):
        a[n].count += 1

    with pytest.raises(MemoryFault, match="index 4 is outside of axis 0 of `a`, whose extent is 4"):
        k[1, 1](np.zeros(4, Bin.dtype), 4)


def test_matching_and_loops_over_structs(device):
    @kernel
    def k(a: Array[Bin, 1]):
        total = Bin(0)
        for b in (a[0], a[1], a[2]):
            total.total += b.total
            total.count += 1
        match a[0].count:
            case 3:
                total.count += 10
        a[3] = total

    a = np.array([(1, 3), (2, 0), (4, 0), (0, 0)], Bin.dtype)
    k[1, 1](a)
    assert a[3].item() == (7, 13)
