"""Runs programs as compiled kernels, many to a PTX module, and lays what they give beside the reference's answer."""

from __future__ import annotations

import itertools
import math
import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import kdsl
from kdsl.backend import Backend, DeviceError, Launch
from kdsl.files import load_file

from . import ieee, reference, render, semantics, values
from . import program as p
from .reference_grid import grid_evaluator
from .semantics import Value
from .typing_rules import Scalar, Vector, named

LANES = 32
OPTIONS = "fmad=False"
"""Of the kernels: the reference rounds products and sums apart."""
OPEN = "open"
"""Stands for a result that depends on a NaN's payload, which is not compared."""

Expected = int | None | str
NUMBER = itertools.count()


@dataclass(frozen=True)
class Case:
    """A program and the inputs of each lane."""

    program: p.Program
    lanes: tuple[tuple[Value, ...], ...]
    uniforms: tuple[Value, ...] = ()
    contents: tuple[tuple[Value, ...], ...] = ()
    """Of the buffers, before the program."""

    @property
    def types(self) -> list[Scalar]:
        """Of each result: a lane's output, all its components if it is a vector, then the elements of the buffers."""
        outputs = scalars(named(self.program.output)) * len(self.lanes)
        return outputs + [named(b.type) for b in self.program.buffers for _ in range(b.size)]


def scalars(t: Scalar) -> list[Scalar]:
    return [t.element] * t.lanes if isinstance(t, Vector) else [t]


