"""Room for shared and local arrays. What is known of arrays that come as parameters is in memory and views."""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir as llvm

from kdsl.codegen.context import Context
from kdsl.codegen.types import alignment, memory_type, pointer
from kdsl.ir import nodes as ir
from kdsl.lang.types import Space


def allot(context: Context, e: ir.SharedArray | ir.LocalArray, function: str) -> Any:
    """The address of an array of a function that had no room yet."""
    assert e.type.shape is not None
    t = llvm.ArrayType(memory_type(e.type.element), math.prod(e.type.shape))
    if isinstance(e, ir.LocalArray):
        # LLVM allots generic addresses, but the array's type says local ones, which are half as wide.
        room = context.alloca(t, e.name)
        room.align = alignment(e.type.element)
        return llvm.IRBuilder(context.entry).addrspacecast(room, pointer(Space.LOCAL))
    if not e.common:
        # PTX knows ASCII names only.
        name = f"{function}_{e.name if e.name.isascii() else 'array'}_{e.uid}"
        return context.shared.variable(t, name, Space.SHARED, 16)
    if e.uid not in context.shared.common:
        context.shared.common[e.uid] = context.shared.variable(t, f"{e.name}_{e.uid}", Space.SHARED, 16)
    return context.shared.common[e.uid]
