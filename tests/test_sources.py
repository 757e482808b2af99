"""Kernels from everywhere that Python code can come from compile, or get a clear error."""

from __future__ import annotations

import linecache
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import CompileError, Ptr, f32, i32, kernel, thread_idx

FILL = """
from kdsl import Ptr, f32, kernel, thread_idx

@kernel
def fill(out: Ptr[f32]) -> None:
    out[thread_idx.x] = 3.0
"""


def filled(fill: Any) -> bool:
    out = np.zeros(32, np.float32)
    fill[1, 32](out)
    return bool((out == 3).all())


def run(text: str, name: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "made"}
    exec(compile(text, name, "exec"), namespace)
    return namespace


def test_exec_with_a_registered_source() -> None:
    name = "<made by a test>"
    linecache.cache[name] = (len(FILL), None, FILL.splitlines(keepends=True), name)
    assert filled(run(FILL, name)["fill"])


def test_exec_without_source_says_how_to_register_one() -> None:
    fill = run(FILL, "<nowhere>")["fill"]
    with pytest.raises(CompileError, match="linecache"):
        fill.check()


def test_nested_function_with_a_closure() -> None:
    def make(value: float) -> Any:
        @kernel
        def fill(out: Ptr[f32]) -> None:
            out[thread_idx.x] = value

        return fill

    for value in (3.0, 4.0):
        out = np.zeros(32, np.float32)
        make(value)[1, 32](out)
        assert (out == value).all()


def test_assert_that_pytest_has_rewritten() -> None:
    @kernel
    def checked(out: Ptr[i32], n: i32) -> None:
        i = thread_idx.x
        assert i < n, "too far"
        out[i] = i

    out = np.zeros(4, np.int32)
    checked[1, 4](out, 4)
    assert out.tolist() == [0, 1, 2, 3]
    with pytest.raises(kdsl.DeviceAssertionError, match="too far"):
        checked[1, 4](out, 3)


def test_file_changed_since_it_was_imported(tmp_path: Path) -> None:
    path = tmp_path / "changing.py"
    path.write_text(FILL)
    namespace = run(FILL, str(path))
    path.write_text("# one more line\n" + FILL.replace("3.0", "5.0"))
    with pytest.raises(CompileError, match="changed"):
        namespace["fill"].check()


def test_source_with_strange_indentation() -> None:
    text = "if True:\n\tfrom kdsl import Ptr, f32, kernel, thread_idx\n\t@kernel\n\tdef fill(out: Ptr[f32]) -> None:\n"
    text += '\t\t"""A docstring\nthat starts in the first column."""\n\t\tout[thread_idx.x] = 3.0\n'
    name = "<tabs>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    assert filled(run(text, name)["fill"])


def test_interactive_interpreter() -> None:
    lines = FILL.strip() + "\n\nimport numpy as np\nx = np.zeros(4, np.float32)\nfill[1, 4](x)\nprint(x.sum())\n"
    done = subprocess.run(
        [sys.executable, "-i", "-q"],
        input=lines, capture_output=True, text=True, timeout=120, check=False,
        env={**__import__("os").environ, "KDSL_DEVICE": "emulator"},
    )  # fmt: skip
    # Before 3.13 the interpreter keeps no source: then the error must say what to do.
    assert "12.0" in done.stdout or "CompileError" in done.stderr, done.stderr
    assert "Internal" not in done.stderr


def test_python_without_asserts_keeps_those_of_kernels(tmp_path: Path) -> None:
    path = tmp_path / "guarded.py"
    path.write_text(
        textwrap.dedent(
            """
            import numpy as np
            from kdsl import Ptr, f32, kernel

            @kernel
            def fails(out: Ptr[f32]) -> None:
                assert out[0] > 0.0, "positive"

            fails[1, 1](np.zeros(1, np.float32))
            """
        )
    )
    done = subprocess.run(
        [sys.executable, "-O", str(path)], capture_output=True, text=True, timeout=120, check=False,
        env={**__import__("os").environ, "KDSL_DEVICE": "emulator"},
    )  # fmt: skip
    assert done.returncode == 1
    assert "positive" in done.stderr
