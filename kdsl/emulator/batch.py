"""Blocks that run together: which fragment goes next, who waits where, and how that ends.

The fragment with the lowest program counter runs, so lanes that parted meet again. A fragment whose loop may be
waiting for another lane gives way after a while, to the fragment that has waited longest.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kdsl.backend import DeviceAssertionError, DeviceError, Dim3, LaunchTimeout, SynchronizationError
from kdsl.emulator.barriers import Barriers
from kdsl.emulator.clusters import ClusterBarrier, block_indices, unravel
from kdsl.emulator.fragment import Fragment, Key, merge
from kdsl.emulator.memory import Array, LaneFault
from kdsl.emulator.polling import only_polls
from kdsl.emulator.spaces import LocalMemory, SharedMemory
from kdsl.emulator.syntax import Instruction

if TYPE_CHECKING:
    from kdsl.emulator.code import Block
    from kdsl.emulator.grid import GridLaunch

SPINS = 32
"""Blocks with an atomic or volatile access that a fragment runs before it gives way, at first. Where fragments have to
give way, loops do wait for each other: the next one has half as many, down to 2."""

TURN = 256
"""Blocks that a fragment runs when it is its turn, whatever its program counter."""

NO_KEY: Key = (2**62,)


class Batch:
    """The state of blocks ``first`` to ``first + blocks - 1`` while they run."""

    def __init__(self, launch: GridLaunch, first: int, blocks: int) -> None:
        self.launch = launch
        self.memory = launch.memory
        self.first = first
        self.blocks = blocks
        self.threads = launch.threads
        self.warps: int = -(-self.threads // 32)
        self.size = blocks * self.threads
        self.block_of_lane: Array = launch.block_of_lane[: self.size]
        self.lane_index: Array = launch.lane_index[: self.size]
        self.warp_index: Array = launch.warp_index[: self.size]
        self.shared = SharedMemory(blocks, launch.shared)
        self.shared_base: Array = self.block_of_lane * self.shared.row
        self.local = LocalMemory(self.size, 0)
        self.live: Array = np.full(blocks, self.threads)
        self.live_count = self.size
        self.exited: Array = np.zeros(self.size, np.bool_)
        self.barriers = Barriers(self)
        self.cluster_barrier = ClusterBarrier(self)
        self.waiting: dict[Key, list[Fragment]] = {}
        self.gated: dict[Key, Fragment] = {}
        self.lowest: Key = NO_KEY
        self.specials: dict[str, Array] = {}
        self.steps = 0
        self.turns = 0
        self.spins = 0
        self.spin_limit = SPINS
        self.turn_left = 0
        self.polls = 0
        """Turns in a row in which all lanes only read the workspace, and none went on."""
        self.start()

    def start(self) -> None:
        code = self.launch.code
        fragment = Fragment(self, np.arange(self.size), code, list(self.launch.template))
        if code.local_size:
            self.local.enter(fragment, 0, code.local_size)
        self.park(fragment)

    # Indices.

    def special(self, name: str, value: Callable[[Batch], Array]) -> Array:
        found = self.specials.get(name)
        if found is None:
            found = self.specials[name] = value(self)
        return found

    def thread_axis(self, axis: int) -> Array:
        whole = self.launch.thread_axes[axis]
        return whole if whole.shape[0] == 1 else whole[: self.size]

    def block_axis(self, axis: int) -> Array:
        places = np.arange(self.first, self.first + self.blocks)
        return self.of_blocks(block_indices(places, self.launch.configuration.grid, self.launch.cluster)[axis])

    def cluster_axis(self, axis: int) -> Array:
        """The block's index within its cluster."""
        return self.of_blocks(unravel(np.arange(self.blocks) % self.launch.cluster_size, self.launch.cluster)[axis])

    def of_blocks(self, values: Array) -> Array:
        """A number of each block, for the lanes of the batch."""
        along: Array = values.astype(np.uint32)
        if along[0] == along[-1] and (along == along[0]).all():
            return along[:1]
        return along[self.block_of_lane]

    def position(self, lane: int) -> tuple[Dim3, Dim3]:
        """Block and thread index of a lane."""
        configuration = self.launch.configuration
        block, thread = self.first + lane // self.threads, lane % self.threads
        index = block_indices(block, configuration.grid, self.launch.cluster)
        return index, unravel(thread, configuration.block)

    @cached_property
    def lane_bit(self) -> Array:
        return np.left_shift(np.uint32(1), self.lane_index)

    @cached_property
    def warp_of_lane(self) -> Array:
        return self.block_of_lane * self.warps + self.warp_index

    @cached_property
    def existing_in_warp(self) -> Array:
        """For each warp, the lanes it has: fewer than 32 in the last warp of some blocks."""
        masks = np.zeros(self.blocks * self.warps, np.uint32)
        np.bitwise_or.at(masks, self.warp_of_lane, self.lane_bit)
        return masks

    def exited_in_warp(self, warp: Array) -> Array | None:
        """The lanes of each of ``warp`` that have exited; None if no lane of the batch has."""
        if self.live_count == self.size:
            return None
        masks = np.zeros(self.blocks * self.warps, np.uint32)
        np.bitwise_or.at(masks, self.warp_of_lane[self.exited], self.lane_bit[self.exited])
        return masks[warp]

    # Scheduling.

    def park(self, fragment: Fragment) -> None:
        """Let ``fragment`` wait for its turn."""
        key = fragment.key
        found = self.waiting.get(key)
        if found is None:
            self.waiting[key] = [fragment]
            if key < self.lowest:
                self.lowest = key
        else:
            found.append(fragment)

    def take(self, key: Key) -> Fragment:
        pieces = self.waiting.pop(key)
        if key in self.gated:
            pieces.append(self.gated.pop(key))
        self.lowest = min(self.waiting, default=NO_KEY)
        fragment = merge(pieces) if len(pieces) > 1 else pieces[0]
        self.turns += 1
        fragment.stamp = self.turns
        return fragment

    def longest_waiting(self) -> Key:
        return min(self.waiting, key=lambda key: min(f.stamp for f in self.waiting[key]))

    def run(self, patience: int) -> bool:
        """Run until all lanes have exited (True), or until ``patience`` turns were given away in spin loops (False).

        Lanes that all wait for other batches' blocks end it at once.
        """
        self.polls = 0
        given = self.turns + patience
        while self.waiting:
            self.turn_left = 0
            if self.spins >= self.spin_limit:
                self.spins = 0
                self.spin_limit = max(2, self.spin_limit // 2)
                key = self.longest_waiting()
                self.turn_left = TURN
                if self.turns > given:
                    return False
                self.polls = self.polls + 1 if only_polls(self) else 0
                if self.only_waits:
                    return False
            else:
                self.polls = 0
                key = self.lowest
            self.execute(self.take(key))
        if self.live_count:
            raise self.deadlock()
        return True

    @property
    def only_waits(self) -> bool:
        """Whether each of the lanes that could run has read the workspace, and goes on reading it."""
        return self.polls > len(self.waiting)

    def execute(self, fragment: Fragment) -> None:
        """Run until the fragment parts, waits, ends or has to let another one go first."""
        limit = self.launch.step_limit
        waiting = self.waiting
        running: Callable[[Fragment], object] | None = None
        block = fragment.code.blocks[fragment.pc]
        try:
            while True:
                self.steps += block.cost * (1 + (fragment.count >> 14))
                if self.steps > limit:
                    raise self.timeout(fragment)
                if block.gate is not None:
                    running = block.gate
                    passed = block.gate(fragment)
                    if passed is None:
                        return
                    fragment = passed
                if fragment.lazy:
                    fragment.force(block.uses)
                for running in block.ops:
                    running(fragment)
                running = block.end
                if not block.end(fragment):
                    return
                if (waiting or block.spins) and self.gives_way(fragment, block):
                    self.park(fragment)
                    return
                block = fragment.code.blocks[fragment.pc]
        except LaneFault as fault:
            lane = int(fragment.lanes[fault.position]) if fault.lane is None else fault.lane
            raise self.error(fault.kind, fault.message, block.owner(running), lane) from None

    def gives_way(self, fragment: Fragment, block: Block) -> bool:
        """Whether another fragment should run now."""
        if block.spins:
            self.spins += 1
            if self.polls and fragment.code.blocks[fragment.pc] is not block:
                self.polls = 0
            if self.spins >= self.spin_limit:
                return True
        if not self.waiting:
            return False
        if self.turn_left:
            self.turn_left -= 1
            return False
        return fragment.key >= self.lowest

    def exit(self, fragment: Fragment) -> None:
        """The lanes of ``fragment`` have ended."""
        self.exited[fragment.lanes] = True
        self.live_count -= fragment.count
        self.spins = 0
        if self.live_count:
            self.live -= np.bincount(self.block_of_lane[fragment.lanes], minlength=self.blocks)
            self.barriers.release()
            self.cluster_barrier.release()

    # Failures.

    def error(self, kind: type[DeviceError], message: str, instruction: Instruction | None, lane: int) -> DeviceError:
        """An exception that names kernel, place, block and thread."""
        block, thread = self.position(lane)
        name = self.launch.code.name
        place = f"{instruction.place}: " if instruction is not None else ""
        return kind(
            f"{place}kernel {name}: {message} (block {block}, thread {thread})",
            kernel=name,
            file=instruction.file if instruction is not None else None,
            line=instruction.line if instruction is not None else None,
            block=block,
            thread=thread,
        )

    def assertion(self, text: str, file: str, line: int, function: str, lane: int) -> DeviceAssertionError:
        """What ``__assertfail`` raises."""
        block, thread = self.position(lane)
        return DeviceAssertionError(
            f"{file}:{line}: kernel {self.launch.code.name}: assertion failed in {function}: {text} "
            f"(block {block}, thread {thread})",
            kernel=self.launch.code.name,
            file=file,
            line=line,
            block=block,
            thread=thread,
        )

    def timeout(self, fragment: Fragment) -> DeviceError:
        place = fragment.code.loop_place(fragment.pc)
        message = f"no end after {self.launch.step_limit} steps: the loop here may be endless"
        message += " (if it is not, KDSL_STEP_LIMIT can be set to more)"
        if fragment.code.waits_for_nothing(fragment.pc):
            message += "; a plain read in its condition is made once, before it: to wait for another thread, read with "
            message += 'atomic.load(f, 0, order="acquire")'
        return self.error(LaunchTimeout, message, place, int(fragment.lanes[0]))

    def waits(self) -> list[tuple[Fragment, Instruction]]:
        """Who waits for other lanes, and where."""
        waits = [*self.barriers.waits(), *self.cluster_barrier.waits()]
        return waits + [(f, f.code.blocks[f.pc].instructions[0]) for f in self.gated.values()]

    def deadlock(self) -> DeviceError:
        """Nobody can go on: name who waits where."""
        waits = self.waits()
        waits.sort(key=lambda wait: int(wait[0].lanes[0]))
        first, instruction = waits[0]
        lane = int(first.lanes[0])
        reason = "deadlock: threads wait at "
        reason += ", others at ".join(dict.fromkeys(f"`{i.text}` ({i.place})" for _, i in waits))
        if self.exited.any():
            reason += "; others have exited"
        return self.error(SynchronizationError, reason, instruction, lane)
