"""Every row of the language's table of scalar semantics, by hand-computed results, on the emulator and on a GPU."""

from __future__ import annotations

from typing import Any

import pytest

import kdsl
from kdsl import Array, Ptr, f32, i32, kernel, u8, u32
from kdsl.backend import Backend
from kdsl.compiler import Kernel

from . import rows
from .regressions.found import FOUND
from .semantics_rows import ROWS

TABLE = (*ROWS, *FOUND)


@pytest.fixture(scope="module")
def on_emulator(emulator: Backend, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[int]]:
    return rows.run(emulator, TABLE, tmp_path_factory.mktemp("rows"))


@pytest.fixture(scope="module")
def on_gpu(gpu: Backend, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[int]]:
    return rows.run(gpu, TABLE, tmp_path_factory.mktemp("rows"))


def test_rows_have_names_of_their_own() -> None:
    assert len({str(row) for row in TABLE}) == len(TABLE)


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_on_the_emulator(row: rows.Row, on_emulator: dict[str, list[int]]) -> None:
    rows.check(row, on_emulator[str(row)])


@pytest.mark.gpu
@pytest.mark.parametrize("row", TABLE, ids=str)
def test_on_a_gpu(row: rows.Row, on_gpu: dict[str, list[int]]) -> None:
    rows.check(row, on_gpu[str(row)])


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
def mixed_signs(x: Array[i32, 1], y: Ptr[u32]) -> None:
    x[0] = x[0] + y[0]


@kernel
def zero_step(x: Array[i32, 1]) -> None:
    for k in range(0, 9, 0):
        x[0] = k


@kernel
def literal_too_large(x: Array[u8, 1]) -> None:
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
    ids=["negative exponent", "negative index", "mixed signs", "step 0", "literal that does not fit"],
)
def test_what_the_table_calls_an_error_is_one(wrong: Kernel[Any], says: str) -> None:
    with pytest.raises(kdsl.CompileError, match=says):
        kdsl.compile(wrong, target="sm_90")
