"""The source text of a launcher's argument packer: generated once per signature, the counterpart of nvcc's host stub.

It takes the fast way for arrays of this device and scalars of plain classes, and leaves every other argument, every
error included, to ``checked``. On the fast way it makes no object but the numbers that it packs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from kdsl.lang.layout import buffer_size, parameter_layout
from kdsl.lang.types import I32, U64, ArrayType, Kind, PointerType, ScalarType, Type
from kdsl.runtime.formats import struct_format


@dataclass(slots=True)
class _Parts:
    """What one signature needs on the fast way: statements, tests and packed expressions, in order."""

    setup: list[str] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)
    packed: list[str] = field(default_factory=list)


def layout_name(element: ScalarType, wide: bool = False) -> str:
    """The packer's name for the layout of this device's arrays of ``element``."""
    return f"{element.name.upper()}_LAYOUT{'_WIDE' if wide else ''}"


def packer_source(kernel: str, parameters: Sequence[tuple[str, Type]]) -> str:
    """A function ``make(enqueue, checked, acquire, release, pack)`` that gives the packer of one launch configuration.

    Its globals must hold the layouts it names, REAL_CLASSES and bf16_bits.
    """
    parts = _Parts()
    names = _argument_names([name for name, _ in parameters])
    for name, (_, type_) in zip(names, parameters, strict=True):
        _parameter(parts, name, type_)
    layout = parameter_layout(parameters)
    unpack = f"{', '.join(names)}, = args" if names else "() = args"
    tests = " and ".join([*parts.tests, "not kwargs"])
    packed = "".join(f", {expression}" for expression in parts.packed)
    lines = [
        f"# {kernel}({', '.join(f'{name}: {type_}' for name, type_ in parameters)})",
        f"# buffer: {buffer_size(layout)} bytes, struct {struct_format(layout)!r}",
        "def make(enqueue, checked, acquire, release, pack):",
        "    def launch(*args, **kwargs):",
        "        try:",
        f"            {unpack}",
        *(f"            {statement}" for statement in parts.setup),
        f"            if {tests}:",
        "                buffer = acquire()",
        f"                pack(buffer, 0{packed})",
        "            else:",
        "                buffer = None",
        "        except FAILURES:",
        "            buffer = None",
        "        if buffer is None:",
        "            return checked(args, kwargs)",
        "        enqueue(buffer)",
        "        release(buffer)",
        "    return launch",
    ]
    return "\n".join(lines) + "\n"


def _argument_names(names: Sequence[str]) -> list[str]:
    """The kernel's own names, so that the text reads well; a number is appended where one would hide a name of the
    packer's.
    """
    taken = {
        "args",
        "kwargs",
        "enqueue",
        "checked",
        "acquire",
        "release",
        "pack",
        "buffer",
        "make",
        "launch",
        "bf16_bits",
    }
    # Capitals are the packer's globals, two underscores its extents.
    return [
        f"arg_{index}_" if name in taken or re.search(r"[A-Z]|__|^arg_", name) else name
        for index, name in enumerate(names)
    ]


def _parameter(parts: _Parts, name: str, type_: Type) -> None:
    match type_:
        case PointerType():
            element = type_.element if isinstance(type_.element, ScalarType) else U64
            parts.tests.append(_either_layout(name, element))
            parts.packed.append(f"{name}.address")
        case ArrayType():
            _array(parts, name, type_)
        case ScalarType(kind=Kind.BOOL):
            parts.tests.append(f"({name} is True or {name} is False)")
            parts.packed.append(name)
        case ScalarType(kind=Kind.FLOAT):
            parts.tests.append(f"{name}.__class__ in REAL_CLASSES")
            parts.packed.append(f"bf16_bits({name})" if type_.name == "bf16" else name)
        case ScalarType():
            # struct itself refuses what has no __index__ and what does not fit.
            parts.packed.append(name)


def _either_layout(name: str, element: ScalarType) -> str:
    return f"({name}.layout is {layout_name(element)} or {name}.layout is {layout_name(element, wide=True)})"


def _array(parts: _Parts, name: str, type_: ArrayType) -> None:
    narrow = (type_.index or I32).bits == 32
    extents = [f"{name}__{axis}" for axis in range(type_.ndim)]
    # Fails, and so takes the checked way, for another rank.
    parts.setup.append(f"{', '.join(extents)}, = {name}.shape")
    parts.tests.append(
        f"{name}.layout is {layout_name(type_.element)}" if narrow else _either_layout(name, type_.element)
    )
    parts.packed.append(f"{name}.address")
    parts.packed += extents
    if type_.strided:
        parts.packed += [" * ".join(extents[axis + 1 :]) or "1" for axis in range(type_.ndim)]
