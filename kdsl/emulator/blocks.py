"""Cuts a function into basic blocks, and finds which registers each of them needs."""

from __future__ import annotations

from collections.abc import Iterable

from kdsl.emulator.code import Block, Code, End, Op, Step
from kdsl.emulator.decode import Scope, ends_block, gated
from kdsl.emulator.fragment import Fragment
from kdsl.emulator.instructions import control
from kdsl.emulator.polling import polled
from kdsl.emulator.speculation import uncheck_speculated
from kdsl.emulator.syntax import Function, Instruction
from kdsl.records import dataclass

ATOMIC_COST = 24
"""An atomic takes about as long as so many other instructions, and a spin on one must end as soon as other loops do."""


def cost(instruction: Instruction) -> int:
    """How much of the step limit an instruction takes."""
    return ATOMIC_COST if instruction.opcode[0] in ("atom", "red") else 1


@dataclass(frozen=True, slots=True)
class Item:
    """An instruction, or the branch around one that is guarded."""

    instruction: Instruction
    skip: bool = False


class FunctionDecoder:
    """Cuts a function into blocks, decodes each, and finds what is live."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.function: Function = scope.function

    def code(self) -> Code:
        items, starts = self.items()
        bounds = sorted(starts)
        pc_of = {start: pc for pc, start in enumerate(bounds)}
        positions = self.item_of_instruction
        for label, index in self.function.labels.items():
            self.scope.places[label] = pc_of[positions[index]]
        steps: list[list[tuple[Step, Instruction]]] = []
        for pc, start in enumerate(bounds):
            end = bounds[pc + 1] if pc + 1 < len(bounds) else len(items)
            self.scope.next_pc = pc + 1
            steps.append([(self.step(item), item.instruction) for item in items[start:end]])
        code = self.scope.code
        code.blocks = [self.block(pc, found) for pc, found in enumerate(steps)]
        code.template = self.scope.template
        self.find_live(code, steps)
        uncheck_speculated(steps, [block.successors for block in code.blocks])
        return code

    def items(self) -> tuple[list[Item], set[int]]:
        """Instructions with guards made explicit, and where blocks start. The last block is the end of the function."""
        items: list[Item] = []
        starts = {0}
        self.item_of_instruction: list[int] = []
        labelled = set(self.function.labels.values())
        for index, instruction in enumerate(self.function.instructions):
            if index in labelled or gated(instruction):
                starts.add(len(items))
            self.item_of_instruction.append(len(items))
            guarded = instruction.guard is not None and instruction.opcode[0] != "bra"
            if guarded:
                items.append(Item(instruction, skip=True))
                starts.add(len(items))
            items.append(Item(instruction))
            if guarded or ends_block(instruction):
                starts.add(len(items))
        self.item_of_instruction.append(len(items))
        starts.add(len(items))
        return items, starts

    def step(self, item: Item) -> Step:
        if item.skip:
            return control.skip(self.scope, item.instruction)
        return self.scope.decode(item.instruction)

    def block(self, pc: int, found: list[tuple[Step, Instruction]]) -> Block:
        steps = [step for step, _ in found]
        ops: list[Op] = []
        owners: dict[object, Instruction] = {}
        for step, instruction in found:
            for closure in (step.run, step.gate, step.end):
                if closure is not None:
                    owners[closure] = instruction
            if step.run is not None:
                ops.append(step.run)
        last = steps[-1] if steps else None
        end: End
        successors: tuple[int, ...]
        if last is not None and last.end is not None:
            end = last.end
            successors = (pc + 1,) if last.successors is None else last.successors
        elif found:
            end, successors = fall_through(pc + 1), (pc + 1,)
        else:
            # Control that runs off the end of a function returns.
            end, successors = control.finish(self.function.entry), ()
        gate = steps[0].gate if steps else None
        return Block(
            tuple(ops), end, gate, (), 0, 1 + sum(cost(i) for _, i in found), any(s.spins for s in steps),
            tuple(i for _, i in found), successors, owners, polled(found, pc, successors),
        )  # fmt: skip

    def find_live(self, code: Code, steps: list[list[tuple[Step, Instruction]]]) -> None:
        """What each block reads before it writes it, and what it or a later block needs."""
        returned = {slot for r in self.function.returns for slot in code.pieces.get(r.name, {}).values()}
        constants = {slot for key, slot in self.scope.slots.items() if key[0] == "constant"}
        uses: list[set[int]] = []
        defines: list[set[int]] = []
        for pc, found in enumerate(steps):
            used: set[int] = set()
            defined: set[int] = set()
            for step, instruction in found:
                if instruction.opcode[0] == "ret":
                    used |= returned - defined
                used.update(slot for slot in step.uses if slot not in defined)
                defined.update(step.defines)
            if not code.blocks[pc].successors:
                used |= returned - defined
            uses.append(used - constants)
            defines.append(defined)
        live = live_sets(uses, defines, [block.successors for block in code.blocks])
        for block, used, mask in zip(code.blocks, uses, live, strict=True):
            block.uses = tuple(sorted(used))
            block.live_mask = mask


def live_sets(uses: list[set[int]], defines: list[set[int]], successors: list[tuple[int, ...]]) -> list[int]:
    """Backward liveness: for each block, the registers that are live at its start, as the bits of an integer."""
    used, kept = [bits(s) for s in uses], [~bits(s) for s in defines]
    live = list(used)
    changed = True
    while changed:
        changed = False
        for pc in reversed(range(len(live))):
            after = 0
            for successor in successors[pc]:
                after |= live[successor]
            now = used[pc] | (after & kept[pc])
            if now != live[pc]:
                live[pc], changed = now, True
    return live


def bits(slots: Iterable[int]) -> int:
    total = 0
    for slot in slots:
        total |= 1 << slot
    return total


def fall_through(pc: int) -> End:
    def end(f: Fragment) -> bool:
        f.pc = pc
        return True

    return end
