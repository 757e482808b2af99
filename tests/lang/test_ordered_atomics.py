"""Order and scope of atomics: in the PTX, at ptxas, and as threads of several blocks see them."""

from __future__ import annotations

import re

import numpy as np
import pytest

import kdsl
from kdsl import (
    Array,
    CompileError,
    Ptr,
    Target,
    atomic,
    bf16,
    block_idx,
    f16,
    f32,
    f64,
    grid,
    i16,
    i32,
    kernel,
    local,
    shared,
    sync_threads,
    thread_idx,
    u8,
    u16,
    u32,
    u64,
)

ACCESS = re.compile(r"^\t((?:atom|red|fence|(?:ld|st)\.(?:relaxed|acquire|release))[.\w]*)", re.MULTILINE)


def accesses(compiled: kdsl.Kernel, arch: str) -> list[str]:
    """The mnemonics of atomics and fences in the PTX, which ptxas takes."""
    compilation = kdsl.compile(compiled, target=Target.parse(arch))
    assert compilation.cubin
    return ACCESS.findall(compilation.ptx)


@kernel
def orders(x: Ptr[u32]):
    atomic.add(x, 0, 1)
    atomic.add(x, 0, 1, order="relaxed", scope="system")
    atomic.add(x, 0, 1, order="acquire")
    atomic.add(x, 0, 1, order="release", scope="block")
    atomic.add(x, 0, 1, order="acq_rel", scope="system")
    atomic.add(x, 0, 1, order="seq_cst")
    atomic.cas(x, 0, 1, 2, scope="block")
    atomic.cas(x, 0, 1, 2, order="acquire", scope="system")
    atomic.cas(x, 0, 1, 2, order="release")
    atomic.cas(x, 0, 1, 2, order="acq_rel", scope="block")
    atomic.cas(x, 0, 1, 2, order="seq_cst", scope="system")


@kernel
def operations(x: Ptr[u32], i: Ptr[i32], n: Ptr[u64], f: Ptr[f32], d: Ptr[f64]):
    s = shared.array(1, i32)
    atomic.sub(i, 0, 1, order="acq_rel")
    atomic.sub(d, 0, 1, order="acq_rel")
    atomic.min(i, 0, 1, order="acq_rel")
    atomic.max(n, 0, 1, order="acq_rel")
    atomic.min(f, 0, 1, order="release", scope="block")
    atomic.and_(n, 0, 1, order="acq_rel")
    atomic.or_(i, 0, 1, order="acq_rel")
    atomic.xor(s, 0, 1, order="acq_rel")
    atomic.exch(d, 0, 1, order="acq_rel")
    atomic.exch(f, 0, 1, order="acq_rel")
    atomic.inc(x, 0, 1, order="acq_rel")
    atomic.dec(x, 0, 1, order="acq_rel")


@kernel
def small(h: Ptr[f16], b: Ptr[bf16], n: Ptr[i16]):
    s = shared.array(2, f16)
    atomic.add(h, 0, 1)
    atomic.sub(h, 0, 1, order="acq_rel", scope="block")
    atomic.add(b, 0, 1, order="release")
    atomic.cas(n, 0, 1, 2)
    atomic.cas(b, 0, 1, 2, order="seq_cst", scope="system")
    atomic.add(s, 1, 1, order="acquire")


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_120"])
def test_ptx_of_16_bits(arch: str) -> None:
    sums_bf16 = arch not in ("sm_75", "sm_80")
    assert accesses(small, arch) == [
        "red.global.add.noftz.f16",
        "atom.acq_rel.cta.global.add.noftz.f16",
        *(() if sums_bf16 else ("ld.relaxed.gpu.global.b16",)),
        "red.release.gpu.global.add.noftz.bf16" if sums_bf16 else "atom.release.gpu.global.cas.b16",
        "atom.relaxed.gpu.global.cas.b16",
        "fence.sc.sys",
        "atom.acquire.sys.global.cas.b16",
        "atom.acquire.gpu.shared.add.noftz.f16",
    ]


@kernel
def plain(b: Ptr[u8], h: Ptr[u16], f: Ptr[f32], d: Ptr[f64]):
    s = shared.array(1, i32)
    b[1] = atomic.load(b, 0)
    h[1] = atomic.load(h, 0, scope="system")
    f[1] = atomic.load(f, 0, order="acquire", scope="block")
    d[1] = atomic.load(d, 0, order="seq_cst")
    d[1] = atomic.load(s, 0, order="acquire")
    atomic.store(b, 0, 1)
    atomic.store(h, 0, 1, scope="system")
    atomic.store(f, 0, 1, order="release", scope="block")
    atomic.store(d, 0, 1, order="seq_cst")
    atomic.store(s, 0, 1, order="release")


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_ptx_has_the_order_and_the_scope(arch: str) -> None:
    assert accesses(orders, arch) == [
        "red.global.add.u32",
        "red.relaxed.sys.global.add.u32",
        "atom.acquire.gpu.global.add.u32",
        "red.release.cta.global.add.u32",
        "atom.acq_rel.sys.global.add.u32",
        "fence.sc.gpu",
        "atom.acquire.gpu.global.add.u32",
        "atom.relaxed.cta.global.cas.b32",
        "atom.acquire.sys.global.cas.b32",
        "atom.release.gpu.global.cas.b32",
        "atom.acq_rel.cta.global.cas.b32",
        "fence.sc.sys",
        "atom.acquire.sys.global.cas.b32",
    ]
    assert accesses(operations, arch) == [
        "atom.acq_rel.gpu.global.add.u32",
        "atom.acq_rel.gpu.global.add.f64",
        "atom.acq_rel.gpu.global.min.s32",
        "atom.acq_rel.gpu.global.max.u64",
        "ld.relaxed.cta.global.b32",
        "atom.release.cta.global.cas.b32",
        "atom.acq_rel.gpu.global.and.b64",
        "atom.acq_rel.gpu.global.or.b32",
        "atom.acq_rel.gpu.shared.xor.b32",
        "atom.acq_rel.gpu.global.exch.b64",
        "atom.acq_rel.gpu.global.exch.b32",
        "atom.acq_rel.gpu.global.inc.u32",
        "atom.acq_rel.gpu.global.dec.u32",
    ]
    assert accesses(plain, arch) == [
        "ld.relaxed.gpu.global.b8",
        "ld.relaxed.sys.global.b16",
        "ld.acquire.cta.global.b32",
        "fence.sc.gpu",
        "ld.acquire.gpu.global.b64",
        "ld.acquire.gpu.shared.b32",
        "st.relaxed.gpu.global.b8",
        "st.relaxed.sys.global.b16",
        "st.release.cta.global.b32",
        "fence.sc.gpu",
        "st.release.gpu.global.b64",
        "st.release.gpu.shared.b32",
    ]


