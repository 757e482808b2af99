"""Rows: barriers and fences."""

import numpy as np

from kdsl import (
    FULL_MASK,
    Ptr,
    barrier,
    barrier_arrive,
    fence,
    i32,
    i64,
    kernel,
    shared,
    sync_threads,
    sync_threads_and,
    sync_threads_count,
    sync_threads_or,
    sync_warp,
    thread_idx,
)

from .capability import Capability, row

N = np.arange(128)
AREA = "Barriers and fences"


@row(
    AREA,
    "sync_threads",
    "all threads of the block, and what they wrote",
    out=N[::-1],
    block=128,
    instructions=("bar.sync",),
)
@kernel
def all_threads(out: Ptr[i64]):
    s = shared.array(128, i32)
    i = thread_idx.x
    s[i] = i
    sync_threads()
    out[i] = s[127 - i]


@row(AREA, "sync_threads_count", "how many threads came with a true predicate", out=np.full(128, 43), block=128,
     instructions=("bar.red.popc.u32",))  # fmt: skip
@kernel
def counted(out: Ptr[i64]):
    out[thread_idx.x] = sync_threads_count(thread_idx.x % 3 == 0)


@row(AREA, "sync_threads_and", "whether all did", out=np.full(128, 2), block=128, instructions=("bar.red.and.pred",))
@kernel
def all_of(out: Ptr[i64]):
    out[thread_idx.x] = 2 * sync_threads_and(thread_idx.x < 128) + sync_threads_and(thread_idx.x < 127)


@row(AREA, "sync_threads_or", "whether any did", out=np.full(128, 2), block=128, instructions=("bar.red.or.pred",))
@kernel
def any_of(out: Ptr[i64]):
    out[thread_idx.x] = 2 * sync_threads_or(thread_idx.x == 77) + sync_threads_or(thread_idx.x == 128)


@row(AREA, "barrier(id, count)", "some of a block's warps", out=np.concatenate([N[63::-1], N[127:63:-1]]), block=128,
     instructions=("barrier.sync",))  # fmt: skip
@kernel
def named(out: Ptr[i64]):
    s = shared.array(128, i32)
    i = thread_idx.x
    s[i] = i
    barrier(1 + i // 64, 64)
    out[i] = s[i ^ 63]


@row(AREA, "barrier_arrive(id, count)", "producers do not wait, consumers do", out=np.where(N < 64, 0, N - 64), block=128,
     instructions=("barrier.sync", "barrier.arrive"))  # fmt: skip
@kernel
def arriving(out: Ptr[i64]):
    s = shared.array(64, i32)
    i = thread_idx.x
    if i < 64:
        s[i] = i
        barrier_arrive(1, 128)
    else:
        barrier(1, 128)
        out[i] = s[i - 64]


@row(AREA, "sync_warp", "the lanes of a mask", out=N ^ 1, block=128, instructions=("bar.warp.sync",))
@kernel
def warps(out: Ptr[i64]):
    s = shared.array(128, i32)
    i = thread_idx.x
    s[i] = i
    sync_warp()
    other = s[i ^ 1]
    sync_warp(FULL_MASK)
    out[i] = other


def fenced(scope: str, ptx: str, minimum: str) -> Capability:
    @row(AREA, f'fence("{scope}")', "orders memory accesses as threads in its scope see them", out=N, block=128,
         instructions=(f"fence.sc.{ptx}",), minimum=minimum)  # fmt: skip
    @kernel
    def ordered(out: Ptr[i64]):
        i = thread_idx.x
        out[i] = 1
        fence(scope)
        out[i] = i

    return ordered


FENCES = [
    fenced("block", "cta", "sm_75"),
    fenced("cluster", "cluster", "sm_90"),
    fenced("gpu", "gpu", "sm_75"),
    fenced("system", "sys", "sm_75"),
]
