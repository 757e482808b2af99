"""Rows: clusters of blocks, their shared memory, and barriers of the whole grid."""

import numpy as np

from kdsl import (
    Ptr,
    atomic,
    block_idx,
    cluster_arrive,
    cluster_block_idx,
    cluster_dim,
    cluster_grid_dim,
    cluster_idx,
    cluster_rank,
    cluster_size,
    cluster_sync,
    cluster_wait,
    f32,
    f32x4,
    grid,
    grid_dependency_wait,
    grid_dim,
    grid_launch_dependents,
    grid_sync,
    i32,
    kernel,
    map_shared_rank,
    shared,
    shared_rank_of,
    thread_idx,
)

from .capability import row

AREA = "Clusters and cooperative launches"
FIRST = "sm_90"
BLOCKS = np.arange(8, dtype=np.int32)
N = np.arange(128, dtype=np.int32)


def clusters(name: str, what: str, **fields):
    """A row of four clusters of two blocks."""
    return row(AREA, name, what, grid=8, cluster=2, minimum=FIRST, **fields)


@clusters("cluster=2 at the launch", "a launch of clusters; cluster_rank, cluster_size", out=10 * (BLOCKS % 2) + 2,
          instructions=("%cluster_ctarank", "%cluster_nctarank"))  # fmt: skip
@kernel
def ranks(out: Ptr[i32]):
    out[block_idx.x] = 10 * cluster_rank() + cluster_size()


@row(AREA, "@kernel(cluster=(2, 2))", "clusters that are part of the compiled kernel", out=np.full(8, 4, np.int32),
     grid=(4, 2), minimum=FIRST, instructions=(".explicitcluster", ".reqnctapercluster"))  # fmt: skip
@kernel(cluster=(2, 2))
def compiled_in(out: Ptr[i32]):
    out[block_idx.x + 4 * block_idx.y] = cluster_size()


@row(AREA, "cluster_idx, cluster_block_idx, cluster_dim, cluster_grid_dim", "where the block and its cluster are",
     out=np.array([2110, 2111, 2120, 2121], np.int32), grid=(2, 2), cluster=(1, 2), minimum=FIRST,
     instructions=("%clusterid.x", "%cluster_ctaid.y", "%cluster_nctaid.y", "%nclusterid.x"))  # fmt: skip
@kernel
def places(out: Ptr[i32]):
    first = 1000 * cluster_dim.y + 10 * cluster_idx.x + cluster_block_idx.y
    out[2 * cluster_idx.x + cluster_block_idx.y] = first + 50 * cluster_grid_dim.x + 10


@clusters("map_shared_rank", "the shared array of another block, read", block=16, out=(N ^ 16)[:128],
          instructions=("mapa.shared::cluster.u32", "ld.shared::cluster.b32", "barrier.cluster.arrive",
                        "barrier.cluster.wait"))  # fmt: skip
@kernel
def read_there(out: Ptr[i32]):
    s = shared.array(16, i32)
    s[thread_idx.x] = grid(1)
    cluster_sync()
    out[grid(1)] = map_shared_rank(s, 1 - cluster_rank())[thread_idx.x]
    cluster_sync()


@clusters("stores into another block", "and it sees them after cluster_sync", block=16, out=N ^ 16,
          instructions=("st.shared::cluster.b32",))  # fmt: skip
@kernel
def written_there(out: Ptr[i32]):
    s = shared.array(16, i32)
    s[thread_idx.x] = -1
    cluster_sync()
    map_shared_rank(s, 1 - cluster_rank())[thread_idx.x] = grid(1)
    cluster_sync()
    out[grid(1)] = s[thread_idx.x]


@clusters("atomics on another block", "on its shared memory", out=np.tile([64, 0], 4).astype(np.int32),
          instructions=("red.shared::cluster.add.u32",))  # fmt: skip
@kernel
def added_there(out: Ptr[i32]):
    s = shared.array(1, i32)
    s[0] = 0
    cluster_sync()
    atomic.add(map_shared_rank(s, 0), 0, 1)
    cluster_sync()
    out[block_idx.x] = s[0]


