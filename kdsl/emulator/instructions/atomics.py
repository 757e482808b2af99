"""Atomic read-modify-writes (PTX ISA 9.0, 9.7.13.15 and .16): atom and red. Order and scope need nothing here: lanes
act in turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from kdsl.emulator.access import check_written, displaced, each_window, find
from kdsl.emulator.code import Step
from kdsl.emulator.collisions import (
    accumulate,
    by_rank,
    compare_and_swap,
    exchange,
    group,
    integer_add,
)
from kdsl.emulator.decode import Scope
from kdsl.emulator.fragment import Fragment
from kdsl.emulator.memory import Array, LaneFault, Mixed, Storage
from kdsl.emulator.operand_width import DTYPES
from kdsl.emulator.syntax import BYTES, Instruction, Operand, Register, Sink, Vector

QUALIFIERS = {"relaxed", "acquire", "release", "acq_rel", "cta", "cluster", "gpu", "sys", "noftz"}
LANES = {"v2": 2, "v4": 4, "v8": 8}
VECTORS = {"f32", "f16", "bf16", "f16x2", "bf16x2"}
"""Types that several of are added at once; of v8 those of 16 bits."""
SPACES = {"global": "global", "shared": "shared", "shared::cta": "shared", "shared::cluster": "shared::cluster"}

Modify = Callable[[Storage, Array, int, list[Array], bool, bool], Array | None]
"""Of a storage, element indices, lanes, operands, whether old values are wanted, and whether this is global memory."""


def decode(scope: Scope, instruction: Instruction) -> Step | None:
    if instruction.opcode[0] not in {"atom", "red"} or instruction.opcode[1:2] == ("async",):
        return None
    space, operation, kind, lanes = "generic", "", "", 1
    for word in instruction.opcode[1:]:
        if word in SPACES:
            space = SPACES[word]
        elif word in BYTES:
            kind = word
        elif word in OPERATIONS:
            operation = word
        elif word in LANES:
            lanes = LANES[word]
        elif word not in QUALIFIERS:
            scope.fail(instruction, f"unknown qualifier .{word}")
    modify = OPERATIONS[operation](kind) if operation else None
    if modify is None:
        scope.fail(instruction, f"the emulator does not know the instruction {'.'.join(instruction.opcode)}")
    operands = list(instruction.operands)
    wanted = (3 if operation == "cas" else 2) + (instruction.opcode[0] == "atom")
    if len(operands) != wanted:
        scope.fail(instruction, f"expected {wanted} operands, found {len(operands)}")
    target: Operand = Sink() if instruction.opcode[0] == "red" else operands.pop(0)
    if lanes > 1:
        if operation != "add" or space == "shared" or kind not in VECTORS:
            scope.fail(instruction, f"there is no {'.'.join(instruction.opcode)}")
        return vector_step(scope, instruction, kind, modify, target, operands, lanes)
    return step(scope, instruction, space, kind, modify, target, operands)


def step(
    scope: Scope,
    instruction: Instruction,
    space: str,
    kind: str,
    modify: Modify,
    target: Operand,
    operands: list[Operand],
) -> Step:
    slot, offset = scope.address(instruction, operands[0])
    values = [scope.source(instruction, operand, kind) for operand in operands[1:]]
    wanted = isinstance(target, Register) and scope.mentions(target.name) > 1
    result = scope.destination(instruction, target, kind)
    width = BYTES[kind]

    def run(f: Fragment) -> None:
        r = f.registers
        address = displaced(r[slot], offset)
        old = perform(f, space, address, width, modify, [r[v] for v in values], wanted)
        if old is not None:
            r[result] = old

    return Step(run, uses=(slot, *values), defines=(result,), spins=True)


def vector_step(
    scope: Scope,
    instruction: Instruction,
    kind: str,
    modify: Modify,
    target: Operand,
    operands: list[Operand],
    lanes: int,
) -> Step:
    """An operation on neighbouring elements, each of them atomic by itself; aligned to the whole."""
    slot, offset = scope.address(instruction, operands[0])
    given = operands[1].items if isinstance(operands[1], Vector) else ()
    taken = target.items if isinstance(target, Vector) else (Sink(),) * lanes
    if len(given) != lanes or len(taken) != lanes:
        scope.fail(instruction, f"expected {lanes} registers in braces")
    values = [scope.source(instruction, item, kind) for item in given]
    results = [scope.destination(instruction, item, kind) for item in taken]
    wanted = [isinstance(item, Register) and scope.mentions(item.name) > 1 for item in taken]
    width = BYTES[kind]

    def run(f: Fragment) -> None:
        r = f.registers
        address = displaced(r[slot], offset)
        check_whole(f, address, width * lanes)
        inputs = [r[value] for value in values]
        for lane in range(lanes):
            place = address + address.dtype.type(width * lane)
            old = perform(f, "generic", place, width, modify, [inputs[lane]], wanted[lane])
            if old is not None:
                r[results[lane]] = old

    return Step(run, uses=(slot, *values), defines=tuple(results), spins=True)


def check_whole(f: Fragment, address: Array, size: int) -> None:
    """A fault where the whole vector is not in one allocation, or not aligned to its size."""
    try:
        find(f, "generic", address, size, True)
    except Mixed:
        for positions, lanes in each_window(f, address):
            find(f, "generic", address[positions], size, True, lanes)


def perform(
    f: Fragment, space: str, address: Array, width: int, modify: Modify, values: list[Array], wanted: bool
) -> Array | None:
    try:
        return at_storage(f, space, address, width, modify, values, wanted, None)
    except Mixed:
        old = np.empty(f.count, DTYPES[width])
        for positions, lanes in each_window(f, address):
            mine = [v if v.shape[0] == 1 else v[positions] for v in values]
            try:
                part = at_storage(f, space, address[positions], width, modify, mine, wanted, lanes)
            except LaneFault as fault:
                fault.position = int(positions[fault.position])
                raise
            if part is not None:
                old[positions] = part
        return old


def at_storage(
    f: Fragment,
    space: str,
    address: Array,
    width: int,
    modify: Modify,
    values: list[Array],
    wanted: bool,
    lanes: Array | None,
) -> Array | None:
    storage, index, shadowed = find(f, space, address, width, True, lanes)
    index = index >> (width.bit_length() - 1)
    if shadowed is not None:
        check_written(shadowed, index, width)
    count = f.count if lanes is None else lanes.shape[0]
    return modify(storage, index, count, values, wanted, storage is not f.batch.shared.storage)


# Operations: each takes a PTX type and gives what it does, or None.


def simple(ufunc: Any, kinds: dict[str, str]) -> Callable[[str], Modify | None]:
    """``ufunc`` on integers, which may be applied in any grouping."""

    def of(kind: str) -> Modify | None:
        if kind not in kinds:
            return None
        view_kind = kinds[kind]

        def modify(
            storage: Storage, index: Array, count: int, values: list[Array], wanted: bool, _: bool
        ) -> Array | None:
            view = storage.view(view_kind)
            value = values[0].view(view_kind)
            if not wanted:
                ufunc.at(view, np.broadcast_to(index, (count,)) if index.shape[0] == 1 else index, value)
                return None
            groups = group(index, count)
            found = integer_add(view, groups, value) if ufunc is np.add else accumulate(view, groups, value, ufunc)
            return found.view(values[0].dtype)

        return modify

    return of


def add(kind: str) -> Modify | None:
    match kind:
        case "f32":
            return add_float32
        case "f64":
            return add_float64
        case "f16" | "f16x2":
            return add_half(np.float16, len(kind) > 3)
        case "bf16" | "bf16x2":
            return add_half(ml_dtypes.bfloat16, len(kind) > 4)
    return simple(np.add, {"u32": "u4", "s32": "u4", "u64": "u8", "s64": "u8"})(kind)


def add_float32(
    storage: Storage, index: Array, count: int, values: list[Array], wanted: bool, is_global: bool
) -> Array | None:
    """On global memory subnormal inputs and results are flushed to zero, on shared memory they are not."""
    view = storage.view("f4")
    value = values[0].view(np.float32)
    if is_global:
        value = flush(value)
        combine = add_flushed
    else:
        combine = add_rounded
    groups = group(index, count)
    return by_order(view, groups, value, combine).view(np.uint32)


def by_order(view: Array, groups: Any, value: Array, combine: Callable[[Array, Array], Array]) -> Array:
    """Group by group with ``add.accumulate`` where groups are few, and no result needs more than an IEEE sum."""
    sizes = groups.sizes()
    if int(sizes.max()) > groups.starts.shape[0]:
        before = view[groups.places]
        found = accumulate(view, groups, value, np.add)
        after = view[groups.places]
        if plain(found) and plain(after) and plain(value):
            return found
        view[groups.places] = before
    return by_rank(view, groups, [value], combine)


def plain(values: Array) -> bool:
    """No NaN, and nothing that flushing would change."""
    size = np.abs(values)
    return bool(((size >= np.finfo(values.dtype).tiny) | (size == 0)).all())


def flush(value: Array) -> Array:
    tiny = np.abs(value) < np.finfo(np.float32).tiny
    return np.where(tiny, np.copysign(np.float32(0), value), value) if tiny.any() else value


def add_flushed(old: Array, value: Array) -> Array:
    return canonical(flush(flush(old) + value))


def add_rounded(old: Array, value: Array) -> Array:
    return canonical(old + value)


def canonical(value: Array) -> Array:
    """The NaN that arithmetic gives in 32 bits is 0x7fffffff; in 64 bits the host's own is right."""
    nan = np.isnan(value)
    if not nan.any():
        return value
    return np.where(nan, np.uint32(0x7FFFFFFF), value.view(np.uint32)).view(np.float32)


