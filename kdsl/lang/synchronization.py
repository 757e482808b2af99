"""Barriers and fences (PTX ISA 9.0, 9.7.13)."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from typing import Literal

from kdsl.lang.intrinsic import Emit, Nvvm, intrinsic
from kdsl.lang.type_names import i32, u32

FULL_MASK = 0xFFFF_FFFF
"""A mask of all 32 lanes of a warp."""


@intrinsic(Nvvm("llvm.nvvm.barrier.cta.sync.aligned.all", (0,)), ptx="bar.sync", convergent=True)
def sync_threads() -> None:
    """Wait for every thread of the block; what each wrote to shared and global memory before is seen by all after.

    Every thread of the block that has not returned must come to the same call.
    """


@intrinsic(
    Nvvm("llvm.nvvm.barrier.cta.red.popc.aligned.all", (0, "predicate")), ptx="bar.red.popc.u32", convergent=True
)
def sync_threads_count(predicate: bool) -> i32:
    """`sync_threads`, and how many threads of the block came with a true ``predicate``."""


@intrinsic(Nvvm("llvm.nvvm.barrier.cta.red.and.aligned.all", (0, "predicate")), ptx="bar.red.and.pred", convergent=True)
def sync_threads_and(predicate: bool) -> bool:
    """`sync_threads`, and whether every thread of the block came with a true ``predicate``."""


@intrinsic(Nvvm("llvm.nvvm.barrier.cta.red.or.aligned.all", (0, "predicate")), ptx="bar.red.or.pred", convergent=True)
def sync_threads_or(predicate: bool) -> bool:
    """`sync_threads`, and whether any thread of the block came with a true ``predicate``."""


@intrinsic(Nvvm("llvm.nvvm.barrier.cta.sync.count", ("id", "count")), ptx="barrier.sync", convergent=True)
def barrier(id: u32, count: u32) -> None:
    """Wait at the block's barrier ``id``, 0 to 15, until ``count`` threads have come to it, the caller among them.

    Whole warps come: ``count`` is a multiple of 32. Those who come may do so in different calls, here or in
    `barrier_arrive`, and see what each wrote before. Barrier 0 is the one of `sync_threads`.
    """


@intrinsic(Nvvm("llvm.nvvm.barrier.cta.arrive.count", ("id", "count")), ptx="barrier.arrive", convergent=True)
def barrier_arrive(id: u32, count: u32) -> None:
    """Come to the block's barrier ``id`` as `barrier` does, but go on at once: for producers, whom others wait for."""


@intrinsic(Nvvm("llvm.nvvm.bar.warp.sync", ("mask",)), ptx="bar.warp.sync", convergent=True)
def sync_warp(mask: u32 = FULL_MASK) -> None:
    """Wait for the lanes in ``mask``, the caller's among them; their memory accesses before are seen by them after."""


@intrinsic(Emit("fence"), ptx="fence.sc")
def fence(scope: Literal["block", "cluster", "gpu", "system"] = "gpu") -> None:
    """Order this thread's memory accesses before the fence before those after it, as any thread in ``scope`` sees them.

    Sequentially consistent, as CUDA's ``__threadfence_block``, ``__threadfence`` and ``__threadfence_system`` are.
    It does not wait for other threads. ``cluster`` needs sm_90.
    """
