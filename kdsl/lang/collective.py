"""Matches, reductions and an election across the lanes of a warp (PTX ISA 9.0, 9.7.14).

Every lane that ``mask`` names must come to the same call with the same mask, and the caller's bit must be set.
"""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from kdsl.lang.generic import I, R, S
from kdsl.lang.intrinsic import Emit, intrinsic
from kdsl.lang.type_names import u32


@intrinsic(Emit("match_any"), ptx="match.any.sync", convergent=True)
def match_any_sync(mask: u32, value: S) -> u32:
    """The lanes of ``mask`` whose ``value`` is the caller's, a bit each. Floats are compared by their bits."""


@intrinsic(Emit("match_all"), ptx="match.all.sync", convergent=True)
def match_all_sync(mask: u32, value: S) -> tuple[u32, bool]:
    """(``mask``, True) if all its lanes hold the same ``value``, else (0, False). Floats are compared by their bits."""


@intrinsic(Emit("reduce"), ptx="redux.sync.add", convergent=True)
def reduce_add_sync(mask: u32, value: I) -> I:
    """The sum of ``value`` over the lanes of ``mask``, which wraps. One instruction from sm_80, shuffles before."""


@intrinsic(Emit("reduce"), ptx="redux.sync.min, min.f32", convergent=True)
def reduce_min_sync(mask: u32, value: R) -> R:
    """The smallest ``value`` of the lanes of ``mask``; of floats as ``min``: a number before a NaN, -0 below +0. One
    instruction from sm_80, of f32 on sm_100a and its like; shuffles elsewhere.
    """


@intrinsic(Emit("reduce"), ptx="redux.sync.max, max.f32", convergent=True)
def reduce_max_sync(mask: u32, value: R) -> R:
    """The largest ``value`` of the lanes of ``mask``; of floats as ``max``: a number before a NaN, -0 below +0. One
    instruction from sm_80, of f32 on sm_100a and its like; shuffles elsewhere.
    """


@intrinsic(Emit("reduce"), ptx="redux.sync.and", convergent=True)
def reduce_and_sync(mask: u32, value: I) -> I:
    """The bitwise and of ``value`` over the lanes of ``mask``. One instruction from sm_80, shuffles before."""


@intrinsic(Emit("reduce"), ptx="redux.sync.or", convergent=True)
def reduce_or_sync(mask: u32, value: I) -> I:
    """The bitwise or of ``value`` over the lanes of ``mask``. One instruction from sm_80, shuffles before."""


@intrinsic(Emit("reduce"), ptx="redux.sync.xor", convergent=True)
def reduce_xor_sync(mask: u32, value: I) -> I:
    """The bitwise exclusive or of ``value`` over the lanes of ``mask``. One instruction from sm_80, shuffles before."""


@intrinsic(Emit("elect"), ptx="elect.sync", convergent=True, min_sm=90)
def elect_sync(mask: u32) -> bool:
    """Whether the caller is the one lane of ``mask`` that was chosen; the same one each time."""
