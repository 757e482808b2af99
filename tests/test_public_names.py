"""What `import kdsl` offers and costs."""

from __future__ import annotations

import ast
import builtins
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
