"""Atomics: one read-modify-write on memory, as CUDA's ``atomicAdd`` and its family; atomic loads and stores.

LLVM drops order and scope of an ``atomicrmw`` (it is always relaxed, gpu), but honours those of ``cmpxchg``, loads and
stores. What needs an order or another scope is in `atomics_ptx`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir as llvm
from llvmlite.ir import instructions

from kdsl.codegen.atomics_ptx import ordered, swap_16_bits
from kdsl.codegen.context import Context
from kdsl.codegen.types import llvm_type
from kdsl.ir import nodes as ir
from kdsl.lang.types import BF16, ScalarType, Space
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
_FLOAT_EXTREMES = {ir.AtomicOp.MIN: "llvm.minimumnum", ir.AtomicOp.MAX: "llvm.maximumnum"}


def emit_atomic(context: Context, node: ir.Atomic, address: llvm.Value, operands: Sequence[llvm.Value]) -> llvm.Value:
    """Lower one atomic on an element of ``node.type`` at ``address``; the result is the old value."""
    _require_scope(context, node.ordering, node.span)
    builder, t = context.builder, node.type
    is_extreme = node.op in _FLOAT_EXTREMES and t.is_float
    # A thread's own memory needs no order.
    is_own = address.type.addrspace == Space.LOCAL.value
    if is_own and (node.op is ir.AtomicOp.CAS or is_extreme):
        return _alone(context, node, address, operands)
    is_plain = node.ordering == ir.RELAXED or is_own
    if t == BF16 and node.op is not ir.AtomicOp.CAS and not is_own and context.target.sm < _FIRST_WITH_BF16:
        add = builder.fadd if node.op is ir.AtomicOp.ADD else builder.fsub
        return _loop(context, node, address, lambda old: add(old, operands[0]))
    if not is_plain and node.op is not ir.AtomicOp.CAS and not is_extreme:
        return ordered(context, node, address, operands[0])
    match node.op:
        case ir.AtomicOp.CAS:
            return _compare_and_swap(context, node, address, operands[0], operands[1])
        case ir.AtomicOp.EXCH:
            old = builder.atomic_rmw("xchg", address, _bits(builder, t, operands[0]), "monotonic")
            return _value(builder, t, old)
        case ir.AtomicOp.ADD | ir.AtomicOp.SUB if t.is_float:
            value = operands[0] if node.op is ir.AtomicOp.ADD else builder.fneg(operands[0])
            return builder.atomic_rmw("fadd", address, value, "monotonic")
        case ir.AtomicOp.SUB:
            return builder.atomic_rmw("add", address, builder.neg(operands[0]), "monotonic")
        case ir.AtomicOp.MIN | ir.AtomicOp.MAX if t.is_float:
            name = f"{_FLOAT_EXTREMES[node.op]}.{t.name}"
            return _loop(context, node, address, lambda old: context.call(name, old.type, [old, operands[0]]))
        case ir.AtomicOp.MIN | ir.AtomicOp.MAX:
            operation = node.op.value if t.is_signed else f"u{node.op.value}"
            return builder.atomic_rmw(operation, address, operands[0], "monotonic")
        case _:
            return builder.atomic_rmw(_DIRECT[node.op], address, operands[0], "monotonic")


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


def _compare_and_swap(
    context: Context, node: ir.Atomic, address: llvm.Value, expected: llvm.Value, new: llvm.Value
) -> llvm.Value:
    builder, t = context.builder, node.type
    seen, _ = _swap(context, node, address, _bits(builder, t, expected), _bits(builder, t, new))
    return _value(builder, t, seen)


def _swap(
    context: Context, node: ir.Atomic, address: llvm.Value, expected: llvm.Value, new: llvm.Value
) -> tuple[llvm.Value, llvm.Value]:
    """The bits that were there, and whether they were the expected ones and have been replaced."""
    builder = context.builder
    if node.type.bits == 16:
        # LLVM would swap 32 bits, and with them what lies beside it.
        seen = swap_16_bits(context, node.ordering, address, expected, new)
        return seen, builder.icmp_unsigned("==", seen, expected)
    pair = builder.cmpxchg(address, expected, new, _llvm(node.ordering), _FAILURE[node.ordering.order])
    return builder.extract_value(pair, 0), builder.extract_value(pair, 1)


def _alone(context: Context, node: ir.Atomic, address: llvm.Value, operands: Sequence[llvm.Value]) -> llvm.Value:
    """On a thread's own memory, which PTX has no compare-and-swap for: nobody comes between a load and a store."""
    builder, t = context.builder, node.type
    old = builder.load(address, align=t.size, typ=llvm.IntType(t.bits))
    if node.op is ir.AtomicOp.CAS:
        expected, new = (_bits(builder, t, o) for o in operands)
        new = builder.select(builder.icmp_unsigned("==", old, expected), new, old)
    else:
        before = _value(builder, t, old)
        extreme = context.call(f"{_FLOAT_EXTREMES[node.op]}.{t.name}", before.type, [before, operands[0]])
        new = _bits(builder, t, extreme)
    builder.store(new, address, align=t.size)
    return _value(builder, t, old)


def _loop(context: Context, node: ir.Atomic, address: llvm.Value, update: Callable[[Any], llvm.Value]) -> llvm.Value:
    """Replace by compare-and-swap until nobody came between. Memory that would stay as it is, is not written.

    It is written if an order is asked for: another thread may acquire what was released here.

    Why not signed and unsigned integer min and max on the bits, one instruction? A NaN that is already in memory would
    stay there, where the language's min and max give the number.
    """
    builder, t, ordering = context.builder, node.type, node.ordering
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
    seen, swapped = _swap(context, node, address, old, new)
    builder.cbranch(swapped, done, body)

    old.add_incoming(first, before)
    old.add_incoming(seen, swap)
    builder.position_at_end(done)
    return _value(builder, t, old)


def _bits(builder: llvm.IRBuilder, t: ScalarType, value: llvm.Value) -> llvm.Value:
    return builder.bitcast(value, llvm.IntType(t.bits)) if t.is_float else value


def _value(builder: llvm.IRBuilder, t: ScalarType, bits: llvm.Value) -> llvm.Value:
    return builder.bitcast(bits, llvm_type(t)) if t.is_float else bits
