"""Read-modify-writes with an order or a scope, as inline PTX: LLVM's ``atomicrmw`` is always relaxed, gpu."""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm

from kdsl.codegen.context import Context
from kdsl.codegen.types import FLOAT, I16, I32, I64, llvm_type
from kdsl.ir import nodes as ir
from kdsl.lang.types import BF16, ScalarType, Space, VectorType

SCOPES = {
    ir.Scope.BLOCK: "cta",
    ir.Scope.CLUSTER: "cluster",
    ir.Scope.GPU: "gpu",
    ir.Scope.SYSTEM: "sys",
}
SPACES = {Space.GENERIC: "", Space.GLOBAL: ".global", Space.SHARED: ".shared", Space.CLUSTER: ".shared::cluster"}
_SHORT = (Space.SHARED.value, Space.CLUSTER.value)
_BITS = {ir.AtomicOp.AND: "and", ir.AtomicOp.OR: "or", ir.AtomicOp.XOR: "xor", ir.AtomicOp.EXCH: "exch"}


def ordered(context: Context, node: ir.Atomic, t: ScalarType, address: llvm.Value, operand: llvm.Value) -> Any:
    """``atom.order.scope.space.op.type``; LLVM moves no access to memory across it."""
    builder = context.builder
    operation, operand = _operation(builder, node, t, operand)
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
    lines = _beginning(ordering, address)
    places = ", ".join(f"${2 + i}" for i in range(len(operands)))
    lines += f".{operation} $0, [$1], {places};"
    where = address_register(builder, address)
    signature = llvm.FunctionType(operands[0].type, [where.type, *(o.type for o in operands)])
    constraint = ",".join([f"={register}", "r" if where.type == I32 else "l", *[register] * len(operands), "~{memory}"])
    return builder.asm(signature, lines, constraint, [where, *operands], side_effect=True)


def _beginning(ordering: ir.Ordering, address: llvm.Value) -> str:
    """``atom.order.scope.space``, a fence before it if need be."""
    scope, order = SCOPES[ordering.scope], ordering.order.name.lower()
    lines = ""
    if ordering.order is ir.Order.SEQ_CST:
        # As CUDA's own library does it: the fence orders what came before, and the acquire what comes after.
        lines, order = f"fence.sc.{scope};\n\t", "acquire"
    return f"{lines}atom.{order}.{scope}{SPACES[Space(address.type.addrspace)]}"


def vector_operation(context: Context, t: VectorType, space: Space) -> str | None:
    """The operation that adds a whole vector in one instruction; None if the target has none for it there.

    PTX ISA 9.0, 9.7.13.15: two f16 in a register anywhere, two bf16 from sm_90; several registers from sm_90 in global
    memory.
    """
    is_half = t.element.bits == 16
    first = 90 if t.element == BF16 else 60
    if space is Space.LOCAL or (is_half and context.target.sm < first):
        return None
    if is_half and t.lanes == 2:
        return f"add.noftz.{t.element}x2"
    if space is not Space.GLOBAL or context.target.sm < 90:
        return None
    context.require_ptx(81)
    return f"add.noftz.v{t.lanes // 2}.{t.element}x2" if is_half else f"add.v{t.lanes}.{t.element}"


def vector_sum(
    context: Context, ordering: ir.Ordering, operation: str, t: VectorType, address: llvm.Value, operand: llvm.Value
) -> Any:
    """``atom.order.scope.space.add.vector.type {...}, [address], {...}``; gives the old vector."""
    builder = context.builder
    packed = t.element.bits == 16
    count, register, kind = (t.lanes // 2, "r", I32) if packed else (t.lanes, "f", FLOAT)
    whole = builder.bitcast(operand, llvm.VectorType(kind, count)) if count > 1 else builder.bitcast(operand, kind)
    parts = [builder.extract_element(whole, llvm.Constant(I32, i)) for i in range(count)] if count > 1 else [whole]
    results = ", ".join(f"${i}" for i in range(count))
    operands = ", ".join(f"${i}" for i in range(count + 1, 2 * count + 1))
    text = f"{{{results}}}, [${count}], {{{operands}}};" if count > 1 else f"{results}, [${count}], {operands};"
    where = address_register(builder, address)
    made = llvm.LiteralStructType([kind] * count) if count > 1 else kind
    letters = [f"={register}"] * count + ["r" if where.type == I32 else "l"] + [register] * count
    old = builder.asm(
        llvm.FunctionType(made, [where.type, *[kind] * count]),
        f"{_beginning(ordering, address)}.{operation} {text}",
        ",".join([*letters, "~{memory}"]),
        [where, *parts],
        side_effect=True,
    )
    if count == 1:
        return builder.bitcast(old, llvm_type(t))
    result: Any = llvm.Constant(whole.type, llvm.Undefined)
    for i in range(count):
        result = builder.insert_element(result, builder.extract_value(old, i), llvm.Constant(I32, i))
    return builder.bitcast(result, llvm_type(t))


def _operation(builder: llvm.IRBuilder, node: ir.Atomic, t: ScalarType, operand: llvm.Value) -> tuple[str, llvm.Value]:
    """The PTX operation with its type, and what it takes: a difference is a sum of the negative."""
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
