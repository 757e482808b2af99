"""Names of the module that an assignment in a kernel hides, though its author meant the module's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kdsl.frontend.bindings import How
from kdsl.lang.types import Space
from kdsl.lang.variables import Variable

if TYPE_CHECKING:
    from kdsl.frontend.frame import Frame


def check_hidden(frame: Frame) -> None:
    """Report assignments to the name of a `device.array` or `constant.empty`: the value would be lost."""
    parameters = {parameter.arg for parameter in frame.scope.parameters}
    for name, bindings in frame.scope.bindings.items():
        variable = _global(frame, name)
        if not isinstance(variable, Variable) or name in parameters or not bindings:
            continue
        is_constant = variable.type.space is Space.CONSTANT
        kind = "constant.empty" if is_constant else "device.array"
        message = f"`{name}` is a {kind} of the module, which this would hide"
        hint = "give the variable another name"
        if not is_constant and bindings[0].how in (How.ASSIGN, How.AUGMENTED):
            index, text = ", ".join("0" * len(variable.shape)), frame.text(bindings[0].statement)
            written = text.removeprefix(name) if text.startswith(f"{name} ") and "\n" not in text else " = ..."
            hint = f"write {name}[{index}]{written}, or {hint}"
        elif is_constant:
            hint = f"kernels cannot change it: {hint}"
        frame.error(bindings[0].target, message, hint)
        frame.bound |= frame.scope.bits[name]


def hidden_hint(frame: Frame, name: str) -> str | None:
    """The hint for a name that is read before the assignment that makes it the kernel's own."""
    known = _global(frame, name)
    own = f"`{name}` is a variable of the kernel because it is assigned to"
    if isinstance(known, np.ndarray):
        return f"{own}, and the array of the module is a constant in kernels: pass it as a parameter, and index it"
    if isinstance(known, bool | int | float | complex | np.generic):
        return f"{own}, and the module's `{name}` is a constant in kernels: give the variable another name"
    return None


def _global(frame: Frame, name: str) -> Any:
    return getattr(frame.function, "__globals__", {}).get(name)
