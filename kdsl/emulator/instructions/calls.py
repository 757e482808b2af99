"""Calls (PTX ISA 9.0, 9.7.13.5): device functions, direct and through pointers, and the runtime's vprintf and
__assertfail.

Parameters are registers: each part of a ``.param`` variable that is stored or loaded at once is a slot, and a call
copies the caller's parts to the callee's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from kdsl.backend import DeviceError, HardwareStackError
from kdsl.emulator.code import Code, End, Piece, Step
from kdsl.emulator.decode import Scope
from kdsl.emulator.fragment import Fragment, Frame, Registers
from kdsl.emulator.instructions.printing import format_lane, lane_string
from kdsl.emulator.memory import FUNCTION_WINDOW, WINDOW_BITS, Array, LaneFault
from kdsl.emulator.operand_width import DTYPES
from kdsl.emulator.syntax import Instruction, Module, Operand, Symbol, Vector
from kdsl.records import dataclass

Build = Callable[[Registers], Array]


class Calls:
    """The calls of one module. Bindings are made at the first call, when both sides are decoded."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.codes: dict[str, Code] = {}
        self.by_index: dict[int, Code] = {}

    def link(self, codes: dict[str, Code]) -> None:
        self.codes = codes
        self.by_index = {code.index: code for code in codes.values()}

    def decode(self, scope: Scope, instruction: Instruction) -> Step | None:
        if instruction.opcode not in {("call",), ("call", "uni")}:
            return None
        call = split(scope, instruction)
        if not isinstance(call.callee, Symbol):
            slot = scope.source(instruction, call.callee, "u64")
            return Step(end=self.indirect(call, slot), uses=(*call.uses(), slot), successors=(call.target,))
        function = self.module.functions.get(call.callee.name)
        if function is None:
            scope.fail(instruction, f"unknown function {call.callee.name}")
        if function.defined:
            if len(call.arguments) != len(function.parameters) or len(call.results) > len(function.returns):
                scope.fail(instruction, f"{function.name} has other parameters or results")
            return Step(end=self.direct(call, function.name), uses=call.uses(), successors=(call.target,))
        return runtime_call(scope, instruction, call, function.name)

    def direct(self, call: Call, name: str) -> End:
        bindings: list[Binding] = []

        def end(f: Fragment) -> bool:
            if not bindings:
                bindings.append(bind(call, self.codes[name]))
            enter(f, call.target, bindings[0])
            return True

        return end

    def indirect(self, call: Call, slot: int) -> End:
        bindings: dict[int, Binding] = {}

        def end(f: Fragment) -> bool:
            addresses = f.registers[slot]
            distinct = np.unique(addresses).tolist()
            for address in distinct:
                if address not in bindings:
                    bindings[address] = bind(call, self.at_address(address, addresses))
            if len(distinct) == 1:
                enter(f, call.target, bindings[distinct[0]])
                return True
            for address in distinct:
                chosen = np.flatnonzero(addresses == address)
                child = f.child(chosen, call.target)
                child.pc = f.pc
                for used in call.uses():
                    value = f.registers[used]
                    child.registers[used] = value if value.shape[0] == 1 else value[chosen]
                enter(child, call.target, bindings[address])
                f.batch.park(child)
            return False

        return end

    def at_address(self, address: int, addresses: Array) -> Code:
        code = self.by_index.get(address - (FUNCTION_WINDOW << WINDOW_BITS))
        if code is None or code.entry:
            position = int(np.flatnonzero(addresses == address)[0])
            raise LaneFault(DeviceError, f"call of address {address:#x}, which is no function", position)
        return code


@dataclass(frozen=True, slots=True)
class Call:
    """One call instruction. ``target`` is the block after it."""

    code: Code
    callee: Operand
    results: tuple[str, ...]
    arguments: tuple[str, ...]
    target: int

    def uses(self) -> tuple[int, ...]:
        return tuple(slot for name in self.arguments for slot in self.code.pieces.get(name, {}).values())


def split(scope: Scope, instruction: Instruction) -> Call:
    """``call (results), callee, (arguments), prototype``, where lists may be absent."""
    operands = list(instruction.operands)
    results = names(operands.pop(0)) if operands and isinstance(operands[0], Vector) else ()
    if not operands:
        scope.fail(instruction, "expected a function")
    callee = operands.pop(0)
    arguments = names(operands.pop(0)) if operands and isinstance(operands[0], Vector) else ()
    return Call(scope.code, callee, results, arguments, scope.next_pc)


def names(operand: Operand) -> tuple[str, ...]:
    assert isinstance(operand, Vector)
    return tuple(item.name for item in operand.items if isinstance(item, Symbol))


