"""What the hardware has an instruction for is one instruction: each line of a kernel beside all that becomes of it.

The ``# PTX:`` comments are filecheck patterns. They are complete, too: an instruction that no comment names (parameters,
moves, addresses of parameters, and plain stores of results left out) fails the test.
"""

# mypy: ignore-errors

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

import kdsl
from kdsl import (
    FULL_MASK,
    Ptr,
    active_mask,
    all_sync,
    any_sync,
    atomic,
    ballot_sync,
    barrier,
    barrier_arrive,
    bf16,
    bf16x2,
    bfe,
    bfi,
    bitcast,
    brev,
    byte_perm,
    clz,
    constant,
    dp2a_hi,
    dp2a_lo,
    dp4a,
    elect_sync,
    f16,
    f16x2,
    f32,
    f32x2,
    f32x4,
    f64,
    f64x2,
    fast,
    fma,
    funnel_shift_l,
    funnel_shift_lc,
    funnel_shift_r,
    funnel_shift_rc,
    i32,
    i32x4,
    i64,
    kernel,
    load,
    lop3,
    match_all_sync,
    match_any_sync,
    math,
    mul_hi,
    mul_wide,
    popc,
    prefetch,
    reduce_add_sync,
    reduce_and_sync,
    reduce_max_sync,
    reduce_min_sync,
    reduce_or_sync,
    reduce_xor_sync,
    sad,
    shfl_down_sync,
    shfl_sync,
    shfl_up_sync,
    shfl_xor_sync,
    store,
    sync_threads,
    sync_threads_and,
    sync_threads_count,
    sync_threads_or,
    sync_warp,
    u8x4,
    u32,
    u64,
)
from kdsl.codegen.sass import find_tool

from .compile import mnemonics

pytest.importorskip("filecheck")  # not everywhere where the GPU's tests run
from .test_forms import check  # noqa: E402

TABLE = np.arange(8, dtype=np.float32)


@kernel
def vector_memory(a: Ptr[f32x4], b: Ptr[f32x2], c: Ptr[f64x2], d: Ptr[i32x4], e: Ptr[u8x4]):
    a[1] = a[0].wzyx  # PTX: ld.global.v4.b32
    # PTX: st.global.v4.b32
    b[1] = b[0].yx  # PTX: ld.global.v2.b32
    # PTX: st.global.v2.b32
    c[1] = c[0].yx  # PTX: ld.global.v2.b64
    # PTX: st.global.v2.b64
    d[1] = d[0].wzyx  # PTX: ld.global.v4.b32
    # PTX: st.global.v4.b32
    e[1] = e[0]  # PTX: ld.global.b32


@kernel(restrict=True)
def read_only(x: Ptr[f32x4], y: Ptr[f32], out: Ptr[f32x4]):
    out[0] = x[0]  # PTX: ld.global.nc.v4.b32
    # PTX: st.global.v4.b32
    out[1].x = y[0]  # PTX: ld.global.nc.b32


@kernel(fmad=False)
def packed(x: Ptr[f16x2], y: Ptr[bf16x2]):
    a, b, c = x[0], x[1], x[2]  # PTX: ld.global.b32
    # PTX: ld.global.b32
    # PTX: ld.global.b32
    x[3] = a + b  # PTX: add.rn.f16x2
    x[4] = a - b  # PTX: sub.rn.f16x2
    x[5] = a * b  # PTX: mul.rn.f16x2
    x[6] = fma(a, b, c)  # PTX: fma.rn.f16x2
    x[7] = abs(a)  # PTX: abs.f16x2
    x[8] = -a  # PTX: neg.f16x2
    u, v, w = y[0], y[1], y[2]  # PTX: ld.global.b32
    # PTX: ld.global.b32
    # PTX: ld.global.b32
    y[3] = u + v  # PTX: add.rn.bf16x2
    y[4] = u - v  # PTX: sub.rn.bf16x2
    y[5] = u * v  # PTX: mul.rn.bf16x2
    y[6] = fma(u, v, w)  # PTX: fma.rn.bf16x2
    y[7] = abs(u)  # PTX: abs.bf16x2
    y[8] = -u  # PTX: neg.bf16x2


