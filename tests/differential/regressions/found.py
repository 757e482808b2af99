"""Disagreements that random programs found and that are mended, one row each."""

from __future__ import annotations

from ..rows import Row

FOUND: tuple[Row, ...] = (
    # NVPTX converts the i1 that LLVM makes of this int to bf16 without its sign.
    Row("an int of 0 or -1 as bf16", "bf16((~i64(a)) >> 63)", "bf16 bf16", ((1.0, -1.0), (-1.0, 0.0), (-2.0, 0.0))),
    # LLVM ended the process on these two.
    Row("a bf16 made of an int, as f16", "bool(bitcast(bf16(a), f16))", "i64 bool", ((0, 0), (-7, 1), (2**62, 1))),
    Row("an f16 made of an int, as bf16", "bitcast(f16(a), bf16) < 0.0", "u32 bool", ((0, 0), (7, 0))),
    # ptxas took the store of an f64's low bits for a conversion of the number.
    Row("the low bits of an f64", "i16(bitcast(f64(a), i64))", "u16 i16", ((64962, 0), (1, 0), (0, 0))),
    # And the same where a float's bits say how far to shift 64 bits.
    Row("a shift by the bits of an f32", "u64(1) >> bitcast(a - 0.001, i32)", "f32 u64", ((-3.5, 0), (3.5, 0))),
    # A function's name that is bound in an unrolled loop was no function.
    Row(
        "a lambda made in an unrolled loop",
        "r = 0\nfor k in static_range(3):\n    add = lambda x: x + a\n    r += add(k)",
        "i32 i32",
        ((10, 33), (0, 3)),
    ),
)
