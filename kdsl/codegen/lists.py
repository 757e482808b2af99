"""List literals: the stores that fill a local array."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir as llvm

from kdsl.codegen import memory
from kdsl.codegen.context import Context
from kdsl.codegen.types import I32, memory_type
from kdsl.ir import nodes as ir

LONGEST = 64
"""Elements that are stored one by one. LLVM puts arrays in registers whose indices it knows; a longer one is a loop."""


def fill(context: Context, array: llvm.Value, e: ir.ListExpr, elements: Sequence[llvm.Value]) -> llvm.Value:
    """Store all elements; gives the array."""
    builder, t = context.builder, e.type.element

    def store(first: llvm.Value | None, offset: int) -> None:
        for number, value in enumerate(elements):
            place: llvm.Value = llvm.Constant(I32, offset + number)
            if first is not None:
                place = builder.add(first, place, flags=("nsw",))
            memory.store(context, value, builder.gep(array, [place], source_etype=memory_type(t)), t)

    if len(elements) * e.repeat <= LONGEST or e.repeat == 1:
        for round_ in range(e.repeat):
            store(None, round_ * len(elements))
        return array
    before, body, end = builder.block, builder.append_basic_block("fill"), builder.append_basic_block("filled")
    builder.branch(body)
    builder.position_at_end(body)
    position = builder.phi(I32, "position")
    store(position, 0)
    following = builder.add(position, llvm.Constant(I32, len(elements)), flags=("nsw",))
    position.add_incoming(llvm.Constant(I32, 0), before)
    position.add_incoming(following, builder.block)
    total = llvm.Constant(I32, len(elements) * e.repeat)
    builder.cbranch(builder.icmp_signed("<", following, total), body, end)
    builder.position_at_end(end)
    return array
