"""A decoded function: basic blocks of closures, which registers each block needs, and what a launch fills in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

import numpy as np

from kdsl.emulator.fragment import Fragment
from kdsl.emulator.syntax import Instruction, Variable
from kdsl.records import dataclass

Op = Callable[[Fragment], Any]
End = Callable[[Fragment], bool]
"""Ends a block: sets the fragment's next block and returns True, or hands the fragment to the batch and returns
False."""

Gate = Callable[[Fragment], Fragment | None]
"""Stands before a block: the lanes that may go on now, or None."""


@dataclass(slots=True)
class Step:
    """A decoded instruction. ``spins``: another lane's work can change what it sees, so a loop around it may be
    waiting. ``uncheck`` has, for each result of a load, what makes it pass
    over bytes that were never written."""

    run: Op | None = None
    end: End | None = None
    gate: Gate | None = None
    uses: tuple[int, ...] = ()
    defines: tuple[int, ...] = ()
    successors: tuple[int, ...] | None = None
    spins: bool = False
    uncheck: tuple[tuple[int, Callable[[], None]], ...] = ()


@dataclass(slots=True)
class Block:
    """A basic block. ``uses`` are read before they are written here; the bits of ``live_mask`` are the registers needed
    here or later; ``cost`` counts instructions."""

    ops: tuple[Op, ...]
    end: End
    gate: Gate | None
    uses: tuple[int, ...]
    live_mask: int
    cost: int
    spins: bool
    instructions: tuple[Instruction, ...]
    successors: tuple[int, ...]
    owners: dict[Any, Instruction]
    polled: tuple[int, ...] = ()
    """See `kdsl.emulator.polling`."""
    live_members: tuple[int, ...] | None = None

    @property
    def live(self) -> tuple[int, ...]:
        """The registers of ``live_mask``, listed when lanes first part or meet here."""
        if self.live_members is None:
            raw = self.live_mask.to_bytes(self.live_mask.bit_length() // 8 + 1, "little")
            set_bits = np.unpackbits(np.frombuffer(raw, np.uint8), bitorder="little")
            self.live_members = tuple(np.flatnonzero(set_bits).tolist())
        return self.live_members

    def owner(self, running: Any) -> Instruction | None:
        """The instruction that a closure of this block belongs to."""
        return self.owners.get(running)


Piece = tuple[int, int]
"""Offset and width of a part of a parameter that is read or written at once."""


@dataclass(slots=True)
class Code:
    """A function that can run. ``template`` holds the constants, and zeros for the other registers.

    ``pieces`` maps a parameter to its parts' registers; ``addresses`` maps a parameter whose address is taken to the
    register of that address.
    """

    name: str
    index: int
    entry: bool
    parameters: tuple[Variable, ...]
    returns: tuple[Variable, ...]
    local_size: int
    attributes: dict[str, tuple[int, ...]]
    blocks: list[Block] = field(default_factory=list)
    template: list[Any] = field(default_factory=list)
    pieces: dict[str, dict[Piece, int]] = field(default_factory=dict)
    addresses: dict[str, int] = field(default_factory=dict)

    def loop_place(self, pc: int) -> Instruction | None:
        """The branch that closes the smallest loop around block ``pc``, or its first instruction where that one is
        not conditional."""
        loops = [
            (last - first, first, last)
            for last, block in enumerate(self.blocks)
            for first in block.successors
            if first <= pc <= last
        ]
        if not loops:
            return self.located(pc)
        _, first, last = min(loops)
        conditional = len(self.blocks[last].successors) > 1
        return self.located(last, at_end=True) if conditional else self.located(first)

    def waits_for_nothing(self, pc: int) -> bool:
        """Whether block ``pc`` alone is a loop, without an instruction: what it waited for is read before it."""
        block = self.blocks[pc]
        return block.successors == (pc,) and all(i.opcode[0] == "bra" for i in block.instructions)

    def located(self, pc: int, at_end: bool = False) -> Instruction | None:
        instructions = self.blocks[pc].instructions
        if not instructions:
            return None
        ordered = instructions[::-1] if at_end else instructions
        return next((i for i in ordered if i.file is not None), ordered[0])
