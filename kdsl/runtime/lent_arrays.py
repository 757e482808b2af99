"""JAX's arrays that launches on a GPU have read: exported once, and for as long as they live.

An export, a DLPack capsule, makes an array ready in a stream, and tells JAX that its memory is in use: no other array
gets it, whatever becomes of this one. JAX's arrays never change, so what was ready in a stream stays so.
"""

from __future__ import annotations

import sys
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from kdsl.runtime.foreign_array import ForeignArray

MOST_LENT = 256
"""Exports that are kept; past it, the oldest is given back."""

Key = tuple[int, int]
"""The array's id, and the stream in which it is ready."""
Lent = tuple[Callable[[], Any], Any, int, tuple[int, ...], Any]
"""A weak reference to the array, the type of its elements, its address and shape, and the export."""


class LentArrays:
    """Those of one GPU. ``give_back`` drops exports once all work so far has ended; finalizers call it too."""

    def __init__(self, give_back: Callable[[Any], None]) -> None:
        self.give_back = give_back
        # Why an OrderedDict? Its oldest entry is found and taken in one step, which no finalizer comes between.
        self.found: OrderedDict[Key, Lent] = OrderedDict()

    def add(self, view: ForeignArray) -> None:
        """Keep the export of an array that a launch has just read, until the array dies."""
        capsule, array = view.owner
        if view.strides is not None:
            self.give_back(capsule)
            return
        key = id(array), view.stream or 0
        while len(self.found) >= MOST_LENT:
            self.give_back(self._take_oldest())
        reference = weakref.ref(array, lambda reference: self._died(key, reference))
        self.found[key] = reference, view.type, view.address, view.shape, capsule

    def _died(self, key: Key, reference: Any, is_exiting: Callable[[], bool] = sys.is_finalizing) -> None:
        entry = None if is_exiting() else self.found.get(key)
        # Another array may have its id by now.
        if entry is not None and entry[0] is reference:
            self.found.pop(key, None)
            self.give_back(entry)

    def _take_oldest(self) -> list[Lent]:
        try:
            return [self.found.popitem(last=False)[1]]
        except KeyError:
            return []  # another thread took it

    def end(self) -> None:
        """Give everything back."""
        entries: list[Lent] = []
        while self.found:
            entries += self._take_oldest()
        if entries:
            self.give_back(entries)

    def ready(self, array: Any, stream: int) -> tuple[Key, Lent]:
        """A live array that is ready in a stream; LookupError for others."""
        key = id(array), stream
        entry = self.found[key]
        if entry[0]() is not array or array.is_deleted():
            raise LookupError
        return key, entry
