"""The language's table of defined scalar operations (3.3), row by row, with results worked out by hand."""

from __future__ import annotations

import math

from .rows import Row

INF, NAN = math.inf, math.nan
I8, I16, I32, I64 = (-(2 ** (bits - 1)) for bits in (8, 16, 32, 64))
"""The smallest value of each signed type."""

WRAPPING = (
    Row("add wraps", "a + b", "i32 i32 i32", ((2147483647, 1, I32), (-5, 3, -2), (I32, -1, 2147483647))),
    Row("subtract wraps", "a - b", "u32 u32 u32", ((0, 1, 4294967295), (7, 5, 2))),
    Row("multiply wraps", "a * b", "i64 i64 i64", ((2**62, 2, I64), (I64, -1, I64), (-3, 5, -15))),
    Row("u64 wraps", "a * a + b", "u64 u64 u64", ((2**32, 5, 5), (3, 2**64 - 9, 0))),
    Row("i8 widens", "a + b", "i8 i8 i32", ((127, 1, 128), (-128, -1, -129))),
    Row("u8 with i8 widens", "a - b", "u8 i8 i32", ((0, 127, -127), (255, -128, 383))),
    Row("bools add as i32", "a + b", "bool bool i32", ((1, 1, 2), (0, 1, 1))),
    Row("augmented narrows i8", "r = a\nr += b", "i8 i8 i8", ((127, 1, -128), (100, 100, -56))),
    Row("augmented narrows u16", "r = a\nr *= b", "u16 u16 u16", ((65535, 65535, 1), (256, 256, 0))),
    Row("negate wraps", "-a", "i32 i32", ((I32, I32), (5, -5))),
    Row("negate u32", "-a", "u32 u32", ((1, 4294967295), (0, 0))),
    Row("negate i8 widens", "-a", "i8 i32", ((-128, 128), (1, -1))),
    Row("invert", "~a", "i32 i32", ((0, -1), (I32, 2147483647))),
    Row("abs of the smallest wraps", "abs(a)", "i32 i32", ((I32, I32), (-7, 7), (7, 7))),
)

