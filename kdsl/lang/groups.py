"""Groups of threads, and what the threads of one do together: wait, reduce, scan, broadcast, and, in a warp, shuffle.

A group is known while the kernel is compiled, but for the lanes of a `Coalesced` one. Every thread of the group comes
to the same call. The classes say what a group has, to a type checker and to the compiler; a kernel makes groups with
the functions below them.
"""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar

from kdsl.lang.construct import construct
from kdsl.lang.type_names import i32, i64, u32

V = TypeVar("V")
Operation = Literal["add", "mul", "min", "max", "and", "or", "xor"]


class Group:
    """Threads that work together. As an annotation of a parameter it takes any group."""

    @property
    def rank(self) -> i32:
        """The thread's number in the group, from 0; an i64 in a `Grid`."""

    @property
    def size(self) -> i32:
        """How many threads the group has, a constant of a `Tile`; an i64 of a `Grid`."""

    @property
    def leader(self) -> bool:
        """Whether the thread is the one of rank 0."""

    def sync(self) -> None:
        """Wait for all threads of the group; what each wrote to memory before is seen by all after."""


class Collective(Group):
    """A group that needs no memory of the user's to reduce and scan."""

    def reduce(self, value: V, op: Operation | Callable[[V, V], V]) -> V:
        """All threads' values combined; every thread gets the result."""

    def inclusive_scan(self, value: V, op: Operation | Callable[[V, V], V]) -> V:
        """The values of all ranks up to the thread's own, combined."""

    def exclusive_scan(self, value: V, op: Operation | Callable[[V, V], V], init: V | None = None) -> V:
        """The values of all ranks below the thread's own, combined; ``init`` before them all, if it is given.

        Rank 0 gets ``init``, or what leaves every value as it is: 0 of ``"add"``. A function needs an ``init``.
        """

    def broadcast(self, value: V, src: i32 = 0) -> V:
        """The value of rank ``src``, which is the same in all threads."""


class Lanes(Collective):
    """A group of lanes of one warp: a `Tile` or a `Coalesced`."""

    @property
    def mask(self) -> u32:
        """The group's lanes, a bit each: what ``shfl_sync`` and its like take."""

    def shfl(self, value: V, src: i32) -> V:
        """The value of rank ``src``, which may differ between threads; the thread's own where there is no such rank.

        A `Tile` takes ``src`` modulo its size.
        """

    def shfl_up(self, value: V, delta: i32) -> V:
        """The value ``delta`` ranks below; the thread's own where there is none."""

    def shfl_down(self, value: V, delta: i32) -> V:
        """The value ``delta`` ranks above; the thread's own where there is none."""

    def any(self, predicate: bool) -> bool:
        """Whether ``predicate`` is true in any thread."""

    def all(self, predicate: bool) -> bool:
        """Whether ``predicate`` is true in every thread."""

    def ballot(self, predicate: bool) -> u32:
        """The threads whose ``predicate`` is true, a bit for each rank."""

    def match_any(self, value: V) -> u32:
        """The threads whose ``value``, a scalar, is this one's, a bit for each rank; floats by their bits."""

    def match_all(self, value: V) -> bool:
        """Whether all threads have the same ``value``, a scalar; floats by their bits."""

    def partition(self, label: Any) -> Coalesced:
        """The threads whose ``label``, a bool or any scalar, is this one's."""


class Tile(Lanes):
    """1, 2, 4, 8, 16 or 32 neighbouring threads of a block, whose size is a multiple of that."""

    def shfl_xor(self, value: V, lane_mask: i32) -> V:
        """The value of the rank that is the thread's own, xor ``lane_mask``."""

    @property
    def meta_group_rank(self) -> i32:
        """Which of the block's tiles of this size this is."""

    @property
    def meta_group_size(self) -> i32:
        """How many tiles of this size the block has."""


class Coalesced(Lanes):
    """Lanes of a warp in the order of their numbers."""


class Block(Collective):
    """All threads of a block."""


class Cluster(Collective):
    """All threads of a cluster of blocks."""


class Grid(Group):
    """All threads of the grid, in a launch whose blocks all run together: `grid_sync` says what that asks.

    ``workspace`` is memory that no thread uses otherwise meanwhile: an array of the value's type in global memory, with
    an element for each block.
    """

    @property
    def rank(self) -> i64: ...
    @property
    def size(self) -> i64: ...
    def reduce(self, value: V, op: Operation | Callable[[V, V], V], *, workspace: Any) -> V:
        """All threads' values combined; every thread gets the result."""

    def inclusive_scan(self, value: V, op: Operation | Callable[[V, V], V], *, workspace: Any) -> V:
        """The values of all ranks up to the thread's own, combined."""

    def exclusive_scan(
        self, value: V, op: Operation | Callable[[V, V], V], init: V | None = None, *, workspace: Any
    ) -> V:
        """The values of all ranks below the thread's own, combined."""

    def broadcast(self, value: V, src: i64 = 0, *, workspace: Any) -> V:
        """The value of rank ``src``, which is the same in all threads."""


@construct
def this_block() -> Block:
    """All threads of the block; rank is the linear index, x fastest."""


@construct
def tile(size: int) -> Tile:
    """The tile of ``size`` neighbouring threads that the thread is in; ``size`` is constant: 1, 2, 4, 8, 16 or 32.

    A launch with blocks whose size is no multiple of it is refused: `coalesced` takes the threads that there are.
    """


@construct
def coalesced() -> Coalesced:
    """The lanes of the warp that run this together: in a branch, as a rule, those that took it."""


@construct
def this_cluster() -> Cluster:
    """All threads of the cluster of blocks, from sm_90; rank counts through its blocks in the order of their ranks."""


@construct
def this_grid() -> Grid:
    """All threads of the grid; rank counts through the blocks in their linear order, x fastest."""
