"""Variables of the module that the host reads and writes: their memory, and how kernels reach it."""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm

from kdsl.codegen.context import Context
from kdsl.codegen.types import I8, pointer
from kdsl.lang.types import Space
from kdsl.lang.variables import POINTER, Variable

ALIGNMENT = 16


class _Address(llvm.Constant):  # type: ignore[misc]  # llvmlite is untyped
    """The address of a variable as another's initial value, with the opaque pointer that llvmlite would not print."""

    def __init__(self, variable: llvm.GlobalVariable) -> None:
        super().__init__(variable.type, None)
        self.variable = variable

    def get_reference(self) -> str:
        return str(self.variable.get_reference())

    def __str__(self) -> str:
        return f"{self.type} {self.get_reference()}"


def module_variable(context: Context, name: str, variable: Variable) -> Any:
    """The address of the variable's first element.

    Why through a pointer in constant memory? The host sets it, so that modules loaded apart share one memory. It costs
    what a kernel's parameter costs, which is in constant memory, too; ptxas keeps the address of a variable of the
    module there anyway.
    """
    known = context.module.globals.get(name)
    if variable.type.space is Space.CONSTANT:
        return known or _declared(context, name, variable, None)
    if known is None:
        memory = _declared(context, name, variable, variable.initial)
        where = context.shared.variable(memory.type, POINTER + name, Space.CONSTANT, 8)
        where.linkage, where.initializer = "", _Address(memory)
    address = context.builder.load(context.module.globals[POINTER + name], align=8, typ=pointer(Space.GLOBAL))
    address.set_metadata("invariant.load", context.module.add_metadata([]))
    return address


def _declared(context: Context, name: str, variable: Variable, initial: bytes | None) -> llvm.GlobalVariable:
    """The variable under its own name, visible to whoever loads the module; zeros without ``initial``."""
    t = llvm.ArrayType(I8, variable.nbytes)
    declared = context.shared.variable(t, name, variable.type.space, ALIGNMENT)
    # Visible, and no constant to LLVM: the host may write it.
    declared.linkage = ""
    declared.initializer = llvm.Constant(t, None if initial is None else bytearray(initial))
    return declared
