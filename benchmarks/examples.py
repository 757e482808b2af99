"""The modules of examples/, whose names begin with a digit and so cannot be imported by a statement."""

from __future__ import annotations

from types import ModuleType

from benchmarks.isolated import ROOT
from kdsl.files import load_file


def load(name: str) -> ModuleType:
    """The module ``examples/NAME.py``."""
    return load_file(ROOT / "examples" / f"{name}.py")
