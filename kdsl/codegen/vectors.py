"""Vectors: LLVM's own vector values, with each operator done lane by lane as on scalars.

Why lane by lane? So a lane has exactly the scalar's meaning, and PTX has few instructions on vectors: those for two f16
or two bf16, which are used for add, sub, mul, fma, negation and abs where the architecture has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir as llvm

from kdsl.codegen import arithmetic, float8
from kdsl.codegen.arithmetic import suffix
from kdsl.codegen.context import Context
from kdsl.codegen.conversions import cast
from kdsl.codegen.types import I16, I32, llvm_type
from kdsl.ir import nodes as ir
from kdsl.ir.nodes import BinaryOp, UnaryOp
from kdsl.lang.types import BF16, F16, F32, ScalarType, VectorType

_PACKED: dict[BinaryOp | UnaryOp | None, str] = {
    BinaryOp.ADD: "fadd",
    BinaryOp.SUB: "fsub",
    BinaryOp.MUL: "fmul",
    UnaryOp.NEG: "fneg",
    UnaryOp.ABS: "llvm.fabs",
    None: "llvm.fma",
}
# PTX ISA 9.0, 9.7.4 and 9.7.5: fma.bf16x2 is of sm_80, add.bf16x2 of sm_90. LLVM makes fma of add and mul in between.
# Of two f32 add, sub, mul and fma are of sm_100.
_FIRST_SM = {F16: 53, BF16: 80, F32: 100}


def build(context: Context, elements: Sequence[llvm.Value], t: VectorType) -> Any:
    """A vector of these scalars."""
    result: Any = llvm.Constant(llvm_type(t), llvm.Undefined)
    for i, element in enumerate(elements):
        result = with_lane(context, result, i, element)
    return result


def with_lane(context: Context, vector: llvm.Value, index: int, element: llvm.Value) -> Any:
    """The vector with another scalar in one lane."""
    return context.builder.insert_element(vector, element, llvm.Constant(I32, index))


def swizzle(context: Context, vector: llvm.Value, lanes: Sequence[int]) -> Any:
    """One lane as a scalar, several as a vector."""
    if len(lanes) == 1:
        return context.builder.extract_element(vector, llvm.Constant(I32, lanes[0]))
    mask = llvm.Constant(llvm.VectorType(I32, len(lanes)), [llvm.Constant(I32, i) for i in lanes])
    return context.builder.shuffle_vector(vector, llvm.Constant(vector.type, llvm.Undefined), mask)


def convert(context: Context, vector: llvm.Value, source: VectorType, target: VectorType) -> Any:
    """Each lane cast; 8-bit floats two at a time, where there are instructions."""
    pairs = source.lanes % 2 == 0 and (source.element.is_float8 or target.element.is_float8)
    if pairs and float8.has_instructions(context):
        if source.element.is_float8 and target.element.is_float:
            return _from_float8(context, vector, source, target)
        if target.element.is_float8 and source.element in (F16, F32):
            return _to_float8(context, vector, source, target)
    lanes = [swizzle(context, vector, (i,)) for i in range(source.lanes)]
    return build(context, [cast(context, lane, source.element, target.element) for lane in lanes], target)


def _from_float8(context: Context, vector: llvm.Value, source: VectorType, target: VectorType) -> Any:
    builder = context.builder
    word = builder.bitcast(vector, llvm.IntType(8 * source.lanes))
    halves = []
    for lane in range(0, source.lanes, 2):
        part = builder.lshr(word, llvm.Constant(word.type, 8 * lane)) if lane else word
        pair = builder.trunc(part, I16) if source.lanes > 2 else part
        two = float8.pair_to_halves(context, pair, source.element)
        halves += [builder.extract_element(two, llvm.Constant(I32, i)) for i in range(2)]
    return build(context, [cast(context, half, F16, target.element) for half in halves], target)


def _to_float8(context: Context, vector: llvm.Value, source: VectorType, target: VectorType) -> Any:
    builder = context.builder
    result: Any = None
    for lane in range(0, source.lanes, 2):
        if source.element == F16:
            pair = float8.pair_of_halves(context, swizzle(context, vector, (lane, lane + 1)), target.element)
        else:
            low, high = (swizzle(context, vector, (lane + i,)) for i in range(2))
            pair = float8.pair_of_floats(context, low, high, target.element)
        wide = builder.zext(pair, llvm.IntType(8 * target.lanes)) if target.lanes > 2 else pair
        result = wide if result is None else builder.or_(result, builder.shl(wide, llvm.Constant(wide.type, 8 * lane)))
    return builder.bitcast(result, llvm_type(target))


def lanewise(context: Context, e: ir.Lanewise, operands: Sequence[llvm.Value]) -> Any:
    """An operator on each lane, or on two at a time."""
    t = e.type
    first = _FIRST_SM.get(t.element)
    if e.op is None and t.element in (F16, BF16) and first is not None:
        # In f32 it would be rounded twice.
        context.require_sm(first, f"fma() of {t}", e.span)
    has_pairs = e.op in _PACKED and not (t.element == F32 and isinstance(e.op, UnaryOp))
    if t.lanes % 2 == 0 and first is not None and context.target.sm >= first and has_pairs:
        pairs = [[swizzle(context, o, (i, i + 1)) for o in operands] for i in range(0, t.lanes, 2)]
        made = [_packed(context, e.op, t.element, pair) for pair in pairs]
        if len(made) == 1:
            return made[0]
        halves = llvm.Constant(llvm.VectorType(I32, 4), [llvm.Constant(I32, i) for i in range(4)])
        return context.builder.shuffle_vector(made[0], made[1], halves)
    lanes = [[swizzle(context, o, (i,)) for o in operands] for i in range(t.lanes)]
    return build(context, [_scalar(context, e.op, t.element, lane) for lane in lanes], t)


def _packed(context: Context, op: BinaryOp | UnaryOp | None, t: ScalarType, operands: Sequence[llvm.Value]) -> Any:
    name = _PACKED[op]
    if name.startswith("llvm."):
        return context.call(f"{name}.v2{suffix(t)}", operands[0].type, operands)
    flags = () if op is UnaryOp.NEG else context.flags
    return getattr(context.builder, name)(*operands, flags=flags)


def _scalar(context: Context, op: BinaryOp | UnaryOp | None, t: ScalarType, operands: Sequence[llvm.Value]) -> Any:
    match op:
        case BinaryOp():
            return arithmetic.binary(context, op, t, operands[0], operands[1], (None, None))
        case UnaryOp():
            return arithmetic.unary(context, op, t, operands[0])
        case None:
            return context.call(f"llvm.fma.{suffix(t)}", operands[0].type, operands)
