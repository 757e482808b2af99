"""What the mathematical functions should give: NumPy's extended precision, Python's math, fractions and quadrature.

Nothing here is shared with kdsl. Functions of floats take and give Python or NumPy floats; `Expected` says how near.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

WIDE = np.longdouble
_NORMAL = statistics.NormalDist()


@dataclass(frozen=True)
class Expected:
    """A reference and where its arguments come from. ``ulps`` and ``absolute`` are for (f32, f64); 0 is exact."""

    function: Callable[..., Any]
    domain: str = "real"
    ulps: tuple[float, float] = (4, 4)
    absolute: tuple[float, float] = (0, 0)


def _wide(function: Callable[..., Any]) -> Callable[..., Any]:
    """A NumPy function in 64 bits of precision, IEEE's special values included."""

    def evaluate(*arguments: float) -> Any:
        with np.errstate(all="ignore"):
            return function(*(WIDE(a) for a in arguments))

    return evaluate


def _python(function: Callable[..., float]) -> Callable[..., float]:
    """A function of Python's math, with NaN and infinity where it raises."""

    def evaluate(*arguments: float) -> float:
        try:
            return function(*arguments)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return evaluate


def _turns(function: Callable[..., Any]) -> Callable[[float], Any]:
    """A function of an angle in half turns."""

    def evaluate(x: float) -> Any:
        if not math.isfinite(x):
            return math.nan
        reduced = math.fmod(x, 2.0)
        if (2 * reduced).is_integer():
            quarter = int(2 * reduced) % 4
            return {"sin": (math.copysign(0.0, x), 1, math.copysign(0.0, x), -1), "cos": (1, 0.0, -1, 0.0)}[
                function.__name__
            ][quarter]
        return function(WIDE(reduced) * WIDE("3.14159265358979323846264338327950288"))

    return evaluate


def _gamma_log(x: float) -> float:
    if math.isinf(x) or (x <= 0 and x == math.floor(x)):
        return math.inf
    return _python(math.lgamma)(x)


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(100)
_ANGLES = (np.arange(200, dtype=WIDE) + WIDE(0.5)) * (WIDE("3.14159265358979323846264338327950288") / 200)


def _integral(function: Callable[[Any], Any], end: float) -> float:
    points = (_NODES + 1) * (end / 2)
    return float(np.sum(_WEIGHTS * function(points)) * (end / 2))


def _mean(function: Callable[[Any], Any]) -> float:
    """The mean over 0 to pi of a smooth function that continues evenly: the midpoint rule converges exponentially."""
    return float(np.mean(function(_ANGLES)))


def bessel_j(n: int, x: float) -> float:
    """Bessel's integral, Abramowitz and Stegun 9.1.21."""
    return _mean(lambda a: np.cos(n * a - x * np.sin(a)))


def bessel_y(n: int, x: float) -> float:
    """Abramowitz and Stegun 9.1.22."""
    oscillating = _integral(lambda a: np.sin(x * np.sin(a) - n * a), math.pi)
    decaying = _integral(lambda a: (np.exp(n * a) + (-1) ** n * np.exp(-n * a)) * np.exp(-x * np.sinh(a)), 8.0)
    return (oscillating - decaying) / math.pi


def bessel_i(n: int, x: float) -> float:
    """Abramowitz and Stegun 9.6.19."""
    return _mean(lambda a: np.exp(x * np.cos(a)) * np.cos(n * a))


def _length(*parts: float) -> Any:
    return np.sqrt(sum(WIDE(p) * WIDE(p) for p in parts))