def add_float64(
    storage: Storage, index: Array, count: int, values: list[Array], wanted: bool, is_global: bool
) -> Array | None:
    view = storage.view("f8")
    found = by_order(view, group(index, count), values[0].view(np.float64), lambda old, value: old + value)
    return found.view(np.uint64)


def add_half(dtype: Any, packed: bool) -> Modify:
    """16-bit sums through 32 bits, which rounds only once; of a pair, each half on its own."""

    def combine(old: Array, value: Array) -> Array:
        total = old.view(dtype).astype(np.float32) + value.view(dtype).astype(np.float32)
        return np.where(np.isnan(total), np.uint16(0x7FFF), total.astype(dtype).view(np.uint16))

    def modify(storage: Storage, index: Array, count: int, values: list[Array], wanted: bool, _: bool) -> Array | None:
        view = storage.view("u2")
        if not packed:
            return by_rank(view, group(index, count), values, combine)
        halves = [(values[0] >> np.uint32(16 * k)).astype(np.uint16) for k in range(2)]
        low, high = (by_rank(view, group(2 * index + k, count), [halves[k]], combine) for k in range(2))
        return low.astype(np.uint32) | high.astype(np.uint32) << np.uint32(16)

    return modify


def exchange_bits(kind: str) -> Modify | None:
    if kind not in {"b32", "b64", "u32", "s32", "u64", "s64", "f32", "f64"}:
        return None

    def modify(storage: Storage, index: Array, count: int, values: list[Array], wanted: bool, _: bool) -> Array | None:
        return exchange(storage.view(f"u{BYTES[kind]}"), group(index, count), values[0])

    return modify