@kernel
def of_a_cluster(x: Ptr[u32]):
    atomic.add(x, 0, 1, order="acq_rel", scope="cluster")
    atomic.store(x, 0, atomic.load(x, 1, scope="cluster"), scope="cluster")
    atomic.cas(x, 0, 1, 2, scope="cluster")


def test_a_cluster_needs_sm_90() -> None:
    assert accesses(of_a_cluster, "sm_90") == [
        "atom.acq_rel.cluster.global.add.u32",
        "ld.relaxed.cluster.global.b32",
        "st.relaxed.cluster.global.b32",
        "atom.relaxed.cluster.global.cas.b32",
    ]
    with pytest.raises(CompileError, match='scope="cluster" needs sm_90 or newer; this is sm_89'):
        kdsl.compile(of_a_cluster, target=Target.parse("sm_89"))


@kernel
def relay(data: Ptr[i32], flags: Ptr[i32], n: i32):
    """Each block waits for the one before it, adds to what that wrote, and hands on."""
    block, i = block_idx.x, thread_idx.x
    if i == 0 and block > 0:
        while atomic.load(flags, block - 1, order="acquire") == 0:
            pass
    sync_threads()
    before = data[(block - 1) * n + i] if block > 0 else 0
    data[block * n + i] = before + block + i
    sync_threads()
    if i == 0:
        atomic.store(flags, block, 1, order="release")


def test_a_released_flag_shows_what_was_written_before(device: str) -> None:
    data, flags = np.zeros((40, 64), np.int32), np.zeros(40, np.int32)
    relay[40, 64](data, flags, 64)
    assert data.tolist() == np.cumsum(np.add.outer(np.arange(40), np.arange(64)), 0).tolist()
    assert flags.tolist() == [1] * 40


@kernel
def locked(lock: Ptr[i32], total: Array[i32, 1], rounds: i32):
    """A plain sum under a lock, by the first thread of each block."""
    if thread_idx.x == 0:
        for _ in range(rounds):
            while atomic.cas(lock, 0, 0, 1, order="acquire") != 0:
                pass
            total[0] += 1
            atomic.exch(lock, 0, 0, order="release")


def test_a_lock_keeps_others_out(device: str) -> None:
    lock, total = np.zeros(1, np.int32), np.zeros(1, np.int32)
    locked[50, 32](lock, total, 7)
    assert (lock[0], total[0]) == (0, 350)


@kernel
def on_own_memory(out: Ptr[i32]):
    own = local.array(2, i32)
    own[0] = 5
    own[1] = thread_idx.x
    old = atomic.add(own, atomic.exch(own, 1, 0, order="acq_rel") % 1, 3, order="seq_cst")
    atomic.store(own, 1, 2, order="release")
    out[grid(1)] = old + 10 * atomic.load(own, 0, order="acquire") + 100 * atomic.load(own, 1)


def test_a_threads_own_memory(device: str) -> None:
    out = np.zeros(32, np.int32)
    on_own_memory[1, 32](out)
    assert out.tolist() == [285] * 32


@kernel
def swaps_on_own_memory(out: Ptr[f32]):
    own = local.array(3, f32)
    own[0] = 1.5
    own[1] = 2.5
    i = thread_idx.x
    out[4 * i] = atomic.cas(own, i % 2, 1.5, 7, order="seq_cst", scope="block")
    out[4 * i + 1] = atomic.min(own, i % 2, 3)
    out[4 * i + 2] = atomic.max(own, i % 2, 3, order="acq_rel")
    out[4 * i + 3] = own[i % 2]


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_ptx_has_no_compare_and_swap_of_local_memory(arch: str) -> None:
    assert accesses(swaps_on_own_memory, arch) == []


def test_compare_and_swap_on_own_memory(device: str) -> None:
    out = np.zeros(8, np.float32)
    swaps_on_own_memory[1, 2](out)
    assert out.tolist() == [1.5, 7, 3, 3, 2.5, 2.5, 2.5, 3]


@kernel
def in_order(x: Ptr[i32]):
    atomic.store(x, atomic.add(x, 0, 1), atomic.add(x, 0, 1), order="release")


def test_arguments_are_evaluated_in_order(device: str) -> None:
    x = np.array([1, 0, 0, 0], np.int32)
    in_order[1, 1](x)
    assert x.tolist() == [3, 2, 0, 0]
