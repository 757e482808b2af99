"""Rows: what operators, builtins and casts give, as docs/language.md defines them."""

import math

import numpy as np

from kdsl import Ptr, bitcast, f16, f32, f64, grid, i8, i32, i64, kernel, u8, u32

from .capability import row

A = np.array([7, -7, 7, -7, 0, 2**31 - 1, -(2**31), -(2**31), 100, -1, 5, 6, 7, 8, 9, 10] * 2, np.int32)
B = np.array([2, 2, -2, -2, 5, -1, -1, 1, 0, 0, 3, 3, 3, 3, 3, 3] * 2, np.int32)
N = np.arange(32)


def wrapped(values: list[int]) -> np.ndarray:
    return np.array(values, np.int64).astype(np.int32)


FLOOR = wrapped([int(a) // int(b) if b else 0 for a, b in zip(A, B, strict=True)])
MODULO = wrapped([int(a) % int(b) if b else 0 for a, b in zip(A, B, strict=True)])


@row("Values and operators", "// of ints", "rounds down; by zero 0", out=FLOOR, inputs=(A, B))
@kernel
def floor_division(out: Ptr[i32], a: Ptr[i32], b: Ptr[i32]):
    i = grid(1)
    out[i] = a[i] // b[i]


@row("Values and operators", "% of ints", "has the divisor's sign; by zero 0", out=MODULO, inputs=(A, B))
@kernel
def modulo(out: Ptr[i32], a: Ptr[i32], b: Ptr[i32]):
    i = grid(1)
    out[i] = a[i] % b[i]


@row("Values and operators", "divmod of ints", "quotient and rest at once", out=FLOOR ^ MODULO, inputs=(A, B))
@kernel
def both(out: Ptr[i32], a: Ptr[i32], b: Ptr[i32]):
    i = grid(1)
    quotient, rest = divmod(a[i], b[i])
    out[i] = quotient ^ rest


@row("Values and operators", "+ - * of ints", "wrap", out=(A.astype(np.int64) * 3 - 2**31 + B).astype(np.int32),
     inputs=(A, B))  # fmt: skip
@kernel
def wrapping(out: Ptr[i32], a: Ptr[i32], b: Ptr[i32]):
    i = grid(1)
    out[i] = a[i] * 3 - 2147483647 - 1 + b[i]


@row("Values and operators", "/ of ints", "an f32; an f64 of 64-bit ints", out=A.astype(np.float32) / np.float32(3),
     inputs=(A,), instructions=("div.rn.f32",))  # fmt: skip
@kernel
def true_division(out: Ptr[f32], a: Ptr[i32]):
    i = grid(1)
    out[i] = a[i] / (2 + i // 32 + 1)


X = np.array([5.5, -5.5, 5.5, -5.5, 1e20, 0.1, -0.0, 3] * 4, np.float32)
Y = np.array([2, 2, -2, -2, 3, 0.01, 1, np.inf] * 4, np.float32)
PYTHON = [divmod(float(x), float(y)) for x, y in zip(X, Y, strict=True)]


@row("Values and operators", "// and % of floats", "Python's, exact for large quotients",
     out=np.array([m for _, m in PYTHON], np.float32), inputs=(X, Y))  # fmt: skip
@kernel
def float_modulo(out: Ptr[f32], x: Ptr[f32], y: Ptr[f32]):
    i = grid(1)
    out[i] = x[i] % y[i]


@row("Values and operators", "** of ints", "exponentiation; a negative run-time exponent gives 0",
     out=np.where(N < 8, 0, 3 ** np.maximum(N - 8, 0)))  # fmt: skip
@kernel
def power(out: Ptr[i64]):
    i = grid(1)
    out[i] = i64(3) ** (i - 8)


@row("Values and operators", "** of floats", "pow", out=np.float32(1.5) ** N.astype(np.float32), ulps=2,
     because="libdevice's pow", inputs=(np.float32(1.5),))  # fmt: skip
@kernel
def float_power(out: Ptr[f32], base: f32):
    i = grid(1)
    out[i] = base ** f32(i)


@row("Values and operators", "<< and >>", "amounts past the width give 0, or the sign",
     out=np.array([(-123 << int(2 * k) & 0xFFFFFFFF) if k < 16 else 0 for k in N], np.uint32).view(np.int32)
     + np.array([-123 >> int(2 * k) for k in N], np.int32), instructions=("shl.b32", "shr.s32"))  # fmt: skip
@kernel
def shifts(out: Ptr[i32]):
    i = grid(1)
    x = i32(-123) + i // 32
    out[i] = (x << (2 * i)) + (x >> (2 * i))


@row("Values and operators", "& | ^ ~", "of ints and of bools", out=((N & 12) | (N ^ 5)) + ~N * 2)
@kernel
def bitwise(out: Ptr[i64]):
    i = grid(1)
    out[i] = ((i & 12) | (i ^ 5)) + ~i * 2


F = np.array([0.5, -0.5, 2.7, -2.7, 3e9, -3e9, np.nan, np.inf, -np.inf, 1e-30, 255.9, 256, -1, 2147483520.0, -0.0, 9] * 2,
             np.float32)  # fmt: skip
SATURATED = [0 if np.isnan(f) else int(min(max(float(f), -(2.0**31)), 2.0**31 - 1)) for f in F]


@row("Values and operators", "float to int", "truncates and saturates; NaN is 0", out=np.array(SATURATED, np.int32),
     inputs=(F,), instructions=("cvt.rzi.s32.f32",))  # fmt: skip
@kernel
def float_to_int(out: Ptr[i32], x: Ptr[f32]):
    out[grid(1)] = i32(x[grid(1)])


@row("Values and operators", "comparisons with NaN", "IEEE; only `!=` holds",
     out=np.full(32, 32), inputs=(np.full(32, np.nan, np.float32),))  # fmt: skip
@kernel
def nan(out: Ptr[i64], x: Ptr[f32]):
    v = x[grid(1)]
    out[grid(1)] = (v < 1) + 2 * (v <= 1) + 4 * (v > 1) + 8 * (v >= 1) + 16 * (v == v) + 32 * (v != v)


@row("Values and operators", "min and max of floats", "of a NaN and a number the number; -0 < +0",
     out=np.where(np.isnan(F), np.float32(1), np.minimum(F, np.float32(1))), inputs=(F,),
     instructions=("min.f32",))  # fmt: skip
@kernel
def smaller(out: Ptr[f32], x: Ptr[f32]):
    out[grid(1)] = min(x[grid(1)], 1)


@row("Values and operators", "min and max of ints", "of two or more", out=np.clip(N * 3, 10, 40),
     instructions=("min.s32", "max.s32"))  # fmt: skip
@kernel
def clamped(out: Ptr[i64]):
    out[grid(1)] = max(min(grid(1) * 3, 40, 1000), 10)


@row("Values and operators", "round, floor, ceil", "of a float stay float; round is half to even",
     out=(np.rint(N / 2) + np.floor(N / 2) * 100
     + np.ceil(N / 2) * 10000).astype(np.float32),
     instructions=("cvt.rni.f32.f32", "cvt.rmi.f32.f32", "cvt.rpi.f32.f32"))  # fmt: skip
@kernel
def rounded(out: Ptr[f32]):
    x = f32(grid(1)) / 2
    out[grid(1)] = round(x) + math.floor(x) * 100 + math.ceil(x) * 10000


@row("Values and operators", "abs", "of ints and floats", out=abs(N - 16) + abs(N - 16) / 2,
     instructions=("abs.s32", "abs.f64"))  # fmt: skip
@kernel
def absolute(out: Ptr[f64]):
    i = grid(1) - 16
    out[grid(1)] = abs(i) + abs(f64(i) / 2)


@row("Values and operators", "a * b + c", "contracts to one fma, as nvcc does",
     out=np.array([float(x) * 3 + 1 for x in N], np.float32), inputs=(N.astype(np.float32),),
     instructions=("fma.rn.f32",))  # fmt: skip
@kernel
def contracted(out: Ptr[f32], x: Ptr[f32]):
    i = grid(1)
    out[i] = x[i] * 3 + 1


TENTH = np.float32(0.1)


@row("Values and operators", "@kernel(fmad=False)", "never contracts",
     out=(N.astype(np.float32) * TENTH + TENTH), inputs=(N.astype(np.float32), TENTH),
     instructions=("mul.rn.f32", "add.rn.f32"), without=("fma",))  # fmt: skip
@kernel(fmad=False)
def not_contracted(out: Ptr[f32], x: Ptr[f32], y: f32):
    i = grid(1)
    out[i] = x[i] * y + y


@row("Values and operators", "@kernel(fastmath=True)", "approximate division and functions, f32 denormals flushed",
     out=np.zeros(32, np.float32) + np.float32(0.5), inputs=(np.float32(1e-40),), ulps=2, because="div.approx",
     instructions=("div.approx.ftz.f32",))  # fmt: skip
@kernel(fastmath=True)
def approximate(out: Ptr[f32], tiny: f32):
    x = f32(grid(1) + 1)
    out[grid(1)] = (x + tiny * 2) / (x * 2) + tiny


@row("Values and operators", "and, or, not", "short-circuit: what need not be evaluated is not",
     out=np.where((N > 3) & (N < 20), 1, 0) + np.where(~(N > 25), 2, 0), inputs=(N,))  # fmt: skip
@kernel
def logic(out: Ptr[i64], x: Ptr[i64]):
    i = grid(1)
    inside = i > 3 and x[i - 4] < 16
    out[i] = i64(inside) + (0 if i > 25 or x[i + 6] < 0 else 2)


@row("Values and operators", "chained comparisons", "`a < b < c`, each evaluated once", out=((N > 3) & (N <= 9)) * 1)
@kernel
def chained(out: Ptr[i64]):
    out[grid(1)] = 3 < grid(1) <= 9


@row("Values and operators", "conditional expressions", "`a if p else b`, without a branch where it costs nothing",
     out=np.where(N % 2, N, -N), instructions=("selp.b32",), without=(r"\bbra\b",))  # fmt: skip
@kernel
def conditional(out: Ptr[i64]):
    i = grid(1)
    out[i] = i if i % 2 else -i


@row("Values and operators", "weak literals", "a literal takes the type it meets: `acc = 0.0` becomes an f64",
     out=np.cumsum(N / 3), inputs=(N / 3,), instructions=("add.rn.f64",), without=("f32",))  # fmt: skip
@kernel
def weak(out: Ptr[f64], x: Ptr[f64]):
    acc = 0.0
    for k in range(grid(1) + 1):
        acc += x[k]
    out[grid(1)] = acc


@row("Values and operators", "integer widths", "8 and 16 bits widen to i32, an augmented assignment narrows back",
     out=(N * 16 + 200) // 2 + (N * 16 + 200) % 256, inputs=(np.full(32, 200, np.uint8),))  # fmt: skip
@kernel
def widths(out: Ptr[i64], x: Ptr[u8]):
    v = x[grid(1)]
    wide = (v + grid(1) * 16) // 2
    v += u8(grid(1) * 16)
    out[grid(1)] = wide + v


@row("Values and operators", "int casts", "keep the low bits", out=(N * 100).astype(np.int8).astype(np.int64) + (-N).view(np.uint64)
     .astype(np.uint32))  # fmt: skip
@kernel
def casts(out: Ptr[i64]):
    i = grid(1)
    out[i] = i64(i8(i * 100)) + u32(-i)


@row("Values and operators", "float widths", "f16 and bf16 with f32 give f32, with f64 f64",
     out=N / 2 + N / 4 + N, inputs=((N / 2).astype(np.float16), (N / 4).astype(np.float32)))  # fmt: skip
@kernel
def float_widths(out: Ptr[f64], half: Ptr[f16], single: Ptr[f32]):
    i = grid(1)
    out[i] = half[i] + single[i] + f64(i)


@row("Values and operators", "f16 arithmetic", "add, multiply and fma in half precision",
     out=(N * 2 + 1).astype(np.float16), inputs=(N.astype(np.float16),), instructions=("fma.rn.f16",))  # fmt: skip
@kernel
def half(out: Ptr[f16], x: Ptr[f16]):
    out[grid(1)] = x[grid(1)] * 2 + 1


@row("Values and operators", "bitcast", "the same bits as another type", out=N.astype(np.float32).view(np.uint32),
     inputs=(N.astype(np.float32),))  # fmt: skip
@kernel
def same_bits(out: Ptr[u32], x: Ptr[f32]):
    out[grid(1)] = bitcast(x[grid(1)], u32)