QUOTIENTS = ((7, 2, 3), (-7, 2, -4), (7, -2, -4), (-7, -2, 3), (6, -3, -2), (5, 0, 0), (-5, 0, 0), (0, 0, 0))
REMAINDERS = ((7, 2, 1), (-7, 2, 1), (7, -2, -1), (-7, -2, -1), (6, -3, 0), (5, 0, 0), (-5, 0, 0), (0, 0, 0))
DIVISION = (
    Row("floor division i32", "a // b", "i32 i32 i32", (*QUOTIENTS, (I32, -1, I32), (I32, 1, I32), (I32, I32, 1))),
    Row("floor division i64", "a // b", "i64 i64 i64", (*QUOTIENTS, (I64, -1, I64), (I64, 2, I64 // 2))),
    Row("floor division i8", "a // b", "i8 i8 i32", (*QUOTIENTS, (I8, -1, 128))),
    Row("floor division i8 narrowed", "r = a\nr //= b", "i8 i8 i8", (*QUOTIENTS, (I8, -1, I8))),
    Row("floor division u32", "a // b", "u32 u32 u32", ((2**32 - 1, 2, 2**31 - 1), (5, 0, 0), (1, 2**32 - 1, 0))),
    Row("floor division u64", "a // b", "u64 u64 u64", ((2**64 - 1, 10, 1844674407370955161), (5, 0, 0))),
    Row("modulo i32", "a % b", "i32 i32 i32", (*REMAINDERS, (I32, -1, 0), (I32, 3, 1), (2147483647, I32, -1))),
    Row("modulo i64", "a % b", "i64 i64 i64", (*REMAINDERS, (I64, -1, 0), (I64, 10, 2))),
    Row("modulo u32", "a % b", "u32 u32 u32", ((2**32 - 1, 10, 5), (5, 0, 0), (5, 7, 5))),
    Row("modulo u8", "a % b", "u8 u8 i32", ((255, 16, 15), (3, 0, 0))),
    Row("by a positive constant", "a // 7", "i32 i32", ((20, 2), (-1, -1), (-7, -1), (-8, -2), (I32, -306783379))),
    Row("by a negative constant", "a // -3", "i32 i32", ((7, -3), (-7, 2), (6, -2), (0, 0), (I32, 715827882))),
    Row("modulo a power of two", "a % 8", "i32 i32", ((-1, 7), (9, 1), (-8, 0), (I32, 0))),
    Row("modulo a negative constant", "a % -8", "i32 i32", ((1, -7), (-9, -1), (8, 0), (I32, 0))),
    Row("by minus one", "a // -1", "i32 i32", ((I32, I32), (5, -5))),
    Row("of a constant", "100 // a", "i32 i32", ((7, 14), (-7, -15), (0, 0))),
    Row("non-negative operands", "(a & 255) // (b & 15)", "i32 i32 i32", ((255, 16, 0), (-1, -1, 17), (100, 7, 14))),
    Row("divmod", "q, m = divmod(a, b)\nr = q * 100 + m", "i32 i32 i32", ((7, 2, 301), (-7, 2, -399), (7, 0, 0))),
)

BIG = 16777216.0
FLOAT_DIVISION = (
    Row(
        "floor division f32",
        "a // b",
        "f32 f32 f32",
        (
            (7.5, 2.0, 3.0),
            (-7.5, 2.0, -4.0),
            (7.5, -2.0, -4.0),
            (-0.0, 2.0, -0.0),
            (1.0, -INF, -1.0),
            (1.0, 0.0, INF),
            (-1.0, 0.0, -INF),
            (0.0, 0.0, NAN),
            (INF, 2.0, NAN),
            (NAN, 2.0, NAN),
            (2.0**60, 3.0, float.fromhex("0x1.555556p+58")),
        ),
    ),
    Row(
        "modulo f32",
        "a % b",
        "f32 f32 f32",
        (
            (7.5, 2.0, 1.5),
            (-7.5, 2.0, 0.5),
            (7.5, -2.0, -0.5),
            (-4.0, 2.0, 0.0),
            (4.0, -2.0, -0.0),
            (-1e-20, 1.0, 1.0),
            (5.0, INF, 5.0),
            (-5.0, INF, INF),
            (5.0, -INF, -INF),
            (1.0, 0.0, NAN),
            (INF, 2.0, NAN),
            (2.0**100, 3.0, 1.0),
            (2.0**101, 3.0, 2.0),
        ),
    ),
    Row(
        "modulo f64, large",
        "a % b",
        "f64 f64 f64",
        ((2.0**1000, 3.0, 1.0), (-(2.0**1000), 3.0, 2.0), (1e308, 7.0, 1e308 % 7.0)),
    ),
    Row("floor division f64", "a // b", "f64 f64 f64", ((1.0, 0.1, 9.0), (-1.0, 0.1, -10.0), (6.0, -2.0, -3.0))),
    Row("modulo f16", "a % b", "f16 f16 f16", ((7.0, 2.5, 2.0), (-7.0, 2.5, 0.5), (65504.0, 3.0, 2.0))),
    Row("floor division bf16", "a // b", "bf16 bf16 bf16", ((7.0, 2.0, 3.0), (-7.0, 2.0, -4.0))),
)

TRUE_DIVISION = (
    Row(
        "ints give f32",
        "a / b",
        "i32 i32 f32",
        ((1, 2, 0.5), (-7, 2, -3.5), (1, 0, INF), (0, 0, NAN), (16777217, 1, BIG)),
    ),
    Row("small ints give f32", "a / b", "u8 i8 f32", ((255, -2, -127.5), (1, 4, 0.25))),
    Row("64-bit ints give f64", "a / b", "i64 i64 f64", ((2**53 + 1, 1, 2.0**53), (1, 3, 1 / 3), (-1, 0, -INF))),
    Row(
        "f32 rounds correctly", "a / b", "f32 f32 f32", ((1.0, 3.0, float.fromhex("0x1.555556p-2")), (1.0, -0.0, -INF))
    ),
    Row("f64 rounds correctly", "a / b", "f64 f64 f64", ((1.0, 3.0, 1 / 3), (5e-324, 2.0, 0.0), (0.0, 0.0, NAN))),
    Row("f16 rounds correctly", "a / b", "f16 f16 f16", ((1.0, 3.0, 1365 / 4096), (65504.0, 0.5, INF))),
    Row("bf16 rounds correctly", "a / b", "bf16 bf16 bf16", ((1.0, 3.0, 171 / 512),)),
)

POWERS = (
    Row(
        "int power", "a ** b", "i32 i32 i32", ((3, 4, 81), (-2, 3, -8), (2, 31, I32), (2, 32, 0), (7, 0, 1), (0, 0, 1))
    ),
    Row("negative exponent gives 0", "a ** b", "i32 i32 i32", ((2, -1, 0), (1, -1, 0), (-1, -3, 0), (0, -1, 0))),
    Row(
        "u64 power wraps",
        "a ** b",
        "u64 u64 u64",
        ((10, 20, 10**20 % 2**64), (2, 63, 2**63), (3, 2**40, pow(3, 2**40, 2**64))),
    ),
    Row("constant exponent", "a ** 5", "i64 i64", ((-3, -243), (10, 100000), (2**13, 0))),
    Row("pow is **", "pow(a, b)", "i32 i32 i32", ((5, 3, 125), (5, -3, 0))),
)
FLOAT_POWERS = (
    Row("float square", "a ** 2.0", "f32 f32", ((3.0, 9.0), (-0.5, 0.25))),
    Row(
        "float power",
        "a ** b",
        "f64 f64 f64",
        ((2.0, 10.0, 1024.0), (0.0, 0.0, 1.0), (4.0, 0.5, 2.0), (-1.0, 0.5, NAN)),
    ),
)

SHIFTS = (
    Row("left", "a << b", "i32 i32 i32", ((1, 31, I32), (1, 32, 0), (1, 33, 0), (1, -1, 0), (3, 1, 6), (-1, 4, -16))),
    Row(
        "right keeps the sign",
        "a >> b",
        "i32 i32 i32",
        ((-8, 1, -4), (-8, 32, -1), (-8, 99, -1), (8, 32, 0), (-1, -1, -1)),
    ),
    Row("right of unsigned", "a >> b", "u32 i32 u32", ((2**32 - 1, 31, 1), (2**32 - 1, 32, 0), (2**32 - 1, -1, 0))),
    Row("64-bit amounts", "a << b", "i32 i64 i32", ((1, 2**32, 0), (1, 2**32 + 1, 0), (1, 5, 32))),
    Row("64-bit value", "a << b", "i64 i32 i64", ((1, 63, I64), (1, 64, 0), (1, 40, 2**40))),
    Row("u64 right", "a >> b", "u64 u8 u64", ((2**64 - 1, 63, 1), (2**64 - 1, 64, 0), (2**64 - 1, 255, 0))),
    Row("i8 widens in a shift", "a << b", "i8 i8 i32", ((1, 8, 256), (-1, 31, I32), (1, 32, 0))),
    Row("constant amount past the width", "a << 40", "i32 i32", ((1, 0), (-1, 0))),
    Row("constant amount past the width, right", "a >> 40", "i32 i32", ((1, 0), (-1, -1))),
)

CASTS = (
    Row(
        "f32 to i32",
        "i32(a)",
        "f32 i32",
        ((2.9, 2), (-2.9, -2), (3e9, 2147483647), (-3e9, I32), (INF, 2147483647), (-INF, I32), (NAN, 0), (-0.0, 0)),
    ),
    Row(
        "f32 to u32",
        "u32(a)",
        "f32 u32",
        ((2.9, 2), (-2.9, 0), (5e9, 2**32 - 1), (-INF, 0), (NAN, 0), (3e9, 3000000000)),
    ),
    Row("f32 to i8", "i8(a)", "f32 i8", ((200.0, 127), (-200.0, -128), (NAN, 0), (127.9, 127), (-1.5, -1))),
    Row("f32 to u16", "u16(a)", "f32 u16", ((70000.0, 65535), (-1.0, 0), (NAN, 0), (65535.5, 65535))),
    Row("f32 to i64", "i64(a)", "f32 i64", ((1e19, 2**63 - 1), (-1e19, I64), (NAN, 0), (INF, 2**63 - 1))),
    Row(
        "f64 to i32",
        "i32(a)",
        "f64 i32",
        ((2147483647.9, 2147483647), (2147483648.0, 2147483647), (NAN, 0), (-INF, I32)),
    ),
    Row("f64 to u64", "u64(a)", "f64 u64", ((1e20, 2**64 - 1), (-1.0, 0), (NAN, 0), (2.0**63, 2**63))),
    Row("f16 to i32", "i32(a)", "f16 i32", ((65504.0, 65504), (INF, 2147483647), (NAN, 0), (-1.5, -1))),
    Row("bf16 to u8", "u8(a)", "bf16 u8", ((256.0, 255), (-1.0, 0), (NAN, 0), (3.5, 3))),
    Row("float to bool", "bool(a)", "f32 bool", ((0.0, 0), (-0.0, 0), (NAN, 1), (1e-45, 1))),
    Row("int to bool", "bool(a)", "i32 bool", ((0, 0), (256, 1), (-1, 1))),
    Row("low bits", "i8(a)", "i32 i8", ((300, 44), (128, -128), (-129, 127))),
    Row("low bits of i64", "u32(a)", "i64 u32", ((-1, 2**32 - 1), (2**40 + 5, 5))),
    Row("sign extends", "i64(a)", "i8 i64", ((-1, -1), (127, 127))),
    Row("zero extends", "i64(a)", "u32 i64", ((2**32 - 1, 2**32 - 1),)),
    Row("cast of a literal", "a + u32(-1)", "u32 u32", ((0, 2**32 - 1), (1, 0))),
    Row(
        "i32 to f32 rounds to even",
        "f32(a)",
        "i32 f32",
        ((16777217, BIG), (16777219, BIG + 4), (2147483647, 2147483648.0)),
    ),
    Row("u64 to f64", "f64(a)", "u64 f64", ((2**64 - 1, 2.0**64), (2**53 + 1, 2.0**53), (2**53 + 3, 2.0**53 + 4))),
    Row("i32 to f16 overflows", "f16(a)", "i32 f16", ((65519, 65504.0), (65520, INF), (-65520, -INF), (2049, 2048.0))),
    Row(
        "i32 to bf16 rounds once",
        "bf16(a)",
        "i32 bf16",
        ((257, 256.0), (2**24 + 2**16 + 1, 2.0**24 + 2**17), (-3, -3.0)),
    ),
    Row(
        "f64 to f32",
        "f32(a)",
        "f64 f32",
        ((1e40, INF), (1 + 2.0**-24, 1.0), (1 + 3 * 2.0**-24, 1 + 2.0**-22), (1e-50, 0.0)),
    ),
    Row(
        "f64 to f16 rounds once",
        "f16(a)",
        "f64 f16",
        ((1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-10), (1 + 2.0**-11, 1.0), (65520.0, INF)),
    ),
    Row("f64 to bf16 rounds once", "bf16(a)", "f64 bf16", ((1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-7), (1 + 2.0**-8, 1.0))),
    Row("f32 to bf16", "bf16(a)", "f32 bf16", ((1 + 3 * 2.0**-8, 1 + 2.0**-6), (3.4e38, INF), (NAN, NAN))),
    Row(
        "bf16 to f16",
        "f16(a)",
        "bf16 f16",
        ((1.5 * 2.0**-24, 2.0**-23), (2.0**-25, 0.0), (65280.0, 65280.0), (1e30, INF)),
    ),
    Row("int() float() bool()", "int(a) + float(b) + bool(a)", "f32 i32 f32", ((2.9, 3, 6.0), (NAN, 1, 2.0))),
    Row("bitcast", "bitcast(a, u32)", "f32 u32", ((1.0, 0x3F800000), (-0.0, 0x80000000), (INF, 0x7F800000))),
    Row("bitcast back", "bitcast(a, f64)", "u64 f64", ((0x3FF0000000000000, 1.0), (1, 5e-324))),
    Row("bitcast u16", "bitcast(a, bf16)", "u16 bf16", ((0x3F80, 1.0), (0xFF80, -INF))),
)

COMPARISON_VALUES = ((1.0, 1.0), (1.0, 2.0), (NAN, 1.0), (1.0, NAN), (NAN, NAN), (0.0, -0.0))


def comparison(op: str, results: tuple[int, ...]) -> Row:
    cases = tuple((*pair, result) for pair, result in zip(COMPARISON_VALUES, results, strict=True))
    return Row(f"float {op}", f"a {op} b", "f32 f32 bool", cases)


COMPARISONS = (
    comparison("==", (1, 0, 0, 0, 0, 1)),
    comparison("!=", (0, 1, 1, 1, 1, 0)),
    comparison("<", (0, 1, 0, 0, 0, 0)),
    comparison("<=", (1, 1, 0, 0, 0, 1)),
    comparison(">", (0, 0, 0, 0, 0, 0)),
    comparison(">=", (1, 0, 0, 0, 0, 1)),
    Row("not of a comparison with NaN", "not (a < b)", "f64 f64 bool", ((NAN, 1.0, 1), (1.0, 2.0, 0), (2.0, 1.0, 1))),
    Row("u32 compares unsigned", "a < b", "u32 u32 bool", ((1, 2**32 - 1, 1), (2**31, 1, 0))),
    Row("u8 with i32", "a > b", "u8 i32 bool", ((255, -1, 1), (0, 0, 0))),
    Row("chain", "0 <= a < b", "i32 i32 bool", ((-1, 5, 0), (3, 5, 1), (5, 5, 0))),
    Row("chain with NaN", "0.0 <= a <= b", "f32 f32 bool", ((NAN, 1.0, 0), (0.5, NAN, 0), (0.5, 1.0, 1))),
    Row("bools", "(a ^ b) == (a & b | a)", "bool bool bool", ((1, 1, 0), (0, 0, 1), (1, 0, 1))),
    Row("and or not take ints", "a and not b or a == 7", "i32 i32 bool", ((2, 0, 1), (2, 1, 0), (7, 1, 1), (0, 0, 0))),
)

MINIMA = ((1.0, 2.0, 1.0), (NAN, 2.0, 2.0), (1.0, NAN, 1.0), (0.0, -0.0, -0.0), (-0.0, 0.0, -0.0), (NAN, NAN, NAN))
MAXIMA = ((1.0, 2.0, 2.0), (NAN, 2.0, 2.0), (1.0, NAN, 1.0), (0.0, -0.0, 0.0), (-0.0, 0.0, 0.0), (NAN, NAN, NAN))
MIN_MAX = (
    *(Row(f"min {t}", "min(a, b)", f"{t} {t} {t}", MINIMA) for t in ("f16", "bf16", "f32", "f64")),
    *(Row(f"max {t}", "max(a, b)", f"{t} {t} {t}", MAXIMA) for t in ("f16", "bf16", "f32", "f64")),
    Row("min of three", "min(a, b, c)", "i32 i32 i32 i32", ((3, 1, 2, 1), (I32, 0, 1, I32))),
    Row("max of three", "max(a, b, c)", "f32 f32 f32 f32", ((1.0, NAN, 3.0, 3.0), (NAN, NAN, -1.0, -1.0))),
    Row("max with a literal", "max(a, 0)", "i32 i32", ((-5, 0), (5, 5))),
    Row("u64 max", "max(a, b)", "u64 u64 u64", ((2**63, 1, 2**63),)),
    Row("u32 min", "min(a, b)", "u32 u32 u32", ((2**31, 1, 1), (2**32 - 1, 2**31, 2**31))),
)

ROUNDINGS = (
    Row(
        "round is half to even",
        "round(a)",
        "f32 f32",
        ((0.5, 0.0), (1.5, 2.0), (2.5, 2.0), (-0.5, -0.0), (-1.5, -2.0), (NAN, NAN)),
    ),
    Row(
        "round f64",
        "round(a)",
        "f64 f64",
        ((0.49999999999999994, 0.0), (4503599627370497.5, 4503599627370498.0), (-INF, -INF)),
    ),
    Row("round f16", "round(a)", "f16 f16", ((0.5, 0.0), (3.5, 4.0), (1024.5, 1024.0))),
    Row("floor", "math.floor(a)", "f32 f32", ((1.7, 1.0), (-1.2, -2.0), (-0.0, -0.0), (0.5, 0.0), (INF, INF))),
    Row("ceil", "math.ceil(a)", "f32 f32", ((1.2, 2.0), (-0.5, -0.0), (-1.7, -1.0))),
    Row("ceil bf16", "math.ceil(a)", "bf16 bf16", ((1.25, 2.0), (-0.5, -0.0))),
    Row("round of an int", "round(a)", "i32 i32", ((7, 7), (I32, I32))),
    Row("abs f32", "abs(a)", "f32 f32", ((-0.0, 0.0), (-INF, INF), (-1.5, 1.5))),
    Row("abs f16", "abs(a)", "f16 f16", ((-0.0, 0.0), (-1.5, 1.5))),
    Row("divmod f64", "q, m = divmod(a, b)\nr = q * 10.0 + m", "f64 f64 f64", ((7.5, 2.0, 31.5), (-7.5, 2.0, -39.5))),
)

TINY = 2.0**-24
FUSED = (
    # a*b is 1 + 2**-11 + 2**-24, which f32 rounds to 1 + 2**-11: the last bit survives only in a fused multiply-add.
    Row(
        "fmad=False never contracts",
        "a * b + c",
        "f32 f32 f32 f32",
        ((1 + 2.0**-12, 1 + 2.0**-12, -(1 + 2.0**-11), 0.0),),
    ),
    Row("f64, not contracted", "a * b - c", "f64 f64 f64 f64", ((1 + 2.0**-27, 1 + 2.0**-27, 1 + 2.0**-26, 0.0),)),
)

TYPING = (
    Row("x * 0.5 stays f32", "a * 0.5", "f32 f32", ((3.0, 1.5), (1e-45, 0.0))),
    Row("x * 2 stays f16", "a * 2", "f16 f16", ((40000.0, INF), (1.5, 3.0))),
    Row("i64 with f16 gives f16", "a * b", "i64 f16 f16", ((3, 0.5, 1.5), (100000, 1.0, INF))),
    Row("bf16 with f32 gives f32", "a + b", "bf16 f32 f32", ((1.0, 2.0**-20, 1 + 2.0**-20),)),
    Row("u32 with i64 gives i64", "a - b", "u32 i64 i64", ((0, 2**32, -(2**32)), (2**32 - 1, -1, 2**32))),
    Row("a constant name is the constant", "N = 3\nr = a * N", "f16 f16", ((0.5, 1.5),)),
    Row(
        "a variable joins its assignments",
        "r = 0.0\nfor k in range(3):\n    r += a",
        "f64 f64",
        ((0.1, 0.1 + 0.1 + 0.1),),
    ),
    Row("a conditional of literals is weak", "a + (1 if b else 2)", "i64 bool i64", ((2**40, 1, 2**40 + 1), (0, 0, 2))),
)

LOOPS = (
    Row(
        "range never wraps",
        "r = 0\nfor k in range(2147483640, 2147483647, 4):\n    r += 1",
        "i32 i32",
        ((0, 2),),
    ),
    Row(
        "range to the last value",
        "r = 0\nfor k in range(a, b):\n    r += 1",
        "i32 i32 i32",
        ((2147483640, 2147483647, 7), (5, 5, 0)),
    ),
    Row(
        "range downwards to the smallest",
        "r = 0\nfor k in range(a, b, -3):\n    r += 1",
        "i32 i32 i32",
        ((I32 + 7, I32, 3), (0, 5, 0)),
    ),
    Row(
        "range of u64",
        "r = 0\nfor k in range(a, b, 2):\n    r += 1",
        "u64 u64 i32",
        ((2**64 - 4, 2**64 - 1, 2), (3, 0, 0)),
    ),
    Row("a step of 0", "r = 7\nfor k in range(0, 9, a):\n    r += 1", "i32 i32", ((0, 7), (4, 10), (-1, 7))),
    Row("rebinding does not change it", "r = 0\nfor k in range(a):\n    k += 5\n    r += k", "i32 i32", ((3, 18),)),
    Row("it holds the last value", "k = -1\nfor k in range(0, a, 3):\n    pass\nr = k", "i32 i32", ((7, 6), (0, -1))),
    Row(
        "for else",
        "r = 0\nfor k in range(a):\n    if k == b:\n        break\n    r += 1\nelse:\n    r += 100",
        "i32 i32 i32",
        ((5, 2, 2), (5, 9, 105), (0, 0, 100)),
    ),
)

ROWS = (
    *WRAPPING,
    *DIVISION,
    *FLOAT_DIVISION,
    *TRUE_DIVISION,
    *POWERS,
    *FLOAT_POWERS,
    *SHIFTS,
    *CASTS,
    *COMPARISONS,
    *MIN_MAX,
    *ROUNDINGS,
    *FUSED,
    *TYPING,
    *LOOPS,
)