@row(AREA, "pointers and vectors of another block", "dynamic shared memory, 16 bytes at once", shared=64, grid=2,
     block=4, cluster=2, minimum=FIRST, out=np.arange(32, dtype=np.float32).reshape(2, 4, 4)[::-1],
     inputs=(np.arange(32, dtype=np.float32),), instructions=("ld.shared::cluster.v4.b32",))  # fmt: skip
@kernel
def vectors_there(out: Ptr[f32x4], x: Ptr[f32x4]):
    s = shared.dynamic(f32x4)
    s[thread_idx.x] = x[grid(1)]
    cluster_sync()
    there = map_shared_rank(s, 1 - cluster_rank())
    out[grid(1)] = (there + 1)[thread_idx.x - 1]
    cluster_sync()


@clusters("shared_rank_of", "the block whose shared memory a pointer is in", out=np.tile([10, 1], 4).astype(np.int32),
          instructions=("getctarank.shared::cluster.u32",))  # fmt: skip
@kernel
def rank_of(out: Ptr[i32]):
    s = shared.array(1, f32)
    there = map_shared_rank(s, 1 - cluster_rank())
    out[block_idx.x] = i32(10 * shared_rank_of(there) + shared_rank_of(s))


@clusters("cluster_arrive, cluster_wait", "the halves of the barrier, with other work between them", out=BLOCKS ^ 1,
          instructions=("barrier.cluster.arrive.relaxed", "barrier.cluster.wait"))  # fmt: skip
@kernel
def halves(out: Ptr[i32]):
    s = shared.array(1, i32)
    s[0] = block_idx.x
    cluster_arrive()
    there = map_shared_rank(s, 1 - cluster_rank())
    cluster_wait()
    out[block_idx.x] = there[0]
    cluster_arrive("relaxed")
    cluster_wait()


@row(AREA, "grid_sync", "a barrier of all threads of the grid; the launch is cooperative by itself", grid=4, block=32,
     out=N[::-1], instructions=("atom.release.gpu.add.u32", "ld.acquire.gpu.b32"))  # fmt: skip
@kernel
def whole_grid(out: Ptr[i32]):
    i = grid(1)
    out[i] = i
    grid_sync()
    other = out[127 - i]
    grid_sync()
    out[i] = other


@row(AREA, "cooperative=True", "all blocks run at the same time: one waits for the last", out=np.arange(4, dtype=np.int32), grid=4,
     block=1, cooperative=True)  # fmt: skip
@kernel
def together(out: Ptr[i32]):
    """Block b goes on when block b + 1 has written."""
    following = block_idx.x + 1
    if following < grid_dim.x:
        while atomic.load(out, following, order="acquire") == 0:
            pass
    if block_idx.x > 0:
        atomic.store(out, block_idx.x, block_idx.x, order="release")


@row(AREA, "grid_launch_dependents, grid_dependency_wait", "programmatic dependent launch", out=np.ones(32, np.int32),
     minimum=FIRST, instructions=("griddepcontrol.launch_dependents", "griddepcontrol.wait"))  # fmt: skip
@kernel
def dependent(out: Ptr[i32]):
    grid_launch_dependents()
    grid_dependency_wait()
    out[thread_idx.x] = 1


@row(AREA, "@kernel(max_registers=64)", "registers of a thread", out=np.ones(32, np.int32), instructions=(".maxnreg",))
@kernel(max_registers=64)
def few_registers(out: Ptr[i32]):
    out[thread_idx.x] = 1


@row(AREA, "@kernel(launch_bounds=(32, 1, 8))", "the most blocks of a cluster", out=np.ones(32, np.int32),
     minimum=FIRST, instructions=(".maxclusterrank",))  # fmt: skip
@kernel(launch_bounds=(32, 1, 8))
def bounded(out: Ptr[i32]):
    out[thread_idx.x] = 1
