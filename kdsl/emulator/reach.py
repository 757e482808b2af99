"""Addresses that several instructions use with different constant offsets, checked once.

``[%rd1]``, ``[%rd1+4]``, ``[%rd1+8]`` share where they lie and how far the lanes are apart; each access then compares
two numbers and takes from a view that starts at its offset.
"""

from __future__ import annotations

from collections.abc import Set

import numpy as np

from kdsl.emulator.access import ROW_WINDOWS, check_written
from kdsl.emulator.fragment import Fragment
from kdsl.emulator.memory import REGION_BITS, SHARED_WINDOW, WINDOW_BITS, Array, Storage
from kdsl.emulator.spaces import LOCAL_START, Region, RowMemory

ALWAYS_SHADOWED = Region("local memory", 0, 0, 0)


class Reach:
    """Where one array of addresses lies: element ``index`` into ``storage``, and byte offsets ``low`` to ``top`` of
    ``size``."""

    __slots__ = ("address", "index", "low", "region", "rows", "size", "storage", "top", "writable")

    def __init__(
        self, address: Array, storage: Storage, index: Array, low: int, top: int, size: int, writable: bool,
        region: Region | None = None, rows: RowMemory | None = None,
    ) -> None:  # fmt: skip
        self.address = address
        self.storage = storage
        self.index = index
        self.low = low
        self.top = top
        self.size = size
        self.writable = writable
        self.region = region
        self.rows = rows

    def is_of(self, address: Array) -> bool:
        return self.address is address and (self.rows is None or self.rows.storage is self.storage)

    def load(self, offset: int, kind: str, width: int, count: int, checked: Set[int]) -> list[Array] | None:
        """The elements at ``offset`` bytes from each address; None if that needs the whole check."""
        if offset % (width * count) or self.low + offset < 0 or self.top + offset + width * count > self.size:
            return None
        first = offset // width
        view = self.storage.view(kind)
        if self.region is not None and not self.region.complete:
            assert self.rows is not None
            for k in checked:
                check_written(self.rows, self.index + (first + k), width)
        return [shifted(view, self.index, first + k) for k in range(count)]

    def store(self, offset: int, width: int, values: list[Array]) -> bool:
        """Whether the values were written."""
        count = len(values)
        if offset % (width * count) or self.low + offset < 0 or self.top + offset + width * count > self.size:
            return False
        if not self.writable:
            return False
        view = self.storage.view(f"u{width}")
        for k, value in enumerate(values, offset // width):
            index = self.index + k if k else self.index
            view[index] = value if value.shape[0] <= index.shape[0] else value[-1:]
            if self.region is not None and not self.region.complete:
                assert self.rows is not None
                self.rows.note_written(index, width)
        return True


def shifted(view: Array, index: Array, first: int) -> Array:
    if first > 0:
        return view[first:].take(index)
    return view.take(index + first if first else index)


def reach(f: Fragment, space: str, address: Array, width: int, total: int) -> Reach | None:
    """The reach of ``address`` for elements of ``width`` bytes, ``total`` together; None if lanes differ too much."""
    name = (id(address), space, width, total)
    if name in f.reaches:
        found = f.reaches[name]
        # An id may be that of an array that is gone, and local memory moves when it grows.
        if found is not None and found.is_of(address):
            return found
    if len(f.reaches) > 16:
        f.reaches.clear()
    built = build(f, space, address, width, total)
    f.reaches[name] = built
    return built


def build(f: Fragment, space: str, address: Array, width: int, total: int) -> Reach | None:
    batch = f.batch
    if space == "generic":
        window = int(address[0]) >> WINDOW_BITS
        if window in ROW_WINDOWS:
            return build_row(
                f, "shared" if window == SHARED_WINDOW else "local", address, window << WINDOW_BITS, width, total
            )
    elif space == "shared::cluster":
        return None
    elif space != "global":
        return build_row(f, space, address, 0, width, total)
    allocation = batch.memory.allocations.get(int(address[0]) >> WINDOW_BITS)
    if allocation is None:
        return None
    offset = address - allocation.base
    top = int(offset.max())
    if top >= allocation.size or np.bitwise_or.reduce(offset) & (total - 1):
        return None
    index = (offset >> (width.bit_length() - 1)).view(np.int64)
    return Reach(address, allocation, index, int(offset.min()), top, allocation.size, allocation.writable)


def build_row(f: Fragment, space: str, address: Array, window: int, width: int, total: int) -> Reach | None:
    batch = f.batch
    rows: RowMemory
    if space == "shared":
        which = ((int(address[0]) - window) >> REGION_BITS) - 1
        if not 0 <= which < len(batch.shared.regions):
            return None
        region, rows, size = batch.shared.regions[which], batch.shared, batch.shared.regions[which].size
        start = region.address
    else:
        region, rows, size = ALWAYS_SHADOWED, batch.local, f.local_base + f.code.local_size
        start = LOCAL_START
    offset = address - address.dtype.type(window + start)
    top = int(offset.max())
    if top >= size or np.bitwise_or.reduce(offset) & (total - 1):
        return None
    index = offset.astype(np.int64) + region.place
    if space == "local":
        index = index + f.lanes * rows.row
    elif rows.rows > 1:
        index = index + f.of_lanes("shared_base", batch.shared_base)
    if width > 1:
        index >>= width.bit_length() - 1
    return Reach(address, rows.storage, index, int(offset.min()), top, size, True, region, rows)
