"""Moves, loads and stores (PTX ISA 9.0, 9.7.9); conversions of addresses are in address_spaces."""

from __future__ import annotations

from functools import partial

import numpy as np

from kdsl.emulator.access import displaced, load, store
from kdsl.emulator.code import Op, Step
from kdsl.emulator.decode import Scope
from kdsl.emulator.fragment import Fragment
from kdsl.emulator.memory import Array
from kdsl.emulator.operand_width import DTYPES
from kdsl.emulator.reach import reach
from kdsl.emulator.syntax import BYTES, Address, Instruction, Operand, Register, Sink, Symbol, Vector

SPACES = {
    "global",
    "shared",
    "shared::cta",
    "shared::cluster",
    "local",
    "const",
    "param",
    "param::entry",
    "param::func",
}
STATE_SPACE = {"shared::cta": "shared", "const": "global", "param::entry": "param", "param::func": "param"}
SCOPES = {"cta", "cluster", "gpu", "sys"}
ORDERS = {"weak", "volatile", "relaxed", "acquire", "release", "mmio"}
CACHING = {
    "ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first",
    "L1::evict_last", "L1::no_allocate", "L2::evict_normal", "L2::evict_first", "L2::evict_last", "L2::64B", "L2::128B",
    "L2::256B", "L2::cache_hint", "unified",
}  # fmt: skip
NONE: frozenset[int] = frozenset()


def decode(scope: Scope, instruction: Instruction) -> Step | None:
    match instruction.opcode[0]:
        case "mov":
            return move(scope, instruction)
        case "ld" | "ldu":
            return load_step(scope, instruction)
        case "st":
            return store_step(scope, instruction)
        case "prefetch" | "prefetchu" | "discard" | "applypriority":
            return Step(run=lambda f: None)
        case "createpolicy":
            return create_policy(scope, instruction)
    return None


PRIORITIES = {"L2::evict_last", "L2::evict_normal", "L2::evict_first", "L2::evict_unchanged"}
SECONDARY = {"L2::evict_first", "L2::evict_unchanged"}


def create_policy(scope: Scope, instruction: Instruction) -> Step:
    """A cache policy: bits that mean nothing here, as nothing is cached."""
    words = instruction.opcode[1:]
    primary, *secondary = words[1:-1] or ("",)
    known = words[0] == "fractional" and words[-1] == "b64" and primary in PRIORITIES
    if not known or len(secondary) > 1 or not SECONDARY.issuperset(secondary):
        scope.fail(instruction, f"the emulator does not know the instruction {'.'.join(instruction.opcode)}")
    if not 1 <= len(instruction.operands) <= 2:
        scope.fail(instruction, f"expected 2 operands, found {len(instruction.operands)}")
    uses = tuple(scope.source(instruction, o, "f32") for o in instruction.operands[1:])
    result = scope.destination(instruction, instruction.operands[0], "b64")

    def run(f: Fragment) -> None:
        f.registers[result] = np.zeros(1, np.uint64)

    return Step(run, uses=uses, defines=(result,))


# mov


def move(scope: Scope, instruction: Instruction) -> Step:
    target, source = scope.operands(instruction, 2)
    kind = instruction.opcode[-1]
    if len(instruction.opcode) != 2 or (kind not in BYTES and kind != "pred"):
        scope.fail(instruction, "unknown form of mov")
    if isinstance(source, Vector):
        return pack(scope, instruction, kind, target, source.items)
    if isinstance(target, Vector):
        return unpack(scope, instruction, kind, source, target.items)
    slot = scope.source(instruction, source, kind)
    result = scope.destination(instruction, target, kind)
    return Step(copy(result, slot), uses=(slot,), defines=(result,))


def copy(target: int, source: int) -> Op:
    def run(f: Fragment) -> None:
        r = f.registers
        r[target] = r[source]

    return run


