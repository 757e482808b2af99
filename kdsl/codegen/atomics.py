"""Atomics: one read-modify-write on memory, as CUDA's ``atomicAdd`` and its family; atomic loads and stores.

LLVM drops order and scope of an ``atomicrmw`` (it is always relaxed, gpu), but honours those of ``cmpxchg``, loads and
stores. What needs an order or another scope is in `atomics_ptx`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir as llvm
from llvmlite.ir import instructions

from kdsl.codegen import arithmetic, vectors
from kdsl.codegen.atomics_ptx import ordered, swap_16_bits, vector_operation, vector_sum
from kdsl.codegen.context import Context
from kdsl.codegen.types import I32, llvm_type
from kdsl.ir import nodes as ir
from kdsl.lang.types import BF16, F16, ScalarType, Space, VectorType
from kdsl.source import Span

_DIRECT: dict[ir.AtomicOp, str] = {
    ir.AtomicOp.ADD: "add",
    ir.AtomicOp.AND: "and",
    ir.AtomicOp.OR: "or",
    ir.AtomicOp.XOR: "xor",
    ir.AtomicOp.INC: "uinc_wrap",
    ir.AtomicOp.DEC: "udec_wrap",
}
# PTX ISA 9.0, 9.7.13.15: atom.add of bf16.
_FIRST_WITH_BF16 = 90
# What a compare-and-swap that does not swap orders: it is a load then.
_FAILURE = {
    ir.Order.RELAXED: "monotonic",
    ir.Order.ACQUIRE: "acquire",
    ir.Order.RELEASE: "monotonic",
    ir.Order.ACQ_REL: "acquire",
    ir.Order.SEQ_CST: "seq_cst",
}
_EXTREMES = (ir.AtomicOp.MIN, ir.AtomicOp.MAX)
_BINARY = {
    ir.AtomicOp.ADD: ir.BinaryOp.ADD,
    ir.AtomicOp.SUB: ir.BinaryOp.SUB,
    ir.AtomicOp.MIN: ir.BinaryOp.MIN,
    ir.AtomicOp.MAX: ir.BinaryOp.MAX,
    ir.AtomicOp.AND: ir.BinaryOp.AND,
    ir.AtomicOp.OR: ir.BinaryOp.OR,
    ir.AtomicOp.XOR: ir.BinaryOp.XOR,
}
Update = Callable[[Any], llvm.Value]


def emit_atomic(context: Context, node: ir.Atomic, address: llvm.Value, operands: Sequence[llvm.Value]) -> llvm.Value:
    """Lower one atomic on an element of ``node.type`` at ``address``; the result is the old value."""
    _require_scope(context, node.ordering, node.span)
    if isinstance(node.type, VectorType):
        return _of_vector(context, node, node.type, address, operands[0])
    return _of_scalar(context, node, node.type, address, operands)


def _of_vector(context: Context, node: ir.Atomic, t: VectorType, address: llvm.Value, operand: llvm.Value) -> Any:
    """In one instruction, in pairs of 16-bit floats, or element by element: each is atomic by itself anyway."""
    whole = vector_operation(context, t, Space(address.type.addrspace))
    if whole is not None:
        if node.op is ir.AtomicOp.SUB:
            operand = context.builder.fneg(operand)
        return vector_sum(context, node.ordering, whole, t, address, operand)
    half = VectorType(t.element, 2)
    pairs = t.lanes > 2 and vector_operation(context, half, Space(address.type.addrspace)) is not None
    step = 2 if pairs else 1
    parts = []
    for lane in range(0, t.lanes, step):
        # LLVM's words for the elements of a vector in memory: they lie as in an array.
        place = context.builder.gep(address, [llvm.Constant(I32, lane)], source_etype=llvm_type(t.element))
        part = vectors.swizzle(context, operand, range(lane, lane + step))
        piece = dataclasses.replace(node, type=half if pairs else t.element)
        if pairs:
            old = _of_vector(context, piece, half, place, part)
            parts += [vectors.swizzle(context, old, (i,)) for i in range(2)]
        else:
            parts.append(_of_scalar(context, piece, t.element, place, [part]))
    return vectors.build(context, parts, t)


def _of_scalar(
    context: Context, node: ir.Atomic, t: ScalarType, address: llvm.Value, operands: Sequence[llvm.Value]
) -> Any:
    builder = context.builder
    update = _update(context, node, t, operands)
    # A thread's own memory needs no order.
    is_own = address.type.addrspace == Space.LOCAL.value
    if is_own and (node.op is ir.AtomicOp.CAS or update is not None):
        return _alone(context, t, address, operands, update)
    if update is not None:
        return _loop(context, node, t, address, update)
    if node.ordering != ir.RELAXED and not is_own and node.op is not ir.AtomicOp.CAS:
        return ordered(context, node, t, address, operands[0])
    match node.op:
        case ir.AtomicOp.CAS:
            seen, _ = _swap(context, node, t, address, *(_bits(builder, t, o) for o in operands))
            return _value(builder, t, seen)
        case ir.AtomicOp.EXCH:
            old = builder.atomic_rmw("xchg", address, _bits(builder, t, operands[0]), "monotonic")
            return _value(builder, t, old)
        case ir.AtomicOp.ADD | ir.AtomicOp.SUB if t.is_float:
            value = operands[0] if node.op is ir.AtomicOp.ADD else builder.fneg(operands[0])
            return builder.atomic_rmw("fadd", address, value, "monotonic")
        case ir.AtomicOp.SUB:
            return builder.atomic_rmw("add", address, builder.neg(operands[0]), "monotonic")
        case ir.AtomicOp.MIN | ir.AtomicOp.MAX:
            operation = node.op.value if t.is_signed else f"u{node.op.value}"
            return builder.atomic_rmw(operation, address, operands[0], "monotonic")
        case _:
            return builder.atomic_rmw(_DIRECT[node.op], address, operands[0], "monotonic")


def _update(context: Context, node: ir.Atomic, t: ScalarType, operands: Sequence[llvm.Value]) -> Update | None:
    """The new value from the old one, of what PTX has no instruction for; None for what it has one for."""
    op, builder = node.op, context.builder
    is_sum = op in (ir.AtomicOp.ADD, ir.AtomicOp.SUB)
    has_sum = t == F16 or (t == BF16 and context.target.sm >= _FIRST_WITH_BF16)
    if op is ir.AtomicOp.CAS or (t.bits > 16 and not (op in _EXTREMES and t.is_float)) or (is_sum and has_sum):
        return None
    if op is ir.AtomicOp.EXCH:
        return lambda old: operands[0]
    if is_sum and t.is_float:
        add = builder.fadd if op is ir.AtomicOp.ADD else builder.fsub
        return lambda old: add(old, operands[0])
    return lambda old: arithmetic.binary(context, _BINARY[op], t, old, operands[0], (None, None))


def atomic_load(context: Context, address: llvm.Value, t: ScalarType, ordering: ir.Ordering, span: Span) -> llvm.Value:
    """The value at an address, read at once."""
    _require_scope(context, ordering, span)
    builder = context.builder
    return _value(builder, t, builder.load_atomic(address, _llvm(ordering), t.size, typ=llvm.IntType(t.bits)))


def atomic_store(
    context: Context, value: llvm.Value, address: llvm.Value, t: ScalarType, ordering: ir.Ordering, span: Span
) -> None:
    """Write the value at once."""
    _require_scope(context, ordering, span)
    builder = context.builder
    # `store_atomic` of the builder asks a pointer for the type it points to, which opaque pointers do not have.
    store = instructions.StoreAtomicInstr(builder.block, _bits(builder, t, value), address, _llvm(ordering), t.size)
    builder._insert(store)


def _require_scope(context: Context, ordering: ir.Ordering, span: Span) -> None:
    if ordering.scope is ir.Scope.CLUSTER:
        context.require_sm(90, 'scope="cluster"', span)


def _llvm(ordering: ir.Ordering) -> str:
    # llvmlite writes the ordering as it is given, and a scope stands right before it. Without one it is the system's.
    scope = ordering.scope.value
    return f'syncscope("{scope}") {ordering.order.value}' if scope else ordering.order.value


def _swap(
    context: Context, node: ir.Atomic, t: ScalarType, address: llvm.Value, expected: llvm.Value, new: llvm.Value
) -> tuple[llvm.Value, llvm.Value]:
    """The bits that were there, and whether they were the expected ones and have been replaced."""
    builder = context.builder
    if t.bits == 16:
        # LLVM would swap 32 bits, and with them what lies beside it.
        seen = swap_16_bits(context, node.ordering, address, expected, new)
        return seen, builder.icmp_unsigned("==", seen, expected)
    pair = builder.cmpxchg(address, expected, new, _llvm(node.ordering), _FAILURE[node.ordering.order])
    return builder.extract_value(pair, 0), builder.extract_value(pair, 1)


def _alone(
    context: Context, t: ScalarType, address: llvm.Value, operands: Sequence[llvm.Value], update: Update | None
) -> llvm.Value:
    """On a thread's own memory, which PTX has no compare-and-swap for: nobody comes between a load and a store."""
    builder = context.builder
    old = builder.load(address, align=t.size, typ=llvm.IntType(t.bits))
    if update is None:
        expected, new = (_bits(builder, t, o) for o in operands)
        new = builder.select(builder.icmp_unsigned("==", old, expected), new, old)
    else:
        new = _bits(builder, t, update(_value(builder, t, old)))
    builder.store(new, address, align=t.size)
    return _value(builder, t, old)


