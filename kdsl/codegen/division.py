"""Python's ``//`` and ``%``: floor and the divisor's sign; integers by zero give 0, and the smallest // -1 wraps.

As few instructions as what is known of the operands allows: LLVM's udiv and urem wherever both are known non-negative.
"""

from __future__ import annotations

from llvmlite import ir as llvm

from kdsl.codegen.context import Context
from kdsl.codegen.ranges import Interval
from kdsl.codegen.types import DOUBLE, FLOAT, I1, I64, constant
from kdsl.lang.types import ScalarType

Ranges = tuple[Interval | None, Interval | None]


def floor_divide(context: Context, t: ScalarType, n: llvm.Value, d: llvm.Value, ranges: Ranges) -> llvm.Value:
    """``n // d`` on ints."""
    builder = context.builder
    numerator, divisor = (r or Interval.of(t) for r in ranges)
    if divisor == Interval(0, 0):
        return constant(t, 0)
    if divisor == Interval(-1, -1):
        return builder.sub(constant(t, 0), n)
    if shift := _power_of_two(divisor):
        amount = constant(t, shift.bit_length() - 1)
        return builder.ashr(n, amount) if numerator.low < 0 else builder.lshr(n, amount)
    if _any_signs(numerator, divisor):
        return _signed_divide(context, t, n, d, numerator)[0]
    quotient, _ = _divide(context, t, n, d, ranges)
    if not divisor.low <= 0 <= divisor.high:
        return quotient
    return builder.select(builder.icmp_unsigned("==", d, constant(t, 0)), constant(t, 0), quotient)


def modulo(context: Context, t: ScalarType, n: llvm.Value, d: llvm.Value, ranges: Ranges) -> llvm.Value:
    """``n % d`` on ints, with d's sign."""
    builder = context.builder
    numerator, divisor = (r or Interval.of(t) for r in ranges)
    if divisor == Interval(0, 0):
        return constant(t, 0)
    if shift := _power_of_two(divisor):
        return builder.and_(n, constant(t, shift - 1))
    if _any_signs(numerator, divisor):
        quotient, is_zero = _signed_divide(context, t, n, d, numerator)
        return builder.select(is_zero, constant(t, 0), builder.sub(n, builder.mul(quotient, d)))
    quotient, nonzero = _divide(context, t, n, d, ranges)
    if numerator.low >= 0 and divisor.low >= 0 and divisor.low != divisor.high:
        return builder.urem(n, nonzero)  # LLVM makes one division of this and the quotient if both are used
    return builder.sub(n, builder.mul(quotient, nonzero))


def _power_of_two(divisor: Interval) -> int:
    """The divisor if it is a known power of two, else 0."""
    value = divisor.low
    return value if value == divisor.high and value > 0 and value & (value - 1) == 0 else 0


def _divide(
    context: Context, t: ScalarType, n: llvm.Value, d: llvm.Value, ranges: Ranges
) -> tuple[llvm.Value, llvm.Value]:
    """floor(n / nonzero), and ``nonzero``, which is d but 1 where d is 0.

    Modulo takes its rest from the same quotient: a rest modulo 1 is the 0 that a modulo by zero must give, and of a
    division and a modulo of the same operands only one division is left.
    """
    builder = context.builder
    numerator, divisor = (r or Interval.of(t) for r in ranges)
    if numerator.low >= 0 and divisor.low >= 0:
        nonzero = d
        if divisor.low == 0:
            nonzero = context.call(f"llvm.umax.i{t.bits}", d.type, [d, constant(t, 1)])
        return _unsigned_divide(builder, t, n, nonzero, numerator, divisor), nonzero
    # floor(n / d) of a negative n is ~(~n // d), and ~n is not negative: one unsigned division, no correction.
    sign = builder.ashr(n, constant(t, t.bits - 1))
    quotient = _unsigned_divide(builder, t, builder.xor(n, sign), d, Interval(0, t.maximum), divisor)
    return builder.xor(quotient, sign), d


def _any_signs(numerator: Interval, divisor: Interval) -> bool:
    """Whether the general form is wanted: the divisor may be negative, or 0 with a negative numerator."""
    return not divisor.low > 0 and not (numerator.low >= 0 and divisor.low >= 0)


def _signed_divide(
    context: Context, t: ScalarType, n: llvm.Value, d: llvm.Value, numerator: Interval
) -> tuple[llvm.Value, llvm.Value]:
    """floor(n / d) of any operands, 0 where d is 0, and whether it is.

    Where the signs differ, the floor is ``~((|n| - 1) // |d|)``. The smallest integer is the one whose magnitude has no
    signed type; taken as unsigned, it is what it should be.
    """
    builder = context.builder
    zero, ones = constant(t, 0), constant(t, -1)
    is_zero = builder.icmp_unsigned("==", d, zero)
    below = builder.icmp_unsigned("!=", n, zero)
    if numerator.low >= 0:
        magnitude, below = n, builder.and_(below, builder.icmp_signed("<", d, zero))
    else:
        magnitude, below = _magnitude(context, t, n), builder.and_(below, builder.not_(is_zero))
        below = builder.and_(below, builder.icmp_signed("<", builder.xor(n, d), zero))
    sign = builder.sext(below, n.type)
    # Why all ones for 0? No magnitude is as large, so that the quotient is 0.
    divisor = builder.select(is_zero, ones, _magnitude(context, t, d))
    return builder.xor(builder.udiv(builder.add(magnitude, sign), divisor), sign), is_zero


