"""Matches, reductions and an election across a warp; reductions by shuffles where there is no instruction for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from llvmlite import ir as llvm

from kdsl.codegen.context import Context
from kdsl.codegen.intrinsics_warp import bits_of, move
from kdsl.codegen.types import FLOAT, I1, I32
from kdsl.ir import nodes as ir
from kdsl.lang.types import ScalarType

Arguments = Sequence[llvm.Value]

_FULL = llvm.Constant(I32, 0xFFFF_FFFF)
_LAST_LANE = llvm.Constant(I32, 31)
# PTX ISA 9.0, 9.7.14.14.
_FIRST_WITH_REDUX = 80
_WITH_FLOAT_REDUX = (100, 101, 103, 110)
"""Architectures whose own targets, those with an a, have it."""
# Each with what leaves any value as it is.
_IDENTITY = {
    "add": 0,
    "and": 0xFFFF_FFFF,
    "or": 0,
    "xor": 0,
    "min": 0x7FFF_FFFF,
    "max": 0x8000_0000,
    "umin": 0xFFFF_FFFF,
    "umax": 0,
    # A NaN: the other operand is taken.
    "fmin": 0x7FFF_FFFF,
    "fmax": 0x7FFF_FFFF,
}


def _match_any(context: Context, call: ir.IntrinsicCall, arguments: Arguments) -> Any:
    bits = _compared(context, call, arguments)
    name = f"llvm.nvvm.match.any.sync.{bits.type.intrinsic_name}"
    return context.call(name, I32, [arguments[0], bits], convergent=True)


def _match_all(context: Context, call: ir.IntrinsicCall, arguments: Arguments) -> Any:
    bits = _compared(context, call, arguments)
    name = f"llvm.nvvm.match.all.sync.{bits.type.intrinsic_name}p"
    return context.call(name, context.type(call.type), [arguments[0], bits], convergent=True)


def _compared(context: Context, call: ir.IntrinsicCall, arguments: Arguments) -> Any:
    assert call.bound is not None
    return bits_of(context.builder, call.bound, arguments[1])


def _elect(context: Context, call: ir.IntrinsicCall, arguments: Arguments) -> Any:
    context.require_ptx(80)
    both = llvm.LiteralStructType([I32, I1])
    return context.builder.extract_value(context.call("llvm.nvvm.elect.sync", both, arguments, convergent=True), 1)


def _reduce(context: Context, call: ir.IntrinsicCall, arguments: Arguments) -> Any:
    assert isinstance(call.type, ScalarType)
    mask, value = arguments
    operation = call.intrinsic.name.removeprefix("reduce_").removesuffix("_sync")
    if call.type.is_float:
        return _reduce_floats(context, operation, mask, value)
    if operation in ("min", "max") and not call.type.is_signed:
        operation = f"u{operation}"
    if context.target.sm >= _FIRST_WITH_REDUX:
        return context.call(f"llvm.nvvm.redux.sync.{operation}", I32, [value, mask], convergent=True)
    return _reduce_by_shuffles(context, operation, mask, value)


def _reduce_floats(context: Context, operation: str, mask: llvm.Value, value: llvm.Value) -> Any:
    if context.target.sm in _WITH_FLOAT_REDUX and context.target.suffix == "a":
        context.require_ptx(86)
        return context.call(f"llvm.nvvm.redux.sync.f{operation}", FLOAT, [value, mask], convergent=True)
    bits = _reduce_by_shuffles(context, f"f{operation}", mask, context.builder.bitcast(value, I32))
    return context.builder.bitcast(bits, FLOAT)


def _reduce_by_shuffles(context: Context, operation: str, mask: llvm.Value, value: llvm.Value) -> Any:
    """Five exchanges for a full warp, else one for each lane.

    Why a ballot first? A mask may name lanes that the block does not have or that have returned: the instruction
    passes over them, but a shuffle from them gives anything.
    """
    builder = context.builder
    here = context.call("llvm.nvvm.vote.ballot.sync", I32, [mask, llvm.Constant(I1, 1)], convergent=True)
    exchange = builder.append_basic_block("reduce.exchange")
    visit = builder.append_basic_block("reduce.visit")
    done = builder.append_basic_block("reduce.done")
    before = builder.block
    builder.cbranch(builder.icmp_unsigned("==", here, _FULL), exchange, visit)

    builder.position_at_end(exchange)
    exchanged = value
    for distance in (16, 8, 4, 2, 1):
        other = move(context, "bfly", here, exchanged, llvm.Constant(I32, distance), _LAST_LANE)
        exchanged = _combine(context, operation, exchanged, other)
    builder.branch(done)

    builder.position_at_end(visit)
    left, reduced = builder.phi(I32), builder.phi(I32)
    lane = context.call("llvm.cttz.i32", I32, [left, llvm.Constant(I1, 1)])
    visited = _combine(context, operation, reduced, move(context, "idx", here, value, lane, _LAST_LANE))
    rest = builder.and_(left, builder.sub(left, llvm.Constant(I32, 1)))
    builder.cbranch(builder.icmp_unsigned("==", rest, llvm.Constant(I32, 0)), done, visit)
    left.add_incoming(here, before)
    left.add_incoming(rest, visit)
    reduced.add_incoming(llvm.Constant(I32, _IDENTITY[operation]), before)
    reduced.add_incoming(visited, visit)

    builder.position_at_end(done)
    result = builder.phi(I32)
    result.add_incoming(exchanged, exchange)
    result.add_incoming(visited, visit)
    return result


def _combine(context: Context, operation: str, x: Any, y: Any) -> Any:
    builder = context.builder
    match operation:
        case "add":
            return builder.add(x, y)
        case "and":
            return builder.and_(x, y)
        case "or":
            return builder.or_(x, y)
        case "xor":
            return builder.xor(x, y)
        case "min" | "max":
            return context.call(f"llvm.s{operation}.i32", I32, [x, y])
        case "fmin" | "fmax":
            name = f"llvm.{operation[1:]}imumnum.f32"
            return builder.bitcast(context.call(name, FLOAT, [builder.bitcast(v, FLOAT) for v in (x, y)]), I32)
        case _:
            return context.call(f"llvm.{operation}.i32", I32, [x, y])


COLLECTIVE: Mapping[str, Callable[[Context, ir.IntrinsicCall, Arguments], Any]] = {
    "match_any": _match_any,
    "match_all": _match_all,
    "reduce": _reduce,
    "elect": _elect,
}
