"""Rows: shuffles, votes, matches, reductions, election and lane masks."""

import ml_dtypes
import numpy as np

from kdsl import (
    FULL_MASK,
    Ptr,
    active_mask,
    all_sync,
    any_sync,
    ballot_sync,
    bf16,
    elect_sync,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    kernel,
    lane_id,
    lanemask_eq,
    lanemask_ge,
    lanemask_gt,
    lanemask_le,
    lanemask_lt,
    match_all_sync,
    match_any_sync,
    reduce_add_sync,
    reduce_and_sync,
    reduce_max_sync,
    reduce_min_sync,
    reduce_or_sync,
    reduce_xor_sync,
    shfl_down_sync,
    shfl_sync,
    shfl_up_sync,
    shfl_xor_sync,
    thread_idx,
    u8,
    u16,
    u32,
    u64,
    warp_id,
    warp_size,
)

from .capability import Capability, row

N = np.arange(64)
LANE = N % 32
DTYPES = {
    i8: "i1", i16: "i2", i32: "i4", i64: "i8", u8: "u1", u16: "u2", u32: "u4", u64: "u8", f32: "f4", f64: "f8", f16: "f2",
    bf16: ml_dtypes.bfloat16,
}  # fmt: skip

SHUFFLES = {
    "shfl_sync": ("idx", 5, (N // 32) * 32 + 5, "the value of a lane"),
    "shfl_up_sync": ("up", 3, np.where(LANE < 3, N, N - 3), "the value some lanes below"),
    "shfl_down_sync": ("down", 3, np.where(LANE > 28, N, N + 3), "the value some lanes above"),
    "shfl_xor_sync": ("bfly", 9, N ^ 9, "the value of the lane whose index differs in a mask"),
}


def shuffle(function: object, T: object) -> Capability:
    ptx, argument, source, what = SHUFFLES[function.name]
    values = (N - 20 * (DTYPES[T] not in ("u1", "u2", "u4", "u8"))).astype(DTYPES[T])

    @row("Warp", f"{function.name} of {T}", what, out=values[source], inputs=(values,), block=64,
         instructions=(f"shfl.sync.{ptx}.b32",))  # fmt: skip
    @kernel
    def exchanged(out: Ptr[T], x: Ptr[T]):
        i = thread_idx.x
        out[i] = function(FULL_MASK, x[i], argument)

    return exchanged


ROWS = [shuffle(f, T) for f in (shfl_sync, shfl_up_sync, shfl_down_sync, shfl_xor_sync) for T in DTYPES]


@row("Warp", "shuffles in groups", "of 1, 2, 4, 8 or 16 lanes", out=N // 8 * 8 + 3, block=64)
@kernel
def grouped(out: Ptr[i64]):
    out[thread_idx.x] = shfl_sync(FULL_MASK, thread_idx.x, 3, width=8)


@row("Warp", "all_sync", "whether a predicate is true in every lane of a mask", out=np.where(N < 32, 1, 0), block=64,
     instructions=("vote.sync.all.pred",))  # fmt: skip
@kernel
def all_lanes(out: Ptr[i64]):
    out[thread_idx.x] = all_sync(FULL_MASK, thread_idx.x < 40)


@row(
    "Warp",
    "any_sync",
    "whether it is true in any",
    out=np.where(N < 32, 0, 1),
    block=64,
    instructions=("vote.sync.any.pred",),
)
@kernel
def any_lane(out: Ptr[i64]):
    out[thread_idx.x] = any_sync(FULL_MASK, thread_idx.x > 40)


@row("Warp", "ballot_sync", "the lanes in which it is true, a bit each", out=np.where(N < 32, 0x55555555, 0x155), block=64,
     instructions=("vote.sync.ballot.b32",))  # fmt: skip
@kernel
def ballot(out: Ptr[i64]):
    i = thread_idx.x
    out[i] = ballot_sync(FULL_MASK, i % 2 == 0 and i < 41)


@row("Warp", "match_any_sync", "the lanes that hold the caller's value", out=[sum(1 << k for k in range(32) if k % 3 == i % 3) for i in LANE],
     block=64, instructions=("match.any.sync.b32",))  # fmt: skip
@kernel
def matched_any(out: Ptr[i64]):
    out[thread_idx.x] = match_any_sync(FULL_MASK, thread_idx.x % 32 % 3)


@row("Warp", "match_all_sync", "whether all lanes hold the same", out=np.where(N < 32, 0xFFFFFFFF, 0), block=64,
     instructions=("match.all.sync.b32",))  # fmt: skip
@kernel
def matched_all(out: Ptr[i64]):
    mask, same = match_all_sync(FULL_MASK, max(thread_idx.x, 31))
    out[thread_idx.x] = mask if same else 0


REDUCTIONS = {
    reduce_add_sync: ("add.s32", np.add), reduce_min_sync: ("min.s32", np.minimum), reduce_max_sync: ("max.s32", np.maximum),
    reduce_and_sync: ("and.b32", np.bitwise_and), reduce_or_sync: ("or.b32", np.bitwise_or),
    reduce_xor_sync: ("xor.b32", np.bitwise_xor),
}  # fmt: skip
VALUES = (N * 2654435761 % 2**31 - 2**30).astype(np.int32) | 1024


def reduction(function: object, shown_on: str) -> Capability:
    ending, reference = REDUCTIONS[function]
    halves = [reference.reduce(VALUES[h : h + 32]) for h in (0, 32)]
    one = shown_on != "sm_75"

    @row("Warp", f"{function.name}, {'from sm_80' if one else 'before sm_80'}",
         "of the lanes of a mask, one instruction" if one else "of the lanes of a mask, by shuffles",
         out=np.repeat(halves, 32).astype(np.int32), inputs=(VALUES,), block=64, shown_on=shown_on,
         instructions=(f"redux.sync.{ending}",) if one else ("shfl.sync.bfly.b32",),
         without=() if one else ("redux",))  # fmt: skip
    @kernel
    def reduced(out: Ptr[i32], x: Ptr[i32]):
        out[thread_idx.x] = function(FULL_MASK, x[thread_idx.x])

    return reduced


REDUCED = [reduction(f, arch) for f in REDUCTIONS for arch in ("sm_75", "sm_80")]


@row("Warp", "elect_sync", "one lane of a mask is chosen", out=np.ones(64, int), start=np.zeros(64, int), block=64,
     instructions=("elect.sync",), minimum="sm_90")  # fmt: skip
@kernel
def elected(out: Ptr[i64]):
    chosen = ballot_sync(FULL_MASK, elect_sync(FULL_MASK))
    out[thread_idx.x] = chosen != 0 and (chosen & (chosen - 1)) == 0


@row(
    "Warp",
    "active_mask",
    "the lanes that happen to run together",
    out=np.ones(64, int),
    block=64,
    instructions=("activemask.b32",),
)
@kernel
def active(out: Ptr[i64]):
    out[thread_idx.x] = active_mask() >> u32(lane_id()) & 1


@row("Warp", "lane_id, warp_id, warp_size", "where a thread is in its block's warps", out=LANE * 10000 + N // 32 * 100 + 32, block=64,
     instructions=("%laneid",))  # fmt: skip
@kernel
def places(out: Ptr[i64]):
    out[thread_idx.x] = lane_id() * 10000 + warp_id() * 100 + warp_size


MASKS = {
    lanemask_eq: ("eq", lambda i: 1 << i), lanemask_lt: ("lt", lambda i: (1 << i) - 1),
    lanemask_le: ("le", lambda i: (2 << i) - 1), lanemask_gt: ("gt", lambda i: 2**32 - (2 << i)),
    lanemask_ge: ("ge", lambda i: 2**32 - (1 << i)),
}  # fmt: skip


def lane_mask(function: object) -> Capability:
    name, reference = MASKS[function]

    @row("Warp", function.name, "lanes relative to the caller's, a bit each", out=[reference(int(i)) for i in LANE], block=64,
         instructions=(f"%lanemask_{name}",))  # fmt: skip
    @kernel
    def masked(out: Ptr[i64]):
        out[thread_idx.x] = function()

    return masked


LANE_MASKS = [lane_mask(function) for function in MASKS]


@row("Warp", "a warp's sum by shuffles", "for loops of shuffles are unrolled", out=np.repeat([np.sum(N[:32]), np.sum(N[32:])], 32) * 0.5,
     block=64, instructions=("shfl.sync.bfly.b32", "add.rn.f64"), without=(r"\bbra\b",))  # fmt: skip
@kernel
def summed(out: Ptr[f64]):
    total = f64(thread_idx.x) / 2
    for distance in (16, 8, 4, 2, 1):
        total += shfl_xor_sync(FULL_MASK, total, distance)
    out[thread_idx.x] = total
