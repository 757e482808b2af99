"""What is promised and asked of an address: that it is a multiple of a power of two."""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm

from kdsl.codegen import checks, memory
from kdsl.codegen.context import Context
from kdsl.codegen.types import I64, VOID
from kdsl.ir import nodes as ir
from kdsl.lang.types import ArrayType, PointerType


class AlignmentPromise(llvm.instructions.Instruction):  # type: ignore[misc]  # llvmlite is untyped
    """A call of llvm.assume with an operand bundle, which llvmlite does not know."""

    def __init__(self, parent: llvm.Block, pointer: llvm.Value, alignment: int) -> None:
        super().__init__(parent, VOID, "call", [pointer])
        self.alignment = alignment

    def descr(self, buf: list[str]) -> None:
        (pointer,) = self.operands
        bundle = f'["align"({pointer.type} {pointer.get_reference()}, i64 {self.alignment})]'
        buf.append(f"call void @llvm.assume(i1 true) {bundle}{self._stringify_metadata(leading_comma=True)}\n")


def assume(context: Context, e: ir.AssumeAligned, value: llvm.Value) -> Any:
    """The value, after the promise."""
    address = _address(context, e.operand, value)
    if context.options.debug:
        word, holds = _test(context, address, e.alignment)
        checks.check_alignment(context, e, holds, word)
    context.declare("llvm.assume", VOID, [llvm.IntType(1)])
    context.builder._insert(AlignmentPromise(context.builder.block, address, e.alignment))
    return value


def is_aligned(context: Context, e: ir.IsAligned, value: llvm.Value) -> Any:
    """Whether the address is such a multiple."""
    return _test(context, _address(context, e.operand, value), e.alignment)[1]


def _address(context: Context, e: ir.Expr, value: llvm.Value) -> llvm.Value:
    assert isinstance(e.type, PointerType | ArrayType)
    return memory.data_pointer(context, value, e.type)


def _test(context: Context, address: llvm.Value, alignment: int) -> tuple[llvm.Value, llvm.Value]:
    builder = context.builder
    word = builder.ptrtoint(address, I64)
    low = builder.and_(word, llvm.Constant(I64, alignment - 1))
    return word, builder.icmp_unsigned("==", low, llvm.Constant(I64, 0))
