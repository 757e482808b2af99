"""The language's own objects in another process: there is one of each, which the frontend knows by identity."""

from __future__ import annotations

from importlib import import_module
from operator import attrgetter
from typing import Any


def named(module: str, name: str) -> Any:
    """The object of that name, dots and all: what a pickled one becomes."""
    return attrgetter(name)(import_module(module))
