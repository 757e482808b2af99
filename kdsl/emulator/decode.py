"""One function's PTX to `code`: registers get slots, instructions become closures, and liveness says what a parting
must keep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Any, NoReturn

import numpy as np

from kdsl.backend import DeviceError
from kdsl.emulator.code import Code, Step
from kdsl.emulator.operand_width import (
    DTYPES,
    add_constant,
    extend,
    invert,
    local_address,
    narrow,
    register_width,
    sequence,
)
from kdsl.emulator.spaces import LOCAL_START
from kdsl.emulator.specials import SPECIALS, read_special
from kdsl.emulator.speculation import Definitions
from kdsl.emulator.syntax import (
    BYTES,
    Address,
    Float,
    Function,
    Instruction,
    Integer,
    Not,
    Operand,
    Pair,
    Register,
    Sink,
    Special,
    Symbol,
    Vector,
)
from kdsl.emulator.tokens import float_bits
from kdsl.records import dataclass

ENDS = {"bra", "brx", "ret", "exit", "trap", "call"}
WARP_GATES = {("shfl",), ("vote",), ("match",), ("redux",), ("elect",), ("bar", "warp")}

Decode = Callable[["Scope", Instruction], Step | None]


@dataclass(slots=True)
class Names:
    """What a module gives a name: addresses of variables, those that functions declare by function, and functions by
    index."""

    addresses: dict[str, int] = field(default_factory=dict)
    of_function: dict[str, dict[str, int]] = field(default_factory=dict)
    functions: dict[str, int] = field(default_factory=dict)


def ends_block(instruction: Instruction) -> bool:
    word = instruction.opcode[0]
    return word in ENDS or (word in {"bar", "barrier"} and not gated(instruction))


def gated(instruction: Instruction) -> bool:
    opcode = instruction.opcode
    return opcode[:1] in WARP_GATES or opcode[:2] in WARP_GATES


class Scope:
    """What decoding one function knows: slots of registers, constants and parameter pieces, and where labels are."""

    def __init__(self, function: Function, index: int, names: Names, decoders: Sequence[Decode]) -> None:
        self.function = function
        self.names = names
        self.decoders = decoders
        self.slots: dict[Any, int] = {}
        self.widths: list[int] = []
        self.template: list[Any] = []
        self.prefix: list[Step] = []
        self.suffix: list[Step] = []
        self.places: dict[str, int] = {}
        self.depot: dict[str, int] = {}
        self.next_pc = 0
        self.definitions = Definitions(function)
        self.mention_counts: Counter[str] = Counter()
        self.base_counts: Counter[str] = Counter()
        self.code = Code(
            function.name, index, function.entry, function.parameters, function.returns, self.lay_out_locals(),
            function.attributes,
        )  # fmt: skip
        for name, kind in function.registers.items():
            if kind == "b128":
                raise DeviceError(f"function {function.name}: 128-bit registers are not emulated")
            self.add_slot(("register", name), register_width(kind))

    def lay_out_locals(self) -> int:
        size = 0
        for variable in self.function.variables.values():
            if variable.space == "local":
                size = -(-size // variable.align) * variable.align
                self.depot[variable.name] = size
                size += variable.size
        return -(-size // 16) * 16

    def mentions(self, register: str) -> int:
        """How often the function names a register: once means that what is written to it is never read."""
        if not self.mention_counts:
            self.mention_counts.update(
                name for instruction in self.function.instructions for name in mentioned(instruction)
            )
        return self.mention_counts[register]

    def bases(self, register: str) -> int:
        """How many memory operands of the function start from a register."""
        if not self.base_counts:
            self.base_counts.update(
                operand.base.name
                for instruction in self.function.instructions
                for operand in instruction.operands
                if isinstance(operand, Address) and isinstance(operand.base, Register)
            )
        return self.base_counts[register]

    # Slots.

    def add_slot(self, key: Any, width: int) -> int:
        found = self.slots.get(key)
        if found is None:
            found = self.slots[key] = len(self.template)
            self.widths.append(width)
            self.template.append(np.zeros(1, DTYPES[width]))
        return found

    def constant(self, value: int, width: int) -> int:
        """The slot of a constant of ``width`` bytes (0: a predicate)."""
        bits = int(value != 0) if width == 0 else value & ((1 << 8 * width) - 1)
        slot = self.add_slot(("constant", bits, max(width, 2) if width else 0), width)
        self.template[slot] = np.array([bits], DTYPES[width])
        return slot

    def scratch(self, width: int) -> int:
        return self.add_slot(("scratch", len(self.template)), width)

    def piece(self, name: str, offset: int, width: int) -> int:
        """The slot of a part of parameter ``name``."""
        pieces = self.code.pieces.setdefault(name, {})
        slot = pieces.get((offset, width))
        if slot is None:
            slot = pieces[(offset, width)] = self.add_slot(("piece", name, offset, width), max(width, 2))
        return slot

    def error(self, instruction: Instruction, why: str) -> DeviceError:
        return DeviceError(f"PTX line {instruction.ptx_line}: {why}: {instruction.text}")

    def fail(self, instruction: Instruction, why: str) -> NoReturn:
        raise self.error(instruction, why)

    # Operands.

    def source(self, instruction: Instruction, operand: Operand, kind: str) -> int:
        """The slot that holds ``operand`` as a value of PTX type ``kind``; what that takes runs before the
        instruction."""
        width = 0 if kind in {"pred", "cc"} else BYTES[kind]
        match operand:
            case Register():
                slot = self.slots[("register", operand.name)]
                return self.narrowed(slot, width)
            case Integer():
                if kind == "f32" or kind == "f64":
                    raise self.error(instruction, f"an integer is no {kind} operand")
                return self.constant(operand.value, width)
            case Float():
                return self.constant(float_bits(operand, width), width)
            case Not():
                negated = self.scratch(0)
                slot = self.slots[("register", operand.register.name)]
                self.before(Step(invert(negated, slot), uses=(slot,), defines=(negated,)))
                return negated
            case Special():
                return self.special(instruction, operand.name, width)
            case Symbol():
                address = self.variable_address(operand.name)
                if address is not None and operand.name not in self.depot:
                    return self.constant(address + operand.offset, width)
                return self.narrowed(self.address_of(instruction, operand), width)
            case _:
                raise self.error(instruction, "unexpected operand")

    def narrowed(self, slot: int, width: int) -> int:
        have = self.widths[slot]
        if have == width or (width == 2 and have == 1):
            return slot
        if (width == 0) != (have == 0) or have < width:
            raise DeviceError(f"a register of {have} bytes where {width} are needed")
        low = self.scratch(width)
        self.before(Step(narrow(low, slot, width), uses=(slot,), defines=(low,)))
        return low

    def before(self, step: Step) -> None:
        self.prefix.append(step)

    def special(self, instruction: Instruction, name: str, width: int) -> int:
        if name == "WARP_SZ":
            return self.constant(32, width)
        if name not in SPECIALS:
            raise self.error(instruction, f"unknown special register {name}")
        slot = self.scratch(SPECIALS[name].width)
        self.before(Step(read_special(slot, name), defines=(slot,), spins=SPECIALS[name].volatile))
        return self.converted(slot, width)

    def converted(self, slot: int, width: int) -> int:
        """``slot`` zero-extended or cut to ``width``."""
        if self.widths[slot] >= width or width <= 2 == self.widths[slot]:
            return self.narrowed(slot, width)
        result = self.scratch(width)
        self.before(Step(narrow(result, slot, width), uses=(slot,), defines=(result,)))
        return result

    def address_of(self, instruction: Instruction, symbol: Symbol) -> int:
        name = symbol.name
        if name in self.depot:
            slot = self.scratch(8)
            self.before(Step(local_address(slot, LOCAL_START + self.depot[name] + symbol.offset), defines=(slot,)))
            return slot
        if any(p.name == name for p in self.function.parameters):
            if not self.function.entry:
                raise self.error(instruction, "the address of a device function's parameter is not emulated")
            base = self.code.addresses.get(name)
            if base is None:
                base = self.code.addresses[name] = self.add_slot(("parameter address", name), 8)
            if not symbol.offset:
                return base
            slot = self.scratch(8)
            offset = np.array([symbol.offset % 2**64], np.uint64)
            self.before(Step(add_constant(slot, base, offset), uses=(base,), defines=(slot,)))
            return slot
        address = self.variable_address(name)
        if address is None:
            raise self.error(instruction, f"unknown name {name}")
        return self.constant(address + symbol.offset, 8)

    def variable_address(self, name: str) -> int | None:
        """The address of a variable that the function declares, or else the module; None if neither does."""
        own = self.names.of_function.get(self.function.name, {})
        return own.get(name, self.names.addresses.get(name))

    def address(self, instruction: Instruction, operand: Operand) -> tuple[int, int]:
        """The slot and the constant offset of a memory operand."""
        if not isinstance(operand, Address):
            raise self.error(instruction, "expected an address in brackets")
        match operand.base:
            case Register():
                return self.slots[("register", operand.base.name)], operand.offset
            case Symbol():
                return self.address_of(instruction, Symbol(operand.base.name, operand.offset)), 0
            case Integer():
                return self.constant(operand.base.value + operand.offset, 8), 0

    def destination(self, instruction: Instruction, operand: Operand, kind: str) -> int:
        """The slot to write a result of type ``kind`` to; widening to the register runs after the instruction."""
        width = 0 if kind in {"pred", "cc"} else max(BYTES[kind], 2)
        if isinstance(operand, Sink):
            return self.scratch(width)
        if not isinstance(operand, Register):
            raise self.error(instruction, "expected a register to write to")
        slot = self.slots[("register", operand.name)]
        have = self.widths[slot]
        if have == width and kind != "s8":
            return slot
        if have < width or width == 0:
            raise self.error(instruction, f"the result has {width} bytes, its register {have}")
        result = self.scratch(width)
        self.suffix.append(Step(extend(slot, result, have, kind), uses=(result,), defines=(slot,)))
        return result

    # Instructions.

    def decode(self, instruction: Instruction) -> Step:
        """The step of one instruction, conversions of its operands and results included."""
        self.prefix, self.suffix = [], []
        try:
            step = self.first_step(instruction)
        except DeviceError as error:
            if str(error).startswith("PTX line"):
                raise
            raise self.error(instruction, str(error)) from None
        if not self.prefix and not self.suffix:
            return step
        return sequence([*self.prefix, step, *self.suffix])

    def first_step(self, instruction: Instruction) -> Step:
        for decoder in self.decoders:
            step = decoder(self, instruction)
            if step is not None:
                return step
        raise self.error(instruction, f"the emulator does not know the instruction {'.'.join(instruction.opcode)}")

    def operands(self, instruction: Instruction, count: int) -> tuple[Operand, ...]:
        if len(instruction.operands) != count:
            raise self.error(instruction, f"expected {count} operands, found {len(instruction.operands)}")
        return instruction.operands

    def target(self, instruction: Instruction, operand: Operand | str) -> int:
        """The block of a label."""
        name = operand if isinstance(operand, str) else operand.name if isinstance(operand, Symbol) else ""
        if name not in self.places:
            raise self.error(instruction, f"unknown label {name}")
        return self.places[name]


def mentioned(instruction: Instruction) -> Iterator[str]:
    """The registers that an instruction names, each as often as it does."""
    if instruction.guard is not None:
        yield instruction.guard.register
    pending = list(instruction.operands)
    while pending:
        match pending.pop():
            case Register(name):
                yield name
            case Address(base, _):
                pending.append(base)
            case Vector(items):
                pending += items
            case Pair(first, second):
                pending += [first, second]
            case Not(inner):
                pending.append(inner)


def pair(operand: Operand) -> tuple[Operand, Operand]:
    """Both results of ``d|p``; the second is the sink where only one is asked for."""
    return (operand.first, operand.second) if isinstance(operand, Pair) else (operand, Sink())
