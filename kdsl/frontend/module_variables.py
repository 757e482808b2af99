"""Variables of the module, `device.array` and `constant.empty`, where a kernel names them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from kdsl.frontend.names import mangle
from kdsl.frontend.values import Runtime, Value
from kdsl.ir import nodes as ir
from kdsl.lang.types import Space
from kdsl.lang.variables import CONSTANT_BYTES, Variable

if TYPE_CHECKING:
    from kdsl.frontend.frame import Frame


def module_variable(frame: Frame, variable: Variable, node: ast.expr) -> Value:
    """A variable of the module; its name in PTX is its own, or the one by which it is read first."""
    known = frame.session.variables
    read_as = node.attr if isinstance(node, ast.Attribute) else frame.text(node)
    name = next((n for n, v in known.items() if v is variable), variable.name or mangle(read_as))
    if (name not in known and name in frame.session.taken) or known.get(name, variable) is not variable:
        message = f"two things of this module would be called `{name}` in PTX"
        return frame.error(node, message, f'name one: {read_as} = device.array(..., name="other")')
    known[name] = variable
    if variable.type.space is Space.CONSTANT and frame.session.constant_bytes() > CONSTANT_BYTES:
        message = f"constant memory has {CONSTANT_BYTES} bytes, and with this array {frame.session.constant_bytes()}"
        return frame.error(node, f"{message} are needed", "make it a device.array")
    return Runtime(ir.ModuleVariable(name, variable, variable.type, frame.span(node)))