@kernel
def reductions(out: Ptr[i32], a: i32, b: u32, o: Ptr[u32]):
    out[0] = reduce_add_sync(FULL_MASK, a)  # PTX: redux.sync.add.s32
    out[1] = reduce_min_sync(FULL_MASK, a)  # PTX: redux.sync.min.s32
    out[2] = reduce_max_sync(FULL_MASK, a)  # PTX: redux.sync.max.s32
    o[0] = reduce_min_sync(FULL_MASK, b)  # PTX: redux.sync.min.u32
    o[1] = reduce_max_sync(FULL_MASK, b)  # PTX: redux.sync.max.u32
    o[2] = reduce_and_sync(FULL_MASK, b)  # PTX: redux.sync.and.b32
    o[3] = reduce_or_sync(FULL_MASK, b)  # PTX: redux.sync.or.b32
    o[4] = reduce_xor_sync(FULL_MASK, b)  # PTX: redux.sync.xor.b32


@kernel
def bits(out: Ptr[u32], a: u32, b: u32, c: u32):
    out[0] = lop3(a, b, c, 0x96)  # PTX: lop3.b32
    out[1] = bfe(a, b, c)  # PTX: bfe.u32
    out[2] = bfi(a, b, c, 5)  # PTX: bfi.b32
    out[3] = byte_perm(a, b, 0x5410)  # PTX: prmt.b32
    out[4] = funnel_shift_l(a, b, c)  # PTX: shf.l.wrap.b32
    out[5] = funnel_shift_r(a, b, c)  # PTX: shf.r.wrap.b32
    out[6] = funnel_shift_lc(a, b, c)  # PTX: shf.l.clamp.b32
    out[7] = funnel_shift_rc(a, b, c)  # PTX: shf.r.clamp.b32
    out[8] = u32(popc(a))  # PTX: popc.b32
    out[9] = u32(clz(a))  # PTX: clz.b32
    out[10] = brev(a)  # PTX: brev.b32
    out[11] = a & b  # PTX: and.b32
    out[12] = a | b  # PTX: or.b32
    out[13] = a ^ b  # PTX: xor.b32
    out[14] = ~a  # PTX: not.b32
    out[15] = a << c  # PTX: shl.b32
    out[16] = a >> c  # PTX: shr.u32


@kernel
def wide_bits(out: Ptr[u64], n: Ptr[i32], a: u64, b: u64):
    n[0] = popc(a)  # PTX: popc.b64
    n[1] = clz(a)  # PTX: clz.b64
    out[0] = brev(a)  # PTX: brev.b64
    out[1] = a & b  # PTX: and.b64
    out[2] = mul_hi(a, b)  # PTX: mul.hi.u64
    out[3] = a * b  # PTX: mul.lo.s64


@kernel
def products(out: Ptr[i32], wide: Ptr[i64], o: Ptr[u32], p: Ptr[u64], a: i32, b: i32, c: i32, u: u32, v: u32):
    out[0] = mul_hi(a, b)  # PTX: mul.hi.s32
    o[0] = mul_hi(u, v)  # PTX: mul.hi.u32
    wide[0] = mul_wide(a, b)  # PTX: mul.wide.s32
    p[0] = mul_wide(u, v)  # PTX: mul.wide.u32
    out[1] = a * b + c  # PTX: mad.lo.s32
    out[2] = dp4a(a, b, c)  # PTX: dp4a.s32.s32
    o[1] = dp4a(u, v, u)  # PTX: dp4a.u32.u32
    out[3] = dp2a_lo(a, b, c)  # PTX: dp2a.lo.s32.s32
    out[4] = dp2a_hi(a, b, c)  # PTX: dp2a.hi.s32.s32
    o[2] = sad(a, b, u)  # PTX: sad.s32
    o[3] = sad(u, v, u)  # PTX: sad.u32


