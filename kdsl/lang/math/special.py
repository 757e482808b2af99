"""Special functions: error functions, gamma, normal distribution, Bessel functions."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from kdsl.lang.generic import F
from kdsl.lang.math.libdevice import libdevice
from kdsl.lang.type_names import i32


@libdevice("erf")
def erf(x: F) -> F:
    """Error function of ``x``."""


@libdevice("erfc")
def erfc(x: F) -> F:
    """Complementary error function, 1 - erf(``x``), accurate for large ``x``."""


@libdevice("erfcx")
def erfcx(x: F) -> F:
    """Scaled complementary error function, exp(x * x) * erfc(``x``)."""


@libdevice("erfinv")
def erfinv(x: F) -> F:
    """Inverse of `erf`, of -1 to 1."""


@libdevice("erfcinv")
def erfcinv(x: F) -> F:
    """Inverse of `erfc`, of 0 to 2."""


@libdevice("tgamma")
def tgamma(x: F) -> F:
    """Gamma function of ``x``."""


@libdevice("lgamma")
def lgamma(x: F) -> F:
    """Natural logarithm of the absolute value of the gamma function of ``x``."""


@libdevice("normcdf")
def normcdf(x: F) -> F:
    """Cumulative distribution of the standard normal distribution at ``x``."""


@libdevice("normcdfinv")
def normcdfinv(x: F) -> F:
    """Inverse of `normcdf`, of 0 to 1."""


@libdevice("j0")
def j0(x: F) -> F:
    """Bessel function of the first kind, order 0."""


@libdevice("j1")
def j1(x: F) -> F:
    """Bessel function of the first kind, order 1."""


@libdevice("jn")
def jn(n: i32, x: F) -> F:
    """Bessel function of the first kind, order ``n``; NaN for negative ``n``."""


@libdevice("y0")
def y0(x: F) -> F:
    """Bessel function of the second kind, order 0; NaN below 0."""


@libdevice("y1")
def y1(x: F) -> F:
    """Bessel function of the second kind, order 1; NaN below 0."""


@libdevice("yn")
def yn(n: i32, x: F) -> F:
    """Bessel function of the second kind, order ``n``; NaN for negative ``n`` or ``x``."""


@libdevice("cyl_bessel_i0")
def cyl_bessel_i0(x: F) -> F:
    """Regular modified cylindrical Bessel function of order 0."""


@libdevice("cyl_bessel_i1")
def cyl_bessel_i1(x: F) -> F:
    """Regular modified cylindrical Bessel function of order 1."""
