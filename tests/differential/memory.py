"""Arrays of the reference: their elements, and who touched them, so that a program with a data race is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from . import program as p
from .typing_rules import Scalar


class Undefined(Exception):
    """The program reads what was never written, leaves an array, races, or waits for what never comes."""


@dataclass
class Epochs:
    """Counts the barriers of a block: accesses on both sides of one do not race."""

    now: int = 0


@dataclass(frozen=True)
class Thread:
    """Who runs: ``index`` in the block, ``lane`` in the whole launch."""

    index: int
    lane: int
    block: int
    grid: p.Grid | None
    epochs: Epochs = field(default_factory=Epochs, compare=False)

    def place(self, text: str) -> int:
        """``thread_idx.x`` and its like."""
        width, height = self.grid.block if self.grid else (32, 1)
        return {
            "tid": self.index,
            "lane": self.lane,
            "thread_idx.x": self.index % width,
            "thread_idx.y": self.index // width,
            "block_idx.x": self.block,
            "block_dim.x": width,
            "block_dim.y": height,
            "grid_dim.x": self.grid.blocks if self.grid else 1,
            "lane_id()": self.index % 32,
            "warp_id()": self.index // 32,
            "warp_size": 32,
        }[text]


class Memory:
    """An array of one thread."""

    def __init__(self, t: Scalar, shape: Sequence[int], values: Sequence[Any] | None = None) -> None:
        self.type = t
        self.shape = tuple(shape)
        size = 1
        for extent in shape:
            size *= extent
        self.values: list[Any] = [None] * size if values is None else list(values)

    def place(self, indices: Sequence[int]) -> int:
        flat = 0
        for index, extent in zip(indices, self.shape, strict=True):
            if not 0 <= index < extent:
                raise Undefined(f"index {index} of {extent}")
            flat = flat * extent + index
        return flat

    def note(self, place: int, thread: Thread, how: str) -> None:
        """Nobody else sees it."""

    def read(self, indices: Sequence[int], thread: Thread, how: str = "read") -> Any:
        place = self.place(indices)
        self.note(place, thread, how)
        value = self.values[place]
        if value is None:
            raise Undefined("read before it is written")
        return value

    def write(self, indices: Sequence[int], value: Any, thread: Thread, how: str = "write") -> None:
        place = self.place(indices)
        self.note(place, thread, how)
        self.values[place] = value

    def bits(self, first: int, count: int) -> int:
        """``count`` bits from bit ``first`` on, in the order of memory."""
        width = self.type.bits
        if first < 0 or first + count > width * len(self.values):
            raise Undefined(f"{count} bits from {first} on")
        if any(v is None for v in self.values):
            raise Undefined("read before it is written")
        whole = sum((int(v) % (1 << width)) << width * k for k, v in enumerate(self.values))
        return whole >> first & ((1 << count) - 1)

    def set_bits(self, first: int, count: int, pattern: int) -> None:
        whole = self.bits(0, self.type.bits * len(self.values))
        self.bits(first, count)
        whole = whole & ~(((1 << count) - 1) << first) | pattern << first
        width = self.type.bits
        low = self.type.low
        self.values = [
            ((whole >> width * k) % (1 << width) - low) % (1 << width) + low for k in range(len(self.values))
        ]


class SharedMemory(Memory):
    """An array of many threads. ``how`` they touch it is read, write, or an operation whose order does not matter."""

    def __init__(self, t: Scalar, shape: Sequence[int], values: Sequence[Any] | None = None) -> None:
        super().__init__(t, shape, values)
        self.log: dict[int, list[tuple[tuple[int, int], Thread, str]]] = {}

    def note(self, place: int, thread: Thread, how: str) -> None:
        when = (thread.block, thread.epochs.now)
        # Another block's accesses are ordered by nothing; those of a block's earlier epochs are by a barrier.
        log = [entry for entry in self.log.get(place, ()) if entry[0] == when or entry[0][0] != thread.block]
        for _, other, theirs in log:
            if other.lane != thread.lane and (how != theirs or how == "write"):
                raise Undefined(f"{how} of one thread and {theirs} of another")
        if all(other.lane != thread.lane or theirs != how for _, other, theirs in log):
            log.append((when, thread, how))
        self.log[place] = log
