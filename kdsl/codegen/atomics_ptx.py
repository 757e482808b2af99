"""Read-modify-writes with an order or a scope, as inline PTX: LLVM's ``atomicrmw`` is always relaxed, gpu."""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm

from kdsl.codegen.context import Context
from kdsl.codegen.types import I16, I32, I64, llvm_type
from kdsl.ir import nodes as ir
from kdsl.lang.types import ScalarType, Space

SCOPES = {
    ir.Scope.BLOCK: "cta",
    ir.Scope.CLUSTER: "cluster",
    ir.Scope.GPU: "gpu",
    ir.Scope.SYSTEM: "sys",
}
SPACES = {Space.GENERIC: "", Space.GLOBAL: ".global", Space.SHARED: ".shared", Space.CLUSTER: ".shared::cluster"}
_SHORT = (Space.SHARED.value, Space.CLUSTER.value)
_BITS = {ir.AtomicOp.AND: "and", ir.AtomicOp.OR: "or", ir.AtomicOp.XOR: "xor", ir.AtomicOp.EXCH: "exch"}


def ordered(context: Context, node: ir.Atomic, address: llvm.Value, operand: llvm.Value) -> Any:
    """``atom.order.scope.space.op.type``; LLVM moves no access to memory across it."""
    builder, t = context.builder, node.type
    operation, operand = _operation(builder, node, operand)
    if t.bits == 16:
        operand = builder.bitcast(operand, I16)
    old = _atom(builder, node.ordering, operation, register_of(t), address, [operand])
    return builder.bitcast(old, llvm_type(t)) if t.bits == 16 else old


def swap_16_bits(
    context: Context, ordering: ir.Ordering, address: llvm.Value, expected: llvm.Value, new: llvm.Value
) -> Any:
    """``atom.cas.b16``; gives the bits that were there."""
    return _atom(context.builder, ordering, "cas.b16", "h", address, [expected, new])


def _atom(
    builder: llvm.IRBuilder,
    ordering: ir.Ordering,
    operation: str,
    register: str,
    address: llvm.Value,
    operands: list[llvm.Value],
) -> Any:
    scope, order = SCOPES[ordering.scope], ordering.order.name.lower()
    lines = ""
    if ordering.order is ir.Order.SEQ_CST:
        # As CUDA's own library does it: the fence orders what came before, and the acquire what comes after.
        lines, order = f"fence.sc.{scope};\n\t", "acquire"
    places = ", ".join(f"${2 + i}" for i in range(len(operands)))
    lines += f"atom.{order}.{scope}{SPACES[Space(address.type.addrspace)]}.{operation} $0, [$1], {places};"
    where = address_register(builder, address)
    signature = llvm.FunctionType(operands[0].type, [where.type, *(o.type for o in operands)])
    constraint = ",".join([f"={register}", "r" if where.type == I32 else "l", *[register] * len(operands), "~{memory}"])
    return builder.asm(signature, lines, constraint, [where, *operands], side_effect=True)


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
    if t.is_float:
        return f"noftz.{t}" if t.bits == 16 else t.name
    # PTX has no add.s64; the bits of a sum are the same.
    return f"u{t.bits}"


def register_of(t: ScalarType) -> str:
    """The constraint of inline PTX for a value of a type in registers."""
    if t.is_float and t.bits >= 32:
        return {32: "f", 64: "d"}[t.bits]
    return {8: "h", 16: "h", 32: "r", 64: "l"}[t.bits]


def address_register(builder: llvm.IRBuilder, address: llvm.Value) -> llvm.Value:
    """An address as the integer that PTX takes: shared ones have 32 bits."""
    return builder.ptrtoint(address, I32 if address.type.addrspace in _SHORT else I64)
