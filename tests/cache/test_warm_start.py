"""A second process finds what the first has compiled, and imports neither the compiler nor LLVM for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cache.programs import Program, run

VADD = """
import sys
import numpy as np
from kdsl import kernel, Ptr, f32, i32, block_idx, block_dim, thread_idx

@kernel
def vadd(a: Ptr[f32], b: Ptr[f32], c: Ptr[f32], n: i32):
    i = block_idx.x * block_dim.x + thread_idx.x
    if i < n:
        c[i] = a[i] + b[i]

a = np.arange(1000, dtype=np.float32)
c = np.zeros_like(a)
vadd[4, 256](a, a, c, 1000)
assert (c == 2 * a).all()
"""
HEAVY = ("llvmlite", "kdsl.frontend", "kdsl.codegen", "kdsl.ir.nodes", "kdsl.explorer", "rich", "click", "platformdirs")
LOADED = f"print([name for name in {HEAVY!r} if name in sys.modules])\n"


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
