"""Rows: variables of the program, floats of 8 bits, cache hints, atomics of vectors and of 16 bits, wide products."""

import ml_dtypes
import numpy as np

import kdsl
from kdsl import (
    FULL_MASK,
    Ptr,
    atomic,
    constant,
    createpolicy_fractional,
    f8e4m3,
    f8e4m3x4,
    f8e5m2,
    f8e5m2x4,
    f16x2,
    f32,
    f32x2,
    f32x4,
    fma,
    i32,
    kernel,
    load,
    mad_wide64,
    math,
    mul_wide64,
    prefetch,
    reduce_max_sync,
    reduce_min_sync,
    store,
    thread_idx,
    u16,
    u64,
)

from .capability import row

N = np.arange(32)
X = N.astype(np.float32)
LARGE = np.linspace(-600, 600, 32).astype(np.float32)
total = kdsl.device.array(32, i32, init=np.arange(32, dtype=np.int32))
gains = constant.empty(32, f32)
gains.copy_from(X + 1)


@row("Types", "f8e4m3", "8-bit floats: stored, and converted with saturation", out=np.clip(LARGE, -448, 448).astype(
     ml_dtypes.float8_e4m3fn).astype(np.float32), inputs=(np.zeros(32, ml_dtypes.float8_e4m3fn), LARGE),
     instructions=("cvt.rn.satfinite.e4m3x2.f32", "cvt.rn.f16x2.e4m3x2"), shown_on="sm_89")  # fmt: skip
@kernel
def e4m3(out: Ptr[f32], codes: Ptr[f8e4m3], x: Ptr[f32]):
    i = thread_idx.x
    codes[i] = f8e4m3(x[i])
    out[i] = f32(codes[i])


@row("Types", "f8e5m2", "8-bit floats with f16's range", out=LARGE.astype(ml_dtypes.float8_e5m2).astype(np.float32),
     inputs=(np.zeros(32, ml_dtypes.float8_e5m2), LARGE),
     instructions=("cvt.rn.satfinite.e5m2x2.f32", "cvt.rn.f16x2.e5m2x2"), shown_on="sm_89")  # fmt: skip
@kernel
def e5m2(out: Ptr[f32], codes: Ptr[f8e5m2], x: Ptr[f32]):
    i = thread_idx.x
    codes[i] = f8e5m2(x[i])
    out[i] = f32(codes[i])


@row("Types", "f8e4m3x4, f8e5m2x4", "four at a time", out=(X % 8).reshape(8, 4), inputs=((X % 8).reshape(8, 4),), block=8,
     instructions=("cvt.rn.satfinite.e4m3x2.f32", "cvt.rn.satfinite.e5m2x2.f32"), shown_on="sm_89")  # fmt: skip
@kernel
def four_of_8_bits(out: Ptr[f32x4], x: Ptr[f32x4]):
    i = thread_idx.x
    v = f32x4(f8e4m3x4(x[i]))
    out[i] = v if v.x >= 0 else f32x4(f8e5m2x4(x[i]))


@row("Memory", "device.array", "a variable in global memory that kernels and the host share", out=N.astype(np.int32),
     instructions=("ld.const.b64",))  # fmt: skip
@kernel
def in_global_memory(out: Ptr[i32]):
    i = thread_idx.x
    out[i] = total[i] + 0 * atomic.add(total, i, 0)


@row("Memory", "constant.empty", "a variable in constant memory that the host writes", out=X + 1,
     instructions=("ld.const.b32",))  # fmt: skip
@kernel
def in_constant_memory(out: Ptr[f32]):
    out[thread_idx.x] = gains[thread_idx.x]


@row("Memory", "load(evict=), store(evict=)", "when L1 gives the line up", out=X, inputs=(X,),
     instructions=("ld.global.L1::evict_first.b32", "st.global.L1::evict_last.b32"))  # fmt: skip
@kernel
def evicted(out: Ptr[f32], x: Ptr[f32]):
    i = thread_idx.x
    store(out, i, load(x, i, evict="first"), evict="last")


@row("Memory", "load(l2_prefetch=)", "how much L2 fetches around it", out=X, inputs=(X,),
     instructions=("ld.global.L2::128B.b32",))  # fmt: skip
@kernel
def fetched(out: Ptr[f32], x: Ptr[f32]):
    out[thread_idx.x] = load(x, thread_idx.x, l2_prefetch=128)


@row("Memory", "createpolicy_fractional, policy=", "what L2 does with the lines", out=X, inputs=(X,), minimum="sm_80",
     instructions=("createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64", "ld.global.L2::cache_hint.b32"),
     shown_on="sm_80")  # fmt: skip
