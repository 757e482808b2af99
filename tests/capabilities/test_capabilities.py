"""Every row of the capability table: its PTX, ptxas at its first architecture, the one before, and what it computes."""

from __future__ import annotations

import re
import runpy
from typing import Any

import pytest

import kdsl
import kdsl.errors
from kdsl import CompileError
from kdsl.target import Target

from .capability import Capability, rows
from .record import RECORD, described, merged, read
from .run import difference, failure_of, failure_on_a_gpu, launch

ROWS = rows()
DOCS = RECORD.parent


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r.id)
def test_capability(row: Capability, device: str, recorded: Any, request: pytest.FixtureRequest) -> None:
    recorded(row)
    if device == "emulator":
        holds_its_instructions(row)
        is_refused_below(row)
    gives_what_it_should(row, device, request)


def holds_its_instructions(row: Capability) -> None:
    """ptxas takes the PTX at the first architecture, and each instruction is there."""
    oldest = kdsl.compile(row.kernel, target=row.minimum, signature=row.signature)
    assert oldest.cubin
    shown = oldest
    if row.shown_on != row.minimum:
        shown = kdsl.compile(row.kernel, target=row.shown_on, signature=row.signature)
        assert shown.cubin
    found = words_of(shown.ptx)
    assert {i for i in row.instructions if i not in found} == set(), shown.ptx
    assert [w for w in row.without if re.search(w, shown.ptx)] == [], shown.ptx


def words_of(ptx: str) -> set[str]:
    """The whole mnemonics, special registers and directives of PTX text."""
    text = re.sub(r"//.*", "", ptx)
    mnemonics = re.findall(r"(?:^|[;{}\t ])(?:@!?%?\w+\s+)?([a-z][a-z0-9_]*(?:[.:]+[A-Za-z0-9_]+)*)(?=[\s;])", text)
    return {*mnemonics, *re.findall(r"%[a-z_]+[a-z0-9_]*(?:\.[xyz])?", text), *re.findall(r"(?<=\s)\.[a-z]+", text)}


def is_refused_below(row: Capability) -> None:
    """One architecture earlier is a CompileError that names the one it takes."""
    if row.below is not None:
        with pytest.raises(CompileError, match=rf"\b{row.minimum}\b"):
            kdsl.compile(row.kernel, target=row.below, signature=row.signature)


def gives_what_it_should(row: Capability, device: str, request: pytest.FixtureRequest) -> None:
    backend = kdsl.current_device().backend
    if device == "cuda" and Target.parse(backend.target).sm < Target.parse(row.minimum).sm:
        pytest.skip(f"needs {row.minimum}; this is {backend.target}")
    if row.raises:
        kind, text = row.raises
        failure = failure_on_a_gpu(row) if device == "cuda" else failure_of(row)
        raised, separator, _ = failure.partition(": ")
        assert separator and issubclass(getattr(kdsl.errors, raised), kind)
        assert text in failure
        return
    capture = request.getfixturevalue("capfd") if row.prints is not None else None
    got = run_for(row, device)
    if capture is not None:
        assert capture.readouterr().out == row.prints
    if got is not None:
        assert difference(row, got) is None


def run_for(row: Capability, device: str) -> Any:
    """The result; the emulator runs the PTX of the first architecture where that is a newer one than its own."""
    backend: Any = kdsl.current_device().backend
    own = backend.target
    if device == "cuda" or Target.parse(own).sm >= Target.parse(row.minimum).sm:
        return launch(row)
    backend.target = row.minimum
    try:
        return launch(row)
    finally:
        backend.target = own


@pytest.fixture
def committed(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The record as it was committed."""
    if request.config.getoption("--record-capabilities", default=None):
        pytest.skip("the record is being written")
    return read()


def test_each_row_has_a_recorded_pass(committed: dict[str, Any]) -> None:
    """docs/capabilities.json is of the rows that there are, and each passed on the emulator as it is now."""
    recorded = committed["rows"]
    assert [{k: v for k, v in r.items() if k != "passed"} for r in recorded] == [described(r) for r in ROWS]
    assert [f"{r['area']}: {r['name']}" for r in recorded if "emulator" not in r["passed"]] == []


def test_the_table_in_the_documentation_is_of_the_record(committed: dict[str, Any]) -> None:
    generator = runpy.run_path(str(DOCS / "generate_capabilities.py"))
    page = (DOCS / "language.md").read_text(encoding="utf-8")
    assert generator["with_table"](page, committed) == page, "run python docs/generate_capabilities.py"


def test_a_changed_row_has_passed_nowhere_else() -> None:
    first, second = ROWS[:2]
    old = {
        "devices": {"GPU": {}},
        "rows": [{**described(first), "passed": ["GPU"]}, {**described(second), "digest": "old", "passed": ["GPU"]}],
    }
    ran = {"emulator": {first.id: True, second.id: False}}
    assert [r["passed"] for r in merged(old, [first, second], ran, {"emulator": {}})["rows"]] == [
        ["GPU", "emulator"],
        [],
    ]


def test_a_wrong_result_is_seen() -> None:
    (row,) = [r for r in ROWS if r.id == "Types: f32"]
    got = row.out.copy()
    assert difference(row, got) is None
    got[3] += 1
    assert "first at (3,)" in difference(row, got)
