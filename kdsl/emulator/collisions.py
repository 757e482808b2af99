"""Read-modify-writes of many lanes, some on one address: each lane gets the value that the lane before it left.

Lanes are grouped by address, in lane order. What has a closed form over a group (sums, exchanges) uses it; the rest
goes group by group or, where groups are many, through the first lane of each group, the second of each, and so on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kdsl.emulator.memory import Array
from kdsl.records import dataclass


@dataclass(frozen=True, slots=True)
class Groups:
    """Lanes in the order of their addresses. ``order`` is None where lanes are in that order already."""

    order: Array | None
    starts: Array
    places: Array
    count: int

    def sizes(self) -> Array:
        return np.diff(np.append(self.starts, self.count))

    def arrange(self, values: Array) -> Array:
        wide = values if values.shape[0] == self.count else np.broadcast_to(values, (self.count,))
        return wide if self.order is None else wide[self.order]

    def back(self, arranged: Array) -> Array:
        if self.order is None:
            return arranged
        result = np.empty_like(arranged)
        result[self.order] = arranged
        return result


def group(index: Array, count: int) -> Groups:
    """Group ``count`` lanes by their element index; one index stands for all lanes."""
    if index.shape[0] == 1:
        return Groups(None, np.zeros(1, np.int64), index, count)
    if (index[1:] > index[:-1]).all():
        return Groups(None, np.arange(count), index, count)
    low = index.min()
    span = int(index.max() - low)
    # NumPy's stable sort of 16-bit integers is a radix sort.
    keys = (index - low).astype(np.uint16) if span < 1 << 16 else index
    order = np.argsort(keys, kind="stable")
    arranged = index[order]
    starts = np.flatnonzero(np.concatenate(([True], arranged[1:] != arranged[:-1])))
    return Groups(order, starts, arranged[starts], count)


def integer_add(view: Array, groups: Groups, values: Array) -> Array:
    """Wrapping sums: what a lane finds is the old value and the sum of the lanes before it."""
    arranged = groups.arrange(values)
    running = np.cumsum(arranged, dtype=arranged.dtype)
    before = running - arranged
    start = before[groups.starts]
    olds = view[groups.places]
    sizes = groups.sizes()
    found = before + np.repeat(olds - start, sizes)
    last = groups.starts + sizes - 1
    view[groups.places] = running[last] - start + olds
    return groups.back(found)


def exchange(view: Array, groups: Groups, values: Array) -> Array:
    arranged = groups.arrange(values)
    found = np.empty_like(arranged)
    found[1:] = arranged[:-1]
    found[groups.starts] = view[groups.places]
    view[groups.places] = arranged[groups.starts + groups.sizes() - 1]
    return groups.back(found)


def accumulate(view: Array, groups: Groups, values: Array, ufunc: Any) -> Array:
    """A ufunc whose ``accumulate`` applies it in order, rounding each time."""
    sizes = groups.sizes()
    if int(sizes.max()) <= groups.starts.shape[0]:
        return by_rank(view, groups, [values], lambda old, value: ufunc(old, value))
    arranged = groups.arrange(values)
    found = np.empty_like(arranged)
    for start, size, place in zip(groups.starts.tolist(), sizes.tolist(), groups.places.tolist(), strict=True):
        chain = np.empty(size + 1, view.dtype)
        chain[0] = view[place]
        chain[1:] = arranged[start : start + size]
        chain = ufunc.accumulate(chain)
        found[start : start + size] = chain[:-1]
        view[place] = chain[-1]
    return groups.back(found)


def by_rank(view: Array, groups: Groups, values: list[Array], combine: Callable[..., Array]) -> Array:
    """``combine(old, *values)`` for the first lane of each group, then for the second of each, and so on."""
    arranged = [groups.arrange(v) for v in values]
    sizes = groups.sizes()
    found = np.empty(groups.count, view.dtype)
    by_size = np.argsort(-sizes, kind="stable")
    starts, places, sizes = groups.starts[by_size], groups.places[by_size], sizes[by_size]
    current = view[places]
    alive = sizes.shape[0]
    for rank in range(int(sizes[0])):
        while sizes[alive - 1] <= rank:
            alive -= 1
        here = starts[:alive] + rank
        found[here] = current[:alive]
        current[:alive] = combine(current[:alive], *[a[here] for a in arranged])
    view[places] = current
    return groups.back(found)


def compare_and_swap(view: Array, groups: Groups, compare: Array, swap: Array) -> Array:
    """Only successes that change the value matter to later lanes, and they are few: find the next one of each group."""
    compare, swap = groups.arrange(compare), groups.arrange(swap)
    sizes = groups.sizes()
    current = view[groups.places]
    found = np.repeat(current, sizes)
    position = np.arange(groups.count)
    changes = compare != swap
    pending = changes & (compare == found)
    while pending.any():
        winner = np.minimum.reduceat(np.where(pending, position, groups.count), groups.starts)
        won = winner < groups.count
        current[won] = swap[winner[won]]
        after = position > np.repeat(winner, sizes)
        found = np.where(after, np.repeat(current, sizes), found)
        pending = after & changes & (compare == found)
    view[groups.places] = current
    return groups.back(found)
