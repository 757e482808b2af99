"""Rows: arithmetic and conversions with the rounding said. References are exact fractions."""

import math
from fractions import Fraction

import numpy as np

import kdsl
from kdsl import Ptr, bf16, f16, f32, f64, i8, i16, i32, i64, kernel, thread_idx, u8, u16, u32, u64

from .capability import Capability, row

K = np.arange(32)
AREA = "Rounding and conversions"
MODES = {"rn": "rn", "rz": "rz", "ru": "rp", "rd": "rm"}
WORDS = {"rn": "to nearest, halves to even", "rz": "towards zero", "ru": "upwards", "rd": "downwards"}
DTYPES = {f32: np.float32, f64: np.float64, f16: np.float16, i32: np.int32, u32: np.uint32, i64: np.int64, u64: np.uint64,
          i8: np.int8, u8: np.uint8, i16: np.int16, u16: np.uint16}  # fmt: skip


def directed(exact: Fraction, mode: str, dtype: object) -> object:
    """The float of ``dtype`` that ``exact`` is in a rounding mode."""
    below = dtype(float(exact))
    while Fraction(float(below)) > exact:
        below = np.nextafter(below, dtype(-np.inf))
    while Fraction(float(above := np.nextafter(below, dtype(np.inf)))) <= exact:
        below = above
    if Fraction(float(below)) == exact or mode == "rd":
        return below
    if mode == "ru" or (mode == "rz" and exact < 0):
        return above
    if mode == "rz":
        return below
    middle = (Fraction(float(below)) + Fraction(float(above))) / 2
    if exact != middle:
        return below if exact < middle else above
    return below if int(below.view(f"u{below.itemsize}")) % 2 == 0 else above


