"""Rows of a table of small pieces of code with their results, run as the kernels of one module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import kdsl
from kdsl.backend import Backend

from . import harness, ieee, semantics
from . import program as p
from .render import HEADER, INDENT
from .typing_rules import Scalar, named


@dataclass(frozen=True)
class Row:
    """``types`` are those of ``a``, ``b``, ``c`` and then of the result.

    ``code`` is an expression, or statements that set ``r``; each of ``cases`` is the inputs, then the result. A NaN in
    the result stands for any NaN; floats are otherwise exact, signs of zeros included.
    """

    name: str
    code: str
    types: str
    cases: tuple[tuple[float, ...], ...]

    def __str__(self) -> str:
        return f"{self.name} ({self.types})"

    @property
    def inputs(self) -> tuple[tuple[str, str], ...]:
        return tuple(zip("abc", self.types.split()[:-1], strict=False))

    @property
    def output(self) -> str:
        return self.types.split()[-1]

    @property
    def statements(self) -> list[str]:
        is_block = "\n" in self.code or " = " in self.code
        return self.code.split("\n") if is_block else [f"r = {self.code}"]

    def lanes(self) -> tuple[tuple[semantics.Value, ...], ...]:
        types = [named(t) for _, t in self.inputs]
        return tuple(tuple(value_of(v, t) for v, t in zip(case, types, strict=False)) for case in self.cases)

    def results(self) -> list[int | None]:
        """The bits that each case must give."""
        t = named(self.output)
        return [semantics.bits(value_of(case[-1], t), t) for case in self.cases]


def value_of(number: float, t: Scalar) -> semantics.Value:
    """A number of the table as a value of type ``t``: the nearest one, for floats."""
    return ieee.convert(float(number), t.format) if t.is_float else int(number)


def kernel(row: Row, name: str) -> list[str]:
    """The row as a kernel of one lane a case."""
    pointers = "".join(f"in_{n}: Ptr[{t}], " for n, t in row.inputs)
    lines = [f"    @kernel(fmad=False)\n    def {name}({pointers}out: Ptr[{row.output}], n: i32):"]
    lines += [f"{INDENT * 2}lane = grid(1)", f"{INDENT * 2}if lane < n:"]
    lines += [f"{INDENT * 3}{n} = in_{n}[lane]" for n, _ in row.inputs]
    return lines + [INDENT * 3 + line for line in row.statements] + [f"{INDENT * 3}out[lane] = r", ""]


def run(backend: Backend, rows: Sequence[Row], directory: Path) -> dict[str, list[int]]:
    """The bits that each row's cases give, all rows in one module."""
    lines = [line for k, row in enumerate(rows) for line in kernel(row, f"row{k}")]
    group = harness.load(HEADER + "@cuda_module\nclass programs:\n" + "\n".join(lines), directory)
    module = backend.load(kdsl.compile(group.kernels, target=backend.target).ptx.encode())
    results = {}
    for k, row in enumerate(rows):
        case = harness.Case(p.Program(row.inputs, (), p.Literal(0), row.output), row.lanes())
        results[str(row)] = harness.run_kernel(backend, module, f"row{k}", case)
    return results


def check(row: Row, got: list[int]) -> None:
    t = named(row.output)
    for case, want, bits in zip(row.cases, row.results(), got, strict=True):
        said = f"{row.code} of {case[:-1]}: {harness.shown(bits, t)}, not {harness.shown(want, t)}"
        assert harness.agrees(want, bits, t), said
