"""Fast approximations of f32 functions: ``fast.sin(x)``. Under fastmath the plain names mean these.

Bounds are those of the CUDA C++ Programming Guide, "Intrinsic Functions", and of PTX ISA 9.0, 9.7.3.
"""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from kdsl.lang.intrinsic import Emit, Libdevice, intrinsic
from kdsl.lang.type_names import f32, f64


@intrinsic(Libdevice("__nv_fast_sinf"), ptx="sin.approx", pure=True)
def sin(x: f32) -> f32:
    """Within ``2**-21.41`` for ``x`` in -pi to pi, worse beyond."""


@intrinsic(Libdevice("__nv_fast_cosf"), ptx="cos.approx", pure=True)
def cos(x: f32) -> f32:
    """Within ``2**-21.19`` for ``x`` in -pi to pi, worse beyond."""


@intrinsic(Libdevice("__nv_fast_tanf"), ptx="div.approx", pure=True)
def tan(x: f32) -> f32:
    """`sin` over `cos`, divided with `divide`."""


@intrinsic(Libdevice("__nv_fast_sincosf", outputs=2), ptx="sin.approx", pure=True)
def sincos(x: f32) -> tuple[f32, f32]:
    """(`sin`, `cos`)."""


@intrinsic(Libdevice("__nv_fast_tanhf"), ptx="tanh.approx", pure=True)
def tanh(x: f32) -> f32:
    """Within a relative error of ``2**-11``."""


@intrinsic(Libdevice("__nv_fast_expf"), ptx="ex2.approx", pure=True)
def exp(x: f32) -> f32:
    """Within 2 + floor(abs(1.173 * x)) ulp."""


@intrinsic(Libdevice("__nv_fast_exp10f"), ptx="ex2.approx", pure=True)
def exp10(x: f32) -> f32:
    """Within 2 + floor(abs(2.97 * x)) ulp."""


@intrinsic(Emit("approximate"), ptx="ex2.approx", pure=True)
def ex2(x: f32) -> f32:
    """2 to the power ``x``, the one instruction: within 2 ulp."""


@intrinsic(Libdevice("__nv_fast_logf"), ptx="lg2.approx", pure=True)
def log(x: f32) -> f32:
    """Within ``2**-21.41`` for ``x`` in 0.5 to 2, otherwise within 3 ulp."""


@intrinsic(Libdevice("__nv_fast_log2f"), ptx="lg2.approx", pure=True)
def log2(x: f32) -> f32:
    """Within ``2**-22`` for ``x`` in 0.5 to 2, otherwise within 2 ulp."""


@intrinsic(Libdevice("__nv_fast_log10f"), ptx="lg2.approx", pure=True)
def log10(x: f32) -> f32:
    """Within ``2**-24`` for ``x`` in 0.5 to 2, otherwise within 3 ulp."""


@intrinsic(Libdevice("__nv_fast_powf"), ptx="ex2.approx", pure=True)
def pow(x: f32, y: f32) -> f32:
    """exp2(y * log2(x)), each approximate."""


@intrinsic(Libdevice("__nv_fast_fdividef"), ptx="div.approx", pure=True)
def divide(x: f32, y: f32) -> f32:
    """``x / y`` within 2 ulp for ``y`` in ``2**-126`` to ``2**126``; 0 for larger ``y``."""


@intrinsic(Emit("approximate"), ptx="rcp.approx", pure=True)
def rcp(x: f32) -> f32:
    """1 over ``x``, within 1 ulp."""


@intrinsic(Emit("approximate"), ptx="sqrt.approx", pure=True)
def sqrt(x: f32) -> f32:
    """Square root of ``x``, within a relative error of ``2**-23``."""


@intrinsic(Emit("approximate"), ptx="rsqrt.approx", pure=True)
def rsqrt(x: f32) -> f32:
    """1 over the square root of ``x``, within a relative error of ``2**-22.9``."""


@intrinsic(Libdevice("__nv_rcp64h"), ptx="rcp.approx.ftz.f64", pure=True)
def rcp64h(x: f64) -> f64:
    """1 over ``x``, its upper 20 bits of mantissa only."""


@intrinsic(Libdevice("__nv_saturatef"), ptx="cvt.sat", pure=True)
def saturate(x: f32) -> f32:
    """``x`` clamped to 0 to 1; NaN gives 0."""