OPERATIONS = {
    "add": (2, lambda x, y: x + y), "sub": (2, lambda x, y: x - y), "mul": (2, lambda x, y: x * y), "div": (2, lambda x, y: x / y),
    "fma": (3, lambda x, y, z: x * y + z), "rcp": (1, lambda x: 1 / x),
    # 300 bits of the root decide every rounding but an exact one, which these numbers have not.
    "sqrt": (1, lambda x: Fraction(math.isqrt(x.numerator * 4**300 // x.denominator), 2**300)),
}  # fmt: skip


def arithmetic(operation: str, mode: str, T: object) -> Capability:
    arity, exact = OPERATIONS[operation]
    dtype = DTYPES[T]
    called = getattr(kdsl.math, f"{operation}_{mode}")
    signs = 1 if operation == "sqrt" else np.where(K % 3 == 1, -1, 1)
    inputs = ((1 / (K + 3) * signs).astype(dtype), ((K + 1) / 7).astype(dtype), ((K - 9.5) / 11).astype(dtype))[:arity]
    out = np.array([directed(exact(*(Fraction(float(a[k])) for a in inputs)), mode, dtype) for k in K], dtype)

    @kernel
    def one(out: Ptr[T], x: Ptr[T]):
        out[thread_idx.x] = called(x[thread_idx.x])

    @kernel
    def two(out: Ptr[T], x: Ptr[T], y: Ptr[T]):
        out[thread_idx.x] = called(x[thread_idx.x], y[thread_idx.x])

    @kernel
    def three(out: Ptr[T], x: Ptr[T], y: Ptr[T], z: Ptr[T]):
        out[thread_idx.x] = called(x[thread_idx.x], y[thread_idx.x], z[thread_idx.x])

    return row(AREA, f"math.{operation}_{mode} of {T}", f"rounded {WORDS[mode]}", out=out, inputs=inputs,
               instructions=(f"{operation}.{MODES[mode]}.{T}",))((one, two, three)[arity - 1])  # fmt: skip


ARITHMETIC = [arithmetic(o, m, T) for o in OPERATIONS for T in (f32, f64) for m in MODES]
INTEGRAL = {"rn": round, "rz": math.trunc, "ru": math.ceil, "rd": math.floor}
TO_INTEGRAL = {"rn": "rni", "rz": "rzi", "ru": "rpi", "rd": "rmi"}
TYPES = {"float": f32, "double": f64, "int": i32, "uint": u32, "ll": i64, "ull": u64}
PTX = {
    f32: "f32",
    f64: "f64",
    i32: "s32",
    u32: "u32",
    i64: "s64",
    u64: "u64",
    f16: "f16",
    i8: "s8",
    u8: "u8",
    i16: "s16",
    u16: "u16",
}


def to_integer(source: str, target: str, mode: str) -> Capability:
    S, T = TYPES[source], TYPES[target]
    x = np.append((K[:28] - 13) / 2, [3e30, -3e30, np.nan, 2.5]).astype(DTYPES[S])
    limits = np.iinfo(DTYPES[T])
    out = [0 if np.isnan(v) else min(max(INTEGRAL[mode](float(v)), limits.min), limits.max) for v in x]
    # NaN is 0 in 32 bits; in 64 bits the hardware's cvt gives the sign bit, and the language says what CUDA does.
    called = getattr(kdsl.math, f"{source}2{target}_{mode}")

    @row(AREA, f"math.{source}2{target}_{mode}", f"{WORDS[mode]}; it saturates", out=np.array(out, DTYPES[T])[:30], inputs=(x,),
         instructions=(f"cvt.{TO_INTEGRAL[mode]}.{PTX[T]}.{PTX[S]}",), block=30)  # fmt: skip
    @kernel
    def converted(out: Ptr[T], x: Ptr[S]):
        out[thread_idx.x] = called(x[thread_idx.x])

    return converted


TO_INTEGERS = [to_integer(s, t, m) for s in ("float", "double") for t in ("int", "uint", "ll", "ull") for m in MODES]


def to_float(source: str, target: str, mode: str) -> Capability:
    S, T = TYPES[source], TYPES[target]
    wide = np.dtype(DTYPES[S]).itemsize == 8
    x = (
        K / 3 - 5
        if source == "double"
        else (K * (2**58 if wide else 2**26) // 17 + K - (0 if source[0] == "u" else 2**25))
    )
    x = x.astype(DTYPES[S])
    out = [directed(Fraction(v.item()), mode, DTYPES[T]) for v in x]
    called = getattr(kdsl.math, f"{source}2{target}_{mode}")

    @row(AREA, f"math.{source}2{target}_{mode}", WORDS[mode], out=np.array(out, DTYPES[T]), inputs=(x,),
         instructions=(f"cvt.{MODES[mode]}.{PTX[T]}.{PTX[S]}",))  # fmt: skip
    @kernel
    def converted(out: Ptr[T], x: Ptr[S]):
        out[thread_idx.x] = called(x[thread_idx.x])

    return converted


TO_FLOATS = [
    *(to_float(s, "float", m) for s in ("double", "int", "uint", "ll", "ull") for m in MODES),
    *(to_float(s, "double", m) for s in ("ll", "ull") for m in MODES),
    *(to_float(s, "double", "rn") for s in ("int", "uint")),
]


def cast(S: object, T: object, instruction: str) -> Capability:
    source, target = DTYPES[S], DTYPES[T]
    x = ((K - 16) * 5.25 if S in (f32, f64) else K * 3).astype(source)

    @row(AREA, f"{T}(x) of {S}", "a cast", out=np.trunc(x).astype(target) if T not in (f32, f64, f16) else x.astype(target),
         inputs=(x,), instructions=(instruction,))  # fmt: skip
    @kernel
    def converted(out: Ptr[T], x: Ptr[S]):
        out[thread_idx.x] = T(x[thread_idx.x])

    return converted


CASTS = [
    cast(f32, f64, "cvt.f64.f32"),
    cast(f64, f32, "cvt.rn.f32.f64"),
    cast(f32, f16, "cvt.rn.f16.f32"),
    cast(f16, f32, "cvt.f32.f16"),
    cast(f16, f64, "cvt.f64.f16"),
    cast(i32, f32, "cvt.rn.f32.s32"),
    cast(u32, f32, "cvt.rn.f32.u32"),
    cast(i32, f64, "cvt.rn.f64.s32"),
    cast(i64, f64, "cvt.rn.f64.s64"),
    cast(u64, f64, "cvt.rn.f64.u64"),
    cast(u8, f32, "cvt.rn.f32.u16"),
    cast(f32, i64, "cvt.rzi.s64.f32"),
    cast(f64, i32, "cvt.rzi.s32.f64"),
    cast(f64, i64, "cvt.rzi.s64.f64"),
    cast(i32, i64, "st.global.b64"),
    cast(i64, i32, "st.global.b32"),
]


@row(AREA, "math.float2half_rn and half2float", "f32 to f16 and back", out=(K / 3).astype(np.float16).astype(np.float32),
     inputs=((K / 3).astype(np.float32),), instructions=("cvt.rn.f16.f32", "cvt.f32.f16"))  # fmt: skip
@kernel
def through_half(out: Ptr[f32], x: Ptr[f32]):
    out[thread_idx.x] = kdsl.math.half2float(kdsl.math.float2half_rn(x[thread_idx.x]))


@row(AREA, "bf16(x) of f32", "to nearest even; one instruction from sm_80",
     out=[float(np.float32(v).view(np.uint32) + 0x7FFF + (np.float32(v).view(np.uint32) >> 16 & 1) >> 16) for v in K / 3 + 1],
     inputs=((K / 3 + 1).astype(np.float32),), shown_on="sm_80", instructions=("cvt.rn.bf16.f32",))  # fmt: skip
@kernel
def to_bf16(out: Ptr[f64], x: Ptr[f32]):
    out[thread_idx.x] = f64(kdsl.bitcast(bf16(x[thread_idx.x]), u16))


@row(AREA, "bits of floats", "float_as_int, int_as_float, double2hiint, hiloint2double",
     inputs=(K / 7,), out=(K / 7) + np.float64(np.float32(1.5)))  # fmt: skip
@kernel
def bits(out: Ptr[f64], x: Ptr[f64]):
    v = x[thread_idx.x]
    same = kdsl.math.hiloint2double(kdsl.math.double2hiint(v), kdsl.math.double2loint(v))
    out[thread_idx.x] = same + kdsl.math.int_as_float(kdsl.math.float_as_int(f32(1.5)))
