"""Lanes at one program counter: their registers, and how they part at a branch and meet again.

A register is an array of raw bits, one element a lane in lane order, or a single element that all lanes share. Arrays
are never changed in place. A fragment that parts gives its children unread registers as views on its own arrays; a
register that no child used is whole again, without a copy, when they meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kdsl.records import dataclass

if TYPE_CHECKING:
    from kdsl.emulator.batch import Batch
    from kdsl.emulator.code import Code
    from kdsl.emulator.reach import Reach

Array = npt.NDArray[Any]
Registers = list[Any]
Key = tuple[int, ...]


class View:
    """Positions in an array of an earlier fragment; composed only when somebody reads through it."""

    __slots__ = ("chosen", "parent")

    def __init__(self, parent: View | None, chosen: Array) -> None:
        self.parent = parent
        self.chosen = chosen

    def index(self) -> Array:
        if self.parent is not None:
            self.chosen = self.parent.index()[self.chosen]
            self.parent = None
        return self.chosen


class Lazy:
    """A register that was not read since its fragment parted from another."""

    __slots__ = ("source", "view")

    def __init__(self, source: Array, view: View) -> None:
        self.source = source
        self.view = view

    def force(self) -> Array:
        return self.source.take(self.view.index())


@dataclass(frozen=True, slots=True)
class Frame:
    """A caller that waits: ``pc`` is the block to go on with, ``results`` where the returned pieces go."""

    code: Code
    registers: Registers
    pc: int
    results: tuple[Any, ...]
    local_base: int


class Fragment:
    """Lanes that run together. ``key`` orders fragments: the lowest program counter of the outermost frame runs
    first."""

    __slots__ = (
        "batch", "cache", "code", "count", "frames", "lanes", "lazy", "local_base", "pc", "prefix", "reaches",
        "registers", "shuffles", "stamp",
    )  # fmt: skip

    def __init__(self, batch: Batch, lanes: Array, code: Code, registers: Registers) -> None:
        self.batch = batch
        self.lanes = lanes
        self.count: int = lanes.shape[0]
        self.code = code
        self.registers = registers
        self.pc = 0
        self.frames: tuple[Frame, ...] = ()
        self.prefix: Key = ()
        self.lazy = False
        self.local_base = 0
        self.stamp = 0
        self.cache: dict[Any, Array] = {}
        self.reaches: dict[Any, Reach | None] = {}
        self.shuffles: dict[Any, tuple[Array, Array | None, Array]] = {}

    @property
    def key(self) -> Key:
        return (*self.prefix, self.pc)

    def force(self, used: Sequence[int]) -> None:
        """Gather the registers ``used`` that are still views."""
        registers = self.registers
        for index in used:
            value = registers[index]
            if value.__class__ is Lazy:
                registers[index] = value.force()

    def of_lanes(self, name: Any, whole: Array) -> Array:
        """The elements for these lanes of an array over all lanes of the batch, remembered under ``name``."""
        if self.count == whole.shape[0] or whole.shape[0] == 1:
            return whole
        found = self.cache.get(name)
        if found is None:
            found = self.cache[name] = whole.take(self.lanes)
        return found

    def child(self, chosen: Array, pc: int) -> Fragment:
        """The lanes at positions ``chosen``, which go on at block ``pc``."""
        views: dict[int, View] = {}
        registers = part(self.code, self.registers, self.code.blocks[pc].live, chosen, views)
        child = Fragment(self.batch, self.lanes[chosen], self.code, registers)
        child.pc = pc
        child.prefix = self.prefix
        child.local_base = self.local_base
        child.stamp = self.stamp
        child.lazy = True
        child.frames = tuple(
            Frame(
                f.code,
                part(f.code, f.registers, f.code.blocks[f.pc].live, chosen, views),
                f.pc,
                f.results,
                f.local_base,
            )
            for f in self.frames
        )
        return child


def part(code: Code, registers: Registers, live: Sequence[int], chosen: Array, views: dict[int, View]) -> Registers:
    """The ``live`` registers of the lanes at positions ``chosen``. ``views`` shares the views of one parting."""
    fresh = views.get(0)
    if fresh is None:
        fresh = views[0] = View(None, chosen)
    result = list(code.template)
    for index in live:
        value = registers[index]
        if value.__class__ is Lazy:
            view = views.get(id(value.view))
            if view is None:
                view = views[id(value.view)] = View(value.view, chosen)
            result[index] = Lazy(value.source, view)
        elif value.shape[0] == 1:
            result[index] = value
        else:
            result[index] = Lazy(value, fresh)
    return result


def merge(pieces: list[Fragment]) -> Fragment:
    """One fragment of the lanes of all ``pieces``, which stand at one key."""
    first = pieces[0]
    lanes = np.sort(np.concatenate([p.lanes for p in pieces]))
    rank = np.empty(first.batch.size, np.int64)
    rank[lanes] = np.arange(lanes.shape[0])
    meeting = Meeting(lanes.shape[0], [rank[p.lanes] for p in pieces])
    registers = meeting.registers(first.code, [p.registers for p in pieces], first.code.blocks[first.pc].live)
    merged = Fragment(first.batch, lanes, first.code, registers)
    merged.pc = first.pc
    merged.prefix = first.prefix
    merged.local_base = first.local_base
    merged.stamp = min(p.stamp for p in pieces)
    merged.lazy = True
    merged.frames = tuple(
        Frame(f.code, meeting.registers(f.code, [p.frames[i].registers for p in pieces], f.code.blocks[f.pc].live),
              f.pc, f.results, f.local_base)
        for i, f in enumerate(first.frames)
    )  # fmt: skip
    return merged


class Meeting:
    """Puts registers of several fragments together. ``places`` says where each fragment's lanes go."""

    def __init__(self, count: int, places: list[Array]) -> None:
        self.count = count
        self.places = places
        self.views: dict[tuple[int, ...], View] = {}

    def registers(self, code: Code, pieces: list[Registers], live: Sequence[int]) -> Registers:
        result = list(code.template)
        for index in live:
            result[index] = self.value([p[index] for p in pieces])
        return result

    def value(self, values: list[Any]) -> Any:
        first = values[0]
        if first.__class__ is Lazy:
            if all(v.__class__ is Lazy and v.source is first.source for v in values):
                return self.whole(first.source, [v.view for v in values])
        elif first.shape[0] == 1 and all(v is first for v in values):
            return first
        arrays = [v.force() if v.__class__ is Lazy else v for v in values]
        if all(a.shape[0] == 1 and a[0] == arrays[0][0] for a in arrays):
            return arrays[0]
        result = np.empty(self.count, arrays[0].dtype)
        for place, array in zip(self.places, arrays, strict=True):
            result[place] = array
        return result

    def whole(self, source: Array, views: list[View]) -> Any:
        """The register that all pieces still see in ``source``."""
        # Lanes keep their order when they part, so as many positions as the source has are all of it, in its order.
        if self.count == source.shape[0]:
            return source
        name = tuple(id(v) for v in views)
        view = self.views.get(name)
        if view is None:
            index = np.empty(self.count, np.int64)
            for place, piece in zip(self.places, views, strict=True):
                index[place] = piece.index()
            view = self.views[name] = View(None, index)
        return Lazy(source, view)
