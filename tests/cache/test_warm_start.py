"""A second process finds what the first has compiled, and imports neither the compiler nor LLVM for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cache.programs import VADD, Program, Sessions, run

HEAVY = ("llvmlite", "kdsl.frontend", "kdsl.codegen", "kdsl.ir.nodes", "kdsl.explorer", "rich", "click", "platformdirs")
LOADED = f"import sys\nprint([name for name in {HEAVY!r} if name in sys.modules])\n"


def test_a_warm_start_imports_no_compiler(tmp_path: Path) -> None:
    program = Program(tmp_path, VADD + LOADED)
    cold, warm = run(program), run(program)
    assert "llvmlite" in cold.said
    assert "kdsl.frontend" in cold.said
    assert (cold.hits, cold.misses) == (0, 1)
    assert warm.said == "[]"
    assert (warm.hits, warm.misses) == (1, 1)


def test_off_means_off(tmp_path: Path) -> None:
    program = Program(tmp_path, VADD + LOADED)
    for _ in range(2):
        assert "llvmlite" in run(program, KDSL_CACHE="0").said
    assert not program.cache.exists()


@pytest.mark.parametrize("change", ["", "a comment"])
def test_text_after_the_kernel_does_not_matter(change: str, tmp_path: Path) -> None:
    program = Program(tmp_path, VADD)
    run(program)
    program.write(VADD + f"# {change}\nprint('more')\n")
    assert run(program).hits == 1


FACTORY = """
import numpy as np
from kdsl import Ptr, f32, kernel, thread_idx

def make(n):
    @kernel
    def k(out: Ptr[f32]):
        out[thread_idx.x] = n
    return k

out = np.zeros(4, np.float32)
make(2.0)[1, 4](out)
result = out.tolist()
"""


def test_text_after_a_kernel_with_a_closure_does_not_matter(sessions: Sessions) -> None:
    assert sessions.run(FACTORY) == ([2.0] * 4, 0, 1)
    assert sessions.run(FACTORY + "more = 1\n") == ([2.0] * 4, 1, 1)
