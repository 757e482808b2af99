"""Priorities of eviction, prefetch sizes and L2 policies of loads and stores; and vectors with cache operators."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import (
    CompileError,
    Ptr,
    Target,
    bf16x2,
    createpolicy_fractional,
    f8e4m3x2,
    f16x4,
    f32,
    f32x4,
    f64,
    f64x2,
    grid,
    i32,
    kernel,
    load,
    prefetch,
    shared,
    store,
    sync_threads,
    u8,
    u8x4,
)

ACCESS = re.compile(r"^\t((?:ld|st)(?!\.param)[.\w:]*|prefetch[.\w:]*|createpolicy[.\w:]*)", re.MULTILINE)


def accesses(compiled: Any, arch: str, **signature: Any) -> list[str]:
    compilation = kdsl.compile(compiled, target=Target.parse(arch), signature=signature or None)
    assert compilation.cubin
    return ACCESS.findall(compilation.ptx)


@kernel
def evicted(x: Ptr[f32], y: Ptr[f32]):
    i = grid(1)
    store(y, i, load(x, i, evict="first"), evict="last")
    store(y, i + 32, load(x, i, evict="last", l2_prefetch=64), evict="first")
    store(y, i + 64, load(x, i, evict="unchanged", l2_prefetch=128), evict="unchanged")
    store(y, i + 96, load(x, i, evict="no_allocate"), evict="no_allocate")
    store(y, i + 128, load(x, i, evict="normal"), evict="normal")
    store(y, i + 160, load(x, i, cache="cg", l2_prefetch=128), evict=None)
    store(y, i + 192, load(x, i, cache="nc", evict="no_allocate", l2_prefetch=64))


@kernel
def with_policies(x: Ptr[f64], y: Ptr[f64], share: f32):
    i = grid(1)
    stays = createpolicy_fractional("evict_last", share)
    goes = createpolicy_fractional("evict_first", 0.25, secondary="evict_first")
    store(y, i, load(x, i, policy=stays), policy=goes)
    a = load(x, i, cache="nc", evict="first", policy=goes, l2_prefetch=256)
    store(
        y,
        i + 32,
        a + load(x, i, cache="cg", policy=createpolicy_fractional("evict_unchanged")),
        evict="first",
        policy=stays,
    )
    prefetch(x, i, level="L2::evict_last")
    prefetch(x, i, level="L2::evict_normal")


def test_hints_change_no_value(device: str) -> None:
    x, y = np.random.default_rng(1).normal(size=32).astype(np.float32), np.zeros(224, np.float32)
    evicted[1, 32](x, y)
    assert y.tolist() == x.tolist() * 7
    z, w = x.astype(np.float64), np.zeros(64)
    with_policies[1, 32](z, w, 0.5)
    assert w.tolist() == [*z.tolist(), *(2 * z).tolist()]


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_120"])
def test_ptx_has_the_hints(arch: str) -> None:
    assert accesses(evicted, arch) == [
        "ld.global.L1::evict_first.b32",
        "st.global.L1::evict_last.b32",
        "ld.global.L1::evict_last.L2::64B.b32",
        "st.global.L1::evict_first.b32",
        "ld.global.L1::evict_unchanged.L2::128B.b32",
        "st.global.L1::evict_unchanged.b32",
        "ld.global.L1::no_allocate.b32",
        "st.global.L1::no_allocate.b32",
        "ld.global.L1::evict_normal.b32",
        "st.global.L1::evict_normal.b32",
        "ld.global.cg.L2::128B.b32",
        "st.global.b32",
        "ld.global.nc.L1::no_allocate.L2::64B.b32",
        "st.global.b32",
    ]


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_120"])
def test_ptx_has_the_policies(arch: str) -> None:
    found = accesses(with_policies, arch)
    assert sorted(found) == sorted(
        [
            "createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64",
            "createpolicy.fractional.L2::evict_first.L2::evict_first.b64",
            "createpolicy.fractional.L2::evict_unchanged.L2::evict_unchanged.b64",
            "ld.global.L2::cache_hint.b64",
            "st.global.L2::cache_hint.b64",
            "ld.global.nc.L1::evict_first.L2::cache_hint.L2::256B.b64",
            "ld.global.cg.L2::cache_hint.b64",
            "st.global.L1::evict_first.L2::cache_hint.b64",
            "prefetch.global.L2::evict_last",
            "prefetch.global.L2::evict_normal",
        ]
    )


@kernel
def wide_prefetch(x: Ptr[f32]):
    x[1] = load(x, 0, l2_prefetch=256)


@kernel
def policy_given(x: Ptr[f32], p: kdsl.u64):
    store(x, 0, 1.0, policy=p)


@kernel
def prefetched(x: Ptr[f32]):
    prefetch(x, 0, level="L2::evict_last")


@kernel
def policy_made(x: Ptr[kdsl.u64]):
    x[0] = createpolicy_fractional("evict_last")


@pytest.mark.parametrize(
    ("compiled", "what"),
    [
        (wide_prefetch, "l2_prefetch=256"),
        (policy_given, "`policy`"),
        (prefetched, "level='L2::evict_last'"),
        (policy_made, r"createpolicy_fractional\(\)"),
    ],
)
def test_what_sm_80_began(compiled: Any, what: str) -> None:
    assert accesses(compiled, "sm_80")
    with pytest.raises(CompileError, match=f"{what} needs sm_80 or newer; this is sm_75"):
        kdsl.compile(compiled, target="sm_75")


def copies() -> Any:
    @kernel
    def k(x, y, z):
        i = grid(1)
        s = shared.array(64, x.dtype)
        store(s, i, load(x, i, cache="cs", l2_prefetch=128), volatile=True)
        sync_threads()
        store(y, i, load(s, i, volatile=True), cache="cg")
        store(z, i, load(x, i, cache="nc"), evict="first")

    return k


VECTORS = {f32x4: "v4.b32", f64x2: "v4.b32", f16x4: "v2.b32", u8x4: "b32", bf16x2: "b32", f8e4m3x2: "b16"}


@pytest.mark.parametrize("type", VECTORS, ids=str)
def test_vectors_are_one_access(type: Any, device: str) -> None:
    rng = np.random.default_rng(7)

    @kernel
    def k(x: Ptr[u8], y: Ptr[u8], z: Ptr[u8]):
        i = grid(1)
        a, b, c = kdsl.bitcast(x, Ptr[type]), kdsl.bitcast(y, Ptr[type]), kdsl.bitcast(z, Ptr[type])
        s = shared.array(32, type)
        store(s, i, load(a, i, cache="cs", l2_prefetch=128), volatile=True)
        sync_threads()
        store(b, i, load(s, i, volatile=True), cache="cg")
        store(c, i, load(a, i, cache="nc"), evict="first")

    x = rng.integers(0, 256, 32 * type.size, np.uint8)
    y, z = np.zeros_like(x), np.zeros_like(x)
    k[1, 32](x, y, z)
    assert y.tolist() == x.tolist() and z.tolist() == x.tolist()
    form = VECTORS[type]
    assert accesses(k, "sm_90") == [
        f"ld.global.cs.L2::128B.{form}",
        f"st.volatile.shared.{form}",
        f"ld.volatile.shared.{form}",
        f"st.global.cg.{form}",
        f"ld.global.nc.{form}",
        f"st.global.L1::evict_first.{form}",
    ]


@kernel
def chosen(x: Ptr[i32], y: Ptr[i32], n: i32):
    i = grid(1)
    policy = createpolicy_fractional("evict_last") if n > 3 else createpolicy_fractional("evict_first")
    if i < n:
        store(y, i, load(x, n - 1 - i, policy=policy))


def test_a_policy_is_a_value(device: str) -> None:
    x, y = np.arange(10, dtype=np.int32), np.zeros(10, np.int32)
    chosen[1, 32](x, y, 10)
    assert y.tolist() == x[::-1].tolist()
    shown = str(kdsl.compile(chosen, target="sm_90").tree)
    assert "load(&x[(n - 1) - i], policy=policy)" in shown
