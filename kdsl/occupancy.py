"""How many blocks of a kernel a multiprocessor runs at once: what a kernel takes, what an architecture has, and what
follows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kdsl.records import dataclass

WARP = 32
PARTITIONS = 4
"""Of a multiprocessor, each with a quarter of its registers."""
REGISTERS = 65536
REGISTER_UNIT = 256
"""Registers are given to warps in such pieces."""


@dataclass(frozen=True, slots=True)
class KernelAttributes:
    """What a compiled kernel takes. Memory is in bytes: ``shared`` is static, of a block; ``local`` of a thread;
    ``constant`` of the module's own constants.

    ``max_threads``: of the largest block that can be launched. ``ptx_version`` and ``binary_version``: architectures,
    90 for sm_90, of the PTX and of the machine code. ``spill_stores`` and ``spill_loads`` are bytes as ptxas reports
    them, None where it is not installed or does not know the kernel.
    """

    registers: int
    shared: int
    local: int
    constant: int
    max_threads: int
    ptx_version: int
    binary_version: int
    spill_stores: int | None = None
    spill_loads: int | None = None


@dataclass(frozen=True, slots=True)
class Occupancy:
    """What a multiprocessor runs at once of blocks of one size.

    ``blocks`` and ``warps`` are those of the kernel, ``max_warps`` what there is room for. ``limits``: how many blocks
    each resource would allow, by name, as far as it is known. ``clusters``: how many the whole device runs at once,
    where the launch has clusters.
    """

    blocks: int
    warps: int
    max_warps: int
    limits: Mapping[str, int]
    clusters: int | None = None

    @property
    def fraction(self) -> float:
        """1.0 if the multiprocessor is full of warps."""
        return self.warps / self.max_warps

    @property
    def limited_by(self) -> tuple[str, ...]:
        """The resources that do not allow more blocks."""
        return tuple(name for name, blocks in self.limits.items() if blocks <= self.blocks)


class SuggestedBlock(NamedTuple):
    """The block size with the highest occupancy, and the blocks that fill the device with it: None on the emulator,
    which is as large as one wants.
    """

    block: int
    min_grid: int | None


@dataclass(frozen=True, slots=True)
class Multiprocessor:
    """What a multiprocessor of an architecture has. ``shared_unit``: shared memory is given to blocks in such pieces;
    ``reserved``: bytes that a block has on top of its own. ``barriers``: named barriers for each block that it has room
    for.
    """

    warps: int
    blocks: int
    shared: int
    reserved: int = 1024
    shared_unit: int = 128
    barriers: int = 1


_HOPPER = Multiprocessor(64, 32, 228 * 1024, barriers=2)
_THOR = Multiprocessor(48, 24, 228 * 1024)
_BLACKWELL = Multiprocessor(48, 24, 100 * 1024)
MULTIPROCESSORS: dict[int, Multiprocessor] = {
    75: Multiprocessor(32, 16, 64 * 1024, reserved=0, shared_unit=256, barriers=2),
    80: Multiprocessor(64, 32, 164 * 1024, barriers=2),
    86: Multiprocessor(48, 16, 100 * 1024),
    87: Multiprocessor(48, 16, 164 * 1024),
    89: Multiprocessor(48, 24, 100 * 1024),
    90: _HOPPER,
    100: _HOPPER,
    101: _THOR,
    103: _HOPPER,
    110: _THOR,
    120: _BLACKWELL,
    121: _BLACKWELL,
}
"""CUDA C++ Programming Guide, technical specifications per compute capability. It does not have sm_88."""
FIRST_LIMITED_BY_BARRIERS = 90


def blocks_by_resource(sm: int, threads: int, *, registers: int, shared: int, barriers: int = 0) -> dict[str, int]:
    """How many blocks each resource of a multiprocessor allows; the least of them run at once.

    ``registers`` are of a thread, ``shared`` all bytes of a block, static and dynamic. ValueError for an architecture
    whose multiprocessor is not published.
    """
    if sm not in MULTIPROCESSORS:
        raise ValueError(f"what a multiprocessor of sm_{sm} has is not published: ask a GPU for the occupancy")
    has = MULTIPROCESSORS[sm]
    warps = -(-threads // WARP)
    allocated = _rounded(shared + has.reserved, has.shared_unit)
    limits = {"warps": has.warps // warps, "blocks": has.blocks}
    if registers:
        limits["registers"] = _by_registers(warps, registers)
    if allocated:
        limits["shared memory"] = has.shared // allocated
    if barriers and sm >= FIRST_LIMITED_BY_BARRIERS:
        limits["barriers"] = has.blocks * has.barriers // barriers
    return limits


def most_threads(registers: int) -> int:
    """The largest block whose registers a multiprocessor has."""
    return next((warps * WARP for warps in range(32, 0, -1) if _by_registers(warps, registers)), 0)


def _by_registers(warps: int, registers: int) -> int:
    of_warp = _rounded(registers * WARP, REGISTER_UNIT)
    # A launch is checked as if the warps of a block filled all partitions evenly.
    if of_warp * _rounded(warps, PARTITIONS) > REGISTERS:
        return 0
    return REGISTERS // PARTITIONS // of_warp * PARTITIONS // warps


def _rounded(value: int, unit: int) -> int:
    return -(-value // unit) * unit
