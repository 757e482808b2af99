"""Read-modify-writes with an order or a scope, as inline PTX: LLVM's ``atomicrmw`` is always relaxed, gpu."""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm

from kdsl.codegen.context import Context
from kdsl.codegen.types import I32, I64
from kdsl.ir import nodes as ir
from kdsl.lang.types import ScalarType, Space

SCOPES = {
    ir.Scope.BLOCK: "cta",
    ir.Scope.CLUSTER: "cluster",
    ir.Scope.GPU: "gpu",
    ir.Scope.SYSTEM: "sys",
}
SPACES = {Space.GENERIC: "", Space.GLOBAL: ".global", Space.SHARED: ".shared"}
_BITS = {ir.AtomicOp.AND: "and", ir.AtomicOp.OR: "or", ir.AtomicOp.XOR: "xor", ir.AtomicOp.EXCH: "exch"}


def ordered(context: Context, node: ir.Atomic, address: llvm.Value, operand: llvm.Value) -> Any:
    """``atom.order.scope.space.op.type``; LLVM moves no access to memory across it."""
    builder, t = context.builder, node.type
    operation, operand = _operation(builder, node, operand)
    scope, order = SCOPES[node.ordering.scope], node.ordering.order.name.lower()
    lines = ""
    if node.ordering.order is ir.Order.SEQ_CST:
        # As CUDA's own library does it: the fence orders what came before, and the acquire what comes after.
        lines, order = f"fence.sc.{scope};\n\t", "acquire"
    lines += f"atom.{order}.{scope}{SPACES[Space(address.type.addrspace)]}.{operation} $0, [$1], $2;"
    register = register_of(t)
    where = address_register(builder, address)
    signature = llvm.FunctionType(operand.type, [where.type, operand.type])
    constraint = f"={register},{'r' if where.type == I32 else 'l'},{register},~{{memory}}"
    return builder.asm(signature, lines, constraint, [where, operand], side_effect=True)


def _operation(builder: llvm.IRBuilder, node: ir.Atomic, operand: llvm.Value) -> tuple[str, llvm.Value]:
    """The PTX operation with its type, and what it takes: a difference is a sum of the negative."""
    t = node.type
    match node.op:
        case ir.AtomicOp.SUB:
            negative = builder.fneg(operand) if t.is_float else builder.neg(operand)
            return f"add.{_added(t)}", negative
        case ir.AtomicOp.ADD:
            return f"add.{_added(t)}", operand
        case ir.AtomicOp.MIN | ir.AtomicOp.MAX:
            return f"{node.op.value}.{'s' if t.is_signed else 'u'}{t.bits}", operand
        case ir.AtomicOp.INC | ir.AtomicOp.DEC:
            return f"{node.op.value}.u32", operand
        case _:
            return f"{_BITS[node.op]}.b{t.bits}", operand


def _added(t: ScalarType) -> str:
    # PTX has no add.s64; the bits of a sum are the same.
    return t.name if t.is_float else f"u{t.bits}"


def register_of(t: ScalarType) -> str:
    """The constraint of inline PTX for a value of a type in registers."""
    if t.is_float and t.bits >= 32:
        return {32: "f", 64: "d"}[t.bits]
    return {8: "h", 16: "h", 32: "r", 64: "l"}[t.bits]


def address_register(builder: llvm.IRBuilder, address: llvm.Value) -> llvm.Value:
    """An address as the integer that PTX takes: shared ones have 32 bits."""
    return builder.ptrtoint(address, I32 if address.type.addrspace == Space.SHARED.value else I64)
