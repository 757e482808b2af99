"""Rows: shared, constant, local and dynamic shared memory; cache operators, volatile, prefetch."""

import numpy as np

from kdsl import (
    Array,
    Ptr,
    block_dim,
    block_idx,
    constant,
    f32,
    f32x4,
    grid,
    grid_dim,
    gridsize,
    i32,
    i64,
    kernel,
    load,
    local,
    prefetch,
    shared,
    store,
    sync_threads,
    thread_idx,
    u8,
)

from .capability import Capability, row

N = np.arange(32)
X = N.astype(np.float32)


@row("Memory", "indices", "thread_idx, block_idx, block_dim and grid_dim along x, y and z",
     out=np.arange(48), grid=(2, 1, 2), block=(2, 3, 2),
     instructions=("%tid.x", "%tid.y", "%tid.z", "%ctaid.x", "%ctaid.z", "%ntid.x", "%ntid.y", "%nctaid.x"))  # fmt: skip
@kernel
def indices(out: Ptr[i64]):
    block = (block_idx.z * grid_dim.y + block_idx.y) * grid_dim.x + block_idx.x
    threads = block_dim.x * block_dim.y * block_dim.z
    thread = (thread_idx.z * block_dim.y + thread_idx.y) * block_dim.x + thread_idx.x
    out[block * threads + thread] = block * threads + thread


@row("Memory", "grid(2), gridsize(2)", "the thread's place in the whole grid", out=np.arange(64).reshape(8, 8), grid=(2, 2),
     block=(4, 4), instructions=("mad.lo.s32",))  # fmt: skip
@kernel
def two_dimensional(out: Array[i64, 2]):
    x, y = grid(2)
    width, _ = gridsize(2)
    out[y, x] = y * width + x


@row(
    "Memory",
    "grid-stride loops",
    "`range(grid(1), n, gridsize(1))`",
    out=np.arange(1000),
    grid=2,
    inputs=(np.int32(1000),),
)
@kernel
def grid_stride(out: Ptr[i64], n: i32):
    for i in range(grid(1), n, gridsize(1)):
        out[i] = i


@row("Memory", "shared.array", "one allocation for all threads of a block, of one or more dimensions",
     out=np.arange(64).reshape(8, 8).T.ravel(), block=64, instructions=("st.shared.b32", "ld.shared.s32", ".shared"))  # fmt: skip