@dataclass(frozen=True, slots=True)
class Binding:
    """How one call meets one callee: what each register of the callee starts with, and each result of the caller
    gets."""

    callee: Code
    arguments: tuple[tuple[int, Build], ...]
    results: tuple[tuple[int, Build], ...]


def bind(call: Call, callee: Code) -> Binding:
    return Binding(
        callee,
        match_pieces(callee, [p.name for p in callee.parameters], call.code, call.arguments),
        match_pieces(call.code, call.results, callee, [r.name for r in callee.returns]),
    )


def match_pieces(
    to: Code, targets: Sequence[str], origin: Code, sources: Sequence[str]
) -> tuple[tuple[int, Build], ...]:
    return tuple(
        (slot, build(origin.pieces.get(source, {}), *piece))
        for target, source in zip(targets, sources, strict=False)
        for piece, slot in to.pieces.get(target, {}).items()
    )


def build(available: Mapping[Piece, int], offset: int, width: int) -> Build:
    """Reads bytes ``offset`` to ``offset + width`` of a parameter from the parts that were stored."""
    exact = available.get((offset, width))
    if exact is not None:
        return lambda registers: registers[exact]
    parts = [(o, w, slot) for (o, w), slot in available.items() if o < offset + width and offset < o + w]
    dtype = DTYPES[width]
    mask = np.uint64((1 << 8 * width) - 1)

    def assemble(registers: Registers) -> Array:
        total: Array = np.zeros(1, np.uint64)
        for start, _, slot in parts:
            value = registers[slot].astype(np.uint64)
            shift = np.uint64(8 * abs(start - offset))
            total = total | (value << shift if start >= offset else value >> shift)
        return (total & mask).astype(dtype)

    return assemble


def enter(f: Fragment, target: int, binding: Binding) -> None:
    """Go on in the callee; the caller goes on at block ``target``."""
    if len(f.frames) >= MAX_DEPTH:
        raise LaneFault(HardwareStackError, f"stack overflow: {MAX_DEPTH} calls deep", 0)
    callee = binding.callee
    registers = list(callee.template)
    for slot, build_value in binding.arguments:
        registers[slot] = build_value(f.registers)
    f.frames = (*f.frames, Frame(f.code, f.registers, target, binding.results, f.local_base))
    f.prefix = (*f.prefix, f.pc, callee.index)
    f.local_base += f.code.local_size
    f.code, f.registers, f.pc = callee, registers, 0
    if callee.local_size:
        f.batch.local.enter(f, f.local_base, callee.local_size)


# The runtime's functions.


def runtime_call(scope: Scope, instruction: Instruction, call: Call, name: str) -> Step:
    widths = RUNTIME.get(name)
    if widths is None:
        scope.fail(instruction, f"{name} is external and nothing defines it")
    if len(widths) != len(call.arguments):
        scope.fail(instruction, f"{name} takes {len(widths)} arguments")
    slots = tuple(scope.piece(a, 0, w) for a, w in zip(call.arguments, widths, strict=True))
    if name == "__assertfail":
        return Step(end=assert_fail(slots), uses=slots, successors=(call.target,))
    result = scope.piece(call.results[0], 0, 4) if call.results else scope.scratch(4)
    return Step(end=print_lines(slots, result, call.target), uses=slots, defines=(result,), successors=(call.target,))


def assert_fail(slots: Sequence[int]) -> End:
    def end(f: Fragment) -> bool:
        message, file, line, function, _ = (int(f.registers[slot][0]) for slot in slots)
        text, where, name = (lane_string(f, 0, address) for address in (message, file, function))
        raise f.batch.assertion(text, where, line, name, int(f.lanes[0]))

    return end


def print_lines(slots: Sequence[int], result: int, target: int) -> End:
    def end(f: Fragment) -> bool:
        formats, buffers = (np.broadcast_to(f.registers[slot], (f.count,)).tolist() for slot in slots)
        strings: dict[int, str] = {}
        lines: list[str] = []
        counts: list[int] = []
        for position, (address, buffer) in enumerate(zip(formats, buffers, strict=True)):
            if address not in strings:
                strings[address] = lane_string(f, position, address)
            text, count = format_lane(f, position, strings[address], buffer)
            lines.append(text)
            counts.append(count)
        f.batch.launch.output("".join(lines))
        f.registers[result] = np.array(counts, np.int32).view(np.uint32)
        f.pc = target
        return True

    return end


RUNTIME: dict[str, tuple[int, ...]] = {"vprintf": (8, 8), "__assertfail": (8, 8, 4, 8, 8)}
"""Widths of the arguments of what the CUDA runtime provides (CUDA C++ Programming Guide, formatted output and
assertion)."""

MAX_DEPTH = 4096
