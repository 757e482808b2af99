"""Rows: the mathematical functions of f32, some of f64, f16 and bf16, and the fast approximations."""

import math

import ml_dtypes
import numpy as np

import kdsl
from kdsl import Ptr, bf16, f16, f32, f64, fast, i32, i64, kernel, thread_idx
from tests.lang.reference import EXPECTED

from .capability import Capability, row

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
K = np.arange(32)
DOMAINS = {
    "real": K * 1.75 + 0.125, "moderate": K * 1.5 - 20.25, "exponent": K - 15.5, "positive": (K + 0.5) * 3, "unit": (K - 15.5) / 16,
    "inside": (K - 15.5) / 16, "probability": (K + 0.5) / 32, "small": (K - 15.5) / 4, "gamma": (K + 0.5) / 2,
    "bessel": (K + 1) / 2,
}  # fmt: skip
WHOLE = {"powi", "ldexp", "scalbn"}
"""Functions whose last argument is an int."""
ORDERS = {"jn", "yn"}
"""Functions whose first argument is an int."""
RESULTS = {"isnan": bool, "isinf": bool, "isfinite": bool, "signbit": bool, "ilogb": i32, "llrint": i64, "llround": i64}
DTYPES = {bool: np.bool_, i32: np.int32, i64: np.int64, f32: np.float32, f64: np.float64}
WORDS = {
    "sin": "sine", "cos": "cosine", "tan": "tangent", "sinpi": "sine of x times pi", "cospi": "cosine of x times pi",
    "asin": "arc sine", "acos": "arc cosine", "atan": "arc tangent", "atan2": "angle of a point", "sinh": "hyperbolic sine",
    "cosh": "hyperbolic cosine", "tanh": "hyperbolic tangent", "asinh": "inverse hyperbolic sine",
    "acosh": "inverse hyperbolic cosine", "atanh": "inverse hyperbolic tangent", "exp": "e to a power",
    "exp2": "2 to a power", "exp10": "10 to a power", "expm1": "e to a power, minus 1", "log": "natural logarithm",
    "log2": "logarithm to base 2", "log10": "logarithm to base 10", "log1p": "logarithm of 1 + x", "pow": "power",
    "powi": "integer power", "sqrt": "square root, correctly rounded", "rsqrt": "1 over the square root", "cbrt": "cube root",
    "rcbrt": "1 over the cube root", "hypot": "length of a vector", "rhypot": "1 over a length",
    "norm3d": "length of a vector of three", "norm4d": "length of a vector of four", "rnorm3d": "1 over such a length",
    "rnorm4d": "1 over such a length", "degrees": "radians in degrees", "radians": "degrees in radians",
    "erf": "error function", "erfc": "1 - erf(x)", "erfcx": "scaled complementary error function",
    "erfinv": "inverse of erf", "erfcinv": "inverse of erfc", "normcdf": "distribution of the standard normal distribution",
    "normcdfinv": "inverse of normcdf", "tgamma": "gamma function", "lgamma": "logarithm of the gamma function",
    "j0": "Bessel function", "j1": "Bessel function", "jn": "Bessel function", "y0": "Bessel function",
    "y1": "Bessel function", "yn": "Bessel function", "cyl_bessel_i0": "modified Bessel function",
    "cyl_bessel_i1": "modified Bessel function", "floor": "down to a whole number", "ceil": "up to a whole number",
    "trunc": "without the fraction", "rint": "nearest whole number, halves to even",
    "nearbyint": "nearest whole number, halves to even", "round": "nearest whole number, halves away from zero",
    "llrint": "nearest integer, halves to even", "llround": "nearest integer, halves away from zero",
    "fmod": "exact remainder, truncated", "remainder": "exact remainder, to nearest", "fdim": "positive difference",
    "fmax": "the larger, of a NaN and a number the number", "fmin": "the smaller, of a NaN and a number the number",
    "fma": "x * y + z, rounded once", "fabs": "without the sign", "copysign": "with the sign of another",
    "isnan": "whether it is a NaN", "isinf": "whether it is infinite", "isfinite": "whether it is neither",
    "signbit": "whether the sign bit is set", "ldexp": "x * 2**n, rounded once", "scalbn": "x * 2**n, rounded once",
    "ilogb": "the exponent, an integer", "logb": "the exponent, a float",
}  # fmt: skip
ARITY = {
    2: ("atan2", "pow", "hypot", "rhypot", "fmod", "remainder", "fdim", "fmax", "fmin", "copysign"),
    3: ("norm3d", "rnorm3d", "fma"), 4: ("norm4d", "rnorm4d"),
}  # fmt: skip
INSTRUCTIONS = {
    "sqrt": "sqrt.rn.{t}", "floor": "cvt.rmi.{t}.{t}", "ceil": "cvt.rpi.{t}.{t}", "trunc": "cvt.rzi.{t}.{t}",
    "rint": "cvt.rni.{t}.{t}", "nearbyint": "cvt.rni.{t}.{t}", "fmax": "max.{t}", "fmin": "min.{t}", "fma": "fma.rn.{t}",
    "fabs": "abs.{t}",
}  # fmt: skip


