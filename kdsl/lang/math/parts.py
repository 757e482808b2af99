"""The parts of a float: sign, exponent, fraction, neighbours, and what kind of number it is."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from kdsl.lang.generic import F
from kdsl.lang.intrinsic import Emit, Nvvm, intrinsic
from kdsl.lang.math.libdevice import libdevice
from kdsl.lang.type_names import i32
from kdsl.lang.types import F32, F64


@intrinsic(Nvvm({F32: "llvm.fabs.f32", F64: "llvm.fabs.f64"}, ("x",)), ptx="abs", pure=True)
def fabs(x: F) -> F:
    """``x`` without its sign."""


@intrinsic(Nvvm({F32: "llvm.copysign.f32", F64: "llvm.copysign.f64"}, ("x", "y")), ptx="copysign", pure=True)
def copysign(x: F, y: F) -> F:
    """``x`` with the sign of ``y``."""


@intrinsic(Emit("isnan"), ptx="setp", pure=True)
def isnan(x: F) -> bool:
    """Whether ``x`` is a NaN."""


@intrinsic(Emit("isinf"), ptx="setp", pure=True)
def isinf(x: F) -> bool:
    """Whether ``x`` is infinite."""


@intrinsic(Emit("isfinite"), ptx="setp", pure=True)
def isfinite(x: F) -> bool:
    """Whether ``x`` is neither infinite nor a NaN."""


@intrinsic(Emit("signbit"), ptx="setp, shr", pure=True)
def signbit(x: F) -> bool:
    """Whether the sign bit is set: true for -0.0 too."""


@libdevice("frexp", outputs=1, ptx="mul")
def frexp(x: F) -> tuple[F, i32]:
    """(fraction, exponent): ``x`` is fraction * 2**exponent, and the fraction is in 0.5 to 1."""


@libdevice("modf", outputs=1, ptx="cvt.rzi")
def modf(x: F) -> tuple[F, F]:
    """(fraction, integral part), both with the sign of ``x``."""


@libdevice("ldexp", ptx="mul")
def ldexp(x: F, n: i32) -> F:
    """``x * 2**n``, rounded once."""


@libdevice("scalbn", ptx="mul")
def scalbn(x: F, n: i32) -> F:
    """``x * 2**n``, rounded once."""


@libdevice("ilogb", ptx="clz")
def ilogb(x: F) -> i32:
    """The exponent of ``x`` as an integer; -2**31 at 0 and NaN, 2**31 - 1 at infinity."""


@libdevice("logb", ptx="clz")
def logb(x: F) -> F:
    """The exponent of ``x`` as a float; -inf at 0."""


@libdevice("nextafter", ptx="setp")
def nextafter(x: F, y: F) -> F:
    """The next float after ``x`` towards ``y``."""
