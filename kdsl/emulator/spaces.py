"""Shared memory of a batch of blocks and local memory of its lanes, with a shadow of which bytes were written.

Shared variables stand a megabyte apart in the 32-bit shared address space, so that an index past one never reaches
another; in storage they are packed, one row a block.
"""

from __future__ import annotations

import numpy as np

from kdsl.backend import IllegalAddressError, MisalignedAddressError
from kdsl.emulator.fragment import Fragment
from kdsl.emulator.memory import REGION_BITS, Array, LaneFault, Storage, promised
from kdsl.records import dataclass

LOCAL_START = 1 << 20
WRITTEN = {1: 0x01, 2: 0x0101, 4: 0x01010101, 8: 0x0101010101010101}
UNSIGNED = {1: "u1", 2: "u2", 4: "u4", 8: "u8"}


@dataclass(slots=True)
class Region:
    """A shared variable: its address, size, and place in a block's row. ``complete``: every byte of every block is
    written."""

    name: str
    address: int
    size: int
    place: int
    complete: bool = False

    def end(self, size: int, write: bool) -> int:
        """Where accesses of ``size`` bytes must end. LLVM reads the small elements at the end of an array as a whole
        word; what reads less than a word is the kernel's own."""
        return self.size if write or size < 4 else -(-self.size // 4) * 4


@dataclass(frozen=True, slots=True)
class SharedLayout:
    """Where a kernel's shared variables are. ``row`` is the bytes of one block."""

    regions: tuple[Region, ...]
    row: int


class RowMemory:
    """Storage with one row for each block or lane, whose bytes are unwritten at first."""

    __slots__ = ("row", "rows", "shadow", "storage")

    def __init__(self, rows: int, row: int) -> None:
        self.rows = rows
        self.row = row
        self.storage = Storage(rows * row)
        self.shadow = Storage(rows * row)

    def note_written(self, index: Array, width: int) -> None:
        self.shadow.view(UNSIGNED[width])[index] = WRITTEN[width]

    def name_of(self, offset: int) -> str:
        """What the byte at ``offset`` of the storage belongs to."""
        return "local memory"

    def unwritten(self, index: Array, width: int) -> Array:
        """Where nothing was written of the ``width`` bytes. LLVM reads small elements together with their neighbours,
        which the kernel may never write."""
        nothing: Array = self.shadow.view(UNSIGNED[width]).take(index) == 0
        return nothing


class SharedMemory(RowMemory):
    """The shared memory of the blocks of one batch."""

    __slots__ = ("attempts", "regions", "stores")

    def __init__(self, blocks: int, layout: SharedLayout) -> None:
        super().__init__(blocks, layout.row)
        self.regions = [Region(r.name, r.address, r.size, r.place) for r in layout.regions]
        self.attempts = 0
        self.stores = 0

    def locate(
        self, fragment: Fragment, address: Array, size: int, write: bool, lanes: Array | None
    ) -> tuple[Region, Array]:
        """The region of all lanes, and byte offsets into storage. ``lanes`` are the lanes of ``address`` if not the
        fragment's."""
        region, index = self.place(address, size, write)
        return region, index if self.rows == 1 else index + self.base(fragment, lanes)

    def place(self, address: Array, size: int, write: bool) -> tuple[Region, Array]:
        """The region of all lanes, and byte offsets into the row of a block."""
        which = (int(address[0]) >> REGION_BITS) - 1
        if not 0 <= which < len(self.regions):
            raise self.fault(address, size, write)
        region = self.regions[which]
        offset = address - address.dtype.type(region.address)
        last = region.end(size, write) - size
        if last < 0 or offset.max() > last or np.bitwise_or.reduce(offset) & (size - 1):
            return self.place_each(address, size, write)
        index = offset.view(np.int64) if offset.itemsize == 8 else offset.astype(np.int64)
        if region.place:
            index = index + region.place
        return region, index

    def place_each(self, address: Array, size: int, write: bool) -> tuple[Region, Array]:
        """Lanes in several regions, or a fault."""
        wide = address.astype(np.int64)
        which = (wide >> REGION_BITS) - 1
        starts = np.array([r.address for r in self.regions], np.int64)
        sizes = np.array([r.end(size, write) for r in self.regions], np.int64)
        places = np.array([r.place for r in self.regions], np.int64)
        known = np.clip(which, 0, len(self.regions) - 1)
        offset = wide - starts[known]
        wrong = (which != known) | (offset < 0) | (offset + size > sizes[known]) | (offset & (size - 1) != 0)
        if wrong.any():
            raise self.fault(address, size, write, int(np.flatnonzero(wrong)[0]))
        index = offset + places[known]
        several = Region("shared memory", 0, self.row, 0, complete=all(r.complete for r in self.regions))
        return several, index

    def name_of(self, offset: int) -> str:
        place = offset % self.row
        # Not by its end: the byte may be in what completes a word.
        return max((r for r in self.regions if r.place <= place), key=lambda r: (r.place, r.size)).name

    def base(self, fragment: Fragment, lanes: Array | None) -> Array:
        whole = fragment.batch.shared_base
        return fragment.of_lanes("shared_base", whole) if lanes is None else whole[lanes]

    def fault(self, address: Array, size: int, write: bool, position: int = 0) -> LaneFault:
        place = int(address[position])
        access = f"{'write' if write else 'read'} of {size} byte{'s' if size > 1 else ''} at shared address {place:#x}"
        if not self.regions:
            return LaneFault(IllegalAddressError, f"out-of-bounds {access}: the block has no shared memory", position)
        region = min(self.regions, key=lambda r: max(r.address - place, place - r.address - r.size, 0))
        offset = place - region.address
        name = f"{region.name} of {region.size} bytes"
        if 0 <= offset <= region.size - size:
            return LaneFault(
                MisalignedAddressError, f"misaligned {access}: not a multiple of {size}{promised(size)}", position
            )
        if place < 1 << REGION_BITS and offset < -(1 << (REGION_BITS - 1)):
            return LaneFault(IllegalAddressError, f"{access}: null pointer", position)
        if offset < 0:
            why = f"{-offset} bytes before {name}"
        elif offset < region.size:
            why = f"{offset + size - region.size} bytes past the end of {name}"
        else:
            why = f"{offset - region.size} bytes after the end of {name}"
            if region.size == 0 and "dynamic_shared" in name:
                why += "; pass its bytes as the fourth number: k[grid, block, stream, shared_bytes]"
        return LaneFault(IllegalAddressError, f"out-of-bounds {access}: {why}", position)

    def look_for_complete(self) -> None:
        """At a barrier: regions of which every byte is written need no more shadow."""
        # Only at the 1st, 2nd, 4th, 8th ... barrier: a region that is never filled must not cost a pass each time.
        self.attempts += 1
        if self.attempts & (self.attempts - 1):
            return
        shadow = self.shadow.buffer.reshape(self.rows, self.row)
        for region in self.regions:
            if not region.complete:
                region.complete = bool(shadow[:, region.place : region.place + region.size].all())


class LocalMemory(RowMemory):
    """The local memory of the lanes of one batch; it grows with the deepest call."""

    __slots__ = ()

    def grow(self, row: int) -> None:
        """Give each lane at least ``row`` bytes."""
        if row <= self.row:
            return
        larger = RowMemory(self.rows, max(row, 2 * self.row))
        for old, new in ((self.storage, larger.storage), (self.shadow, larger.shadow)):
            new.buffer.reshape(self.rows, larger.row)[:, : self.row] = old.buffer.reshape(self.rows, self.row)
        self.row, self.storage, self.shadow = larger.row, larger.storage, larger.shadow

    def enter(self, fragment: Fragment, start: int, size: int) -> None:
        """A new frame: its bytes are unwritten again."""
        self.grow(-(-(start + size) // 16) * 16)
        shadow = self.shadow.buffer.reshape(self.rows, self.row)
        if fragment.count == self.rows:
            shadow[:, start : start + size] = 0
        else:
            shadow[fragment.lanes, start : start + size] = 0

    def locate(self, fragment: Fragment, address: Array, size: int, write: bool, lanes: Array | None) -> Array:
        """Byte offsets into storage."""
        top = fragment.local_base + fragment.code.local_size
        offset = address - address.dtype.type(LOCAL_START)
        if top < size or offset.max() > top - size or np.bitwise_or.reduce(offset) & (size - 1):
            raise self.fault(offset, top, size, write)
        index: Array = offset.view(np.int64) if offset.itemsize == 8 else offset.astype(np.int64)
        placed: Array = index + (fragment.lanes if lanes is None else lanes) * self.row
        return placed

    def fault(self, offset: Array, top: int, size: int, write: bool) -> LaneFault:
        outside = (offset > top - size) if top >= size else np.ones(offset.shape, np.bool_)
        wrong = outside | (offset & offset.dtype.type(size - 1) != 0)
        position = int(np.flatnonzero(wrong)[0])
        place = int(offset[position])
        if place >> (offset.itemsize * 8 - 1):
            place -= 1 << (offset.itemsize * 8)
        access = f"{'write' if write else 'read'} of {size} byte{'s' if size > 1 else ''} at local address {place:#x}"
        if not outside[position]:
            return LaneFault(
                MisalignedAddressError, f"misaligned {access}: not a multiple of {size}{promised(size)}", position
            )
        where = f"{-place} bytes before" if place < 0 else f"{max(place + size - top, 0)} bytes past the end of"
        return LaneFault(IllegalAddressError, f"out-of-bounds {access}: {where} local memory of {top} bytes", position)