def function(name: str, T: object) -> Capability:
    called, reference = getattr(kdsl.math, name), EXPECTED[name]
    dtype, wide = DTYPES[T], T is f64
    first = DOMAINS[reference.domain].astype(dtype)
    result = RESULTS.get(name, T)
    arity = next((n for n, names in ARITY.items() if name in names), 1)
    if name in WHOLE:
        inputs = (first, (K % 5).astype(np.int32))
    elif name in ORDERS:
        inputs = ((K % 5).astype(np.int32), first)
    else:
        inputs = tuple(np.roll(first, 7 * n) + dtype(n / 2) for n in range(arity))
    values = [reference.function(*(a[k].item() for a in inputs)) for k in K]
    ulps, absolute = reference.ulps[wide], reference.absolute[wide]
    first_type, second_type = (i32 if name in ORDERS else T), (i32 if name in WHOLE else T)

    @kernel
    def one(out: Ptr[result], x: Ptr[T]):
        out[thread_idx.x] = called(x[thread_idx.x])

    @kernel
    def two(out: Ptr[result], x: Ptr[first_type], y: Ptr[second_type]):
        i = thread_idx.x
        out[i] = called(x[i], y[i])

    @kernel
    def three(out: Ptr[T], x: Ptr[T], y: Ptr[T], z: Ptr[T]):
        i = thread_idx.x
        out[i] = called(x[i], y[i], z[i])

    @kernel
    def four(out: Ptr[T], x: Ptr[T], y: Ptr[T], z: Ptr[T], w: Ptr[T]):
        i = thread_idx.x
        out[i] = called(x[i], y[i], z[i], w[i])

    near = {"ulps": ulps + 0.5, "absolute": absolute, "because": "libdevice's own error"} if ulps or absolute else {}
    with np.errstate(all="ignore"):
        out = np.array([float(v) for v in values]).astype(DTYPES[result])
    instruction = (INSTRUCTIONS[name].format(t=T),) if name in INSTRUCTIONS else ()
    return row("Math", f"math.{name} of {T}", WORDS[name], out=out, inputs=inputs, instructions=instruction, **near)(
        (one, two, three, four)[len(inputs) - 1]
    )


SINGLES = [function(name, f32) for name in WORDS]
DOUBLES = [
    function(name, f64)
    for name in ("sin", "cos", "exp", "log", "pow", "sqrt", "cbrt", "erf", "tgamma", "hypot", "floor", "fma")
]


def half(T: object, dtype: object, name: str) -> Capability:
    called, reference = getattr(kdsl.math, name), EXPECTED[name]
    x = ((K + 1) / 8).astype(dtype)

    @row("Math", f"math.{name} of an {T}", "in f32, rounded once", inputs=(x,), ulps=1, because="two roundings",
         out=np.array([float(reference.function(float(v))) for v in x]).astype(dtype))  # fmt: skip
    @kernel
    def narrow(out: Ptr[T], x: Ptr[T]):
        out[thread_idx.x] = T(called(f32(x[thread_idx.x])))

    return narrow


HALVES = [half(T, d, n) for T, d in ((f16, np.float16), (bf16, ml_dtypes.bfloat16)) for n in ("sqrt", "exp", "sin")]


@row("Math", "math.sincos", "both at once", inputs=(K.astype(np.float32),), ulps=3, because="libdevice's own error",
     out=np.sin(K.astype(np.float64)).astype(np.float32) + np.cos(K.astype(np.float64)).astype(np.float32), absolute=3e-7)  # fmt: skip
@kernel
def sincos(out: Ptr[f32], x: Ptr[f32]):
    s, c = kdsl.math.sincos(x[thread_idx.x])
    out[thread_idx.x] = s + c


@row("Math", "math.frexp and math.modf", "the parts of a float", inputs=((K * 1.25).astype(np.float32),),
     out=[sum(math.frexp(k * 1.25)) + math.modf(k * 1.25)[0] for k in K])  # fmt: skip
@kernel
def parts(out: Ptr[f64], x: Ptr[f32]):
    i = thread_idx.x
    fraction, exponent = kdsl.math.frexp(x[i])
    below, _ = kdsl.math.modf(x[i])
    out[i] = f64(fraction) + exponent + below


