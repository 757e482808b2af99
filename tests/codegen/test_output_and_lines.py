"""Print, assert, and the lines that instructions name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kdsl
from kdsl import Ptr, f32, grid, gridsize, i32, kernel, thread_idx
from kdsl.backend import DeviceAssertionError
from kdsl.codegen.nvptx import emit, optimize
from kdsl.files import load_file
from kdsl.target import Target

from .compile import instructions


def scaled(value: f32) -> f32:
    return value * 3.0 + 1.0  # the helper's line


@kernel
def prints(x: Ptr[f32], n: i32):
    print(n, x[0], n > 2)
    print("done")


@kernel
def asserts(x: Ptr[f32], n: i32):
    i = thread_idx.x
    assert i < n, "too many threads"
    x[i] = scaled(x[i])


@kernel(asserts=False)
def unchecked(x: Ptr[f32], n: i32):
    assert thread_idx.x < n, "too many threads"
    x[thread_idx.x] = 1.0


@kernel
def calls(x: Ptr[f32]):
    x[thread_idx.x] = scaled(x[thread_idx.x])


def line_of(text: str) -> int:
    with open(__file__, encoding="utf-8") as file:
        return next(n for n, line in enumerate(file, 1) if text in line)


def externals(ptx: str) -> list[str]:
    return re.findall(r"^\.extern \.func\s+(?:\([^)]*\)\s*)?(\w+)", ptx, re.MULTILINE)


def test_print_calls_vprintf_alone(device: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert externals(kdsl.compile(prints, target="sm_90").ptx) == ["vprintf"]
    x = kdsl.zeros(1, f32)
    prints[1, 1](x, 3)
    kdsl.synchronize()
    assert capfd.readouterr().out.splitlines() == ["3 0.000000 True", "done"] or device == "cuda"


def test_an_assert_calls_assertfail_and_then_traps(device: str) -> None:
    ptx = kdsl.compile(asserts, target="sm_90").ptx
    assert externals(ptx) == ["__assertfail"]
    ops = [i.split()[0].rstrip(";") for i in instructions(ptx)]
    assert "trap" in ops[ops.index("call.uni") :]


def test_a_failed_assert_names_its_line() -> None:
    x = kdsl.zeros(4, f32)
    asserts[1, 4](x, 4)
    with pytest.raises(DeviceAssertionError, match="too many threads") as caught:
        asserts[1, 8](kdsl.zeros(8, f32), 4)
        kdsl.synchronize()
    assert caught.value.line == line_of('assert i < n, "too many')


def test_without_asserts_nothing_is_left_of_them() -> None:
    ptx = kdsl.compile(unchecked, target="sm_90").ptx
    assert externals(ptx) == []
    assert "setp" not in ptx


def test_a_helper_s_instructions_name_the_helper_s_line() -> None:
    ptx = kdsl.compile(calls, target="sm_90").ptx
    file = re.search(r'\.file\s+(\d+) "test_output_and_lines\.py"', ptx)
    assert file is not None
    line = line_of("# the helper's line")
    assert re.search(rf"\.loc\s+{file[1]} {line} \d+.*\n\tfma\.rn\.f32", ptx)
    assert "/" not in "".join(re.findall(r"\.file.*", ptx))


@kernel
def loops(x: Ptr[f32], n: i32):
    total = 0.0
    for i in range(grid(1), n, gridsize(1)):
        for j in range(3):
            total += scaled(x[i + j])
        if total > 100.0:
            total -= 50.0
    x[grid(1)] = total


@pytest.mark.parametrize("checked", [asserts, calls, loops, prints], ids=lambda k: k.__name__)
def test_lines_change_no_instruction(checked: kdsl.Kernel) -> None:
    compilation = kdsl.compile(checked, target="sm_90")
    bare = re.sub(r" *,? ?!dbg !\d+", "", compilation.llvm)
    target = Target.parse("sm_90")
    without = emit(optimize(bare, target), target)
    assert "\t.loc\t" in compilation.ptx
    assert "\t.loc\t" not in without
    assert instructions(compilation.ptx) == instructions(without)


def test_multiplication_and_addition_fuse_across_a_call() -> None:
    @kernel
    def fused(x: Ptr[f32]):
        x[0] = doubled(x[1]) + x[2]

    def doubled(value: f32) -> f32:
        return value * x2

    x2 = 2.5
    ops = [i.split()[0] for i in instructions(kdsl.compile(fused, target="sm_90").ptx)]
    assert "fma.rn.f32" in ops


def test_a_file_s_name_may_hold_what_ptx_cannot(tmp_path: Path) -> None:
    path = tmp_path / 'né "quoted".py'
    path.write_text("from kdsl import Ptr, f32, kernel\n\n@kernel\ndef k(x: Ptr[f32]):\n    x[0] = x[1] + 1.0\n")
    compilation = kdsl.compile(load_file(path).k, target="sm_90")
    assert compilation.resources[0].kernel == "k"
    assert "_quoted_.py" in compilation.ptx


def test_long_names_and_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "a" * 2000
    path = tmp_path / "long.py"
    path.write_text(
        f"from kdsl import i32, kernel\n@kernel\ndef k({name}p: i32) -> None:\n    {name}b = {name}p + 1\n"
        f"    {name}c = {name}b + 2\n    print({name}b, {name}c, '{'x' * 70000}')\n"
    )
    load_file(path).k[1, 1](3)
    assert capsys.readouterr().out == f"4 6 {'x' * 70000}\n"
