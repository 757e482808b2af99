"""Random programs: emulator and GPU against the reference evaluator, GPU against emulator to the bit.

``KDSL_DIFFERENTIAL_SEED`` moves all seeds (the default is 0) and ``KDSL_DIFFERENTIAL_CHUNKS`` says how many modules of
programs of each kind to run, 50 for ten thousand programs.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from kdsl.backend import Backend
from kdsl.emulator.batch import Batch

from . import generate, generate_blocks, generate_forms, generate_statements, harness, shrink
from . import program as p
from .schedules import warps_apart

SEED = int(os.environ.get("KDSL_DIFFERENTIAL_SEED", "0"))
CHUNKS = os.environ.get("KDSL_DIFFERENTIAL_CHUNKS")
PROGRAMS, FEW = 50, 20
"""In one module; where a module of each kind is run in many ways."""

Make = Callable[[Random], p.Program]
MAKERS: dict[str, tuple[Make, int]] = {
    "expressions": (generate.expression_program, 6),
    "statements": (generate_statements.statement_program, 9),
    "forms": (generate_forms.form_program, 6),
    "blocks": (generate_blocks.block_program, 6),
}
"""With how many modules a test run has where nothing else is said: what takes a minute on two cores."""
MODULES = [(kind, chunk) for kind, (_, usual) in MAKERS.items() for chunk in range(int(CHUNKS or usual))]
APART = 1_000_000
"""The number of a module that no run of all of them comes to."""


def cases(kind: str, chunk: int, count: int = PROGRAMS) -> list[harness.Case]:
    random = [Random(f"{kind} {SEED} {chunk} {k}") for k in range(count)]
    return [harness.make_case(MAKERS[kind][0](r), r) for r in random]


def report(backend: Backend, found: list[harness.Mismatch], directory: Path) -> str:
    """The first disagreements, made small."""
    smallest = [shrink.shrink(m, harness.still_wrong(backend, directory, m)) for m in found[:3]]
    return f"{len(found)} of {PROGRAMS} programs disagree\n\n" + "\n".join(map(str, smallest))


@pytest.mark.parametrize(("kind", "chunk"), MODULES)
def test_the_emulator_agrees_with_the_reference(kind: str, chunk: int, emulator: Backend, tmp_path: Path) -> None:
    found = harness.mismatches(emulator, cases(kind, chunk), tmp_path)
    assert not found, report(emulator, found, tmp_path)


@pytest.mark.parametrize("backwards", [False, True])
def test_warps_may_run_one_after_another(
    backwards: bool, emulator: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Batch, "start", warps_apart(backwards))
    assert not harness.mismatches(emulator, cases("blocks", APART + 1 + backwards, FEW), tmp_path)


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_120"])
@pytest.mark.parametrize("kind", MAKERS)
def test_other_architectures_agree_too(kind: str, target: str, emulator: Backend, tmp_path: Path) -> None:
    """What an architecture lacks (int to bf16 before sm_90, say) is made of what it has, or refused by name: fma() of
    bf16 vectors before sm_80.
    """
    found = harness.mismatches(emulator, cases(kind, APART, FEW), tmp_path, target)
    wrong = [m for m in found if f"needs sm_80 or newer; this is {target}" not in str(m.got)]
    assert not wrong, wrong[0]
    assert len(found) < FEW // 4


@pytest.mark.parametrize("kind", MAKERS)
def test_options_that_change_no_result(kind: str, emulator: Backend, tmp_path: Path) -> None:
    options = "fmad=False, restrict=True, launch_bounds=128"
    assert not harness.mismatches(emulator, cases(kind, APART + 3, FEW), tmp_path, options=options)


@pytest.mark.parametrize("kind", ["expressions", "statements", "forms"])
def test_debug_builds_agree_where_no_check_fires(kind: str, emulator: Backend, tmp_path: Path) -> None:
    """A check ends the launch, so each lane has one of its own."""
    random = [Random(f"debug {kind} {SEED} {k}") for k in range(FEW)]
    tame = [harness.tame_case(MAKERS[kind][0](r), r, 4) for r in random]
    results = harness.run_each_lane(emulator, tame, tmp_path, "fmad=False, debug=True")
    quiet = [(case, got) for case, got in results if got != "CheckError"]
    assert len(quiet) > len(results) // 4
    wrong = [m for case, got in quiet if (m := harness.compare(case, got, harness.expected(case))) is not None]
    assert not wrong, wrong[0]


@pytest.mark.gpu
@pytest.mark.parametrize(("kind", "chunk"), MODULES)
def test_a_gpu_agrees_with_the_reference_and_with_the_emulator(
    kind: str, chunk: int, gpu: Backend, emulator: Backend, tmp_path: Path
) -> None:
    programs = cases(kind, chunk)
    here, there = (harness.run_all(device, programs, tmp_path) for device in (emulator, gpu))
    wanted = [harness.expected(case) for case in programs]
    found = [harness.compare(*of_one) for of_one in zip(programs, there, wanted, strict=True)]
    assert not any(found), report(gpu, [m for m in found if m is not None], tmp_path)
    for case, ours, theirs, want in zip(programs, here, there, wanted, strict=True):
        assert harness.without_payloads(case, ours, want) == harness.without_payloads(case, theirs, want)