def pack(scope: Scope, instruction: Instruction, kind: str, target: Operand, items: tuple[Operand, ...]) -> Step:
    """``mov.b64 d, {low, high}``: the first element is the low bits."""
    width = BYTES[kind]
    part = width // len(items)
    slots = [scope.source(instruction, item, f"b{8 * part}") for item in items]
    result = scope.destination(instruction, target, kind)
    dtype = DTYPES[width]

    def run(f: Fragment) -> None:
        total: Array = f.registers[slots[0]].astype(dtype)
        for place, slot in enumerate(slots[1:], 1):
            total = total | f.registers[slot].astype(dtype) << dtype(8 * part * place)
        f.registers[result] = total

    return Step(run, uses=tuple(slots), defines=(result,))


def unpack(scope: Scope, instruction: Instruction, kind: str, source: Operand, items: tuple[Operand, ...]) -> Step:
    width = BYTES[kind]
    part = width // len(items)
    slot = scope.source(instruction, source, kind)
    results = [
        (scope.destination(instruction, item, f"b{8 * part}"), 8 * part * place)
        for place, item in enumerate(items)
        if not isinstance(item, Sink)
    ]
    dtype, wide = DTYPES[part], DTYPES[width]
    mask = wide((1 << 8 * part) - 1)

    def run(f: Fragment) -> None:
        value: Array = f.registers[slot]
        for result, shift in results:
            f.registers[result] = (value >> wide(shift) & mask if shift or part == 1 else value).astype(dtype)

    return Step(run, uses=(slot,), defines=tuple(result for result, _ in results))


# ld and st


def access_form(scope: Scope, instruction: Instruction) -> tuple[str, int, str, bool]:
    """State space, vector length, element type, and whether others may change or see it meanwhile."""
    space, count, kind, shared_access = "generic", 1, "", False
    for word in instruction.opcode[1:]:
        if word in SPACES:
            space = STATE_SPACE.get(word, word)
        elif word in ORDERS:
            shared_access |= word != "weak"
        elif word in {"v2", "v4", "v8"}:
            count = int(word[1])
        elif word in BYTES:
            kind = word
        elif word not in SCOPES and word not in CACHING:
            scope.fail(instruction, f"unknown qualifier .{word}")
    if not kind:
        scope.fail(instruction, "expected a type")
    return space, count, kind, shared_access


def two_operands(scope: Scope, instruction: Instruction) -> tuple[Operand, Operand]:
    """The first two; a cache policy may follow."""
    if len(instruction.operands) < 2:
        scope.fail(instruction, f"expected 2 operands, found {len(instruction.operands)}")
    return instruction.operands[0], instruction.operands[1]


def elements(operand: Operand, count: int) -> tuple[Operand, ...] | None:
    items = operand.items if isinstance(operand, Vector) else (operand,)
    return items if len(items) == count else None


def load_step(scope: Scope, instruction: Instruction) -> Step:
    space, count, kind, volatile = access_form(scope, instruction)
    target, source = two_operands(scope, instruction)
    items = elements(target, count)
    if items is None:
        scope.fail(instruction, f"expected {count} registers")
    results = [scope.destination(instruction, item, kind) for item in items]
    if space == "param" and isinstance(source, Address) and isinstance(source.base, Symbol):
        return copy_all(results, parameter_pieces(scope, kind, source, count))
    slot, offset = scope.address(instruction, source)
    if "const" in instruction.opcode and scope.widths[slot] == 4:
        slot = whole_constant(scope, slot)
    where = "global" if space == "param" else space
    read = [k for k, item in enumerate(items) if isinstance(item, Register) and scope.mentions(item.name) > 1]
    checked = set(range(count))
    if space in {"shared", "shared::cluster", "local", "generic"} and 0 < len(read) < count:
        run = load_some_op(results, read, slot, offset, space, kind, checked)
    else:
        run = load_op(results, slot, offset, where, kind, reused(scope, source), checked)
    step = Step(run, uses=(slot,), defines=tuple(results), spins=volatile)
    speculable = space != "global" and instruction.guard is None and not volatile and read != []
    if speculable and scope.definitions.is_fixed(source):
        step.uncheck = tuple((result, partial(checked.discard, k)) for k, result in enumerate(results))
    return step


