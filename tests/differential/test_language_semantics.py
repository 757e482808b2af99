"""Every row of the language's table of scalar semantics, by hand-computed results, on the emulator and on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import kdsl
from kdsl import Array, f32, i32, kernel
from kdsl.backend import Backend

from . import harness, ieee, semantics
from . import program as p
from .render import HEADER, INDENT
from .semantics_rows import ROWS, Row
from .typing_rules import Scalar, named

IDS = [f"{row.name} ({row.types})" for row in ROWS]


def inputs(row: Row) -> list[tuple[str, str]]:
    return list(zip("abc", row.types.split()[:-1], strict=False))


def source(row: Row, name: str) -> list[str]:
    """The row as a kernel of one lane a case."""
    pointers = "".join(f"in_{n}: Ptr[{t}], " for n, t in inputs(row))
    statements = row.code.split("\n") if "\n" in row.code else [f"r = {row.code}"]
    lines = [f"    @kernel(fmad=False)\n    def {name}({pointers}out: Ptr[{row.types.split()[-1]}], n: i32):"]
    lines += [f"{INDENT * 2}lane = grid(1)", f"{INDENT * 2}if lane < n:"]
    lines += [f"{INDENT * 3}{n} = in_{n}[lane]" for n, _ in inputs(row)]
    return lines + [INDENT * 3 + statement for statement in statements] + [f"{INDENT * 3}out[lane] = r", ""]


def value_of(number: float, t: Scalar) -> semantics.Value:
    """A number of the table as a value of type ``t``: the nearest one, for floats."""
    return ieee.convert(float(number), t.format) if t.is_float else int(number)


def run_rows(backend: Backend, directory: Path) -> dict[str, list[int]]:
    """All rows in one module."""
    lines = [line for k, row in enumerate(ROWS) for line in source(row, f"row{k}")]
    group = harness.load(HEADER + "@cuda_module\nclass programs:\n" + "\n".join(lines), directory)
    module = backend.load(kdsl.compile(group.kernels, target=backend.target).ptx.encode())
    results = {}
    for k, row in enumerate(ROWS):
        types = [named(t) for _, t in inputs(row)]
        lanes = tuple(tuple(value_of(v, t) for v, t in zip(case, types, strict=False)) for case in row.cases)
        program = p.Program(tuple(inputs(row)), (), p.Literal(0), row.types.split()[-1])
        results[IDS[k]] = harness.run_kernel(backend, module, f"row{k}", harness.Case(program, lanes))
    return results


@pytest.fixture(scope="module")
def on_emulator(emulator: Backend, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[int]]:
    return run_rows(emulator, tmp_path_factory.mktemp("rows"))


@pytest.fixture(scope="module")
def on_gpu(gpu: Backend, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[int]]:
    return run_rows(gpu, tmp_path_factory.mktemp("rows"))


def check(row: Row, got: list[int]) -> None:
    t = named(row.types.split()[-1])
    for case, bits in zip(row.cases, got, strict=True):
        want = semantics.bits(value_of(case[-1], t), t)
        assert harness.agrees(want, bits, t), (
            f"{row.code} of {case[:-1]}: {harness.shown(bits, t)}, not {harness.shown(want, t)}"
        )


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_on_the_emulator(row: Row, on_emulator: dict[str, list[int]]) -> None:
    check(row, on_emulator[IDS[ROWS.index(row)]])


@pytest.mark.gpu
@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_on_a_gpu(row: Row, on_gpu: dict[str, list[int]]) -> None:
    check(row, on_gpu[IDS[ROWS.index(row)]])


@pytest.mark.gpu
def test_a_gpu_gives_the_emulators_bits(on_gpu: dict[str, list[int]], on_emulator: dict[str, list[int]]) -> None:
    assert on_gpu == on_emulator


@kernel
def negative_exponent(x: Array[i32, 1]) -> None:
    x[0] = x[0] ** -1


@kernel
def negative_index(x: Array[f32, 1]) -> None:
    x[0] = x[-1]


@kernel
def mixed_signs(x: Array[i32, 1], y: "kdsl.Ptr[kdsl.u32]") -> None:
    x[0] = x[0] + y[0]


@kernel
def zero_step(x: Array[i32, 1]) -> None:
    for k in range(0, 9, 0):
        x[0] = k


@kernel
def literal_too_large(x: Array[kdsl.u8, 1]) -> None:
    x[0] = 256


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (negative_exponent, "negative"),
        (negative_index, r"x\[x\.shape\[0\] - 1\]"),
        (mixed_signs, "u32"),
        (zero_step, "step"),
        (literal_too_large, "256"),
    ],
    ids=lambda value: value.name if isinstance(value, kdsl.Kernel) else "",
)
def test_what_the_table_calls_an_error_is_one(wrong: Callable[..., None], says: str) -> None:
    with pytest.raises(kdsl.CompileError, match=says):
        kdsl.compile(wrong, target="sm_90")
