"""torch.compile beside kdsl: launches are not traced, so a compiled function breaks its graph at them and runs them.

Without that, PyTorch's tracer would go through kdsl's own code, the compiler and the emulator's NumPy included. What a
graph keeps is a launch in a torch.library.custom_op.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

HOME = os.path.dirname(os.path.dirname(__file__))  # noqa: PTH120  # pathlib costs a tenth of kdsl's start
"""Where kdsl's files are: the tracer knows what to leave alone by its file, generated code too."""

WHY = "a kdsl launch is not traced; wrap it in a torch.library.custom_op to keep it in the graph"


def untraced(function: F) -> F:
    """Make the tracer call a function and not go through it. Needs no PyTorch."""
    # What torch.compiler.disable sets on its functions.
    function._torchdynamo_disable = True  # type: ignore[attr-defined]
    function._torchdynamo_disable_msg = WHY  # type: ignore[attr-defined]
    return function


@untraced
def leave_alone() -> None:
    """Make the tracer, if there is one by now, leave the frames of kdsl alone that run inside of an untraced call."""
    dynamo = sys.modules.get("torch._dynamo")
    # While it is being imported it has no rules yet.
    rules = getattr(dynamo, "trace_rules", None)
    if rules is not None:
        _leave_alone(rules)


@untraced
@cache
def _leave_alone(rules: Any) -> None:
    rules.add("kdsl")


def generated(name: str) -> str:
    """The file name of generated code."""
    return f"{HOME}{os.sep}<{name}>"
