"""From an address to bytes in a storage: the one place where loads, stores and atomics check what they touch."""

from __future__ import annotations

from collections.abc import Iterator, Set

import numpy as np

from kdsl.backend import MemoryFault
from kdsl.emulator.clusters import locate, rank_field
from kdsl.emulator.fragment import Fragment
from kdsl.emulator.memory import (
    LOCAL_WINDOW,
    SHARED_WINDOW,
    WINDOW_BITS,
    Array,
    LaneFault,
    Mixed,
    Storage,
)
from kdsl.emulator.spaces import RowMemory

Found = tuple[Storage, Array, RowMemory | None]
"""A storage, byte offsets into it, and the memory whose shadow has to be asked (None: all is written)."""

ROW_WINDOWS = {SHARED_WINDOW: "shared", LOCAL_WINDOW: "local"}
WINDOW_SHIFT = np.uint64(WINDOW_BITS)


def displaced(address: Array, offset: int) -> Array:
    """An address and an offset, which may be negative; the sum wraps around as the address's width does."""
    return address + address.dtype.type(offset % (1 << 8 * address.itemsize)) if offset else address


def find(fragment: Fragment, space: str, address: Array, size: int, write: bool, lanes: Array | None = None) -> Found:
    """Where the ``size`` bytes at each of ``address`` lie.

    ``lanes`` are the lanes of the addresses, when they are not the fragment's. LaneFault for the first lane that may
    not do this; Mixed when all may, but in several storages.
    """
    batch = fragment.batch
    if space == "generic":
        window = int(address[0]) >> WINDOW_BITS
        if window not in ROW_WINDOWS:
            return find_global(fragment, address, size, write)
        if (address >> WINDOW_SHIFT != window).any():
            raise Mixed
        address = address - np.uint64(window << WINDOW_BITS)
        space = ROW_WINDOWS[window]
        if space == "shared" and rank_field(address).any():
            space = "shared::cluster"
    elif space == "global":
        storage, offset = batch.memory.locate(address, size, write)
        return storage, offset.view(np.int64), None
    if space == "shared":
        shared = batch.shared
        region, index = shared.locate(fragment, address, size, write, lanes)
        return shared.storage, index, None if region.complete else shared
    if space == "shared::cluster":
        region, index = locate(fragment, address, size, write, lanes)
        return batch.shared.storage, index, None if region.complete else batch.shared
    index = batch.local.locate(fragment, address, size, write, lanes)
    return batch.local.storage, index, batch.local


def find_global(fragment: Fragment, address: Array, size: int, write: bool) -> Found:
    """A generic access whose first lane is not in a row window; the others may be."""
    windows = address >> WINDOW_SHIFT
    if address.shape[0] > 1 and ((windows == SHARED_WINDOW) | (windows == LOCAL_WINDOW)).any():
        raise Mixed
    storage, offset = fragment.batch.memory.locate(address, size, write)
    return storage, offset.view(np.int64), None


def each_window(fragment: Fragment, address: Array) -> Iterator[tuple[Array, Array]]:
    """For lanes in several storages: the positions of each storage's lanes, and these lanes."""
    for window in np.unique(address >> WINDOW_SHIFT).tolist():
        positions = np.flatnonzero(address >> WINDOW_SHIFT == window)
        yield positions, fragment.lanes[positions]


def wide(fragment: Fragment, address: Array) -> Array:
    """``address`` with an element for each lane."""
    return address if address.shape[0] == fragment.count else np.broadcast_to(address, (fragment.count,)).copy()


def load(
    fragment: Fragment, space: str, address: Array, kind: str, width: int, count: int, checked: Set[int]
) -> list[Array]:
    """``count`` neighbouring elements of NumPy type ``kind`` at each address; those in ``checked`` must be written."""
    try:
        found = find(fragment, space, address, width * count, False)
    except Mixed:
        return load_mixed(fragment, space, address, kind, width, count, checked)
    return take(found, kind, width, count, checked)


def take(found: Found, kind: str, width: int, count: int, checked: Set[int]) -> list[Array]:
    storage, index, shadowed = found
    if width > 1:
        index = index >> (width.bit_length() - 1)
    view = storage.view(kind)
    if shadowed is not None:
        for k in checked:
            check_written(shadowed, index + k if k else index, width)
    return [view.take(index + k if k else index) for k in range(count)]


def check_written(memory: RowMemory, index: Array, width: int) -> None:
    unwritten = memory.unwritten(index, width)
    if unwritten.any():
        position = int(np.flatnonzero(unwritten)[0])
        name = memory.name_of(int(index[position]) * width)
        raise LaneFault(
            MemoryFault, f"read of {width} byte{'s' if width > 1 else ''} of {name} that were never written", position
        )


def load_mixed(
    fragment: Fragment, space: str, address: Array, kind: str, width: int, count: int, checked: Set[int]
) -> list[Array]:
    results = [np.empty(fragment.count, kind) for _ in range(count)]
    for positions, lanes in each_window(fragment, address):
        try:
            found = find(fragment, space, address[positions], width * count, False, lanes)
            for result, part in zip(results, take(found, kind, width, count, checked), strict=True):
                result[positions] = part
        except LaneFault as fault:
            fault.position = int(positions[fault.position])
            raise
    return results


def store(fragment: Fragment, space: str, address: Array, width: int, values: list[Array]) -> None:
    """Write neighbouring elements at each address; where lanes collide, the last one's value stays."""
    try:
        found = find(fragment, space, address, width * len(values), True)
    except Mixed:
        store_mixed(fragment, space, address, width, values)
        return
    put(found, width, values)


def put(found: Found, width: int, values: list[Array]) -> None:
    storage, index, shadowed = found
    if width > 1:
        index = index >> (width.bit_length() - 1)
    view = storage.view(f"u{width}")
    for k, value in enumerate(values):
        place = index + k if k else index
        view[place] = value if value.shape[0] <= index.shape[0] else value[-1:]
        if shadowed is not None:
            shadowed.note_written(place, width)


def store_mixed(fragment: Fragment, space: str, address: Array, width: int, values: list[Array]) -> None:
    for positions, lanes in each_window(fragment, address):
        try:
            found = find(fragment, space, address[positions], width * len(values), True, lanes)
        except LaneFault as fault:
            fault.position = int(positions[fault.position])
            raise
        put(found, width, [v if v.shape[0] == 1 else v[positions] for v in values])


def lane_bytes(fragment: Fragment, position: int, address: int, size: int) -> bytes:
    """``size`` bytes at a generic address, as one lane sees them."""
    lanes = fragment.lanes[position : position + 1]
    storage, index, _ = find(fragment, "generic", np.array([address], np.uint64), 1, False, lanes)
    start = int(index[0])
    return storage.buffer[start : start + size].tobytes()
