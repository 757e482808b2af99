"""Atomics: one read-modify-write on memory, relaxed and for the whole GPU, as CUDA's ``atomicAdd`` and its family.

LLVM drops order and scope of an ``atomicrmw`` (it is always relaxed, gpu), but honours those of ``cmpxchg`` and loads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir as llvm

from kdsl.codegen.context import Context
from kdsl.codegen.types import llvm_type
from kdsl.ir import nodes as ir
from kdsl.lang.types import ScalarType

# llvmlite writes the ordering as it is given, and a scope stands right before it. Without one it would be system-wide.
_RELAXED = 'syncscope("device") monotonic'

_DIRECT: dict[ir.AtomicOp, str] = {
    ir.AtomicOp.ADD: "add",
    ir.AtomicOp.AND: "and",
    ir.AtomicOp.OR: "or",
    ir.AtomicOp.XOR: "xor",
    ir.AtomicOp.INC: "uinc_wrap",
    ir.AtomicOp.DEC: "udec_wrap",
}
_FLOAT_EXTREMES = {ir.AtomicOp.MIN: "llvm.minimumnum", ir.AtomicOp.MAX: "llvm.maximumnum"}


def emit_atomic(context: Context, node: ir.Atomic, address: llvm.Value, operands: Sequence[llvm.Value]) -> llvm.Value:
    """Lower one atomic on an element of ``node.type`` at ``address``; the result is the old value."""
    builder, t = context.builder, node.type
    match node.op:
        case ir.AtomicOp.CAS:
            return _compare_and_swap(context, address, t, operands[0], operands[1])
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
            return _loop(context, address, t, lambda old: context.call(name, old.type, [old, operands[0]]))
        case ir.AtomicOp.MIN | ir.AtomicOp.MAX:
            operation = node.op.value if t.is_signed else f"u{node.op.value}"
            return builder.atomic_rmw(operation, address, operands[0], "monotonic")
        case _:
            return builder.atomic_rmw(_DIRECT[node.op], address, operands[0], "monotonic")


def _compare_and_swap(
    context: Context, address: llvm.Value, t: ScalarType, expected: llvm.Value, new: llvm.Value
) -> llvm.Value:
    builder = context.builder
    pair = builder.cmpxchg(address, _bits(builder, t, expected), _bits(builder, t, new), _RELAXED, "monotonic")
    return _value(builder, t, builder.extract_value(pair, 0))


def _loop(context: Context, address: llvm.Value, t: ScalarType, update: Callable[[Any], llvm.Value]) -> llvm.Value:
    """Replace by compare-and-swap until nobody came between. Memory that would stay as it is, is not written.

    Why not signed and unsigned integer min and max on the bits, one instruction? A NaN that is already in memory would
    stay there, where the language's min and max give the number.
    """
    builder = context.builder
    bits = llvm.IntType(t.bits)
    first = builder.load_atomic(address, _RELAXED, t.size, typ=bits)
    before = builder.block
    body = builder.append_basic_block("atomic.try")
    swap = builder.append_basic_block("atomic.swap")
    done = builder.append_basic_block("atomic.done")
    builder.branch(body)

    builder.position_at_end(body)
    old = builder.phi(bits)
    new = _bits(builder, t, update(_value(builder, t, old)))
    builder.cbranch(builder.icmp_unsigned("==", old, new), done, swap)

    builder.position_at_end(swap)
    pair = builder.cmpxchg(address, old, new, _RELAXED, "monotonic")
    seen, swapped = builder.extract_value(pair, 0), builder.extract_value(pair, 1)
    builder.cbranch(swapped, done, body)

    old.add_incoming(first, before)
    old.add_incoming(seen, swap)
    builder.position_at_end(done)
    return _value(builder, t, old)


def _bits(builder: llvm.IRBuilder, t: ScalarType, value: llvm.Value) -> llvm.Value:
    return builder.bitcast(value, llvm.IntType(t.bits)) if t.is_float else value


def _value(builder: llvm.IRBuilder, t: ScalarType, bits: llvm.Value) -> llvm.Value:
    return builder.bitcast(bits, llvm_type(t)) if t.is_float else bits