def _loop(context: Context, node: ir.Atomic, t: ScalarType, address: llvm.Value, update: Update) -> llvm.Value:
    """Replace by compare-and-swap until nobody came between. Memory that would stay as it is, is not written.

    It is written if an order is asked for: another thread may acquire what was released here.

    Why not signed and unsigned integer min and max on the bits, one instruction? A NaN that is already in memory would
    stay there, where the language's min and max give the number.
    """
    builder, ordering = context.builder, node.ordering
    bits = llvm.IntType(t.bits)
    first = builder.load_atomic(address, _llvm(ir.Ordering(ir.Order.RELAXED, ordering.scope)), t.size, typ=bits)
    before = builder.block
    body = builder.append_basic_block("atomic.try")
    swap = builder.append_basic_block("atomic.swap")
    done = builder.append_basic_block("atomic.done")
    builder.branch(body)

    builder.position_at_end(body)
    old = builder.phi(bits)
    new = _bits(builder, t, update(_value(builder, t, old)))
    if ordering.order is ir.Order.RELAXED:
        builder.cbranch(builder.icmp_unsigned("==", old, new), done, swap)
    else:
        builder.branch(swap)

    builder.position_at_end(swap)
    seen, swapped = _swap(context, node, t, address, old, new)
    builder.cbranch(swapped, done, body)

    old.add_incoming(first, before)
    old.add_incoming(seen, swap)
    builder.position_at_end(done)
    return _value(builder, t, old)


def _bits(builder: llvm.IRBuilder, t: ScalarType, value: llvm.Value) -> llvm.Value:
    return builder.bitcast(value, llvm.IntType(t.bits)) if t.is_float else value


def _value(builder: llvm.IRBuilder, t: ScalarType, bits: llvm.Value) -> llvm.Value:
    return builder.bitcast(bits, llvm_type(t)) if t.is_float else bits
