"""Operators on scalars of one type, with the exact semantics of the language's table: no undefined behaviour.

Integer division and powers are in `division` and `power`, conversions in `conversions`.
"""

from __future__ import annotations

from llvmlite import ir as llvm

from kdsl.codegen.context import Context
from kdsl.codegen.division import float_floor_divide, float_modulo, floor_divide, modulo
from kdsl.codegen.power import float_power, int_power
from kdsl.codegen.ranges import Interval
from kdsl.codegen.types import I1, I32, constant
from kdsl.ir.nodes import BinaryOp, CompareOp, UnaryOp
from kdsl.lang.types import F64, Kind, ScalarType

INT_BINARY: dict[BinaryOp, str] = {
    BinaryOp.ADD: "add",
    BinaryOp.SUB: "sub",
    BinaryOp.MUL: "mul",
    BinaryOp.AND: "and_",
    BinaryOp.OR: "or_",
    BinaryOp.XOR: "xor",
}
FLOAT_BINARY: dict[BinaryOp, str] = {
    BinaryOp.ADD: "fadd",
    BinaryOp.SUB: "fsub",
    BinaryOp.MUL: "fmul",
    BinaryOp.DIV: "fdiv",
}
# Why minimumnum and not minnum? With one NaN both give the other operand, but only minimumnum orders -0 before +0.
MIN_MAX: dict[tuple[BinaryOp, str], str] = {
    (BinaryOp.MIN, "float"): "llvm.minimumnum",
    (BinaryOp.MAX, "float"): "llvm.maximumnum",
    (BinaryOp.MIN, "signed"): "llvm.smin",
    (BinaryOp.MAX, "signed"): "llvm.smax",
    (BinaryOp.MIN, "unsigned"): "llvm.umin",
    (BinaryOp.MAX, "unsigned"): "llvm.umax",
}
FLOAT_UNARY: dict[UnaryOp, str] = {
    UnaryOp.ABS: "llvm.fabs",
    UnaryOp.ROUND: "llvm.roundeven",
    UnaryOp.FLOOR: "llvm.floor",
    UnaryOp.CEIL: "llvm.ceil",
}


def suffix(t: ScalarType) -> str:
    """The type as LLVM's overloaded intrinsics spell it."""
    return t.name if t.is_float else f"i{t.bits}"


def binary(
    context: Context,
    op: BinaryOp,
    t: ScalarType,
    left: llvm.Value,
    right: llvm.Value,
    ranges: tuple[Interval | None, Interval | None],
    *,
    nsw: bool = False,
) -> llvm.Value:
    """``left op right`` of type ``t``; shifts are in `shift`. ``ranges`` are what is known of integer operands."""
    builder = context.builder
    if op in (BinaryOp.MIN, BinaryOp.MAX):
        name = MIN_MAX[op, t.kind.value if t.kind is not Kind.BOOL else "unsigned"]
        overload = "i1" if t.kind is Kind.BOOL else suffix(t)
        return context.call(f"{name}.{overload}", left.type, [left, right])
    if t.is_float:
        return _float_binary(context, op, t, left, right)
    match op:
        case BinaryOp.FLOORDIV:
            return floor_divide(context, t, left, right, ranges)
        case BinaryOp.MOD:
            return modulo(context, t, left, right, ranges)
        case BinaryOp.POW:
            return int_power(context, t, left, right)
        case _:
            emit = getattr(builder, INT_BINARY[op])
            return emit(left, right, flags=("nsw",)) if nsw else emit(left, right)


def _float_binary(context: Context, op: BinaryOp, t: ScalarType, left: llvm.Value, right: llvm.Value) -> llvm.Value:
    match op:
        case BinaryOp.FLOORDIV:
            return float_floor_divide(context, t, left, right)
        case BinaryOp.MOD:
            return float_modulo(context, t, left, right)
        case BinaryOp.POW:
            return float_power(context, t, left, right)
        case _:
            # afn makes LLVM choose div.approx, which f64 does not have.
            flags = context.flags if t is not F64 else tuple(f for f in context.flags if f != "afn")
            return getattr(context.builder, FLOAT_BINARY[op])(left, right, flags=flags)


def shift(
    context: Context,
    op: BinaryOp,
    t: ScalarType,
    left: llvm.Value,
    right: llvm.Value,
    amount_type: ScalarType,
    amount: Interval | None,
) -> llvm.Value:
    """``left << right`` or ``left >> right``; an amount not in 0 to width - 1 gives 0, or a signed ``>>``'s sign."""
    builder = context.builder
    in_range = amount is not None and amount.low >= 0 and amount.high < t.bits
    arithmetic = op is BinaryOp.SHR and t.is_signed
    # Amounts are compared as unsigned: a negative one is past every width. 8 bits hold every width too.
    if not in_range and (arithmetic or amount_type.bits == 64):
        # LLVM 22 takes a select on a 64-bit amount for the clamp that a PTX shift of its low 32 bits would do, so those
        # are clamped here.
        most = constant(amount_type, t.bits - 1 if arithmetic else t.bits)
        right = context.call(f"llvm.umin.i{amount_type.bits}", right.type, [right, most])
        right = builder.trunc(right, I32) if amount_type.bits == 64 else right
    count = _resize(builder, right, left.type)
    if arithmetic:
        return builder.ashr(left, count)
    shifted = builder.shl(left, count) if op is BinaryOp.SHL else builder.lshr(left, count)
    if in_range:
        return shifted
    # LLVM makes one shl or shr of shift and select: PTX's own shifts clamp the amount.
    inside = builder.icmp_unsigned("<", right, llvm.Constant(right.type, t.bits))
    return builder.select(inside, shifted, constant(t, 0))


def _resize(builder: llvm.IRBuilder, value: llvm.Value, t: llvm.Type) -> llvm.Value:
    """An unsigned value that fits both types, in ``t``."""
    if value.type.width == t.width:
        return value
    return builder.trunc(value, t) if value.type.width > t.width else builder.zext(value, t)


def unary(context: Context, op: UnaryOp, t: ScalarType, operand: llvm.Value) -> llvm.Value:
    """``op operand`` of type ``t``."""
    builder = context.builder
    match op:
        case UnaryOp.NOT:
            return builder.xor(operand, llvm.Constant(I1, 1))
        case UnaryOp.INVERT:
            return builder.xor(operand, llvm.Constant(operand.type, -1 if t.kind is not Kind.BOOL else 1))
        case UnaryOp.NEG:
            return builder.fneg(operand) if t.is_float else builder.sub(constant(t, 0), operand)
        case _ if t.is_float:
            return context.call(f"{FLOAT_UNARY[op]}.{suffix(t)}", operand.type, [operand])
        case UnaryOp.ABS if t.is_signed:
            return context.call(f"llvm.abs.{suffix(t)}", operand.type, [operand, llvm.Constant(I1, 0)])
        case _:
            return operand  # abs of an unsigned, and round, floor and ceil of an int


def compare(
    builder: llvm.IRBuilder, op: CompareOp, t: ScalarType | None, left: llvm.Value, right: llvm.Value
) -> llvm.Value:
    """``left op right`` as an i1; IEEE for floats, where only ``!=`` is true of a NaN. ``t`` is None for pointers."""
    if t is not None and t.is_float:
        emit = builder.fcmp_unordered if op is CompareOp.NE else builder.fcmp_ordered
        return emit(op.value, left, right)
    if t is not None and t.is_signed:
        return builder.icmp_signed(op.value, left, right)
    return builder.icmp_unsigned(op.value, left, right)