@kernel
def transposed(out: Ptr[i64]):
    tile = shared.array((8, 8), i32)
    i = thread_idx.x
    tile[i // 8, i % 8] = i
    sync_threads()
    out[i] = tile[i % 8, i // 8]


@row("Memory", "shared.dynamic", "the launch's shared memory: views of several types at byte offsets", out=N[::-1] * 1000 + N,
     shared=32 * 4 + 32, instructions=(".extern", "st.shared.b8", "st.shared.b32"))  # fmt: skip
@kernel
def dynamic(out: Ptr[i64]):
    words = shared.dynamic(i32)
    small = shared.dynamic(u8, 4 * 32)
    i = thread_idx.x
    words[i] = i * 1000
    small[i] = u8(i)
    sync_threads()
    out[i] = words[31 - i] + small[i]


WEIGHTS = np.array([[1, 2, 3, 4], [50, 60, 70, 80]], np.float32)


@row("Memory", "constant.array", "a copy of a NumPy array, read-only, fastest where a warp reads one element",
     out=WEIGHTS.ravel()[N % 8], instructions=("ld.const.b32", ".const"))  # fmt: skip
@kernel
def constants(out: Ptr[f32]):
    table = constant.array(WEIGHTS)
    i = grid(1) % 8
    out[grid(1)] = table[i // 4, i % 4]


@row("Memory", "local.array in registers", "constant indices keep an array of one thread in registers", out=N * 6,
     without=(r"\.local",))  # fmt: skip
@kernel
def in_registers(out: Ptr[i64]):
    own = local.array(3, i32)
    for k in range(3, unroll=True):
        own[k] = grid(1) * (k + 1)
    out[grid(1)] = own[0] + own[1] + own[2]


@row("Memory", "local.array in memory", "an index that is known at run time takes local memory", out=N * (N % 5),
     instructions=("st.local.b32", "ld.local.s32", ".local"), inputs=(np.int32(5),))  # fmt: skip
@kernel
def in_memory(out: Ptr[i64], n: i32):
    own = local.array(16, i32)
    for k in range(n):
        own[k] = grid(1) * k
    out[grid(1)] = own[grid(1) % n]


LOADS = ("ca", "cg", "cs", "lu", "cv", "nc")
STORES = ("wb", "cg", "cs", "wt")
LOADED = {
    "ca": "cached at all levels", "cg": "cached in L2 alone", "cs": "to be evicted first", "lu": "for the last time",
    "cv": "not cached", "nc": "through the cache of what no thread writes meanwhile",
}  # fmt: skip
STORED = {"wb": "written back", "cg": "cached in L2 alone", "cs": "to be evicted first", "wt": "written through"}


def loading(cache: str) -> Capability:
    @row(
        "Memory", f'load(cache="{cache}")', LOADED[cache], out=X, inputs=(X,), instructions=(f"ld.global.{cache}.b32",)
    )
    @kernel
    def copy(out: Ptr[f32], x: Ptr[f32]):
        out[grid(1)] = load(x, grid(1), cache=cache)

    return copy


def storing(cache: str) -> Capability:
    @row(
        "Memory", f'store(cache="{cache}")', STORED[cache], out=X, inputs=(X,), instructions=(f"st.global.{cache}.b32",)
    )
    @kernel
    def copy(out: Ptr[f32], x: Ptr[f32]):
        store(out, grid(1), x[grid(1)], cache=cache)

    return copy


CACHED = [*map(loading, LOADS), *map(storing, STORES)]


@row("Memory", "volatile", "loads and stores that are each done, of global and shared memory", out=X, inputs=(X,),
     instructions=("ld.volatile.global.b32", "st.volatile.global.b32", "ld.volatile.shared.b32", "st.volatile.shared.b32"),
     )  # fmt: skip
@kernel
def volatile(out: Ptr[f32], x: Ptr[f32]):
    s = shared.array(32, f32)
    i = grid(1)
    store(s, i, load(x, i, volatile=True), volatile=True)
    store(out, i, load(s, i, volatile=True), volatile=True)


@row("Memory", "prefetch", "a cache line of global memory, to L1 or L2", out=X, inputs=(X,),
     instructions=("prefetch.global.L1", "prefetch.global.L2"))  # fmt: skip
@kernel
def prefetching(out: Ptr[f32], x: Ptr[f32]):
    prefetch(x, 0)
    prefetch(x, 16, level="L2")
    out[grid(1)] = x[grid(1)]


@row("Memory", "restrict=True", "no two arrays overlap: reads go through the read-only cache", out=X * 2, inputs=(X,),
     instructions=("ld.global.nc.b32",))  # fmt: skip
@kernel(restrict=True)
def restricted(out: Ptr[f32], x: Ptr[f32]):
    out[grid(1)] = x[grid(1)] * 2


@row("Memory", "vectors in shared memory", "16-byte accesses", out=np.arange(128, dtype=np.float32).reshape(32, 4)[::-1],
     inputs=(np.arange(128, dtype=np.float32).reshape(32, 4),),
     instructions=("ld.shared.v4.b32", "st.shared.v4.b32", "ld.global.v4.b32", "st.global.v4.b32"))  # fmt: skip
@kernel
def shared_vectors(out: Ptr[f32x4], x: Ptr[f32x4]):
    tile = shared.array(32, f32x4)
    tile[thread_idx.x] = x[thread_idx.x]
    sync_threads()
    out[thread_idx.x] = tile[31 - thread_idx.x]


@row("Memory", "launch_bounds", "threads of the largest block, and blocks that should fit on an SM", out=N,
     instructions=(".maxntid", ".minnctapersm"))  # fmt: skip
@kernel(launch_bounds=(256, 2))
def bounded(out: Ptr[i64]):
    out[grid(1)] = grid(1)
