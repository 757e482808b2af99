"""Warp operations: shuffles and votes (PTX ISA 9.0, 9.7.9.6 and 9.7.13).

Every lane that ``mask`` names must come to the same call with the same mask, and the caller's bit must be set.
A shuffle moves scalars, vectors, and tuples and structs of them, in as many instructions as a value has 32-bit words.
"""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from kdsl.lang.generic import V
from kdsl.lang.intrinsic import Emit, Nvvm, intrinsic
from kdsl.lang.type_names import i32, u32


@intrinsic(Emit("shuffle"), ptx="shfl.sync.idx.b32", convergent=True)
def shfl_sync(mask: u32, value: V, lane: u32, width: i32 = 32) -> V:
    """The value held by lane ``lane % width`` of the caller's group of ``width`` lanes (1, 2, 4, 8, 16 or 32)."""


@intrinsic(Emit("shuffle"), ptx="shfl.sync.up.b32", convergent=True)
def shfl_up_sync(mask: u32, value: V, delta: u32, width: i32 = 32) -> V:
    """The value held ``delta`` lanes below; the lowest ``delta`` lanes of each group of ``width`` keep their own."""


@intrinsic(Emit("shuffle"), ptx="shfl.sync.down.b32", convergent=True)
def shfl_down_sync(mask: u32, value: V, delta: u32, width: i32 = 32) -> V:
    """The value held ``delta`` lanes above; the highest ``delta`` lanes of each group of ``width`` keep their own."""


@intrinsic(Emit("shuffle"), ptx="shfl.sync.bfly.b32", convergent=True)
def shfl_xor_sync(mask: u32, value: V, lane_mask: u32, width: i32 = 32) -> V:
    """The value held by the lane whose index is the caller's xor ``lane_mask``.

    A lane in a later group of ``width`` lanes is out of reach: the caller keeps its own value.
    """


@intrinsic(Nvvm("llvm.nvvm.vote.all.sync", ("mask", "predicate")), ptx="vote.sync.all.pred", convergent=True)
def all_sync(mask: u32, predicate: bool) -> bool:
    """Whether ``predicate`` is true in every lane of ``mask``."""


@intrinsic(Nvvm("llvm.nvvm.vote.any.sync", ("mask", "predicate")), ptx="vote.sync.any.pred", convergent=True)
def any_sync(mask: u32, predicate: bool) -> bool:
    """Whether ``predicate`` is true in any lane of ``mask``."""


@intrinsic(Nvvm("llvm.nvvm.vote.ballot.sync", ("mask", "predicate")), ptx="vote.sync.ballot.b32", convergent=True)
def ballot_sync(mask: u32, predicate: bool) -> u32:
    """The lanes of ``mask`` whose ``predicate`` is true, a bit each."""


@intrinsic(Nvvm("llvm.nvvm.activemask", ()), ptx="activemask.b32", convergent=True)
def active_mask() -> u32:
    """The lanes of the warp that happen to run this together with the caller; it says nothing about what follows."""
