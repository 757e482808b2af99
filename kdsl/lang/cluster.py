"""Clusters of blocks: where a block is in its cluster, their barrier, and the shared memory of the other blocks.

From sm_90 (PTX ISA 9.0, chapter 10, 9.7.13.4 and 9.7.9.24). A launch without clusters has one block in each.
"""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from typing import Any, Literal, TypeVar, overload

from kdsl.lang.construct import construct
from kdsl.lang.index import Registers, special_register
from kdsl.lang.intrinsic import Emit, Nvvm, intrinsic
from kdsl.lang.type_names import Array, Ptr, i32, u32

T = TypeVar("T")
FIRST = 90


def _register(name: str, ptx: str, doc: str) -> Any:
    return special_register(name, ptx, doc, __name__, FIRST)


cluster_idx: Registers = _register("cluster_idx", "clusterid", "The cluster's index within the grid along {axis}.")
cluster_dim: Registers = _register("cluster_dim", "cluster.nctaid", "Blocks of a cluster along {axis}, at least 1.")
cluster_block_idx: Registers = _register(
    "cluster_block_idx", "cluster.ctaid", "The block's index within its cluster along {axis}."
)
cluster_grid_dim: Registers = _register(
    "cluster_grid_dim", "nclusterid", "Clusters of the grid along {axis}, at least 1."
)


@intrinsic(Nvvm("llvm.nvvm.read.ptx.sreg.cluster.ctarank", ()), ptx="%cluster_ctarank", min_sm=FIRST, pure=True)
def cluster_rank() -> i32:
    """The block's rank within its cluster: its linear index there, x fastest."""


@intrinsic(Nvvm("llvm.nvvm.read.ptx.sreg.cluster.nctarank", ()), ptx="%cluster_nctarank", min_sm=FIRST, pure=True)
def cluster_size() -> i32:
    """How many blocks the cluster has."""


@intrinsic(Emit("cluster_sync"), ptx="barrier.cluster.wait", convergent=True, min_sm=FIRST)
def cluster_sync() -> None:
    """Wait for every thread of the cluster; what each wrote before, to shared memory too, is seen by all after.

    `cluster_arrive` and `cluster_wait` in one.
    """


@intrinsic(Emit("cluster_arrive"), ptx="barrier.cluster.arrive", convergent=True, min_sm=FIRST)
def cluster_arrive(order: Literal["release", "relaxed"] = "release") -> None:
    """Come to the cluster's barrier, and go on at once: each thread waits in the `cluster_wait` that follows.

    ``relaxed`` makes nothing that was written before seen by others.
    """


@intrinsic(Nvvm("llvm.nvvm.barrier.cluster.wait", ()), ptx="barrier.cluster.wait", convergent=True, min_sm=FIRST)
def cluster_wait() -> None:
    """Wait until every thread of the cluster that has not returned has come to `cluster_arrive`."""


@overload
def map_shared_rank(array: Ptr[T], rank: int) -> Ptr[T]: ...
@overload
def map_shared_rank(array: Array[Any, Any], rank: int) -> Any: ...
@construct
def map_shared_rank(array: Any, rank: int) -> Any:
    """The same shared array, or pointer into shared memory, in the block of that rank in the cluster, from sm_90.

    Loads, stores and atomics on it reach the other block's memory, which is there from the block's start (a
    `cluster_sync` says that it has started) until its last thread has returned. ``mapa.shared::cluster``.
    """


@construct
def shared_rank_of(pointer: Ptr[Any]) -> u32:
    """The rank of the block whose shared memory a pointer is in, from sm_90. ``getctarank.shared::cluster``."""