def parameter_pieces(scope: Scope, kind: str, address: Address, count: int) -> list[int]:
    """The slots of ``count`` neighbouring elements of a parameter."""
    assert isinstance(address.base, Symbol)
    width = BYTES[kind]
    return [scope.piece(address.base.name, address.offset + k * width, width) for k in range(count)]


def copy_all(targets: list[int], sources: list[int]) -> Step:
    def run(f: Fragment) -> None:
        r = f.registers
        for target, source in zip(targets, sources, strict=True):
            r[target] = r[source]

    return Step(run, uses=tuple(sources), defines=tuple(targets))


def whole_constant(scope: Scope, slot: int) -> int:
    """The slot of constant addresses in 64 bits, from one with their low halves."""
    whole = scope.scratch(8)

    def run(f: Fragment) -> None:
        f.registers[whole] = f.batch.memory.whole_constant(f.registers[slot])

    scope.before(Step(run, uses=(slot,), defines=(whole,)))
    return whole


def load_op(results: list[int], slot: int, offset: int, space: str, kind: str, reused: bool, checked: set[int]) -> Op:
    """``checked`` are the elements that must have been written; see `speculation`."""
    width, count = BYTES[kind], len(results)
    memory_kind = f"u{width}"
    widen = width == 1

    def run(f: Fragment) -> None:
        r = f.registers
        address = r[slot]
        found = None
        if reused:
            where = reach(f, space, address, width, width * count)
            if where is not None:
                found = where.load(offset, memory_kind, width, count, checked)
        if found is None:
            found = load(f, space, displaced(address, offset), memory_kind, width, count, checked)
        for result, value in zip(results, found, strict=True):
            r[result] = value.astype(np.uint16) if widen else value

    return run


def load_some_op(
    results: list[int], read: list[int], slot: int, offset: int, space: str, kind: str, checked: set[int]
) -> Op:
    """A vector of which only the elements ``read`` are used."""
    # LLVM widens the loads of a, b and c, or of a, b and d, to one of four elements; what it adds may be unwritten, or
    # past the end of an array of three.
    width, total = BYTES[kind], BYTES[kind] * len(results)
    memory_kind = f"u{width}"
    unused = np.zeros(1, DTYPES[max(width, 2)])

    def run(f: Fragment) -> None:
        r = f.registers
        address = displaced(r[slot], offset)
        if np.bitwise_or.reduce(address) & address.dtype.type(total - 1):
            load(f, space, address, memory_kind, width, len(results), checked)  # names the lane that is misaligned
        for k, result in enumerate(results):
            if k in read:
                element = address + address.dtype.type(k * width)
                (value,) = load(f, space, element, memory_kind, width, 1, {0} if k in checked else NONE)
                r[result] = value.astype(np.uint16) if width == 1 else value
            else:
                r[result] = unused

    return run


def store_step(scope: Scope, instruction: Instruction) -> Step:
    space, count, kind, volatile = access_form(scope, instruction)
    target, source = two_operands(scope, instruction)
    items = elements(source, count)
    if items is None:
        scope.fail(instruction, f"expected {count} values")
    values = [scope.source(instruction, item, kind) for item in items]
    if space == "param" and isinstance(target, Address) and isinstance(target.base, Symbol):
        return copy_all(parameter_pieces(scope, kind, target, count), values)
    slot, offset = scope.address(instruction, target)
    run = store_op(slot, offset, values, space, BYTES[kind], reused(scope, target))
    return Step(run, uses=(slot, *values), spins=volatile)


def store_op(slot: int, offset: int, values: list[int], space: str, width: int, reused: bool) -> Op:
    def run(f: Fragment) -> None:
        r = f.registers
        address = r[slot]
        data = [r[v] for v in values]
        if reused:
            where = reach(f, space, address, width, width * len(values))
            if where is not None and where.store(offset, width, data):
                return
        store(f, space, displaced(address, offset), width, data)

    return run


def reused(scope: Scope, operand: Operand) -> bool:
    """Whether an address is likely to be used again: several accesses name its register."""
    return isinstance(operand, Address) and isinstance(operand.base, Register) and scope.bases(operand.base.name) > 1
