"""What a type checker sees of the language: ordinary kernels pass mypy --strict, wrong calls do not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def mypy(*arguments: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", *arguments]
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    return result.returncode, result.stdout + result.stderr


def test_ordinary_kernels_pass_strict_checking() -> None:
    code, output = mypy("tests/lang/typed_kernels.py")
    assert code == 0, output


def test_wrong_calls_are_seen(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "from kdsl import fence, grid, kdsl_has_no_such_name, shfl_sync, thread_idx\n"
        "thread_idx.w\n"
        "grid(4)\n"
        'fence("device")\n'
        'shfl_sync("text", 1, 0)\n'
        "shfl_sync(1)\n"
    )
    code, output = mypy(str(wrong))
    assert code == 1
    assert [line.split(":")[1] for line in output.splitlines() if ": error:" in line] == ["1", "2", "3", "4", "5", "6"]