def _inverse(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: 1 / WIDE(function(*arguments))


def _fused(x: float, y: float, z: float) -> Fraction:
    return Fraction(x) * Fraction(y) + Fraction(z)


def _half_away(x: float) -> float:
    if not math.isfinite(x):
        return x
    return math.copysign(math.floor(abs(Fraction(x)) + Fraction(1, 2)), x)


def _larger(x: float, y: float) -> float:
    return y if math.isnan(x) else x if math.isnan(y) else max((x, y), key=lambda v: (v, math.copysign(1, v)))


def _smaller(x: float, y: float) -> float:
    return -_larger(-x, -y)


def _power(x: float, n: int) -> Any:
    with np.errstate(all="ignore"):
        return np.power(WIDE(x), WIDE(n))


EXPECTED: dict[str, Expected] = {
    **{n: Expected(_wide(getattr(np, n))) for n in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{n: Expected(_wide(getattr(np, f"arc{n[1:]}")), "unit") for n in ("asin", "acos", "atanh")},
    **{n: Expected(_wide(getattr(np, f"arc{n[1:]}"))) for n in ("atan", "asinh", "acosh")},
    "atan2": Expected(_wide(np.arctan2)),
    "sinpi": Expected(_turns(np.sin)),
    "cospi": Expected(_turns(np.cos)),
    **{n: Expected(_wide(getattr(np, n)), "exponent") for n in ("exp", "exp2", "expm1")},
    "exp10": Expected(_wide(lambda x: WIDE(10) ** x), "exponent"),
    **{n: Expected(_wide(getattr(np, n))) for n in ("log", "log2", "log10", "log1p", "cbrt")},
    "pow": Expected(_wide(np.power), "moderate", (8, 4)),
    "powi": Expected(_power, "moderate", (64, 64)),
    "sqrt": Expected(_wide(np.sqrt), ulps=(0, 0)),
    "rsqrt": Expected(_inverse(_wide(np.sqrt)), "positive"),
    "rcbrt": Expected(_inverse(_wide(np.cbrt)), "positive"),
    "hypot": Expected(_wide(np.hypot), "moderate"),
    "rhypot": Expected(_inverse(_length), "moderate"),
    **{f"norm{d}d": Expected(_length, "moderate") for d in (3, 4)},
    **{f"rnorm{d}d": Expected(_inverse(_length), "moderate") for d in (3, 4)},
    "degrees": Expected(_wide(np.degrees), "moderate", (1.5, 1.5)),
    "radians": Expected(_wide(np.radians), "moderate", (1.5, 1.5)),
    "erf": Expected(math.erf),
    "erfc": Expected(math.erfc, "moderate", (8, 8)),
    "erfcx": Expected(lambda x: np.exp(WIDE(x) ** 2) * WIDE(math.erfc(x)), "small", (8, 64)),
    "erfinv": Expected(lambda x: _NORMAL.inv_cdf((1 + x) / 2) / math.sqrt(2), "inside", (8, 128)),
    "erfcinv": Expected(lambda x: -_NORMAL.inv_cdf(x / 2) / math.sqrt(2), "probability", (8, 128)),
    "normcdf": Expected(lambda x: math.erfc(-x / math.sqrt(2)) / 2, "small", (8, 64)),
    "normcdfinv": Expected(_NORMAL.inv_cdf, "probability", (8, 128)),
    "tgamma": Expected(_python(math.gamma), "gamma", (12, 12)),
    "lgamma": Expected(_gamma_log, "gamma", (8, 8), (1e-6, 1e-14)),
    **{f"j{n}": Expected(lambda x, n=n: bessel_j(n, x), "bessel", (9, 9), (3e-6, 1e-13)) for n in (0, 1)},
    **{f"y{n}": Expected(lambda x, n=n: bessel_y(n, x), "bessel", (9, 9), (3e-6, 1e-13)) for n in (0, 1)},
    **{f"cyl_bessel_i{n}": Expected(lambda x, n=n: bessel_i(n, x), "bessel", (9, 64)) for n in (0, 1)},
    "jn": Expected(bessel_j, "bessel", (9, 9), (1e-5, 1e-12)),
    "yn": Expected(bessel_y, "bessel", (64, 512), (1e-5, 1e-12)),
    **{n: Expected(_wide(getattr(np, n)), ulps=(0, 0)) for n in ("floor", "ceil", "trunc", "rint", "fabs")},
    **{n: Expected(_wide(getattr(np, n)), ulps=(0, 0)) for n in ("isnan", "isinf", "isfinite", "signbit", "copysign")},
    "nearbyint": Expected(_wide(np.rint), ulps=(0, 0)),
    "round": Expected(_half_away, ulps=(0, 0)),
    "llrint": Expected(lambda x: round(x), "moderate", (0, 0)),
    "llround": Expected(lambda x: int(_half_away(x)), "moderate", (0, 0)),
    "fmod": Expected(_wide(np.fmod), ulps=(0, 0)),
    "remainder": Expected(_python(math.remainder), ulps=(0, 0)),
    "fdim": Expected(lambda x, y: max(WIDE(x) - WIDE(y), 0), "moderate", (0, 0)),
    "fmax": Expected(_larger, ulps=(0, 0)),
    "fmin": Expected(_smaller, ulps=(0, 0)),
    "fma": Expected(_fused, "moderate", (0, 0)),
    "ldexp": Expected(_wide(lambda x, n: np.ldexp(x, int(n))), ulps=(0, 0)),
    "scalbn": Expected(_wide(lambda x, n: np.ldexp(x, int(n))), ulps=(0, 0)),
    "ilogb": Expected(lambda x: math.frexp(x)[1] - 1, "positive", (0, 0)),
    "logb": Expected(lambda x: math.frexp(x)[1] - 1, "positive", (0, 0)),
    # Tuples.
    "sincos": Expected(lambda x: (_wide(np.sin)(x), _wide(np.cos)(x))),
    "sincospi": Expected(lambda x: (_turns(np.sin)(x), _turns(np.cos)(x))),
    "frexp": Expected(math.frexp, "moderate", (0, 0)),
    "modf": Expected(math.modf, "moderate", (0, 0)),
}
"""By name; of the functions that are tested otherwise nothing."""
