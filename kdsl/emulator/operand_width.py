"""Closures around an instruction: operands cut to its width, results widened to their registers, steps joined to
one."""

from __future__ import annotations

from typing import Any

import numpy as np

from kdsl.emulator.code import Op, Step
from kdsl.emulator.fragment import Fragment
from kdsl.emulator.memory import Array
from kdsl.emulator.syntax import BYTES


def register_width(kind: str) -> int:
    """Bytes of a register's array elements; 0 for a predicate."""
    return 0 if kind in {"pred", "cc"} else max(BYTES[kind], 2)


DTYPES: dict[int, Any] = {0: np.bool_, 1: np.uint16, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def invert(target: int, source: int) -> Op:
    def run(f: Fragment) -> None:
        f.registers[target] = ~f.registers[source]

    return run


def narrow(target: int, source: int, width: int) -> Op:
    dtype = DTYPES[width]
    if width == 1:

        def run_byte(f: Fragment) -> None:
            f.registers[target] = (f.registers[source] & 0xFF).astype(dtype, copy=False)

        return run_byte

    def run(f: Fragment) -> None:
        f.registers[target] = f.registers[source].astype(dtype)

    return run


def extend(target: int, source: int, width: int, kind: str) -> Op:
    dtype = DTYPES[width]
    if kind == "s8":

        def run_byte(f: Fragment) -> None:
            value: Array = f.registers[source]
            f.registers[target] = value.astype(np.uint8).view(np.int8).astype(f"i{width}").view(dtype)

        return run_byte
    if not kind.startswith("s"):
        return narrow(target, source, width)

    def run(f: Fragment) -> None:
        value: Array = f.registers[source]
        f.registers[target] = value.view(f"i{value.itemsize}").astype(f"i{width}").view(dtype)

    return run


def local_address(target: int, offset: int) -> Op:
    def run(f: Fragment) -> None:
        f.registers[target] = np.array([f.local_base + offset], np.uint64)

    return run


def add_constant(target: int, source: int, offset: Array) -> Op:
    def run(f: Fragment) -> None:
        f.registers[target] = f.registers[source] + offset

    return run


def sequence(steps: list[Step]) -> Step:
    """Several steps as one. A gate stands before all of them: its member mask is a register or a constant, which is
    never converted."""
    uses: list[int] = []
    defined: set[int] = set()
    for step in steps:
        uses += [u for u in step.uses if u not in defined]
        defined.update(step.defines)
    runs = tuple(s.run for s in steps if s.run is not None)
    last = steps[-1]
    main = next((s for s in steps if s.gate or s.end), last)
    return Step(
        run=chain(runs) if runs else None,
        end=main.end,
        gate=main.gate,
        uses=tuple(dict.fromkeys(uses)),
        defines=tuple(defined),
        successors=main.successors,
        spins=any(s.spins for s in steps),
        uncheck=next((s.uncheck for s in steps if s.uncheck), ()),
    )


def chain(runs: tuple[Op, ...]) -> Op:
    if len(runs) == 1:
        return runs[0]

    def run(f: Fragment) -> None:
        for one in runs:
            one(f)

    return run
