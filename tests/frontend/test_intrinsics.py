"""Calls of intrinsics: the type that a stub's variable is bound to, defaults, constants, and what literals become."""

from __future__ import annotations

import math

import pytest

import kdsl
from kdsl import (
    FULL_MASK,
    Array,
    Ptr,
    atomic,
    ballot_sync,
    f16,
    f32,
    f64,
    fence,
    i32,
    i64,
    kernel,
    lane_id,
    shfl_down_sync,
    shfl_sync,
    sync_threads,
    thread_idx,
    u8,
    u32,
)
from kdsl.frontend.overloads import signatures
from kdsl.ir import nodes as ir
from kdsl.lang import index, synchronization, warp
from kdsl.lang.intrinsic import Intrinsic

from .harness import module_of, tree, variables


def test_the_variable_is_bound_to_the_arguments_type():
    @kernel
    def k(f: f32, d: f64, h: f16, n: i32, l: i64, c: u8):
        a = math.sin(f)
        b = math.sin(d)
        e = math.sin(h)
        g = math.sin(n)
        i = math.sin(l)
        j = math.pow(f, d)
        m = math.pow(d, 2)
        o = shfl_sync(FULL_MASK, c, 0)
        p = shfl_down_sync(FULL_MASK, h, n)
        q = math.frexp(d)

    assert variables(k) == {
        "a": "f32",
        "b": "f64",
        "e": "f32",
        "g": "f32",
        "i": "f64",
        "j": "f64",
        "m": "f64",
        "o": "u8",
        "p": "f16",
        "q": "tuple[f64, i32]",
    }


def test_literals_are_evaluated_by_python():
    @kernel
    def k(x: Ptr[f64], h: Ptr[f16]):
        x[0] = math.sqrt(2) * x[1]
        x[1] = math.floor(2.5) + math.pi
        h[0] = math.exp(0.0) * h[1]
        x[2] = kdsl.math.sqrt(4.0) * x[3]

    assert tree(k).splitlines() == [
        "    x[0] = 1.4142135623730951 * x[1]",
        "    x[1] = 5.141592653589793",
        "    h[0] = 1.0 * h[1]",
        "    x[2] = 2.0 * x[3]",
    ]


def test_lanes_and_masks_may_be_i32():
    @kernel
    def k(x: Ptr[f32], n: i32):
        x[0] = shfl_sync(n, x[1], lane_id() + 1, width=16)
        y = ballot_sync(mask=FULL_MASK, predicate=n > 0)

    assert tree(k).splitlines()[0] == "    x[0] = shfl_sync[f32](u32(n), x[1], u32(lane_id() + 1), 16)"


def test_constants_and_defaults():
    @kernel
    def k():
        fence()
        fence("block")
        fence(scope="system")
        sync_threads()

    (function,) = module_of(k).kernels
    calls = [s.value for s in function.body]
    assert [c.constants for c in calls] == [(("scope", "gpu"),), (("scope", "block"),), (("scope", "system"),), ()]


def test_registers_are_read_without_a_call():
    @kernel
    def k(x: Ptr[f32]):
        t = thread_idx
        x[t.x] = kdsl.block_idx.y

    assert tree(k) == "    x[thread_idx.x] = f32(block_idx.y)"


def test_atomics_on_every_kind_of_memory():
    @kernel
    def k(p: Ptr[u32], a: Array[f32, 2], n: i32):
        tile = kdsl.shared.array((2, 2), f64)
        old = atomic.add(p, n, 1)
        atomic.max(a, (n, 0), n)
        atomic.cas(tile, (0, 1), 0, 1.5)
        index = (n, 1)
        atomic.exch(tile, index, 2)

    assert variables(k)["old"] == "u32"
    assert "atomic.max(&a[n, 0], f32(n))" in tree(k)
    assert "atomic.cas(&tile[0, 1], 0.0, 1.5)" in tree(k)


def intrinsics() -> list[Intrinsic]:
    modules = [kdsl.math, kdsl.math.fast, index, synchronization, warp]
    found = {id(v): v for module in modules for v in vars(module).values() if isinstance(v, Intrinsic)}
    return list(found.values())


@pytest.mark.parametrize("intrinsic", intrinsics(), ids=lambda i: i.name)
def test_every_stub_has_a_signature(intrinsic):
    for signature in signatures(intrinsic):
        assert isinstance(signature.parameters, tuple)


def test_expressions_of_registers_are_intrinsic_calls():
    @kernel
    def k(x: Ptr[f32]):
        x[thread_idx.x] = 1

    (function,) = module_of(k).kernels
    (store,) = function.body
    (index,) = store.address.indices
    assert isinstance(index, ir.IntrinsicCall)
    assert index.intrinsic is thread_idx.x
