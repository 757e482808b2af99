"""The maps of packages and the import contracts have every file."""

from __future__ import annotations

import importlib
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import kdsl

ROOT = Path(kdsl.__file__).parent
SELF_EVIDENT = {"__init__", "__main__", "version"}


def modules_of(folder: Path) -> set[str]:
    found = {path.stem for path in folder.glob("*.py")} | {path.parent.name for path in folder.glob("*/__init__.py")}
    return found - SELF_EVIDENT


@pytest.mark.parametrize("name", ["", ".ahead", ".cache", ".contracts", ".frontend", ".runtime"])
def test_the_map_of_a_package_has_every_module_of_it(name: str) -> None:
    package = importlib.import_module(f"kdsl{name}")
    words = set(re.findall(r"[a-z_0-9]+\*?", package.__doc__ or ""))
    families = tuple(word[:-1] for word in words if word.endswith("_*"))
    modules = modules_of(ROOT / name.removeprefix("."))
    assert {module for module in modules if not (module in words or module.startswith(families or "\0"))} == set()


def contracts() -> dict[str, Any]:
    pyproject = Path(__file__).parents[1] / "pyproject.toml"
    said = tomllib.loads(pyproject.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    return {contract["name"]: contract for contract in said}


def test_every_module_has_its_layer() -> None:
    layers = contracts()["A stage imports what is below it, never its neighbour"]["layers"]
    named = [name.removeprefix("kdsl.") for layer in layers for name in layer.split(" | ")]
    assert sorted(set(named) - {"__main__", "version"}) == sorted(modules_of(ROOT))
    assert len(named) == len(set(named))


@pytest.mark.parametrize(
    ("contract", "importer"),
    [("Only codegen imports llvmlite", "codegen"), ("Only the runtime imports cuda-python", "runtime")],
)
def test_what_only_one_part_imports_is_forbidden_to_all_others(contract: str, importer: str) -> None:
    named = {name.removeprefix("kdsl.") for name in contracts()[contract]["source_modules"]}
    assert named == modules_of(ROOT) - {importer}
