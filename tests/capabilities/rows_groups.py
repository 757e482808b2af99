"""Rows: groups of threads, with reductions, scans, broadcasts and shuffles."""

import numpy as np

from kdsl import Ptr, f64, grid, groups, i32, i64, kernel, thread_idx

from .capability import Capability, row

N = np.arange(64)
VALUES = (N * 37 % 64).astype(np.int64)
F = VALUES / 4
AREA = "Groups"
OPERATIONS = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
              "xor": np.bitwise_xor}  # fmt: skip


def scanned(values: np.ndarray, size: int) -> np.ndarray:
    return np.concatenate([np.cumsum(part) for part in values.reshape(-1, size)])


@row(
    AREA, "this_block", "rank, size, leader and sync", out=N * 100 + 64 + (N == 0), block=64, instructions=("bar.sync",)
)
@kernel
def block(out: Ptr[i64]):
    b = groups.this_block()
    b.sync()
    out[thread_idx.x] = b.rank * 100 + b.size + b.leader


def block_reduction(operation: str) -> Capability:
    expected = OPERATIONS[operation].reduce(VALUES % 3 + 1 if operation == "mul" else VALUES)
    factor = operation == "mul"

    @row(AREA, f'this_block().reduce(v, "{operation}")', "for every thread of the block", out=np.full(64, expected), block=64,
         inputs=(VALUES % 3 + 1 if factor else VALUES,))  # fmt: skip
    @kernel
    def reduced(out: Ptr[i64], x: Ptr[i64]):
        out[thread_idx.x] = groups.this_block().reduce(x[thread_idx.x], operation)

    return reduced


REDUCED = [block_reduction(operation) for operation in OPERATIONS]


@row(
    AREA,
    "reduce by a function",
    "of two values, tuples too",
    out=np.full(64, int(np.argmax(VALUES))),
    block=64,
    inputs=(VALUES,),
)
@kernel
def by_function(out: Ptr[i64], x: Ptr[i64]):
    pair = (x[thread_idx.x], thread_idx.x)
    _, place = groups.this_block().reduce(pair, lambda a, b: a if a[0] > b[0] else b)
    out[thread_idx.x] = place


@row(AREA, "this_block().inclusive_scan", "the values up to this rank", out=np.cumsum(F), block=64, inputs=(F,))
@kernel
def inclusive(out: Ptr[f64], x: Ptr[f64]):
    out[thread_idx.x] = groups.this_block().inclusive_scan(x[thread_idx.x], "add")


@row(AREA, "this_block().exclusive_scan", "the values below this rank", out=np.cumsum(F) - F, block=64, inputs=(F,))
@kernel
def exclusive(out: Ptr[f64], x: Ptr[f64]):
    out[thread_idx.x] = groups.this_block().exclusive_scan(x[thread_idx.x], "add", init=0)


@row(AREA, "broadcast", "the value of a rank", out=np.full(64, VALUES[40]), block=64, inputs=(VALUES,))
@kernel
def broadcast(out: Ptr[i64], x: Ptr[i64]):
    out[thread_idx.x] = groups.this_block().broadcast(x[thread_idx.x], src=40)


def tiled(size: int) -> Capability:
    sums = np.repeat(VALUES.reshape(-1, size).sum(1), size)

    @row(AREA, f"tile({size})", "neighbouring threads: rank, reduce and scan", block=64, inputs=(VALUES.astype(np.int32),),
         out=sums * 1000 + scanned(VALUES, size) + N % size)  # fmt: skip
    @kernel
    def tiles(out: Ptr[i64], x: Ptr[i32]):
        t = groups.tile(size)
        v = x[thread_idx.x]
        out[thread_idx.x] = i64(t.reduce(v, "add")) * 1000 + t.inclusive_scan(v, "add") + t.rank

    return tiles


TILES = [tiled(size) for size in (1, 2, 4, 8, 16, 32)]


@row(AREA, "redux in tiles", "a tile's reduction of 32-bit ints is one instruction from sm_80", out=np.repeat(VALUES.reshape(2, 32).max(1), 32),
     block=64, inputs=(VALUES.astype(np.int32),), shown_on="sm_80", instructions=("redux.sync.max.s32",))  # fmt: skip
@kernel
def redux(out: Ptr[i64], x: Ptr[i32]):
    out[thread_idx.x] = groups.tile(32).reduce(x[thread_idx.x], "max")


@row(AREA, "shuffles of a tile", "shfl, shfl_up, shfl_down, shfl_xor by rank", block=64,
     out=VALUES[N // 8 * 8 + 3] + VALUES[N ^ 1] * 100)  # fmt: skip
@kernel
def tile_shuffles(out: Ptr[i64]):
    t = groups.tile(8)
    v = thread_idx.x * 37 % 64
    out[thread_idx.x] = t.shfl(v, 3) + t.shfl_xor(v, 1) * 100


@row(AREA, "votes of a tile", "any, all, ballot: a bit for each rank", block=64, out=np.where(N < 8, 0b11100000, np.where(N < 64, 255, 0)),
     instructions=("vote.sync.ballot.b32",))  # fmt: skip
@kernel
def tile_votes(out: Ptr[i64]):
    out[thread_idx.x] = groups.tile(8).ballot(thread_idx.x >= 5)


@row(AREA, "coalesced", "the lanes that took a branch", block=64, out=np.where(N % 3 == 0, [sum(1 for k in range(32) if (k + h) % 3 == 0)
     for h in np.repeat([0, 32], 32)], 0), instructions=("activemask.b32",))  # fmt: skip
@kernel
def branch(out: Ptr[i64]):
    i = thread_idx.x
    out[i] = 0
    if i % 3 == 0:
        g = groups.coalesced()
        out[i] = g.reduce(i * 0 + 1, "add")


@row(AREA, "partition", "the group of those with the same label", block=64, out=np.where(N % 32 < 10, 10, 22))
@kernel
def parts(out: Ptr[i64]):
    g = groups.tile(32).partition(thread_idx.x % 32 < 10)
    out[thread_idx.x] = g.size


@row(AREA, "this_cluster", "rank, size and reduce over the blocks of a cluster", out=np.tile([sum(range(64)) + 64] * 64, 2), grid=4, block=32,
     cluster=2, minimum="sm_90", instructions=("barrier.cluster.arrive", "barrier.cluster.wait"))  # fmt: skip
@kernel
def cluster(out: Ptr[i64]):
    g = groups.this_cluster()
    out[grid(1)] = g.reduce(g.rank, "add") + g.size


@row(AREA, "this_grid", "rank, size, sync and reduce over the whole grid", out=np.full(64, sum(range(64)) + 64.0), grid=2, cooperative=True,
     inputs=(np.zeros(2),))  # fmt: skip
@kernel
def whole_grid(out: Ptr[f64], workspace: Ptr[f64]):
    g = groups.this_grid()
    out[grid(1)] = g.reduce(f64(g.rank), "add", workspace=workspace) + f64(g.size)
