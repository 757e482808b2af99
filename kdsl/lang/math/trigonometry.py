"""Trigonometric and hyperbolic functions, and their inverses. Angles are in radians."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from kdsl.lang.generic import F
from kdsl.lang.math.libdevice import libdevice


@libdevice("sin", fast=True)
def sin(x: F) -> F:
    """Sine of ``x``."""


@libdevice("cos", fast=True)
def cos(x: F) -> F:
    """Cosine of ``x``."""


@libdevice("tan", fast=True)
def tan(x: F) -> F:
    """Tangent of ``x``."""


@libdevice("sincos", fast=True, outputs=2)
def sincos(x: F) -> tuple[F, F]:
    """(sine, cosine) of ``x``, for little more than the price of one."""


@libdevice("sinpi")
def sinpi(x: F) -> F:
    """Sine of ``x`` times pi, exact at multiples of 0.5."""


@libdevice("cospi")
def cospi(x: F) -> F:
    """Cosine of ``x`` times pi, exact at multiples of 0.5."""


@libdevice("sincospi", outputs=2)
def sincospi(x: F) -> tuple[F, F]:
    """(sine, cosine) of ``x`` times pi."""


@libdevice("asin")
def asin(x: F) -> F:
    """Arc sine of ``x``, between -pi/2 and pi/2; NaN outside of -1 to 1."""


@libdevice("acos")
def acos(x: F) -> F:
    """Arc cosine of ``x``, between 0 and pi; NaN outside of -1 to 1."""


@libdevice("atan")
def atan(x: F) -> F:
    """Arc tangent of ``x``, between -pi/2 and pi/2."""


@libdevice("atan2")
def atan2(y: F, x: F) -> F:
    """The angle of the point (``x``, ``y``), between -pi and pi; the signs of zeros count."""


@libdevice("sinh")
def sinh(x: F) -> F:
    """Hyperbolic sine of ``x``."""


@libdevice("cosh")
def cosh(x: F) -> F:
    """Hyperbolic cosine of ``x``."""


@libdevice("tanh", fast=True)
def tanh(x: F) -> F:
    """Hyperbolic tangent of ``x``."""


@libdevice("asinh")
def asinh(x: F) -> F:
    """Inverse hyperbolic sine of ``x``."""


@libdevice("acosh")
def acosh(x: F) -> F:
    """Inverse hyperbolic cosine of ``x``, at least 0; NaN below 1."""


@libdevice("atanh")
def atanh(x: F) -> F:
    """Inverse hyperbolic tangent of ``x``; infinite at -1 and 1, NaN outside."""
