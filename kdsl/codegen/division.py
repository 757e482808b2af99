"""Python's ``//`` and ``%``: floor and the divisor's sign; integers by zero give 0, and the smallest // -1 wraps.

As few instructions as what is known of the operands allows: LLVM's udiv and urem wherever both are known non-negative.
"""

from __future__ import annotations

from llvmlite import ir as llvm

from kdsl.codegen.context import Context
from kdsl.codegen.ranges import Interval
from kdsl.codegen.types import DOUBLE, FLOAT, constant
from kdsl.lang.types import ScalarType

Ranges = tuple[Interval | None, Interval | None]


def floor_divide(builder: llvm.IRBuilder, t: ScalarType, n: llvm.Value, d: llvm.Value, ranges: Ranges) -> llvm.Value:
    """``n // d`` on ints."""
    numerator, divisor = (r or Interval.of(t) for r in ranges)
    if divisor.low == divisor.high and (numerator.low >= 0 or not t.is_signed or divisor.low in (0, -1, 1)):
        return _divide_by_constant(builder, t, n, divisor.low)
    if numerator.low >= 0 and divisor.low >= 0:
        return _unsigned_divide(builder, t, n, d, numerator, divisor)
    if divisor.low > 0:
        # floor(n / d) of a negative n is ~(~n // d), and ~n is not negative: one unsigned division, no correction.
        sign = builder.ashr(n, constant(t, t.bits - 1))
        return builder.xor(builder.udiv(builder.xor(n, sign), d), sign)
    return _signed_divide(builder, t, n, d)


def _divide_by_constant(builder: llvm.IRBuilder, t: ScalarType, n: llvm.Value, divisor: int) -> llvm.Value:
    match divisor:
        case 0:
            return constant(t, 0)
        case 1:
            return n
        case -1:
            return builder.sub(constant(t, 0), n)
        case _ if divisor > 0:
            return builder.udiv(n, constant(t, divisor))
        case _:
            # n >= 0 and d < 0: floor(n / d) is -ceil(n / -d), which is ~((n - 1) // -d) but for n = 0.
            magnitude = constant(t, -divisor)
            quotient = builder.udiv(n, magnitude)
            rest = builder.icmp_unsigned("!=", builder.urem(n, magnitude), constant(t, 0))
            return builder.sub(builder.sub(constant(t, 0), quotient), builder.zext(rest, n.type))


def _unsigned_divide(
    builder: llvm.IRBuilder, t: ScalarType, n: llvm.Value, d: llvm.Value, numerator: Interval, divisor: Interval
) -> llvm.Value:
    if divisor.low > 0:
        return builder.udiv(n, d)
    is_zero = builder.icmp_unsigned("==", d, constant(t, 0))
    all_ones = (1 << t.bits) - 1
    # A numerator below all ones over all ones is the 0 that a division by zero must give, without a second select.
    quotient = builder.udiv(n, builder.select(is_zero, constant(t, all_ones), d))
    return quotient if numerator.high < all_ones else builder.select(is_zero, constant(t, 0), quotient)


def _signed_divide(builder: llvm.IRBuilder, t: ScalarType, n: llvm.Value, d: llvm.Value) -> llvm.Value:
    """Any operands. LLVM's sdiv must see neither 0 nor the smallest over -1, and both cases are n * d."""
    special = builder.icmp_unsigned("<", builder.add(d, constant(t, 1)), constant(t, 2))
    divisor = builder.select(special, constant(t, 1), d)
    quotient = builder.sdiv(n, divisor)
    rest = builder.sub(n, builder.mul(quotient, divisor))
    below = builder.and_(
        builder.icmp_signed("!=", rest, constant(t, 0)),
        builder.icmp_signed("<", builder.xor(rest, divisor), constant(t, 0)),
    )
    floor = builder.add(quotient, builder.sext(below, n.type))
    return builder.select(special, builder.mul(n, d), floor)


def modulo(builder: llvm.IRBuilder, t: ScalarType, n: llvm.Value, d: llvm.Value, ranges: Ranges) -> llvm.Value:
    """``n % d`` on ints, with d's sign."""
    numerator, divisor = (r or Interval.of(t) for r in ranges)
    if divisor.low == divisor.high and divisor.low in (0, 1, -1):
        return constant(t, 0)
    if divisor.low > 0 and divisor.low == divisor.high and divisor.low & (divisor.low - 1) == 0:
        return builder.and_(n, constant(t, divisor.low - 1))
    if numerator.low >= 0 and divisor.low >= 0:
        # Anything modulo 1 is the 0 that a division by zero must give.
        return builder.urem(n, d if divisor.low > 0 else _nonzero(builder, t, d))
    if divisor.low > 0:
        rest = builder.srem(n, d)
        below = builder.icmp_signed("<", rest, constant(t, 0))
    else:
        special = builder.icmp_unsigned("<", builder.add(d, constant(t, 1)), constant(t, 2))
        safe = builder.select(special, constant(t, 1), d)
        rest = builder.srem(n, safe)
        below = builder.and_(
            builder.icmp_signed("!=", rest, constant(t, 0)),
            builder.icmp_signed("<", builder.xor(rest, safe), constant(t, 0)),
        )
    return builder.select(below, builder.add(rest, d), rest)


def _nonzero(builder: llvm.IRBuilder, t: ScalarType, d: llvm.Value) -> llvm.Value:
    is_zero = builder.icmp_unsigned("==", d, constant(t, 0))
    return builder.select(is_zero, constant(t, 1), d)


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