@kernel
def selections(
    out: Ptr[i32], o: Ptr[u32], f: Ptr[f32], d: Ptr[f64], a: i32, b: i32, u: u32, v: u32, x: f32, y: f32, z: f64, w: f64
):
    out[0] = min(a, b)  # PTX: min.s32
    out[1] = max(a, b)  # PTX: max.s32
    o[0] = min(u, v)  # PTX: min.u32
    o[1] = max(u, v)  # PTX: max.u32
    f[0] = min(x, y)  # PTX: min.f32
    f[1] = max(x, y)  # PTX: max.f32
    d[0] = min(z, w)  # PTX: min.f64
    d[1] = max(z, w)  # PTX: max.f64
    out[2] = abs(a)  # PTX: abs.s32
    f[2] = abs(x)  # PTX: abs.f32
    d[2] = abs(z)  # PTX: abs.f64
    f[3] = -x  # PTX: neg.f32
    out[3] = -a  # PTX: neg.s32
    out[4] = a if x < y else b  # PTX: setp.lt.f32
    # PTX: selp.b32


@kernel
def floats(f: Ptr[f32], d: Ptr[f64], x: f32, y: f32, z: f32, u: f64, v: f64, w: f64):
    f[0] = y * z + x  # PTX: fma.rn.f32
    f[1] = fma(x, y, z)  # PTX: fma.rn.f32
    d[0] = u * v + w  # PTX: fma.rn.f64
    f[2] = x / y  # PTX: div.rn.f32
    f[3] = 1 / x  # PTX: rcp.rn.f32
    f[4] = math.sqrt(x)  # PTX: sqrt.rn.f32
    d[1] = math.sqrt(u)  # PTX: sqrt.rn.f64
    f[5] = fast.rcp(x)  # PTX: rcp.approx.f32
    f[6] = fast.rsqrt(x)  # PTX: rsqrt.approx.f32
    f[7] = fast.sqrt(x)  # PTX: sqrt.approx.f32
    f[8] = fast.ex2(x)  # PTX: ex2.approx.f32
    f[9] = fast.log2(x)  # PTX: lg2.approx.f32
    f[10] = fast.sin(x)  # PTX: sin.approx.f32
    f[11] = fast.cos(x)  # PTX: cos.approx.f32
    f[12] = fast.tanh(x)  # PTX: tanh.approx.f32
    f[13] = fast.divide(x, y)  # PTX: div.approx.f32
    f[14] = fast.saturate(x)  # PTX: cvt.sat.f32.f32
    f[15] = math.add_rz(x, y)  # PTX: add.rz.f32
    f[16] = math.fma_ru(x, y, z)  # PTX: fma.rp.f32
    f[17] = round(x)  # PTX: cvt.rni.f32.f32
    f[18] = math.floor(x)  # PTX: cvt.rmi.f32.f32
    f[19] = math.ceil(x)  # PTX: cvt.rpi.f32.f32
    f[20] = math.trunc(x)  # PTX: cvt.rzi.f32.f32
    f[21] = math.copysign(x, y)  # PTX: copysign.f32


@kernel
def halves(out: Ptr[f16], o: Ptr[bf16], a: f16, b: f16, c: f16, u: bf16, v: bf16, w: bf16):
    out[0] = a * b + c  # PTX: fma.rn.f16
    out[1] = a + b  # PTX: add.rn.f16
    o[0] = u * v + w  # PTX: fma.rn.bf16
    o[1] = u + v  # PTX: add.rn.bf16


