"""Rows: slices, views, copies and lists; variables of the program; floats of 8 bits; cache hints."""

import ml_dtypes
import numpy as np

from kdsl import (
    Array,
    Ptr,
    atomic,
    bf16,
    bf16x2,
    constant,
    createpolicy_fractional,
    device,
    f8e4m3,
    f8e4m3x4,
    f8e5m2,
    f16x2,
    f32,
    f32x2,
    f32x4,
    f64,
    grid,
    i16,
    i32,
    i64,
    kernel,
    load,
    prefetch,
    shared,
    store,
    sync_threads,
    thread_idx,
    u16,
)

from .capability import Capability, row

N = np.arange(32)
GRID = np.arange(32 * 8, dtype=np.float32).reshape(32, 8)


@row("Memory", "slices", "`a[i]`, `a[i, 1:5]`, `a[:, j]`, `a[::-1]` are views: nothing is copied", inputs=(GRID,),
     out=GRID[:, 1:5].sum(1) + GRID[::-1, 2] + 4, without=(r"\.local",))  # fmt: skip
@kernel
def slices(out: Ptr[f32], a: Array[f32, 2]):
    i = grid(1)
    part = a[i, 1:5]
    total = part[0]
    for k in range(1, 4):
        total += part[k]
    out[i] = total + a[::-1][i, 2] + len(part)


@row("Memory", "transpose, reshape and view", "`a.T`, `a.reshape(rows, -1)`, `a.view(f32x4)`", inputs=(GRID,),
     out=GRID.T[3] + GRID.reshape(64, 4)[::2, 1] + GRID[:, 7])  # fmt: skip
@kernel
def reshaped(out: Ptr[f32], a: Array[f32, 2]):
    i = grid(1)
    quads = a.reshape(-1).view(f32x4)
    out[i] = a.T[3, i] + a.reshape(64, 4)[2 * i, 1] + quads[2 * i + 1].w


@row("Memory", "copies between arrays", "`a[i, :] = b[j, :]`, `a[:] = x`", out=np.where(N[:, None] % 2, 7, GRID[::-1]),
     inputs=(GRID,))  # fmt: skip
@kernel
def copies(out: Array[f32, 2], a: Array[f32, 2]):
    i = grid(1)
    if i % 2:
        out[i, :] = 7.0
    else:
        out[i, :] = a[31 - i, :]


@row("Memory", "slices of a pointer", "`p[lo:hi]` is an array of one dimension", out=N + 2.0, inputs=(N + 0.0,))
@kernel
def of_a_pointer(out: Ptr[f64], x: Ptr[f64]):
    i = grid(1)
    part = x[i : i + 2]
    out[i] = part[0] + len(part)


@row("Statements", "list literals", "local arrays of fixed length, in registers where indices are constant", out=N * 6.0 + 3,
     without=(r"\.local",))  # fmt: skip
@kernel
def lists(out: Ptr[f64]):
    w = [1.0, f64(2.0), 3.0]
    acc = [f64(0.0)] * 3
    for k in range(3, unroll=True):
        acc[k] = w[k] * grid(1)
    out[grid(1)] = acc[0] + acc[1] + acc[2] + len(w)


@row("Statements", "comprehensions", "lists of constant ranges; sum, any, all, min and max of generator expressions",
     out=sum(k * k for k in range(5)) * N + 10)  # fmt: skip
@kernel
def comprehensions(out: Ptr[i64]):
    squares = [k * k * grid(1) for k in range(5)]
    out[grid(1)] = sum(s for s in squares) + sum(k for k in range(5))


@row(
    "Statements",
    "for over an array",
    "its elements, or its rows",
    inputs=(GRID[:4].copy(),),
    out=np.full(32, GRID[:4].sum()),
)
@kernel
def over_rows(out: Ptr[f32], a: Array[f32, 2]):
    total = 0.0
    for line in a:
        for x in line:
            total += x
    out[grid(1)] = total


@row("Statements", "starred unpacking", "`first, *rest = t`", out=N + 2 + 3 * 10)
@kernel
def starred(out: Ptr[i64]):
    first, *rest = (grid(1), 2, 3)
    out[grid(1)] = first + rest[0] + rest[1] * 10


TOTALS = device.array(32, i32)
GAINS = constant.empty(4, f32)
GAINS.copy_from(np.array([1, 2, 4, 8], np.float32))


@row("Memory", "device.array", "a variable that kernels and the host know by name", out=N, instructions=(".visible",))
@kernel
def of_the_program(out: Ptr[i64]):
    i = grid(1)
    TOTALS[i] = i
    out[i] = TOTALS[i]


@row("Memory", "constant.empty", "constant memory that the host fills between launches", out=(2.0 ** (N % 4)).astype(np.float32),
     instructions=("ld.const.b32",))  # fmt: skip
@kernel
def gained(out: Ptr[f32]):
    out[grid(1)] = GAINS[grid(1) % 4]