def compare_bits(kind: str) -> Modify | None:
    if kind not in {"b16", "b32", "b64", "u32", "s32", "u64", "s64"}:
        return None

    def modify(storage: Storage, index: Array, count: int, values: list[Array], wanted: bool, _: bool) -> Array | None:
        return compare_and_swap(storage.view(f"u{BYTES[kind]}"), group(index, count), values[0], values[1])

    return modify


def counter(next_value: Callable[[Array, Array], Array]) -> Callable[[str], Modify | None]:
    def of(kind: str) -> Modify | None:
        if kind != "u32":
            return None

        def modify(
            storage: Storage, index: Array, count: int, values: list[Array], wanted: bool, _: bool
        ) -> Array | None:
            return by_rank(storage.view("u4"), group(index, count), values, next_value)

        return modify

    return of


def incremented(old: Array, limit: Array) -> Array:
    return np.where(old >= limit, np.uint32(0), old + np.uint32(1))


def decremented(old: Array, limit: Array) -> Array:
    return np.where((old == 0) | (old > limit), limit, old - np.uint32(1))


BITS = {"b32": "u4", "b64": "u8"}
ORDERED = {"u32": "u4", "s32": "i4", "u64": "u8", "s64": "i8"}
OPERATIONS: dict[str, Callable[[str], Modify | None]] = {
    "add": add,
    "and": simple(np.bitwise_and, BITS),
    "or": simple(np.bitwise_or, BITS),
    "xor": simple(np.bitwise_xor, BITS),
    "min": simple(np.minimum, ORDERED),
    "max": simple(np.maximum, ORDERED),
    "inc": counter(incremented),
    "dec": counter(decremented),
    "exch": exchange_bits,
    "cas": compare_bits,
}
