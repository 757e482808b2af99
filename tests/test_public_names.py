"""What `import kdsl` offers and costs."""

from __future__ import annotations

import ast
import builtins
import re
import subprocess
import sys
from pathlib import Path

import pytest

import kdsl


def test_all_names_exist_and_hide_nothing_of_pythons() -> None:
    assert all(getattr(kdsl, name) is not None for name in kdsl.__all__)
    assert not {*dir(builtins), "compile", "math", "random"} & set(kdsl.__all__)
    assert kdsl.compile.__module__ == "kdsl.compiler"
    assert kdsl.math.__name__ == "kdsl.lang.math"
    assert kdsl.random.__name__ == "kdsl.random"


def test_type_checkers_and_python_find_the_same_names() -> None:
    tree = ast.parse(Path(kdsl.__file__).read_text(encoding="utf-8"))
    checked = next(n for n in tree.body if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING")
    imports = [(alias.name, node.module) for node in checked.body for alias in node.names]
    assert dict(imports) == kdsl._HOME
    assert {name for name, _ in imports} == {*kdsl.__all__, "compile", "math", "random"} - {"__version__"}


def test_importing_loads_no_compiler_and_no_driver() -> None:
    script = "import sys, kdsl; print(*sorted(m for m in sys.modules if '.' not in m))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert "kdsl" in loaded
    assert not {"llvmlite", "cuda", "rich", "click", "numba", "ml_dtypes"} & set(loaded)


def test_misspelt_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="sync_thread"):
        kdsl.sync_thread


VADD = """
import sys
from kdsl import Ptr, block_dim, block_idx, f32, i32, kernel, thread_idx

@kernel
def vadd(a: Ptr[f32], b: Ptr[f32], c: Ptr[f32], n: i32) -> None:
    i = block_idx.x * block_dim.x + thread_idx.x
    if i < n:
        c[i] = a[i] + b[i]

assert ".entry vadd" in vadd.compile(target="sm_90").ptx
print(*sys.modules)
"""


def test_compiling_vadd_loads_nothing_of_what_it_does_not_have(tmp_path: Path) -> None:
    (tmp_path / "vadd.py").write_text(VADD)
    command = [sys.executable, str(tmp_path / "vadd.py")]
    loaded = set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    assert {"kdsl.frontend.check", "kdsl.codegen.nvptx"} <= loaded
    absent = "frontend.inline frontend.ptx_template frontend.ptx_operands frontend.ptx_instructions frontend.match"
    absent += " frontend.collectives lang.math random emulator explorer cli codegen.sass"
    assert not {f"kdsl.{name}" for name in absent.split()} & loaded
    assert not {"cuda", "rich", "click", "numba", "ml_dtypes"} & loaded


def test_only_public_classes_are_dataclasses_of_the_slow_kind() -> None:
    root = Path(kdsl.__file__).parent
    slow = re.compile(r"^from dataclasses import .*\bdataclass\b", re.M)
    found = {str(f.relative_to(root).as_posix()) for f in root.rglob("*.py") if slow.search(f.read_text("utf-8"))}
    assert found == {"runtime/config.py", "runtime/memory_pool.py", "target.py"}
