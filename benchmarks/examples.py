"""The modules of examples/, whose names begin with a digit and so cannot be imported by a statement."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

from benchmarks.isolated import ROOT

FOLDER = ROOT / "examples"


def load(name: str) -> ModuleType:
    """The module ``examples/NAME.py``."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
