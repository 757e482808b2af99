"""Arithmetic with the rounding said: _rn to nearest even, _rz towards zero, _ru upwards, _rd downwards."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from kdsl.lang.generic import F
from kdsl.lang.intrinsic import Libdevice, intrinsic
from kdsl.lang.math.libdevice import rounded
from kdsl.lang.type_names import f32
from kdsl.lang.types import F32, F64


@rounded("add", "rn")
def add_rn(x: F, y: F) -> F:
    """``x + y``, rounded to nearest, halves to even, and never fused into an fma."""


@rounded("add", "rz")
def add_rz(x: F, y: F) -> F:
    """``x + y``, rounded towards zero, and never fused into an fma."""


@rounded("add", "ru")
def add_ru(x: F, y: F) -> F:
    """``x + y``, rounded upwards, and never fused into an fma."""


@rounded("add", "rd")
def add_rd(x: F, y: F) -> F:
    """``x + y``, rounded downwards, and never fused into an fma."""


@rounded("sub", "rn")
def sub_rn(x: F, y: F) -> F:
    """``x - y``, rounded to nearest, halves to even, and never fused into an fma."""


@rounded("sub", "rz")
def sub_rz(x: F, y: F) -> F:
    """``x - y``, rounded towards zero, and never fused into an fma."""


@rounded("sub", "ru")
def sub_ru(x: F, y: F) -> F:
    """``x - y``, rounded upwards, and never fused into an fma."""


@rounded("sub", "rd")
def sub_rd(x: F, y: F) -> F:
    """``x - y``, rounded downwards, and never fused into an fma."""


@rounded("mul", "rn")
def mul_rn(x: F, y: F) -> F:
    """``x * y``, rounded to nearest, halves to even, and never fused into an fma."""


@rounded("mul", "rz")
def mul_rz(x: F, y: F) -> F:
    """``x * y``, rounded towards zero, and never fused into an fma."""


@rounded("mul", "ru")
def mul_ru(x: F, y: F) -> F:
    """``x * y``, rounded upwards, and never fused into an fma."""


@rounded("mul", "rd")
def mul_rd(x: F, y: F) -> F:
    """``x * y``, rounded downwards, and never fused into an fma."""


@rounded("div", "rn")
def div_rn(x: F, y: F) -> F:
    """``x / y``, rounded to nearest, halves to even, and never fused into an fma."""


@rounded("div", "rz")
def div_rz(x: F, y: F) -> F:
    """``x / y``, rounded towards zero, and never fused into an fma."""


@rounded("div", "ru")
def div_ru(x: F, y: F) -> F:
    """``x / y``, rounded upwards, and never fused into an fma."""


@rounded("div", "rd")
def div_rd(x: F, y: F) -> F:
    """``x / y``, rounded downwards, and never fused into an fma."""


@intrinsic(Libdevice({F32: "__nv_fmaf_rn", F64: "__nv_fma_rn"}), ptx="fma.rn", pure=True)
def fma_rn(x: F, y: F, z: F) -> F:
    """``x * y + z``, rounded once, to nearest, halves to even."""


@intrinsic(Libdevice({F32: "__nv_fmaf_rz", F64: "__nv_fma_rz"}), ptx="fma.rz", pure=True)
def fma_rz(x: F, y: F, z: F) -> F:
    """``x * y + z``, rounded once, towards zero."""


@intrinsic(Libdevice({F32: "__nv_fmaf_ru", F64: "__nv_fma_ru"}), ptx="fma.rp", pure=True)
def fma_ru(x: F, y: F, z: F) -> F:
    """``x * y + z``, rounded once, upwards."""


@intrinsic(Libdevice({F32: "__nv_fmaf_rd", F64: "__nv_fma_rd"}), ptx="fma.rm", pure=True)
def fma_rd(x: F, y: F, z: F) -> F:
    """``x * y + z``, rounded once, downwards."""


@intrinsic(Libdevice("__nv_fmaf_ieee_rn"), ptx="fma.rn.f32", pure=True)
def fma_ieee_rn(x: f32, y: f32, z: f32) -> f32:
    """``x * y + z``, rounded once, to nearest, halves to even; subnormal numbers are kept under fastmath too."""


@intrinsic(Libdevice("__nv_fmaf_ieee_rz"), ptx="fma.rz.f32", pure=True)
def fma_ieee_rz(x: f32, y: f32, z: f32) -> f32:
    """``x * y + z``, rounded once, towards zero; subnormal numbers are kept under fastmath too."""


@intrinsic(Libdevice("__nv_fmaf_ieee_ru"), ptx="fma.rp.f32", pure=True)
def fma_ieee_ru(x: f32, y: f32, z: f32) -> f32:
    """``x * y + z``, rounded once, upwards; subnormal numbers are kept under fastmath too."""


@intrinsic(Libdevice("__nv_fmaf_ieee_rd"), ptx="fma.rm.f32", pure=True)
def fma_ieee_rd(x: f32, y: f32, z: f32) -> f32:
    """``x * y + z``, rounded once, downwards; subnormal numbers are kept under fastmath too."""


@rounded("rcp", "rn")
def rcp_rn(x: F) -> F:
    """1 over ``x``, rounded to nearest, halves to even."""


@rounded("rcp", "rz")
def rcp_rz(x: F) -> F:
    """1 over ``x``, rounded towards zero."""


@rounded("rcp", "ru")
def rcp_ru(x: F) -> F:
    """1 over ``x``, rounded upwards."""


@rounded("rcp", "rd")
def rcp_rd(x: F) -> F:
    """1 over ``x``, rounded downwards."""


@rounded("sqrt", "rn")
def sqrt_rn(x: F) -> F:
    """Square root of ``x``, rounded to nearest, halves to even."""


@rounded("sqrt", "rz")
def sqrt_rz(x: F) -> F:
    """Square root of ``x``, rounded towards zero."""


@rounded("sqrt", "ru")
def sqrt_ru(x: F) -> F:
    """Square root of ``x``, rounded upwards."""


@rounded("sqrt", "rd")
def sqrt_rd(x: F) -> F:
    """Square root of ``x``, rounded downwards."""


@intrinsic(Libdevice("__nv_frsqrt_rn"), ptx="rsqrt.approx.ftz.f32", pure=True)
def rsqrt_rn(x: f32) -> f32:
    """1 over the square root of ``x``, as CUDA's ``__frsqrt_rn`` computes it."""
