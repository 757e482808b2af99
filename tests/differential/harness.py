"""Runs programs as compiled kernels, many to a PTX module, and lays what they give beside the reference's answer."""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np

import kdsl
from kdsl.backend import Backend, DeviceError, Launch
from kdsl.files import load_file

from . import ieee, reference, render, semantics, values
from . import program as p
from .semantics import Value
from .typing_rules import Scalar, named

LANES = 32
OPEN = "open"
"""Stands for a result that depends on a NaN's payload, which is not compared."""

Expected = int | None | str
NUMBER = itertools.count()


@dataclass(frozen=True)
class Case:
    """A program and the inputs of each lane."""

    program: p.Program
    lanes: tuple[tuple[Value, ...], ...]


@dataclass(frozen=True)
class Mismatch:
    """Where a program and the reference part. ``expected`` is bits, None for "some NaN"; ``got`` bits or an error."""

    case: Case
    lane: int
    expected: Expected
    got: int | str

    def __str__(self) -> str:
        t = named(self.case.program.output)
        inputs = ", ".join(
            f"{n}={v!r}" for (n, _), v in zip(self.case.program.inputs, self.case.lanes[self.lane], strict=True)
        )
        source = render.module([self.case.program]).partition("u64\n\n")[2]
        return f"{source}inputs: {inputs}\nexpected: {shown(self.expected, t)}\ngot: {shown(self.got, t)}\n"


def shown(pattern: Expected, t: Scalar) -> str:
    if pattern is None:
        return "a NaN"
    if isinstance(pattern, str):
        return pattern
    return f"{semantics.from_bits(pattern, t)!r} (0x{pattern:0{t.bits // 4}x})"


def make_case(program: p.Program, random: Random, lanes: int = LANES) -> Case:
    types = [named(t) for _, t in program.inputs]
    return Case(program, tuple(tuple(values.draw(t, random) for t in types) for _ in range(lanes)))


def expected(case: Case) -> list[Expected]:
    """What the reference says each lane gives."""
    run = reference.evaluator(case.program)
    output = named(case.program.output)
    results: list[Expected] = []
    for lane in case.lanes:
        try:
            results.append(semantics.bits(run(lane), output))
        except semantics.OpenBits:
            results.append(OPEN)
    return results


def load(source: str, directory: Path) -> kdsl.KernelModule:
    """The class ``programs`` of a rendered file, imported from a file of its own."""
    path = directory / f"programs_{next(NUMBER)}.py"
    path.write_text(source)
    programs: kdsl.KernelModule = load_file(path).programs
    return programs


def numpy_type(t: Scalar) -> np.dtype[np.unsignedinteger]:
    """Unsigned ints of the type's size: everything goes to and from the device as bits."""
    return np.dtype(f"u{max(t.bits // 8, 1)}")


def input_bits(value: Value, t: Scalar) -> int:
    pattern = semantics.bits(value, t)
    # A NaN input is the one that every device makes itself, so that payloads play no part.
    return (1 << (t.bits - 1)) - 1 if pattern is None else pattern


def run_kernel(backend: Backend, module: object, name: str, case: Case) -> list[int]:
    """Launch one program over its lanes; gives the output's bits."""
    count = len(case.lanes)
    addresses = []
    for k, (_, kind) in enumerate(case.program.inputs):
        t = named(kind)
        column = np.array([input_bits(lane[k], t) for lane in case.lanes], numpy_type(t))
        addresses.append(backend.alloc(column.nbytes))
        backend.write(addresses[-1], column.data.cast("B"))
    output = np.zeros(count, numpy_type(named(case.program.output)))
    addresses.append(backend.alloc(output.nbytes))
    parameters = struct.pack(f"<{len(addresses)}Qi", *addresses, count)
    try:
        backend.launch(backend.function(module, name), Launch((1, 1, 1), (count, 1, 1)), parameters)
        backend.synchronize()
        backend.read(addresses[-1], output.data.cast("B"))
    finally:
        for address in addresses:
            backend.free(address)
    return [int(v) for v in output]


def compile_together(cases: Sequence[Case], target: str, directory: Path) -> str:
    """One PTX module with kernels p0, p1, ..."""
    group = load(render.module([case.program for case in cases]), directory)
    return str(kdsl.compile(group.kernels, target=target).ptx)


def run_all(
    backend: Backend, cases: Sequence[Case], directory: Path, target: str | None = None
) -> list[list[int] | str]:
    """Each case's output bits, or its error; one that does not compile does not keep the others from running."""
    try:
        ptx = compile_together(cases, target or backend.target, directory)
    except kdsl.CompileError as error:
        if len(cases) == 1:
            return [str(error)]
        half = len(cases) // 2
        parts = (cases[:half], cases[half:])
        return [result for part in parts for result in run_all(backend, part, directory, target)]
    module = backend.load(ptx.encode())
    results: list[list[int] | str] = []
    for k, case in enumerate(cases):
        try:
            results.append(run_kernel(backend, module, f"p{k}", case))
        except DeviceError as error:
            results.append(f"{type(error).__name__}: {error}")
    return results


def agrees(want: Expected, got: int, t: Scalar) -> bool:
    """NaN payloads are open: any NaN will do where a NaN is wanted."""
    if want == OPEN:
        return True
    if want is None:
        return math.isnan(ieee.decode(got, t.format))
    return want == got


def without_payloads(case: Case, got: list[int] | str) -> list[int | None] | str:
    """Outputs with every f64 NaN as None. Why? Where both operands are NaNs, f64 keeps the payload of one of them, and
    the PTX does not say which: ptxas 13.0 makes one DADD of a + b and b + a. The payloads of single instructions are
    compared to the bit in tests/emulator/test_instructions_on_devices.py.
    """
    t = named(case.program.output)
    if isinstance(got, str) or t.name != "f64":
        return got if isinstance(got, str) else list(got)
    return [None if math.isnan(ieee.decode(bits, t.format)) else bits for bits in got]


def compare(case: Case, got: list[int] | str, want: list[Expected]) -> Mismatch | None:
    """The first lane that differs."""
    if isinstance(got, str):
        return Mismatch(case, 0, want[0], got)
    t = named(case.program.output)
    for lane, (a, b) in enumerate(zip(want, got, strict=True)):
        if not agrees(a, b, t):
            return Mismatch(case, lane, a, b)
    return None


def mismatches(backend: Backend, cases: Sequence[Case], directory: Path, target: str | None = None) -> list[Mismatch]:
    """Where the compiled programs differ from the reference; ``target`` is the backend's own if None."""
    results = run_all(backend, cases, directory, target)
    found = (compare(case, got, expected(case)) for case, got in zip(cases, results, strict=True))
    return [mismatch for mismatch in found if mismatch is not None]


def still_wrong(backend: Backend, directory: Path, original: Mismatch) -> Callable[[p.Program], Mismatch | None]:
    """For shrinking: whether a smaller program is wrong in the same way on the lane that showed it."""
    lane = dict(zip((n for n, _ in original.case.program.inputs), original.case.lanes[original.lane], strict=True))

    def check(program: p.Program) -> Mismatch | None:
        case = Case(program, (tuple(lane[name] for name, _ in program.inputs),))
        (got,) = run_all(backend, [case], directory)
        if isinstance(got, str) != isinstance(original.got, str):
            return None
        return compare(case, got, expected(case))

    return check
