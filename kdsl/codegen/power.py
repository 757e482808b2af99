"""``**``: exponentiation by squaring on ints, libdevice's pow on floats, products for small constant exponents."""

from __future__ import annotations

from llvmlite import ir as llvm

from kdsl.codegen.context import Context
from kdsl.codegen.types import DOUBLE, FLOAT, constant
from kdsl.lang.types import ScalarType

PRODUCTS = (1.0, 2.0)
"""Constant exponents of floats that need no libdevice: their results are exact products, rounded once."""


def int_power(context: Context, t: ScalarType, base: llvm.Value, exponent: llvm.Value) -> llvm.Value:
    """``base ** exponent`` on ints, wrapping; a negative exponent gives 0."""
    builder = context.builder
    if isinstance(exponent, llvm.Constant) and exponent.constant < 1 << 8:
        return _product(builder, t, base, exponent.constant)
    start = builder.block
    loop = builder.append_basic_block("power")
    done = builder.append_basic_block("power.done")
    zero, one = constant(t, 0), constant(t, 1)
    first = builder.icmp_signed(">=", exponent, zero) if t.is_signed else None
    initial = one if first is None else builder.select(first, one, zero)
    count = exponent if first is None else builder.select(first, exponent, zero)
    builder.branch(loop)
    builder.position_at_end(loop)
    result, square, rest = (builder.phi(base.type, name) for name in ("result", "square", "exponent"))
    odd = builder.trunc(rest, llvm.IntType(1))
    product = builder.select(odd, builder.mul(result, square), result)
    following, halved = builder.mul(square, square), builder.lshr(rest, one)
    for phi, at_start, later in ((result, initial, product), (square, base, following), (rest, count, halved)):
        phi.add_incoming(at_start, start)
        phi.add_incoming(later, loop)
    builder.cbranch(builder.icmp_unsigned("!=", halved, zero), loop, done)
    builder.position_at_end(done)
    return product


def _product(builder: llvm.IRBuilder, t: ScalarType, base: llvm.Value, exponent: int) -> llvm.Value:
    """A power with a known small exponent, by the fewest squarings."""
    result: llvm.Value | None = None
    while exponent:
        if exponent & 1:
            result = base if result is None else builder.mul(result, base)
        exponent >>= 1
        if exponent:
            base = builder.mul(base, base)
    return constant(t, 1) if result is None else result


def float_power(context: Context, t: ScalarType, base: llvm.Value, exponent: llvm.Value) -> llvm.Value:
    """``base ** exponent`` on floats. Exponents 1 and 2 are exact products; f16 and bf16 go through f32."""
    builder = context.builder
    if isinstance(exponent, llvm.Constant) and exponent.constant in PRODUCTS:
        return base if exponent.constant == 1.0 else builder.fmul(base, base, flags=context.flags)
    narrow = base.type
    if t.bits < 32:
        base, exponent = builder.fpext(base, FLOAT), builder.fpext(exponent, FLOAT)
    name = "__nv_pow" if base.type == DOUBLE else "__nv_fast_powf" if context.options.fastmath else "__nv_powf"
    result = context.call(name, base.type, [base, exponent])
    return result if result.type == narrow else builder.fptrunc(result, narrow)