def eight(T: object, dtype: object, name: str) -> Capability:
    values = ((N - 16) * 1.25).astype(np.float32)

    @row("Types", name, "8 bits in memory: casts take it out and put it in, one cvt from sm_89", inputs=(values,),
         out=values.astype(dtype).astype(np.float32), shown_on="sm_89",
         instructions=(f"cvt.rn.satfinite.{'e4m3x2' if name == 'f8e4m3' else 'e5m2x2'}.f32",))  # fmt: skip
    @kernel
    def through(out: Ptr[f32], x: Ptr[f32]):
        small = shared.array(32, T)
        i = thread_idx.x
        small[i] = T(x[i])
        sync_threads()
        out[i] = f32(small[i])

    return through


EIGHT = [eight(f8e4m3, ml_dtypes.float8_e4m3fn, "f8e4m3"), eight(f8e5m2, ml_dtypes.float8_e5m2, "f8e5m2")]


@row("Types", "f8e4m3x4", "four at once", inputs=(GRID[:, :4].copy() / 4,),
     out=(GRID[:, :4] / 4).astype(ml_dtypes.float8_e4m3fn).astype(np.float32))  # fmt: skip
@kernel
def four(out: Ptr[f32x4], x: Ptr[f32x4]):
    out[grid(1)] = f32x4(f8e4m3x4(x[grid(1)]))


@row("Memory", 'load(evict="first")', "L1 shall give the line up first", out=N.astype(np.float32), inputs=(N.astype(np.float32),),
     instructions=("ld.global.L1::evict_first.b32", "st.global.L1::evict_last.b32"))  # fmt: skip
@kernel
def evicted(out: Ptr[f32], x: Ptr[f32]):
    store(out, grid(1), load(x, grid(1), evict="first"), evict="last")


@row("Memory", "load(l2_prefetch=128)", "how much L2 shall fetch", out=N.astype(np.float32), inputs=(N.astype(np.float32),),
     instructions=("ld.global.L2::128B.b32",))  # fmt: skip
@kernel
def fetched(out: Ptr[f32], x: Ptr[f32]):
    out[grid(1)] = load(x, grid(1), l2_prefetch=128)


@row("Memory", "createpolicy_fractional", "a policy of L2 for loads and stores", out=N.astype(np.float32), inputs=(N.astype(np.float32),),
     minimum="sm_80", instructions=("ld.global.L2::cache_hint.b32",))  # fmt: skip
@kernel
def policy(out: Ptr[f32], x: Ptr[f32]):
    p = createpolicy_fractional("evict_last", 0.5, secondary="evict_first")
    out[grid(1)] = load(x, grid(1), policy=p)


@row("Memory", 'prefetch(level="L2::evict_last")', "a line into L2, with that priority", out=N.astype(np.float32),
     inputs=(N.astype(np.float32),), minimum="sm_80", instructions=("prefetch.global.L2::evict_last",))  # fmt: skip
@kernel
def kept(out: Ptr[f32], x: Ptr[f32]):
    prefetch(x, 0, level="L2::evict_last")
    out[grid(1)] = x[grid(1)]


def packed(V: object, dtype: object, lanes: int, instruction: str, shown_on: str) -> Capability:
    @row("Atomics", f"atomic.add of {V}", "each element is atomic by itself", out=np.full(lanes, 33, dtype), start=np.ones(lanes, dtype),
         shown_on=shown_on, instructions=(instruction,))  # fmt: skip
    @kernel
    def added(out: Ptr[V]):
        atomic.add(out, 0, V(1))

    return added


PACKED = [
    packed(f16x2, np.float16, 2, "red.relaxed.gpu.global.add.noftz.f16x2", "sm_75"),
    packed(bf16x2, ml_dtypes.bfloat16, 2, "red.relaxed.gpu.global.add.noftz.bf16x2", "sm_90"),
    packed(f32x2, np.float32, 2, "red.relaxed.gpu.global.add.v2.f32", "sm_90"),
    packed(f32x4, np.float32, 4, "red.relaxed.gpu.global.add.v4.f32", "sm_90"),
]


def sixteen(T: object, dtype: object, name: str) -> Capability:
    @row("Atomics", f"16-bit atomics of {name}", "a loop of compare-and-swap: the neighbours are not touched",
         out=np.array([7, 5 + 32, 7, 32], dtype), start=np.array([7, 5, 7, 0], dtype),
         instructions=("atom.relaxed.gpu.global.cas.b16",))  # fmt: skip
    @kernel
    def small(out: Ptr[T]):
        atomic.add(out, 1, 1)
        atomic.max(out, 3, T(thread_idx.x + 1))

    return small


SIXTEEN = [sixteen(i16, np.int16, "i16"), sixteen(u16, np.uint16, "u16"), sixteen(bf16, ml_dtypes.bfloat16, "bf16")]
