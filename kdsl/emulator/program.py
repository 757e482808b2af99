"""A loaded module: its variables in memory, its shared layout, and every function decoded to blocks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from kdsl.backend import DeviceError
from kdsl.emulator.code import Block, Code, End, Op, Step
from kdsl.emulator.decode import Names, Scope, ends_block, gated
from kdsl.emulator.fragment import Fragment
from kdsl.emulator.instructions import atomics, control, data_movement, synchronization, warp_ops
from kdsl.emulator.instructions.calls import Calls
from kdsl.emulator.memory import FUNCTION_WINDOW, WINDOW_BITS, Allocation, GlobalMemory
from kdsl.emulator.parse import parse
from kdsl.emulator.pure import decode_pure
from kdsl.emulator.spaces import REGION_BITS, Region
from kdsl.emulator.syntax import BYTES, Function, Instruction, Module, Symbol, Variable


@dataclass(frozen=True, slots=True)
class Program:
    """A module ready to launch. ``dynamic`` names the dynamic shared array; ``allocations`` are the module's own."""

    codes: dict[str, Code]
    shared: tuple[Region, ...]
    dynamic: str | None
    shared_used: dict[str, frozenset[str]]
    allocations: tuple[Allocation, ...]


def load(text: str, memory: GlobalMemory) -> Program:
    """Parse and decode a module; DeviceError names the PTX line of what is not emulated."""
    module = parse(text)
    allocations = [allocate(v, memory) for v in module.variables.values() if v.space in {"global", "const"}]
    names = Names()
    for allocation in allocations:
        names.addresses[allocation.name] = allocation.address
    shared, dynamic = lay_out_shared(module, names)
    for index, name in enumerate(module.functions):
        names.functions[name] = index
        names.addresses.setdefault(name, (FUNCTION_WINDOW << WINDOW_BITS) + index)
    for variable in module.variables.values():
        if variable.name in names.addresses and variable.space in {"global", "const"}:
            initialize(variable, memory, names)
    calls = Calls(module)
    decoders = (
        data_movement.decode, decode_pure, control.decode, calls.decode, synchronization.decode, atomics.decode,
        warp_ops.decode,
    )  # fmt: skip
    codes: dict[str, Code] = {}
    for name, function in module.functions.items():
        if function.defined:
            codes[name] = FunctionDecoder(Scope(function, names.functions[name], names, decoders)).code()
    calls.link(codes)
    return Program(codes, shared, dynamic, shared_names(module), tuple(allocations))


def allocate(variable: Variable, memory: GlobalMemory) -> Allocation:
    if variable.external:
        raise DeviceError(f"the module's {variable.name} is external and nothing defines it")
    return memory.allocate(variable.size, variable.name, writable=variable.space != "const")


def initialize(variable: Variable, memory: GlobalMemory, names: Names) -> None:
    width = BYTES[variable.type]
    values: list[int] = []
    for element in variable.initial:
        if isinstance(element, Symbol):
            if element.name not in names.addresses:
                raise DeviceError(f"the initial value of {variable.name} names {element.name}, which nothing defines")
            values.append(names.addresses[element.name] + element.offset)
        else:
            values.append(element % (1 << 8 * width))
    buffer = memory.span(names.addresses[variable.name], variable.size, "initialisation")
    written = np.array(values, f"u{width}").view(np.uint8)
    buffer[: written.shape[0]] = written


def lay_out_shared(module: Module, names: Names) -> tuple[tuple[Region, ...], str | None]:
    """The static arrays, packed, and the name of the dynamic one, which comes last."""
    variables = [v for v in module.variables.values() if v.space == "shared"]
    for function in module.functions.values():
        variables += [v for v in function.variables.values() if v.space == "shared"]
    dynamic = [v for v in variables if v.size == 0]
    regions: list[Region] = []
    place = 0
    for variable in variables:
        if variable.size:
            place = -(-place // max(variable.align, 16)) * max(variable.align, 16)
            regions.append(Region(variable.name, (len(regions) + 1) << REGION_BITS, variable.size, place))
            names.addresses[variable.name] = regions[-1].address
            place += variable.size
    if not dynamic:
        return tuple(regions), None
    place = -(-place // 1024) * 1024
    regions.append(Region(dynamic[0].name, (len(regions) + 1) << REGION_BITS, 0, place))
    for variable in dynamic:
        names.addresses[variable.name] = regions[-1].address
    return tuple(regions), dynamic[0].name


def shared_names(module: Module) -> dict[str, frozenset[str]]:
    """The names that each function mentions, itself among them: what a kernel's shared memory is counted from."""
    mentioned: dict[str, frozenset[str]] = {}
    for name, function in module.functions.items():
        found = {name}
        for instruction in function.instructions:
            found.update(word for word in symbols(instruction))
        mentioned[name] = frozenset(found)
    return mentioned


def symbols(instruction: Instruction) -> list[str]:
    names: list[str] = []
    pending = list(instruction.operands)
    while pending:
        operand = pending.pop()
        match operand:
            case Symbol():
                names.append(operand.name)
            case _:
                base = getattr(operand, "base", None)
                pending += [base] if base is not None else list(getattr(operand, "items", ()))
    return names


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
            tuple(ops), end, gate, (), (), len(ops) + 1, any(s.spins for s in steps),
            tuple(i for _, i in found), successors, owners,
        )  # fmt: skip

    def find_live(self, code: Code, steps: list[list[tuple[Step, Instruction]]]) -> None:
        """Backward liveness over the blocks, with sets of registers as the bits of integers."""
        used = [0] * len(steps)
        defined = [0] * len(steps)
        returned = bits(slot for r in self.function.returns for slot in code.pieces.get(r.name, {}).values())
        for pc, found in enumerate(steps):
            for step, instruction in found:
                if instruction.opcode[0] == "ret" or not code.blocks[pc].successors:
                    used[pc] |= returned & ~defined[pc]
                used[pc] |= bits(step.uses) & ~defined[pc]
                defined[pc] |= bits(step.defines)
        live = list(used)
        changed = True
        while changed:
            changed = False
            for pc in reversed(range(len(steps))):
                after = 0
                for successor in code.blocks[pc].successors:
                    after |= live[successor]
                now = used[pc] | (after & ~defined[pc])
                if now != live[pc]:
                    live[pc], changed = now, True
        constants = bits(slot for key, slot in self.scope.slots.items() if key[0] == "constant")
        for pc, block in enumerate(code.blocks):
            block.uses = members(used[pc] & ~constants)
            block.live = members(live[pc] & ~constants)


def fall_through(pc: int) -> End:
    def end(f: Fragment) -> bool:
        f.pc = pc
        return True

    return end


def bits(slots: Iterable[int]) -> int:
    total = 0
    for slot in slots:
        total |= 1 << slot
    return total


def members(mask: int) -> tuple[int, ...]:
    return tuple(i for i, bit in enumerate(bin(mask)[:1:-1]) if bit == "1")
