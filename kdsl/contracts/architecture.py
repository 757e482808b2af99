"""``@kernel(min_arch="sm_80")``: the first architecture that a kernel is for."""

from __future__ import annotations

from types import FunctionType

from kdsl.contracts.places import ContractError, place
from kdsl.source import Diagnostic
from kdsl.target import Target


def check_architecture(function: FunctionType, min_arch: str | None, target: Target, device: str = "") -> None:
    """ContractError at the decorator if the target is older; ``device`` is the one that it is compiled for."""
    if min_arch is None:
        return
    least = Target.parse(min_arch)
    # What an architecture's own features need, no other one has.
    if target.name == least.name or (target.sm >= least.sm and not least.suffix):
        return
    this = f"the device is {target} ({device})" if device else f"this is {target}"
    needs = f"{least} itself" if least.suffix else f"{least} or newer"
    raise ContractError(
        Diagnostic(
            place(function, "min_arch"),
            f"`{function.__name__}` needs {needs}; {this}",
            f"launch it on a device of {least}, or lower min_arch" if device else f'compile with target="{least}"',
        )
    )
