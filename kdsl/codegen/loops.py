"""``for`` over a range: counted loops, whose trip count is known before the first iteration and which never wrap.

Why counted? LLVM then unrolls them with a remainder loop and overlaps the loads of several iterations, run-time steps
included; and a counter that never passes ``stop`` needs no wider type.
"""

from __future__ import annotations

from llvmlite import ir as llvm

from kdsl.codegen.ranges import Interval
from kdsl.codegen.types import constant
from kdsl.lang.types import ScalarType


def trip_count(
    builder: llvm.IRBuilder,
    t: ScalarType,
    bounds: tuple[llvm.Value, llvm.Value, llvm.Value],
    known: tuple[Interval, Interval, Interval],
) -> llvm.Value:
    """How often ``range(start, stop, step)`` iterates, as an unsigned number of the same width."""
    start, stop, step = bounds
    first, _, stride = known
    if stride.low > 0:
        return _upward(builder, t, start, stop, step, first, stride)
    zero, one = constant(t, 0), constant(t, 1)
    compare = builder.icmp_signed if t.is_signed else builder.icmp_unsigned
    if not t.is_signed:
        distance, magnitude, runs = builder.sub(stop, start), step, compare("<", start, stop)
    else:
        up = compare(">", step, zero)
        distance = builder.select(up, builder.sub(stop, start), builder.sub(start, stop))
        # Modulo 2^width, the negation of the smallest integer is its magnitude.
        magnitude = builder.select(up, step, builder.sub(zero, step))
        runs = builder.select(up, compare("<", start, stop), compare(">", start, stop))
    is_zero = builder.icmp_unsigned("==", step, zero)
    divisor = magnitude if stride.high < 0 else builder.select(is_zero, one, magnitude)
    count = builder.add(builder.udiv(builder.sub(distance, one), divisor), one)
    if stride.high >= 0:
        runs = builder.select(is_zero, llvm.Constant(llvm.IntType(1), 0), runs)
    return builder.select(runs, count, zero)


def _upward(
    builder: llvm.IRBuilder,
    t: ScalarType,
    start: llvm.Value,
    stop: llvm.Value,
    step: llvm.Value,
    first: Interval,
    stride: Interval,
) -> llvm.Value:
    """The count for a step known to be positive."""
    zero, one = constant(t, 0), constant(t, 1)
    runs = (builder.icmp_signed if t.is_signed else builder.icmp_unsigned)("<", start, stop)
    # If start is not negative, the distance of a range that runs at all fits the signed type, and the distance plus the
    # step an unsigned one of the same width. Of a range that does not run, nothing is used.
    short = t.is_signed and first.low >= 0
    distance = builder.sub(stop, start, flags=("nsw",)) if short else builder.sub(stop, start)
    if stride.high == 1:
        return builder.select(runs, distance, zero)
    if short:
        count = builder.udiv(builder.sub(builder.add(distance, step), one), step)
    else:
        count = builder.add(builder.udiv(builder.sub(distance, one), step), one)
    return builder.select(runs, count, zero)


def reversed_range(
    builder: llvm.IRBuilder, t: ScalarType, start: llvm.Value, step: llvm.Value, count: llvm.Value
) -> tuple[llvm.Value, llvm.Value]:
    """First value and step of a range that runs from its last value to its first."""
    last = builder.add(start, builder.mul(builder.sub(count, constant(t, 1)), step))
    return last, builder.sub(constant(t, 0), step)


def unroll_hint(module: llvm.Module, unroll: bool | int, *, is_counted: bool) -> llvm.MDValue:
    """The metadata of a loop's back edge; ``is_counted`` if the number of iterations is a constant."""
    if unroll is True:
        # LLVM's "full" gives up where it cannot count; "enable" then makes a few copies.
        operands: list[object] = [f"llvm.loop.unroll.{'full' if is_counted else 'enable'}"]
    elif unroll in (False, 1):
        operands = ["llvm.loop.unroll.disable"]
    else:
        operands = ["llvm.loop.unroll.count", llvm.Constant(llvm.IntType(32), unroll)]
    hint = module.add_metadata(operands)
    # A loop's own node names itself first, which tells it from that of another loop with the same hint.
    node = llvm.MDValue(module, (), name=str(len(module.metadata)))
    node.operands = (node, hint)
    return node
