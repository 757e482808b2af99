"""Clusters of blocks: the order in which a batch holds them, their barrier, and addresses in each other's memory.

An address in another block's shared memory is the block's own with that block's rank, plus 1, in its high bits; 0 there
is the block that uses the address.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from kdsl.backend import Dim3, IllegalAddressError, SynchronizationError
from kdsl.emulator.fragment import Fragment
from kdsl.emulator.memory import RANK_SHIFT, Array, LaneFault
from kdsl.emulator.spaces import Region
from kdsl.emulator.syntax import Instruction

if TYPE_CHECKING:
    from kdsl.emulator.batch import Batch

MOST_RANK = (1 << (32 - RANK_SHIFT)) - 2
"""Ranks from here on are written as this one, which no cluster has."""
OWN = (1 << RANK_SHIFT) - 1
NEVER = 1 << 62


def unravel(index: Any, extents: Dim3) -> tuple[Any, Any, Any]:
    """The three components of a linear index, or of an array of them: x is the fastest."""
    x, y, _ = extents
    return index % x, index // x % y, index // (x * y)


def block_indices(places: Any, grid: Dim3, cluster: Dim3) -> tuple[Any, Any, Any]:
    """The indices in the grid of the blocks at ``places`` of a launch, which holds one cluster after the other."""
    size = prod(cluster)
    if size == 1:
        return unravel(places, grid)
    clusters = (grid[0] // cluster[0], grid[1] // cluster[1], grid[2] // cluster[2])
    x, y, z = (
        extent * whole + part
        for extent, whole, part in zip(
            cluster, unravel(places // size, clusters), unravel(places % size, cluster), strict=True
        )
    )
    return x, y, z


def mapped(address: Array, rank: Array) -> Array:
    """``mapa``: a shared address in the block of that rank."""
    high = np.minimum(rank.astype(np.uint64), np.uint64(MOST_RANK)) + np.uint64(1)
    placed: Array = address & address.dtype.type(OWN) | (high << np.uint64(RANK_SHIFT)).astype(address.dtype)
    return placed


def rank_field(address: Array) -> Array:
    """One more than the rank in a 32-bit shared address; 0 in a block's own."""
    field: Array = (address & address.dtype.type(0xFFFF_FFFF)) >> address.dtype.type(RANK_SHIFT)
    return field.astype(np.int64)


def ranks_of(fragment: Fragment, address: Array) -> Array:
    """``getctarank``: the rank of the block whose shared memory each address is in."""
    own = fragment.of_lanes("block", fragment.batch.block_of_lane) % fragment.batch.launch.cluster_size
    field = rank_field(address)
    return np.where(field == 0, own, field - 1).astype(np.uint32)


def locate(fragment: Fragment, address: Array, size: int, write: bool, lanes: Array | None) -> tuple[Region, Array]:
    """Region and byte offsets into storage of addresses in the shared memory of any block of the cluster."""
    batch = fragment.batch
    of_cluster = batch.launch.cluster_size
    whole = batch.block_of_lane
    blocks = fragment.of_lanes("block", whole) if lanes is None else whole[lanes]
    field = rank_field(address)
    blocks, field = np.broadcast_arrays(blocks, field)
    target = np.where(field == 0, blocks, blocks - blocks % of_cluster + field - 1)
    access = f"{'write' if write else 'read'} of {size} byte{'s' if size > 1 else ''}"
    if (field > of_cluster).any():
        position = int(np.flatnonzero(field > of_cluster)[0])
        rank = int(field[position]) - 1
        blocks_there = f"{of_cluster} block{'s' if of_cluster > 1 else ''}"
        named = f"block rank {rank}, and the cluster has" if rank < MOST_RANK else "no block of the cluster, which has"
        why = f"{access} of shared memory of {named} {blocks_there}"
        raise LaneFault(IllegalAddressError, why, position)
    gone = batch.live[target] == 0
    if gone.any():
        position = int(np.flatnonzero(gone)[0])
        rank = int(field[position]) - 1
        why = f"{access} of shared memory of block rank {rank} of the cluster, all threads of which have exited"
        raise LaneFault(IllegalAddressError, why, position)
    region, index = batch.shared.place(address & address.dtype.type(OWN), size, write)
    return region, index + target * batch.shared.row


class ClusterBarrier:
    """The barriers of a batch's clusters (PTX ISA 9.0, 9.7.13.4). Each thread arrives, and then waits."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.parked: list[tuple[Fragment, Instruction]] = []
        self.arrivals: Array = np.zeros(batch.size, np.int64)
        self.waited: Array = np.zeros(batch.size, np.int64)

    def waits(self) -> Iterator[tuple[Fragment, Instruction]]:
        return iter(self.parked)

    def arrive(self, fragment: Fragment) -> None:
        lanes = fragment.lanes
        self.check(self.arrivals[lanes] != self.waited[lanes], "arrives at the cluster's barrier twice without waiting")
        self.arrivals[lanes] += 1
        self.release()

    def wait(self, fragment: Fragment, instruction: Instruction) -> bool:
        """Wait for the cluster; True if nobody has to be waited for. The fragment's ``pc`` is where it goes on."""
        lanes = fragment.lanes
        self.check(self.arrivals[lanes] == self.waited[lanes], "waits at the cluster's barrier without having arrived")
        if self.complete(fragment, self.phases()).all():
            self.go_on(fragment)
            return True
        self.parked.append((fragment, instruction))
        self.release()
        return False

    def check(self, wrong: Array, what: str) -> None:
        if wrong.any():
            raise LaneFault(SynchronizationError, f"a thread {what}", int(np.flatnonzero(wrong)[0]))

    def phases(self) -> Array:
        """How often all threads of each cluster have arrived; those that have exited count as arrived."""
        batch = self.batch
        counted = np.where(batch.exited, NEVER, self.arrivals) if batch.live_count < batch.size else self.arrivals
        phases: Array = counted.reshape(-1, batch.launch.cluster_size * batch.threads).min(1)
        return phases

    def complete(self, fragment: Fragment, phases: Array) -> Array:
        """Which lanes of ``fragment`` may go on."""
        blocks = fragment.of_lanes("block", self.batch.block_of_lane)
        done: Array = phases[blocks // self.batch.launch.cluster_size] >= self.arrivals[fragment.lanes]
        return done

    def release(self) -> None:
        """Let the lanes go whose clusters have all arrived."""
        if not self.parked:
            return
        phases = self.phases()
        parked, self.parked = self.parked, []
        for fragment, instruction in parked:
            done = self.complete(fragment, phases)
            going = fragment if done.all() else fragment.child(np.flatnonzero(done), fragment.pc)
            if not done.all():
                staying = np.flatnonzero(~done)
                self.parked.append((fragment.child(staying, fragment.pc) if done.any() else fragment, instruction))
            if done.any():
                self.go_on(going)
                self.batch.park(going)

    def go_on(self, fragment: Fragment) -> None:
        self.waited[fragment.lanes] += 1
        if self.batch.shared.row:
            self.batch.shared.look_for_complete()
