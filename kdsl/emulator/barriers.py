"""Block barriers (PTX ISA 9.0, 9.7.14.1): who has arrived, and which blocks may go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from kdsl.backend import DeviceError, SynchronizationError
from kdsl.emulator.fragment import Fragment
from kdsl.emulator.memory import Array
from kdsl.emulator.syntax import Instruction
from kdsl.records import dataclass

if TYPE_CHECKING:
    from kdsl.emulator.batch import Batch

Finish = Callable[[Fragment, Array], None]
"""Writes a reduction's result; the array is the block's sum of the predicate, for each lane."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """Lanes that arrive. ``threads`` is the count that the barrier names, if any; ``values`` a reduction's
    predicates."""

    barrier: int
    threads: int | None
    instruction: Instruction
    aligned: bool
    values: Array | None = None
    finish: Finish | None = None

    def part(self, chosen: Array) -> Arrival:
        if self.values is None:
            return self
        return Arrival(self.barrier, self.threads, self.instruction, self.aligned, self.values[chosen], self.finish)


class Barriers:
    """The barriers of a batch of blocks."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.parked: list[tuple[Fragment, Arrival]] = []
        self.signals: dict[int, Array] = {}

    def waits(self) -> Iterator[tuple[Fragment, Instruction]]:
        for fragment, arrival in self.parked:
            yield fragment, arrival.instruction

    def arrive(self, fragment: Fragment, arrival: Arrival) -> bool:
        """Wait at a barrier; True if nobody has to be waited for. The fragment's ``pc`` is where it goes on."""
        batch = self.batch
        if not self.parked and not self.signals and fragment.count == batch.live_count and arrival.threads is None:
            self.pass_through(fragment, arrival)
            return True
        self.parked.append((fragment, arrival))
        self.release()
        return False

    def signal(self, fragment: Fragment, barrier: int, threads: int) -> None:
        """``bar.arrive``: count these lanes, but do not wait."""
        counts = self.blocks_of(fragment)
        found = self.signals.get(barrier)
        self.signals[barrier] = counts if found is None else found + counts
        self.release()
        self.complete_unawaited(barrier, threads)

    def complete_unawaited(self, barrier: int, threads: int) -> None:
        """A barrier at which all have arrived and nobody waits begins anew, too."""
        signals = self.signals.get(barrier)
        if signals is None:
            return
        awaited = sum((self.blocks_of(f) for f, a in self.parked if a.barrier == barrier), np.zeros_like(signals))
        full = (awaited == 0) & (signals >= self.in_block(threads))
        self.keep_signals(barrier, np.where(full, 0, signals))

    def keep_signals(self, barrier: int, signals: Array) -> None:
        self.signals[barrier] = signals
        if not signals.any():
            del self.signals[barrier]

    def blocks_of(self, fragment: Fragment, values: Array | None = None) -> Array:
        blocks = fragment.of_lanes("block", self.batch.block_of_lane)
        if values is None:
            return np.bincount(blocks, minlength=self.batch.blocks)
        weights = np.broadcast_to(values, blocks.shape)
        return np.bincount(blocks, weights=weights, minlength=self.batch.blocks).astype(np.int64)

    def pass_through(self, fragment: Fragment, arrival: Arrival) -> None:
        """All live lanes of the batch arrive at once."""
        if arrival.finish is not None:
            totals = self.blocks_of(fragment, arrival.values)
            arrival.finish(fragment, totals[fragment.of_lanes("block", self.batch.block_of_lane)])
        if self.batch.shared.row:
            self.batch.shared.look_for_complete()

    def release(self) -> None:
        """Let the lanes go whose blocks have all arrived."""
        for barrier in sorted({arrival.barrier for _, arrival in self.parked}):
            self.release_one(barrier)

    def release_one(self, barrier: int) -> None:
        here = [(f, a) for f, a in self.parked if a.barrier == barrier]
        counts = sum((self.blocks_of(f) for f, _ in here), np.zeros(self.batch.blocks, np.int64))
        signals = self.signals.get(barrier)
        if signals is not None:
            counts = counts + signals
        complete = (counts > 0) & (counts >= self.expected(here))
        if not complete.any():
            return
        self.check_same_place(here, complete)
        if signals is not None:
            self.keep_signals(barrier, np.where(complete, 0, signals))
        self.parked = [(f, a) for f, a in self.parked if a.barrier != barrier]
        self.let_go(here, complete)
        if self.batch.shared.row:
            self.batch.shared.look_for_complete()

    def expected(self, here: list[tuple[Fragment, Arrival]]) -> Array:
        """How many threads each block's barrier counts, as those who wait in the block say."""
        result = self.batch.live.copy()
        for fragment, arrival in here:
            if arrival.threads is not None:
                result[fragment.of_lanes("block", self.batch.block_of_lane)] = self.in_block(arrival.threads)
        return result

    def in_block(self, threads: int) -> int:
        """The threads that come where ``threads`` are named: hardware counts whole warps, the last may have fewer."""
        return self.batch.threads if threads == self.batch.warps * 32 else threads

    def let_go(self, here: list[tuple[Fragment, Arrival]], complete: Array) -> None:
        going: list[tuple[Fragment, Arrival]] = []
        for fragment, arrival in here:
            mask = complete[fragment.of_lanes("block", self.batch.block_of_lane)]
            if mask.all():
                going.append((fragment, arrival))
                continue
            for chosen, to in ((np.flatnonzero(mask), going), (np.flatnonzero(~mask), self.parked)):
                if chosen.shape[0]:
                    to.append((fragment.child(chosen, fragment.pc), arrival.part(chosen)))
        self.finish(going)
        for fragment, _ in going:
            self.batch.park(fragment)

    def finish(self, going: list[tuple[Fragment, Arrival]]) -> None:
        totals = np.zeros(self.batch.blocks, np.int64)
        for fragment, arrival in going:
            if arrival.values is not None:
                totals += self.blocks_of(fragment, arrival.values)
        for fragment, arrival in going:
            if arrival.finish is not None:
                arrival.finish(fragment, totals[fragment.of_lanes("block", self.batch.block_of_lane)])

    def check_same_place(self, here: list[tuple[Fragment, Arrival]], complete: Array) -> None:
        """An aligned barrier of all threads is one instruction for a whole block."""
        arrived: dict[int, tuple[Instruction, Array]] = {}
        for fragment, arrival in here:
            if arrival.aligned and arrival.threads is None:
                counts = self.blocks_of(fragment)
                place = arrival.instruction
                found = arrived.get(id(place))
                arrived[id(place)] = (place, counts if found is None else found[1] + counts)
        for (one, at_one), (other, at_other) in combinations(arrived.values(), 2):
            both = (at_one > 0) & (at_other > 0) & complete
            if both.any():
                raise self.divergence(here, both, one, other)

    def divergence(
        self, here: list[tuple[Fragment, Arrival]], both: Array, one: Instruction, other: Instruction
    ) -> DeviceError:
        """The error of blocks ``both``, at the first lane that waits at either instruction."""
        waits: list[tuple[int, Instruction]] = []
        for place in (one, other):
            lanes = [
                f.lanes[both[f.of_lanes("block", self.batch.block_of_lane)]] for f, a in here if a.instruction is place
            ]
            waits.append((int(np.concatenate(lanes).min()), place))
        (lane, first), (_, second) = sorted(waits, key=lambda wait: wait[0])
        return self.batch.error(
            SynchronizationError,
            f"divergent barrier: some threads of the block wait at `{first.text}` ({first.place}), "
            f"others at `{second.text}` ({second.place})",
            first,
            lane,
        )
