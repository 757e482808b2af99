"""Special registers (PTX ISA 9.0, 10): each one's value for the lanes of a batch."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from kdsl.emulator.batch import Batch
from kdsl.emulator.code import Op
from kdsl.emulator.fragment import Fragment
from kdsl.emulator.memory import Array
from kdsl.records import dataclass


@dataclass(frozen=True, slots=True)
class SpecialRegister:
    """``value`` gives one element, or one for each lane of the batch. ``volatile``: ask again at each read."""

    value: Callable[[Batch], Array]
    width: int = 4
    volatile: bool = False


def scalar(value: int) -> Array:
    return np.array([value & 0xFFFFFFFF], np.uint32)


def constant(value: int) -> SpecialRegister:
    return SpecialRegister(lambda batch: scalar(value))


def thread_axis(axis: int) -> SpecialRegister:
    return SpecialRegister(lambda batch: batch.thread_axis(axis))


def block_axis(axis: int) -> SpecialRegister:
    return SpecialRegister(lambda batch: batch.block_axis(axis))


def cluster_axis(axis: int) -> SpecialRegister:
    return SpecialRegister(lambda batch: batch.cluster_axis(axis))


def cluster_extent(axis: int) -> SpecialRegister:
    return SpecialRegister(lambda batch: scalar(batch.launch.cluster[axis]))


def cluster_index(axis: int) -> SpecialRegister:
    return SpecialRegister(lambda batch: batch.block_axis(axis) // np.uint32(batch.launch.cluster[axis]))


def clusters_along(axis: int) -> SpecialRegister:
    return SpecialRegister(lambda batch: scalar(batch.launch.configuration.grid[axis] // batch.launch.cluster[axis]))


def cluster_rank(batch: Batch) -> Array:
    return batch.of_blocks(np.arange(batch.blocks) % batch.launch.cluster_size)


def workspace(batch: Batch) -> int:
    """The address of a cooperative launch's workspace, 0 for other launches."""
    found = batch.launch.workspace
    return found.address if found is not None else 0


def extent(which: str, axis: int) -> SpecialRegister:
    return SpecialRegister(lambda batch: scalar(getattr(batch.launch.configuration, which)[axis]))


def lane_mask(kind: str) -> SpecialRegister:
    def value(batch: Batch) -> Array:
        bit = np.left_shift(np.uint64(1), (batch.lane_index).astype(np.uint64))
        below = bit - np.uint64(1)
        masks = {"eq": bit, "lt": below, "le": below | bit, "gt": ~(below | bit), "ge": ~below}
        return (masks[kind] & np.uint64(0xFFFFFFFF)).astype(np.uint32)

    return SpecialRegister(value)


def clock(shift: int, dtype: type[np.generic]) -> SpecialRegister:
    def value(batch: Batch) -> Array:
        ticks = np.array([time.perf_counter_ns() >> shift], np.uint64)
        return ticks.astype(dtype)

    return SpecialRegister(value, np.dtype(dtype).itemsize, volatile=True)


AXES = {"x": 0, "y": 1, "z": 2}

SPECIALS: dict[str, SpecialRegister] = {
    **{f"%tid.{a}": thread_axis(i) for a, i in AXES.items()},
    **{f"%ctaid.{a}": block_axis(i) for a, i in AXES.items()},
    **{f"%ntid.{a}": extent("block", i) for a, i in AXES.items()},
    **{f"%nctaid.{a}": extent("grid", i) for a, i in AXES.items()},
    **{f"%lanemask_{k}": lane_mask(k) for k in ("eq", "lt", "le", "gt", "ge")},
    **{f"%cluster_ctaid.{a}": cluster_axis(i) for a, i in AXES.items()},
    **{f"%cluster_nctaid.{a}": cluster_extent(i) for a, i in AXES.items()},
    **{f"%clusterid.{a}": cluster_index(i) for a, i in AXES.items()},
    **{f"%nclusterid.{a}": clusters_along(i) for a, i in AXES.items()},
    "%cluster_ctarank": SpecialRegister(cluster_rank),
    "%cluster_nctarank": SpecialRegister(lambda batch: scalar(batch.launch.cluster_size)),
    "%is_explicit_cluster": SpecialRegister(lambda batch: np.array([batch.launch.has_clusters]), 0),
    **{f"%envreg{i}": constant(0) for i in range(32)},
    # The driver's workspace of a cooperative launch, as CUDA's grid groups find it.
    "%envreg1": SpecialRegister(lambda batch: scalar(workspace(batch) >> 32)),
    "%envreg2": SpecialRegister(lambda batch: scalar(workspace(batch))),
    "%laneid": SpecialRegister(lambda batch: batch.lane_index),
    "%warpid": SpecialRegister(lambda batch: batch.warp_index),
    "%nwarpid": SpecialRegister(lambda batch: scalar(batch.warps)),
    "%smid": constant(0),
    "%nsmid": constant(1),
    "%gridid": SpecialRegister(lambda batch: np.array([batch.launch.grid_id], np.uint64), 8),
    "%dynamic_smem_size": SpecialRegister(lambda batch: scalar(batch.launch.configuration.shared_bytes)),
    "%total_smem_size": SpecialRegister(lambda batch: scalar(batch.launch.shared_size)),
    "%clock": clock(0, np.uint32),
    "%clock_hi": clock(32, np.uint32),
    "%clock64": clock(0, np.uint64),
    "%globaltimer": clock(0, np.uint64),
    "%globaltimer_lo": clock(0, np.uint32),
    "%globaltimer_hi": clock(32, np.uint32),
}


def read_special(target: int, name: str) -> Op:
    """Write special register ``name`` to slot ``target``."""
    register = SPECIALS[name]
    value = register.value
    if register.volatile:

        def read(f: Fragment) -> None:
            f.registers[target] = value(f.batch)

        return read

    def run(f: Fragment) -> None:
        f.registers[target] = f.of_lanes(name, f.batch.special(name, value))

    return run
