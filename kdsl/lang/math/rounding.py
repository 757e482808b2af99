"""Rounding to integral values, remainders, sums and extremes of floats."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from kdsl.lang.generic import F
from kdsl.lang.intrinsic import Nvvm, intrinsic
from kdsl.lang.math.libdevice import libdevice
from kdsl.lang.type_names import i32, i64
from kdsl.lang.types import F32, F64


@intrinsic(Nvvm({F32: "llvm.floor.f32", F64: "llvm.floor.f64"}, ("x",)), ptx="cvt.rmi", pure=True)
def floor(x: F) -> F:
    """The largest integral value not above ``x``; it stays a float."""


@intrinsic(Nvvm({F32: "llvm.ceil.f32", F64: "llvm.ceil.f64"}, ("x",)), ptx="cvt.rpi", pure=True)
def ceil(x: F) -> F:
    """The smallest integral value not below ``x``; it stays a float."""


@intrinsic(Nvvm({F32: "llvm.trunc.f32", F64: "llvm.trunc.f64"}, ("x",)), ptx="cvt.rzi", pure=True)
def trunc(x: F) -> F:
    """``x`` without its fraction; it stays a float."""


@intrinsic(Nvvm({F32: "llvm.rint.f32", F64: "llvm.rint.f64"}, ("x",)), ptx="cvt.rni", pure=True)
def rint(x: F) -> F:
    """The nearest integral value, halves to even."""


@intrinsic(Nvvm({F32: "llvm.nearbyint.f32", F64: "llvm.nearbyint.f64"}, ("x",)), ptx="cvt.rni", pure=True)
def nearbyint(x: F) -> F:
    """The nearest integral value, halves to even."""


@libdevice("round", ptx="cvt.rzi")
def round(x: F) -> F:
    """The nearest integral value, halves away from zero, as C rounds. Python's ``round`` goes to even."""


@libdevice("llrint", ptx="cvt.rni.s64")
def llrint(x: F) -> i64:
    """The nearest integer, halves to even."""


@libdevice("llround", ptx="cvt.rzi.s64")
def llround(x: F) -> i64:
    """The nearest integer, halves away from zero."""


@libdevice("fmod", ptx="setp")
def fmod(x: F, y: F) -> F:
    """The exact remainder of ``x / y`` truncated; it has the sign of ``x``."""


@libdevice("remainder", ptx="setp")
def remainder(x: F, y: F) -> F:
    """The exact remainder of ``x / y`` rounded to the nearest integer, halves to even."""


@libdevice("remquo", outputs=1, ptx="setp")
def remquo(x: F, y: F) -> tuple[F, i32]:
    """(`remainder`, at least the three low bits of the quotient with its sign)."""


@libdevice("fdim", ptx="sub")
def fdim(x: F, y: F) -> F:
    """``x - y`` where that is positive, else 0."""


@intrinsic(Nvvm({F32: "llvm.maximumnum.f32", F64: "llvm.maximumnum.f64"}, ("x", "y")), ptx="max", pure=True)
def fmax(x: F, y: F) -> F:
    """The larger; with one NaN the other operand, and -0 < +0."""


@intrinsic(Nvvm({F32: "llvm.minimumnum.f32", F64: "llvm.minimumnum.f64"}, ("x", "y")), ptx="min", pure=True)
def fmin(x: F, y: F) -> F:
    """The smaller; with one NaN the other operand, and -0 < +0."""


@intrinsic(Nvvm({F32: "llvm.fma.f32", F64: "llvm.fma.f64"}, ("x", "y", "z")), ptx="fma.rn", pure=True)
def fma(x: F, y: F, z: F) -> F:
    """``x * y + z``, rounded once."""