def _magnitude(context: Context, t: ScalarType, value: llvm.Value) -> llvm.Value:
    return context.call(f"llvm.abs.i{t.bits}", value.type, [value, llvm.Constant(I1, 0)])


def _unsigned_divide(
    builder: llvm.IRBuilder, t: ScalarType, n: llvm.Value, d: llvm.Value, numerator: Interval, divisor: Interval
) -> llvm.Value:
    """n / d of what is not negative, d not zero."""
    value = divisor.low
    if value != divisor.high or value == 1 or t.bits != 32 or numerator.high >= 1 << 31:
        return builder.udiv(n, d)
    # Division by multiplication (Granlund and Montgomery 1994). LLVM does so too, but cannot know that n has 31 bits
    # only, for which every divisor has a multiplier of 32.
    exponent = 31 + (value - 1).bit_length()
    multiplier = -(-(1 << exponent) // value)
    product = builder.mul(builder.zext(n, I64), llvm.Constant(I64, multiplier), flags=("nuw",))
    return builder.trunc(builder.lshr(product, llvm.Constant(I64, exponent)), n.type)


def float_floor_divide(context: Context, t: ScalarType, x: llvm.Value, y: llvm.Value) -> llvm.Value:
    """``x // y`` on floats: exact even where the quotient is large; by zero as IEEE division."""
    builder = context.builder
    narrow, x, y = x.type, *_widen(context, t, x, y)
    rest, _, differs = _float_rest(context, x, y)
    none, one = llvm.Constant(x.type, 0.0), llvm.Constant(x.type, 1.0)
    # No flags here: every step must round as Python's does.
    quotient = builder.fdiv(builder.fsub(x, rest), y)
    quotient = builder.select(differs, builder.fsub(quotient, one), quotient)
    floor = context.call(f"llvm.floor.{_suffix(x)}", x.type, [quotient])
    short = builder.fcmp_ordered(">", builder.fsub(quotient, floor), llvm.Constant(x.type, 0.5))
    floor = builder.select(short, builder.fadd(floor, one), floor)
    exact = builder.fdiv(x, y)
    signed_zero = context.call(f"llvm.copysign.{_suffix(x)}", x.type, [none, exact])
    result = builder.select(builder.fcmp_ordered("==", quotient, none), signed_zero, floor)
    result = builder.select(builder.fcmp_ordered("==", y, none), exact, result)
    return result if result.type == narrow else builder.fptrunc(result, narrow)


def float_modulo(context: Context, t: ScalarType, x: llvm.Value, y: llvm.Value) -> llvm.Value:
    """``x % y`` on floats: exact, with y's sign; NaN where y is zero or x infinite."""
    builder = context.builder
    narrow, x, y = x.type, *_widen(context, t, x, y)
    rest, adjusted, differs = _float_rest(context, x, y)
    none = llvm.Constant(x.type, 0.0)
    signed_zero = context.call(f"llvm.copysign.{_suffix(x)}", x.type, [none, y])
    result = builder.select(differs, adjusted, rest)
    result = builder.select(builder.fcmp_ordered("==", rest, none), signed_zero, result)
    return result if result.type == narrow else builder.fptrunc(result, narrow)


def _float_rest(context: Context, x: llvm.Value, y: llvm.Value) -> tuple[llvm.Value, llvm.Value, llvm.Value]:
    """C's fmod(x, y), the same plus y, and whether the signs of rest and y differ (so that Python takes the second)."""
    builder = context.builder
    rest = context.call("__nv_fmod" if x.type == DOUBLE else "__nv_fmodf", x.type, [x, y])
    none = llvm.Constant(x.type, 0.0)
    differs = builder.and_(
        builder.fcmp_unordered("!=", rest, none),
        builder.xor(builder.fcmp_ordered("<", y, none), builder.fcmp_ordered("<", rest, none)),
    )
    return rest, builder.fadd(rest, y), differs


def _widen(context: Context, t: ScalarType, x: llvm.Value, y: llvm.Value) -> tuple[llvm.Value, llvm.Value]:
    """f16 and bf16 are divided in f32, where their quotients' floors are exact."""
    if t.bits >= 32:
        return x, y
    return context.builder.fpext(x, FLOAT), context.builder.fpext(y, FLOAT)


def _suffix(value: llvm.Value) -> str:
    return "f64" if value.type == DOUBLE else "f32"