@kernel
def with_a_policy(out: Ptr[f32], x: Ptr[f32]):
    policy = createpolicy_fractional("evict_last", 0.5)
    store(out, thread_idx.x, load(x, thread_idx.x, policy=policy), policy=policy)


@row("Memory", 'prefetch(level="L2::evict_last")', "a line into L2, to stay", out=X, inputs=(X,), minimum="sm_80",
     instructions=("prefetch.global.L2::evict_last",), shown_on="sm_80")  # fmt: skip
@kernel
def fetched_to_stay(out: Ptr[f32], x: Ptr[f32]):
    prefetch(x, thread_idx.x, level="L2::evict_last")
    out[thread_idx.x] = x[thread_idx.x]


@row("Memory", "load(cache=) of a vector", "one access", out=X.reshape(8, 4), inputs=(X.reshape(8, 4),), block=8,
     instructions=("ld.global.cs.v4.b32", "st.global.cg.v4.b32"))  # fmt: skip
@kernel
def vector_with_an_operator(out: Ptr[f32x4], x: Ptr[f32x4]):
    store(out, thread_idx.x, load(x, thread_idx.x, cache="cs"), cache="cg")


@row("Atomics", "atomic.add of f32x4", "each element by itself; one instruction from sm_90",
     out=np.array([[32, 64, 96, 128]], np.float32), instructions=("red.relaxed.gpu.global.add.v4.f32",),
     shown_on="sm_90")  # fmt: skip
@kernel
def vector_sum(out: Ptr[f32x4]):
    atomic.add(out, 0, f32x4(1, 2, 3, 4))


@row("Atomics", "atomic.add of f16x2", "two f16 in one instruction", out=np.array([[32, 64]], np.float16),
     instructions=("red.relaxed.gpu.global.add.noftz.f16x2",))  # fmt: skip
@kernel
def packed_sum(out: Ptr[f16x2]):
    atomic.add(out, 0, f16x2(1, 2))


@row("Atomics", "atomic.max of u16", "a loop of compare-and-swap of 16 bits", out=np.array([31, 7], np.uint16),
     start=np.array([3, 7], np.uint16), instructions=("atom.relaxed.gpu.global.cas.b16",))  # fmt: skip
@kernel
def largest_of_16_bits(out: Ptr[u16]):
    atomic.max(out, 0, u16(thread_idx.x))


@row("Bits", "mul_wide64", "a product of 128 bits, as two halves", out=np.array([1, 2**64 - 2], np.uint64),
     inputs=(np.array([2**64 - 1], np.uint64),), block=1, instructions=("mul.hi.u64", "mul.lo.s64"))  # fmt: skip
@kernel
def wide_product(out: Ptr[u64], x: Ptr[u64]):
    out[0], out[1] = mul_wide64(x[0], x[0])


@row("Bits", "mad_wide64", "a product of 128 bits and a sum", out=np.array([0, 2**64 - 1], np.uint64),
     inputs=(np.array([2**64 - 1], np.uint64),), block=1, instructions=("mul.hi.u64",))  # fmt: skip
@kernel
def wide_product_and_sum(out: Ptr[u64], x: Ptr[u64]):
    out[0], out[1] = mad_wide64(x[0], x[0], x[0], u64(0))


@row("Warp", "reduce_min_sync, reduce_max_sync of f32", "one instruction on sm_100a, shuffles elsewhere",
     out=np.array([-15.5, 15.5], np.float32), inputs=(X - 15.5,), instructions=("redux.sync.min.f32", "redux.sync.max.f32"),
     shown_on="sm_100a")  # fmt: skip
@kernel
def extremes(out: Ptr[f32], x: Ptr[f32]):
    out[0] = reduce_min_sync(FULL_MASK, x[thread_idx.x])
    out[1] = reduce_max_sync(FULL_MASK, x[thread_idx.x])


@row("Math", "math.sqrt(v) of a vector", "functions of numbers on each lane", out=X.reshape(8, 4),
     inputs=((X * X).reshape(8, 4),), block=8, instructions=("sqrt.rn.f32",))  # fmt: skip
@kernel
def roots(out: Ptr[f32x4], x: Ptr[f32x4]):
    out[thread_idx.x] = math.sqrt(x[thread_idx.x])


@row("Math", "fma of f32x2", "one instruction from sm_100", out=(X * X + 1).reshape(16, 2), inputs=(X.reshape(16, 2),), block=16,
     instructions=("fma.rn.f32x2",), shown_on="sm_100")  # fmt: skip
@kernel
def fused_pairs(out: Ptr[f32x2], x: Ptr[f32x2]):
    v = x[thread_idx.x]
    out[thread_idx.x] = fma(v, v, 1.0)
