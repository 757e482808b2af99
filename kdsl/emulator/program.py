"""A loaded module: its variables in memory, its shared layout, and every function decoded to blocks."""

from __future__ import annotations

import numpy as np

from kdsl.backend import DeviceError
from kdsl.emulator.blocks import FunctionDecoder
from kdsl.emulator.checks import ModuleChecks
from kdsl.emulator.code import Code
from kdsl.emulator.decode import Names, Scope
from kdsl.emulator.instructions import address_spaces, atomics, control, data_movement, synchronization, warp_ops
from kdsl.emulator.instructions.calls import Calls
from kdsl.emulator.memory import FUNCTION_WINDOW, REGION_BITS, WINDOW_BITS, Allocation, GlobalMemory
from kdsl.emulator.parse import parse
from kdsl.emulator.pure import decode_pure
from kdsl.emulator.spaces import Region
from kdsl.emulator.syntax import BYTES, Instruction, Module, Symbol, Variable
from kdsl.records import dataclass


@dataclass(frozen=True, slots=True)
class Program:
    """A module ready to launch. ``dynamic`` names the dynamic shared array; ``allocations`` are the module's own."""

    codes: dict[str, Code]
    shared: tuple[Region, ...]
    dynamic: str | None
    mentioned: dict[str, frozenset[str]]
    allocations: tuple[Allocation, ...]
    checks: ModuleChecks | None = None
    """What a debug build tells of a check that fails."""


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
        warp_ops.decode, address_spaces.decode,
    )  # fmt: skip
    codes: dict[str, Code] = {}
    for name, function in module.functions.items():
        if function.defined:
            codes[name] = FunctionDecoder(Scope(function, names.functions[name], names, decoders)).code()
    calls.link(codes)
    checks = ModuleChecks.of(names.addresses, memory)
    return Program(codes, shared, dynamic, mentioned_names(module), tuple(allocations), checks)


def allocate(variable: Variable, memory: GlobalMemory) -> Allocation:
    if variable.external:
        raise DeviceError(f"the module's {variable.name} is external and nothing defines it")
    if variable.space == "const":
        return memory.allocate_constant(variable.size, variable.name)
    return memory.allocate(variable.size, variable.name)


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
    declared = [(names.addresses, v) for v in module.variables.values()]
    for function in module.functions.values():
        own = names.of_function[function.name] = {}
        declared += [(own, v) for v in function.variables.values()]
    declared = [(to, v) for to, v in declared if v.space == "shared"]
    dynamic = [(to, v) for to, v in declared if v.size == 0]
    regions: list[Region] = []
    place = 0
    for addresses, variable in declared:
        if variable.size:
            place = -(-place // max(variable.align, 16)) * max(variable.align, 16)
            regions.append(Region(variable.name, (len(regions) + 1) << REGION_BITS, variable.size, place))
            addresses[variable.name] = regions[-1].address
            place += variable.size
    if not dynamic:
        return tuple(regions), None
    place = -(-place // 1024) * 1024
    name = dynamic[0][1].name
    regions.append(Region(name, (len(regions) + 1) << REGION_BITS, 0, place))
    for addresses, variable in dynamic:
        addresses[variable.name] = regions[-1].address
    return tuple(regions), name


def mentioned_names(module: Module) -> dict[str, frozenset[str]]:
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
