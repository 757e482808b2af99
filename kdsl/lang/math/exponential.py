"""Exponentials, logarithms, powers and roots."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from kdsl.lang.generic import F
from kdsl.lang.intrinsic import Nvvm, intrinsic
from kdsl.lang.math.libdevice import libdevice
from kdsl.lang.type_names import i32
from kdsl.lang.types import F32, F64


@libdevice("exp", fast=True)
def exp(x: F) -> F:
    """e to the power ``x``."""


@libdevice("exp2", ptx="ex2.approx.f32, fma.rn.f64")
def exp2(x: F) -> F:
    """2 to the power ``x``."""


@libdevice("exp10", fast=True)
def exp10(x: F) -> F:
    """10 to the power ``x``."""


@libdevice("expm1")
def expm1(x: F) -> F:
    """e to the power ``x``, minus 1, accurate near 0."""


@libdevice("log", fast=True)
def log(x: F) -> F:
    """Natural logarithm of ``x``; -inf at 0, NaN below."""


@libdevice("log2", fast=True)
def log2(x: F) -> F:
    """Logarithm of ``x`` to base 2."""


@libdevice("log10", fast=True)
def log10(x: F) -> F:
    """Logarithm of ``x`` to base 10."""


@libdevice("log1p")
def log1p(x: F) -> F:
    """Natural logarithm of 1 + ``x``, accurate near 0."""


@libdevice("pow", fast=True)
def pow(x: F, y: F) -> F:
    """``x`` to the power ``y``, as C99 defines it: pow(0, 0) is 1."""


@libdevice("powi", ptx="mul")
def powi(x: F, n: i32) -> F:
    """``x`` to an integer power."""


@intrinsic(Nvvm({F32: "llvm.sqrt.f32", F64: "llvm.sqrt.f64"}, ("x",)), ptx="sqrt.rn", pure=True)
def sqrt(x: F) -> F:
    """Square root of ``x``, correctly rounded unless under fastmath; NaN below 0."""


@libdevice("rsqrt", ptx="rsqrt.approx")
def rsqrt(x: F) -> F:
    """1 over the square root of ``x``, within 2 ulp."""


@libdevice("cbrt")
def cbrt(x: F) -> F:
    """Cube root of ``x``, of negative numbers too."""


@libdevice("rcbrt")
def rcbrt(x: F) -> F:
    """1 over the cube root of ``x``."""