@row("Math", "math.norm", "the length of a vector in memory", inputs=(K.astype(np.float32),), ulps=2, because="libdevice's own error",
     out=np.full(32, math.sqrt(sum(k * k for k in range(32))), np.float32))  # fmt: skip
@kernel
def norm(out: Ptr[f32], x: Ptr[f32]):
    out[thread_idx.x] = kdsl.math.norm(32, x)


@row("Math", "Python's math", "its functions and constants work in kernels", inputs=(K.astype(np.float32),),
     out=np.floor(K.astype(np.float32) * np.float32(math.pi)) + np.float32(math.e))  # fmt: skip
@kernel(fmad=False)
def pythons(out: Ptr[f32], x: Ptr[f32]):
    i = thread_idx.x
    out[i] = math.floor(x[i] * math.pi) + math.e


FAST = {
    "sin": (np.sin, "sin.approx.f32", "sine", "small"), "cos": (np.cos, "cos.approx.f32", "cosine", "small"),
    "tan": (np.tan, "div.approx.f32", "tangent", "inside"), "tanh": (np.tanh, "tanh.approx.f32", "hyperbolic tangent", "small"),
    "exp": (np.exp, "ex2.approx.f32", "e to a power", "small"), "exp10": (lambda x: 10**x, "ex2.approx.f32", "10 to a power", "small"),
    "ex2": (np.exp2, "ex2.approx.f32", "2 to a power", "small"), "log": (np.log, "lg2.approx.f32", "natural logarithm", "positive"),
    "log2": (np.log2, "lg2.approx.f32", "logarithm to base 2", "positive"),
    "log10": (np.log10, "lg2.approx.f32", "logarithm to base 10", "positive"),
    "rcp": (lambda x: 1 / x, "rcp.approx.f32", "1 over x", "positive"),
    "sqrt": (np.sqrt, "sqrt.approx.f32", "square root", "positive"),
    "rsqrt": (lambda x: 1 / np.sqrt(x), "rsqrt.approx.f32", "1 over the square root", "positive"),
    "saturate": (lambda x: np.clip(x, 0, 1), "cvt.sat.f32.f32", "clamped to 0 to 1", "small"),
}  # fmt: skip


def approximation(name: str) -> Capability:
    reference, instruction, what, domain = FAST[name]
    called = getattr(fast, name)
    x = DOMAINS[domain].astype(np.float32)

    @row("Fast approximations", f"fast.{name}", what, out=reference(x.astype(np.float64)).astype(np.float32), inputs=(x,),
         instructions=(instruction,), ulps=2**13, absolute=2e-6, because="an approximation: the bounds are in intrinsics.md")  # fmt: skip
    @kernel
    def near(out: Ptr[f32], x: Ptr[f32]):
        out[thread_idx.x] = called(x[thread_idx.x])

    return near


APPROXIMATIONS = [approximation(name) for name in FAST]


@row("Fast approximations", "fast.divide", "within 2 ulp", out=((K + 1) / 3).astype(np.float32), ulps=3, because="div.approx",
     inputs=((K + 1).astype(np.float32),), instructions=("div.approx.f32",))  # fmt: skip
@kernel
def divided(out: Ptr[f32], x: Ptr[f32]):
    out[thread_idx.x] = fast.divide(x[thread_idx.x], 3.0)


@row("Fast approximations", "fast.pow", "exp2(y * log2(x))", out=((K + 1) ** 1.5).astype(np.float32), ulps=64, because="ex2 and lg2",
     inputs=((K + 1).astype(np.float32),), instructions=("ex2.approx.f32", "lg2.approx.f32"))  # fmt: skip
@kernel
def powered(out: Ptr[f32], x: Ptr[f32]):
    out[thread_idx.x] = fast.pow(x[thread_idx.x], 1.5)


@row("Fast approximations", "fast.sincos", "sine and cosine", inputs=((K / 8).astype(np.float32),), absolute=2e-6, because="sin.approx",
     out=(np.sin(K / 8) + 2 * np.cos(K / 8)).astype(np.float32), instructions=("sin.approx.f32", "cos.approx.f32"))  # fmt: skip
@kernel
def fast_sincos(out: Ptr[f32], x: Ptr[f32]):
    s, c = fast.sincos(x[thread_idx.x])
    out[thread_idx.x] = s + 2 * c


@row("Fast approximations", "fast.rcp64h", "1 over an f64, its upper 20 bits", inputs=(K + 1.0,), ulps=2.0**33, because="20 bits",
     out=1 / (K + 1.0), instructions=("rcp.approx.ftz.f64",))  # fmt: skip
@kernel
def upper_half(out: Ptr[f64], x: Ptr[f64]):
    out[thread_idx.x] = fast.rcp64h(x[thread_idx.x])