@kernel
def conversions(f: Ptr[f32], d: Ptr[f64], h: Ptr[f16], b: Ptr[bf16], n: Ptr[i32], m: Ptr[i64], p: Ptr[u32], q: Ptr[u64],
                x: f32, z: f64, k: f16, i: i32, j: i64, u: u32, v: u64):  # fmt: skip
    n[0] = i32(x)  # PTX: cvt.rzi.s32.f32
    p[0] = u32(x)  # PTX: cvt.rzi.u32.f32
    n[1] = i32(z)  # PTX: cvt.rzi.s32.f64
    # PTX: setp.num.f64
    # PTX: selp.b32
    # Why three? The instruction gives 0 for a NaN of f32, and the lowest integer for one of f64.
    f[0] = i  # PTX: cvt.rn.f32.s32
    f[1] = u  # PTX: cvt.rn.f32.u32
    f[2] = f32(j)  # PTX: cvt.rn.f32.s64
    f[3] = f32(v)  # PTX: cvt.rn.f32.u64
    d[0] = i  # PTX: cvt.rn.f64.s32
    d[1] = u  # PTX: cvt.rn.f64.u32
    d[2] = f64(j)  # PTX: cvt.rn.f64.s64
    d[3] = x  # PTX: cvt.f64.f32
    f[4] = f32(z)  # PTX: cvt.rn.f32.f64
    h[0] = f16(x)  # PTX: cvt.rn.f16.f32
    b[0] = bf16(x)  # PTX: cvt.rn.bf16.f32
    f[5] = k  # PTX: cvt.f32.f16
    m[2] = i  # PTX: cvt.s64.s32
    q[1] = u  # PTX: cvt.u64.u32
    n[2] = i32(j)
    n[3] = math.float2int_rd(x)  # PTX: cvt.rmi.s32.f32
    f[6] = math.double2float_rz(z)  # PTX: cvt.rz.f32.f64
    p[1] = bitcast(x, u32)


@kernel
def atomics(x: Ptr[u32], f: Ptr[f32], d: Ptr[f64], n: Ptr[i32], h: Ptr[f16], a: u32):
    atomic.add(x, 0, a)  # PTX: red.global.add.u32
    atomic.add(f, 0, 1.0)  # PTX: red.global.add.f32
    atomic.add(d, 0, 1.0)  # PTX: red.global.add.f64
    atomic.add(h, 0, 1.0)  # PTX: red.global.add.noftz.f16
    atomic.max(n, 0, 5)  # PTX: red.global.max.s32
    atomic.or_(x, 0, a)  # PTX: red.global.or.b32
    x[0] = atomic.exch(x, 0, a)  # PTX: atom.global.exch.b32
    x[0] = atomic.cas(x, 0, a, 7)  # PTX: atom.relaxed.gpu.global.cas.b32
    x[0] = atomic.inc(x, 0, a)  # PTX: atom.global.inc.u32
    x[0] = atomic.add(x, 0, a, order="acq_rel", scope="system")  # PTX: atom.acq_rel.sys.global.add.u32
    x[0] = atomic.load(x, 0, order="acquire")  # PTX: ld.acquire.gpu.global.b32
    atomic.store(x, 0, a, order="release")  # PTX: st.release.gpu.global.b32


@kernel
def votes(out: Ptr[u32], a: i32, b: i32):
    p = a < b  # PTX: setp.lt.s32
    out[0] = ballot_sync(FULL_MASK, p)  # PTX: vote.sync.ballot.b32
    out[1] = all_sync(FULL_MASK, p)  # PTX: vote.sync.all.pred
    # PTX: selp.b32
    out[2] = any_sync(FULL_MASK, p)  # PTX: vote.sync.any.pred
    # PTX: selp.b32


@kernel
def matches(out: Ptr[u32], a: u32):
    out[0] = match_any_sync(FULL_MASK, a)  # PTX: match.any.sync.b32
    mask, same = match_all_sync(FULL_MASK, a)  # PTX: match.all.sync.b32
    out[1] = mask
    out[2] = active_mask()  # PTX: activemask.b32
    out[3] = elect_sync(FULL_MASK)  # PTX: elect.sync
    # PTX: selp.b32


@kernel
def shuffles(out: Ptr[f32], x: f32):
    out[0] = shfl_sync(FULL_MASK, x, 5)  # PTX: shfl.sync.idx.b32
    out[1] = shfl_up_sync(FULL_MASK, x, 1)  # PTX: shfl.sync.up.b32
    out[2] = shfl_down_sync(FULL_MASK, x, 1)  # PTX: shfl.sync.down.b32
    out[3] = shfl_xor_sync(FULL_MASK, x, 16)  # PTX: shfl.sync.bfly.b32