def parts(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


@dataclass(frozen=True)
class Mismatch:
    """Where a program and the reference part. ``expected`` is bits, None for "some NaN"; ``got`` bits or an error.

    ``lane`` counts the results: past the lanes come the buffers' elements.
    """

    case: Case
    lane: int
    expected: Expected
    got: int | str

    def __str__(self) -> str:
        program, t = self.case.program, self.case.types[self.lane]
        source = render.module([program])[len(render.HEADER) :]
        wrong = f"expected: {shown(self.expected, t)}\ngot: {shown(self.got, t)}\n"
        if program.grid is None:
            return f"{source}inputs: {named_values(program.inputs, self.case.lanes[self.lane // (len(self.case.types) // len(self.case.lanes))])}\n{wrong}"
        said = [f"{program.grid}", f"uniforms: {named_values(program.uniforms, self.case.uniforms)}"]
        said += [f"{b.name}: {values}" for b, values in zip(program.buffers, self.case.contents, strict=True)]
        columns = zip(*self.case.lanes, strict=True)
        said += [f"{n}: {list(column)}" for (n, _), column in zip(program.inputs, columns, strict=True)]
        return source + "\n".join([*said, f"result {self.lane} of {len(self.case.lanes)} threads", wrong])


def named_values(names: Sequence[tuple[str, str]], values: Sequence[Value]) -> str:
    return ", ".join(f"{n}={v!r}" for (n, _), v in zip(names, values, strict=True))


def shown(pattern: Expected, t: Scalar) -> str:
    if pattern is None:
        return "a NaN"
    if isinstance(pattern, str):
        return pattern
    return f"{semantics.from_bits(pattern, t)!r} (0x{pattern:0{t.bits // 4}x})"


def tame_case(program: p.Program, random: Random, lanes: int) -> Case:
    """A case of small numbers: few of them overflow."""
    kinds = [named(t) for _, t in program.inputs]
    return Case(program, tuple(tuple(values.counted(t, random) for t in kinds) for _ in range(lanes)))


def make_case(program: p.Program, random: Random, lanes: int = LANES) -> Case:
    types = [named(t) for _, t in program.inputs]
    if program.grid is not None:
        lanes = program.grid.blocks * program.grid.threads
    drawn = tuple(tuple(values.draw(t, random) for t in types) for _ in range(lanes))
    uniforms = tuple(values.draw(named(t), random) for _, t in program.uniforms)
    contents = tuple(tuple(values.counted(named(b.type), random) for _ in range(b.size)) for b in program.buffers)
    return Case(program, drawn, uniforms, contents)


def expected(case: Case) -> list[Expected]:
    """What the reference says each lane gives, and what is then in the buffers."""
    if case.program.grid is not None:
        return expected_of_grid(case)
    run = reference.evaluator(case.program)
    output = named(case.program.output)
    results: list[Expected] = []
    for lane in case.lanes:
        try:
            found = parts(run(lane))
            results += [semantics.bits(value, t) for value, t in zip(found, scalars(output), strict=True)]
        except semantics.OpenBits:
            results += [OPEN] * len(scalars(output))
    return results


def expected_of_grid(case: Case, backwards: bool = False) -> list[Expected]:
    run = grid_evaluator(case.program, backwards)
    try:
        outputs, buffers = run(case.lanes, case.uniforms, case.contents)
    except semantics.OpenBits:
        return [OPEN for _ in case.types]
    found = [
        *(part for value in outputs for part in parts(value)),
        *(value for contents in buffers for value in contents),
    ]
    return [semantics.bits(value, t) for value, t in zip(found, case.types, strict=True)]


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


def bits_of(column: Sequence[Value], t: Scalar) -> np.ndarray:
    element = scalars(t)[0]
    return np.array([input_bits(part, element) for value in column for part in parts(value)], numpy_type(element))


def parameters(case: Case, addresses: Sequence[int]) -> bytes:
    """The inputs and buffers, the uniforms, the output and the number of lanes, as the kernel takes them."""
    *inputs, output = addresses
    packed = struct.pack(f"<{len(inputs)}Q", *inputs)
    rest = [*(bits_of([v], named(t)) for v, (_, t) in zip(case.uniforms, case.program.uniforms, strict=True))]
    rest += [np.array([output], np.uint64), np.array([len(case.lanes)], np.int32)]
    for value in rest:
        packed += bytes(-len(packed) % value.itemsize) + value.tobytes()
    return packed


def run_kernel(backend: Backend, module: object, name: str, case: Case) -> list[int]:
    """Launch one program over its lanes; gives the bits of the output and of the buffers."""
    count, program = len(case.lanes), case.program
    inputs = [bits_of([lane[k] for lane in case.lanes], named(t)) for k, (_, t) in enumerate(program.inputs)]
    buffers = [bits_of(values, named(b.type)) for b, values in zip(program.buffers, case.contents, strict=True)]
    results = scalars(named(program.output))
    output = np.zeros(count * len(results), numpy_type(results[0]))
    arrays = [*inputs, *buffers, output]
    addresses = [backend.alloc(array.nbytes) for array in arrays]
    grid = program.grid or p.Grid(1, (count, 1))
    launch = Launch((grid.blocks, 1, 1), (*grid.block, 1))
    try:
        for address, array in zip(addresses, arrays, strict=True):
            backend.write(address, array.data.cast("B"))
        backend.launch(backend.function(module, name), launch, parameters(case, addresses))
        backend.synchronize()
        read = [output, *buffers]
        for address, array in zip((addresses[-1], *addresses[len(inputs) : -1]), read, strict=True):
            backend.read(address, array.data.cast("B"))
    finally:
        for address in addresses:
            backend.free(address)
    return [int(v) for array in read for v in array]


def compile_together(cases: Sequence[Case], target: str, directory: Path, options: str) -> str:
    """One PTX module with kernels p0, p1, ..."""
    group = load(render.module([case.program for case in cases], options), directory)
    return str(kdsl.compile(group.kernels, target=target).ptx)


def run_all(
    backend: Backend, cases: Sequence[Case], directory: Path, target: str | None = None, options: str = OPTIONS
) -> list[list[int] | str]:
    """Each case's output bits, or its error; one that does not compile does not keep the others from running."""
    try:
        ptx = compile_together(cases, target or backend.target, directory, options)
    except kdsl.CompileError as error:
        if len(cases) == 1:
            return [str(error)]
        half = len(cases) // 2
        parts = (cases[:half], cases[half:])
        return [result for part in parts for result in run_all(backend, part, directory, target, options)]
    module = backend.load(ptx.encode())
    results: list[list[int] | str] = []
    for k, case in enumerate(cases):
        try:
            results.append(run_kernel(backend, module, f"p{k}", case))
        except DeviceError as error:
            results.append(f"{type(error).__name__}: {error}")
    return results


def run_each_lane(
    backend: Backend, cases: Sequence[Case], directory: Path, options: str
) -> list[tuple[Case, list[int] | str]]:
    """A launch for each lane: a check that fires in one does not end the others."""
    module = backend.load(compile_together(cases, backend.target, directory, options).encode())
    results: list[tuple[Case, list[int] | str]] = []
    for k, case in enumerate(cases):
        for lane in case.lanes:
            one = Case(case.program, (lane,))
            try:
                results.append((one, run_kernel(backend, module, f"p{k}", one)))
            except DeviceError as error:
                results.append((one, type(error).__name__))
    return results


def agrees(want: Expected, got: int, t: Scalar) -> bool:
    """NaN payloads are open: any NaN will do where a NaN is wanted."""
    if want == OPEN:
        return True
    if want is None:
        return math.isnan(ieee.decode(got, t.format))
    return want == got


def without_payloads(case: Case, got: list[int] | str, want: list[Expected]) -> list[int | None] | str:
    """Outputs with every f64 NaN, and what a program made of the bits of a NaN, as None. Why? Where both operands are
    NaNs, f64 keeps the payload of one of them, and the PTX does not say which: ptxas 13.0 makes one DADD of a + b and
    b + a. The payloads of single instructions are compared to the bit in
    tests/emulator/test_instructions_on_devices.py.
    """
    if isinstance(got, str):
        return got
    return [
        None if expected == OPEN or (t.name == "f64" and math.isnan(ieee.decode(bits, t.format))) else bits
        for bits, t, expected in zip(got, case.types, want, strict=True)
    ]


def compare(case: Case, got: list[int] | str, want: list[Expected]) -> Mismatch | None:
    """The first lane that differs."""
    if isinstance(got, str):
        return Mismatch(case, 0, want[0], got)
    for lane, (a, b, t) in enumerate(zip(want, got, case.types, strict=True)):
        if not agrees(a, b, t):
            return Mismatch(case, lane, a, b)
    return None


def mismatches(
    backend: Backend, cases: Sequence[Case], directory: Path, target: str | None = None, options: str = OPTIONS
) -> list[Mismatch]:
    """Where the compiled programs differ from the reference; ``target`` is the backend's own if None."""
    results = run_all(backend, cases, directory, target, options)
    found = (compare(case, got, expected(case)) for case, got in zip(cases, results, strict=True))
    return [mismatch for mismatch in found if mismatch is not None]


def smaller_case(original: Mismatch, program: p.Program) -> Case:
    """The inputs of the lane that showed a mismatch, or of all threads of a block, for a part of its program."""
    case = original.case
    lanes = (
        case.lanes
        if program.grid is not None
        else (case.lanes[original.lane // len(scalars(named(case.program.output)))],)
    )
    names = [name for name, _ in case.program.inputs]
    kept = [names.index(name) for name, _ in program.inputs]
    uniforms = dict(zip(case.program.uniforms, case.uniforms, strict=True))
    contents = dict(zip(case.program.buffers, case.contents, strict=True))
    return Case(
        program,
        tuple(tuple(lane[k] for k in kept) for lane in lanes),
        tuple(uniforms[uniform] for uniform in program.uniforms),
        tuple(contents[buffer] for buffer in program.buffers),
    )


def kind_of(got: object) -> str:
    """What an error says, without the names and numbers in it; nothing for results."""
    if not isinstance(got, str):
        return ""
    first = got.partition("\n")[0].partition("error: ")[2] or got
    return re.sub(r"`[^`]*`|\d+", "", first.partition("programs_")[0])


def still_wrong(backend: Backend, directory: Path, original: Mismatch) -> Callable[[p.Program], Mismatch | None]:
    """For shrinking: whether a smaller program is wrong in the same way on the lane that showed it."""

    def check(program: p.Program) -> Mismatch | None:
        case = smaller_case(original, program)
        (got,) = run_all(backend, [case], directory)
        if kind_of(got) != kind_of(original.got):
            return None
        return compare(case, got, expected(case))

    return check