@kernel
def barriers(out: Ptr[i32], a: i32, n: u32):
    sync_threads()  # PTX: bar.sync
    sync_warp()  # PTX: bar.warp.sync
    barrier(3, n)  # PTX: barrier.sync
    barrier_arrive(4, n)  # PTX: barrier.arrive
    p = a == 7  # PTX: setp.eq.b32
    out[0] = sync_threads_count(p)  # PTX: bar.red.popc.u32
    out[1] = sync_threads_and(p)  # PTX: bar.red.and.pred
    # PTX: selp.b32
    out[2] = sync_threads_or(p)  # PTX: bar.red.or.pred
    # PTX: selp.b32


@kernel
def caching(out: Ptr[f32], x: Ptr[f32]):
    prefetch(x, 0)  # PTX: prefetch.global.L1
    out[0] = load(x, 0, cache="nc")  # PTX: ld.global.nc.b32
    out[1] = load(x, 0, cache="ca")  # PTX: ld.global.ca.b32
    out[2] = load(x, 0, cache="cg")  # PTX: ld.global.cg.b32
    out[3] = load(x, 0, cache="cs")  # PTX: ld.global.cs.b32
    out[4] = load(x, 0, cache="lu")  # PTX: ld.global.lu.b32
    out[5] = load(x, 0, cache="cv")  # PTX: ld.global.cv.b32
    store(out, 0, 1.0, cache="cg")  # PTX: st.global.cg.b32
    store(out, 0, 1.0, cache="cs")  # PTX: st.global.cs.b32
    store(out, 0, 1.0, cache="wt")  # PTX: st.global.wt.b32
    out[9] = load(x, 0, volatile=True)  # PTX: ld.volatile.global.b32


@kernel
def constants(out: Ptr[f32], i: i32):
    table = constant.array(TABLE)
    out[0] = table[i]  # PTX: shl.b32
    # PTX: add.s32
    # PTX: ld.const.b32


KERNELS = [value for value in globals().values() if isinstance(value, kdsl.Kernel)]


def working(ptx: str) -> list[str]:
    """The mnemonics of the PTX without plain stores of results."""
    return [m for m in mnemonics(ptx) if not re.fullmatch(r"st\.global\.b\d+", m)]


@pytest.mark.parametrize("checked", KERNELS, ids=lambda k: k.__name__)
def test_each_line_is_one_instruction(checked: kdsl.Kernel) -> None:
    source = inspect.getsource(checked.function)
    ptx = kdsl.compile(checked, target="sm_90").ptx
    patterns = re.findall(r"# PTX: (\S+)", source)
    assert working(ptx) == patterns
    assert check(source, ptx) == 0


@pytest.mark.parametrize("arch", ["sm_90", "sm_120"])
def test_ptxas_takes_them(arch: str) -> None:
    assert kdsl.compile(KERNELS, target=arch).cubin


@kernel
def unwanted(x: Ptr[u32], f: Ptr[f32], n: Ptr[i32]):
    atomic.add(x, 0, 1)
    atomic.add(f, 0, 1.0)
    atomic.max(n, 0, 5)


@kernel
def wanted(x: Ptr[u32], n: Ptr[i32]):
    x[1] = atomic.add(x, 0, 1)
    n[1] = atomic.max(n, 0, 5)


@pytest.mark.skipif(not (find_tool("ptxas") and find_tool("nvdisasm")), reason="needs ptxas and nvdisasm")
def test_an_atomic_whose_old_value_nobody_wants_is_a_reduction() -> None:
    """PTX says ``atom`` either way: ptxas makes RED of it, and waits for no answer."""
    assert re.findall(r"\b(RED|REDG|ATOM|ATOMG)\.E?\.?(ADD|MAX)", kdsl.compile(unwanted, target="sm_90").sass) == [
        ("REDG", "ADD"), ("REDG", "ADD"), ("REDG", "MAX"),
    ]  # fmt: skip
    assert re.findall(r"\b(RED|REDG|ATOM|ATOMG)\.E?\.?(ADD|MAX)", kdsl.compile(wanted, target="sm_90").sass) == [
        ("ATOMG", "ADD"), ("ATOMG", "MAX"),
    ]  # fmt: skip
