"""Conversions under CUDA's names, with the rounding said. Plain casts are ``i32(x)`` and `bitcast`.

Float to int saturates, as PTX's ``cvt`` does.
"""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from kdsl.lang.intrinsic import Emit, Libdevice, intrinsic
from kdsl.lang.type_names import f16, f32, f64, i32, i64, u32, u64


@intrinsic(Libdevice("__nv_float2int_rn"), ptx="cvt.rni", pure=True)
def float2int_rn(x: f32) -> i32:
    """``x`` as an integer, rounded to nearest, halves to even."""


@intrinsic(Libdevice("__nv_float2int_rz"), ptx="cvt.rzi", pure=True)
def float2int_rz(x: f32) -> i32:
    """``x`` as an integer, rounded towards zero."""


@intrinsic(Libdevice("__nv_float2int_ru"), ptx="cvt.rpi", pure=True)
def float2int_ru(x: f32) -> i32:
    """``x`` as an integer, rounded upwards."""


@intrinsic(Libdevice("__nv_float2int_rd"), ptx="cvt.rmi", pure=True)
def float2int_rd(x: f32) -> i32:
    """``x`` as an integer, rounded downwards."""


@intrinsic(Libdevice("__nv_float2uint_rn"), ptx="cvt.rni", pure=True)
def float2uint_rn(x: f32) -> u32:
    """``x`` as an unsigned integer, rounded to nearest, halves to even."""


@intrinsic(Libdevice("__nv_float2uint_rz"), ptx="cvt.rzi", pure=True)
def float2uint_rz(x: f32) -> u32:
    """``x`` as an unsigned integer, rounded towards zero."""


@intrinsic(Libdevice("__nv_float2uint_ru"), ptx="cvt.rpi", pure=True)
def float2uint_ru(x: f32) -> u32:
    """``x`` as an unsigned integer, rounded upwards."""


@intrinsic(Libdevice("__nv_float2uint_rd"), ptx="cvt.rmi", pure=True)
def float2uint_rd(x: f32) -> u32:
    """``x`` as an unsigned integer, rounded downwards."""


@intrinsic(Libdevice("__nv_float2ll_rn"), ptx="cvt.rni", pure=True)
def float2ll_rn(x: f32) -> i64:
    """``x`` as an integer, rounded to nearest, halves to even."""


@intrinsic(Libdevice("__nv_float2ll_rz"), ptx="cvt.rzi", pure=True)
def float2ll_rz(x: f32) -> i64:
    """``x`` as an integer, rounded towards zero."""


@intrinsic(Libdevice("__nv_float2ll_ru"), ptx="cvt.rpi", pure=True)
def float2ll_ru(x: f32) -> i64:
    """``x`` as an integer, rounded upwards."""


@intrinsic(Libdevice("__nv_float2ll_rd"), ptx="cvt.rmi", pure=True)
def float2ll_rd(x: f32) -> i64:
    """``x`` as an integer, rounded downwards."""


@intrinsic(Libdevice("__nv_float2ull_rn"), ptx="cvt.rni", pure=True)
def float2ull_rn(x: f32) -> u64:
    """``x`` as an unsigned integer, rounded to nearest, halves to even."""


@intrinsic(Libdevice("__nv_float2ull_rz"), ptx="cvt.rzi", pure=True)
def float2ull_rz(x: f32) -> u64:
    """``x`` as an unsigned integer, rounded towards zero."""


@intrinsic(Libdevice("__nv_float2ull_ru"), ptx="cvt.rpi", pure=True)
def float2ull_ru(x: f32) -> u64:
    """``x`` as an unsigned integer, rounded upwards."""


@intrinsic(Libdevice("__nv_float2ull_rd"), ptx="cvt.rmi", pure=True)
def float2ull_rd(x: f32) -> u64:
    """``x`` as an unsigned integer, rounded downwards."""


@intrinsic(Libdevice("__nv_double2int_rn"), ptx="cvt.rni", pure=True)
def double2int_rn(x: f64) -> i32:
    """``x`` as an integer, rounded to nearest, halves to even."""


@intrinsic(Libdevice("__nv_double2int_rz"), ptx="cvt.rzi", pure=True)
def double2int_rz(x: f64) -> i32:
    """``x`` as an integer, rounded towards zero."""


@intrinsic(Libdevice("__nv_double2int_ru"), ptx="cvt.rpi", pure=True)
def double2int_ru(x: f64) -> i32:
    """``x`` as an integer, rounded upwards."""


@intrinsic(Libdevice("__nv_double2int_rd"), ptx="cvt.rmi", pure=True)
def double2int_rd(x: f64) -> i32:
    """``x`` as an integer, rounded downwards."""


@intrinsic(Libdevice("__nv_double2uint_rn"), ptx="cvt.rni", pure=True)
def double2uint_rn(x: f64) -> u32:
    """``x`` as an unsigned integer, rounded to nearest, halves to even."""


@intrinsic(Libdevice("__nv_double2uint_rz"), ptx="cvt.rzi", pure=True)
def double2uint_rz(x: f64) -> u32:
    """``x`` as an unsigned integer, rounded towards zero."""


@intrinsic(Libdevice("__nv_double2uint_ru"), ptx="cvt.rpi", pure=True)
def double2uint_ru(x: f64) -> u32:
    """``x`` as an unsigned integer, rounded upwards."""


@intrinsic(Libdevice("__nv_double2uint_rd"), ptx="cvt.rmi", pure=True)
def double2uint_rd(x: f64) -> u32:
    """``x`` as an unsigned integer, rounded downwards."""


@intrinsic(Libdevice("__nv_double2ll_rn"), ptx="cvt.rni", pure=True)
def double2ll_rn(x: f64) -> i64:
    """``x`` as an integer, rounded to nearest, halves to even."""


@intrinsic(Libdevice("__nv_double2ll_rz"), ptx="cvt.rzi", pure=True)
def double2ll_rz(x: f64) -> i64:
    """``x`` as an integer, rounded towards zero."""


@intrinsic(Libdevice("__nv_double2ll_ru"), ptx="cvt.rpi", pure=True)
def double2ll_ru(x: f64) -> i64:
    """``x`` as an integer, rounded upwards."""


@intrinsic(Libdevice("__nv_double2ll_rd"), ptx="cvt.rmi", pure=True)
def double2ll_rd(x: f64) -> i64:
    """``x`` as an integer, rounded downwards."""


@intrinsic(Libdevice("__nv_double2ull_rn"), ptx="cvt.rni", pure=True)
def double2ull_rn(x: f64) -> u64:
    """``x`` as an unsigned integer, rounded to nearest, halves to even."""


@intrinsic(Libdevice("__nv_double2ull_rz"), ptx="cvt.rzi", pure=True)
def double2ull_rz(x: f64) -> u64:
    """``x`` as an unsigned integer, rounded towards zero."""


@intrinsic(Libdevice("__nv_double2ull_ru"), ptx="cvt.rpi", pure=True)
def double2ull_ru(x: f64) -> u64:
    """``x`` as an unsigned integer, rounded upwards."""


@intrinsic(Libdevice("__nv_double2ull_rd"), ptx="cvt.rmi", pure=True)
def double2ull_rd(x: f64) -> u64:
    """``x`` as an unsigned integer, rounded downwards."""


@intrinsic(Libdevice("__nv_double2float_rn"), ptx="cvt.rn.f32.f64", pure=True)
def double2float_rn(x: f64) -> f32:
    """``x`` as a float of 32 bits, rounded to nearest, halves to even."""


@intrinsic(Libdevice("__nv_double2float_rz"), ptx="cvt.rz.f32.f64", pure=True)
def double2float_rz(x: f64) -> f32:
    """``x`` as a float of 32 bits, rounded towards zero."""


@intrinsic(Libdevice("__nv_double2float_ru"), ptx="cvt.rp.f32.f64", pure=True)
def double2float_ru(x: f64) -> f32:
    """``x`` as a float of 32 bits, rounded upwards."""


@intrinsic(Libdevice("__nv_double2float_rd"), ptx="cvt.rm.f32.f64", pure=True)
def double2float_rd(x: f64) -> f32:
    """``x`` as a float of 32 bits, rounded downwards."""


@intrinsic(Libdevice("__nv_int2float_rn"), ptx="cvt.rn.f32.s32", pure=True)
def int2float_rn(x: i32) -> f32:
    """``x`` as a float of 32 bits, rounded to nearest, halves to even."""


@intrinsic(Libdevice("__nv_int2float_rz"), ptx="cvt.rz.f32.s32", pure=True)
def int2float_rz(x: i32) -> f32:
    """``x`` as a float of 32 bits, rounded towards zero."""


@intrinsic(Libdevice("__nv_int2float_ru"), ptx="cvt.rp.f32.s32", pure=True)
def int2float_ru(x: i32) -> f32:
    """``x`` as a float of 32 bits, rounded upwards."""


@intrinsic(Libdevice("__nv_int2float_rd"), ptx="cvt.rm.f32.s32", pure=True)
def int2float_rd(x: i32) -> f32:
    """``x`` as a float of 32 bits, rounded downwards."""


@intrinsic(Libdevice("__nv_int2double_rn"), ptx="cvt.rn.f64.s32", pure=True)
def int2double_rn(x: i32) -> f64:
    """``x`` as a float of 64 bits, which is exact."""


@intrinsic(Libdevice("__nv_uint2float_rn"), ptx="cvt.rn.f32.u32", pure=True)
def uint2float_rn(x: u32) -> f32:
    """``x`` as a float of 32 bits, rounded to nearest, halves to even."""


@intrinsic(Libdevice("__nv_uint2float_rz"), ptx="cvt.rz.f32.u32", pure=True)
def uint2float_rz(x: u32) -> f32:
    """``x`` as a float of 32 bits, rounded towards zero."""


@intrinsic(Libdevice("__nv_uint2float_ru"), ptx="cvt.rp.f32.u32", pure=True)
def uint2float_ru(x: u32) -> f32:
    """``x`` as a float of 32 bits, rounded upwards."""


@intrinsic(Libdevice("__nv_uint2float_rd"), ptx="cvt.rm.f32.u32", pure=True)
def uint2float_rd(x: u32) -> f32:
    """``x`` as a float of 32 bits, rounded downwards."""


@intrinsic(Libdevice("__nv_uint2double_rn"), ptx="cvt.rn.f64.u32", pure=True)
def uint2double_rn(x: u32) -> f64:
    """``x`` as a float of 64 bits, which is exact."""


@intrinsic(Libdevice("__nv_ll2float_rn"), ptx="cvt.rn.f32.s64", pure=True)
def ll2float_rn(x: i64) -> f32:
    """``x`` as a float of 32 bits, rounded to nearest, halves to even."""


@intrinsic(Libdevice("__nv_ll2float_rz"), ptx="cvt.rz.f32.s64", pure=True)
def ll2float_rz(x: i64) -> f32:
    """``x`` as a float of 32 bits, rounded towards zero."""


@intrinsic(Libdevice("__nv_ll2float_ru"), ptx="cvt.rp.f32.s64", pure=True)
def ll2float_ru(x: i64) -> f32:
    """``x`` as a float of 32 bits, rounded upwards."""


@intrinsic(Libdevice("__nv_ll2float_rd"), ptx="cvt.rm.f32.s64", pure=True)
def ll2float_rd(x: i64) -> f32:
    """``x`` as a float of 32 bits, rounded downwards."""


@intrinsic(Libdevice("__nv_ll2double_rn"), ptx="cvt.rn.f64.s64", pure=True)
def ll2double_rn(x: i64) -> f64:
    """``x`` as a float of 64 bits, rounded to nearest, halves to even."""


@intrinsic(Libdevice("__nv_ll2double_rz"), ptx="cvt.rz.f64.s64", pure=True)
def ll2double_rz(x: i64) -> f64:
    """``x`` as a float of 64 bits, rounded towards zero."""


@intrinsic(Libdevice("__nv_ll2double_ru"), ptx="cvt.rp.f64.s64", pure=True)
def ll2double_ru(x: i64) -> f64:
    """``x`` as a float of 64 bits, rounded upwards."""


@intrinsic(Libdevice("__nv_ll2double_rd"), ptx="cvt.rm.f64.s64", pure=True)
def ll2double_rd(x: i64) -> f64:
    """``x`` as a float of 64 bits, rounded downwards."""


@intrinsic(Libdevice("__nv_ull2float_rn"), ptx="cvt.rn.f32.u64", pure=True)
def ull2float_rn(x: u64) -> f32:
    """``x`` as a float of 32 bits, rounded to nearest, halves to even."""


@intrinsic(Libdevice("__nv_ull2float_rz"), ptx="cvt.rz.f32.u64", pure=True)
def ull2float_rz(x: u64) -> f32:
    """``x`` as a float of 32 bits, rounded towards zero."""


@intrinsic(Libdevice("__nv_ull2float_ru"), ptx="cvt.rp.f32.u64", pure=True)
def ull2float_ru(x: u64) -> f32:
    """``x`` as a float of 32 bits, rounded upwards."""


@intrinsic(Libdevice("__nv_ull2float_rd"), ptx="cvt.rm.f32.u64", pure=True)
def ull2float_rd(x: u64) -> f32:
    """``x`` as a float of 32 bits, rounded downwards."""


@intrinsic(Libdevice("__nv_ull2double_rn"), ptx="cvt.rn.f64.u64", pure=True)
def ull2double_rn(x: u64) -> f64:
    """``x`` as a float of 64 bits, rounded to nearest, halves to even."""


@intrinsic(Libdevice("__nv_ull2double_rz"), ptx="cvt.rz.f64.u64", pure=True)
def ull2double_rz(x: u64) -> f64:
    """``x`` as a float of 64 bits, rounded towards zero."""


@intrinsic(Libdevice("__nv_ull2double_ru"), ptx="cvt.rp.f64.u64", pure=True)
def ull2double_ru(x: u64) -> f64:
    """``x`` as a float of 64 bits, rounded upwards."""


@intrinsic(Libdevice("__nv_ull2double_rd"), ptx="cvt.rm.f64.u64", pure=True)
def ull2double_rd(x: u64) -> f64:
    """``x`` as a float of 64 bits, rounded downwards."""


@intrinsic(Emit("convert"), ptx="cvt.rn.f16.f32", pure=True)
def float2half_rn(x: f32) -> f16:
    """``x`` as an f16, rounded to nearest, halves to even."""


@intrinsic(Emit("convert"), ptx="cvt.f32.f16", pure=True)
def half2float(x: f16) -> f32:
    """``x`` as an f32, which is exact."""


@intrinsic(Emit("reinterpret"), ptx="", pure=True)
def float_as_int(x: f32) -> i32:
    """The bits of ``x``."""


@intrinsic(Emit("reinterpret"), ptx="", pure=True)
def float_as_uint(x: f32) -> u32:
    """The bits of ``x``."""


@intrinsic(Emit("reinterpret"), ptx="", pure=True)
def int_as_float(x: i32) -> f32:
    """The float with the bits ``x``."""


@intrinsic(Emit("reinterpret"), ptx="", pure=True)
def uint_as_float(x: u32) -> f32:
    """The float with the bits ``x``."""


@intrinsic(Emit("reinterpret"), ptx="", pure=True)
def double_as_longlong(x: f64) -> i64:
    """The bits of ``x``."""


@intrinsic(Emit("reinterpret"), ptx="", pure=True)
def longlong_as_double(x: i64) -> f64:
    """The float with the bits ``x``."""


@intrinsic(Libdevice("__nv_double2hiint"), ptx="mov", pure=True)
def double2hiint(x: f64) -> i32:
    """The upper half of the bits of ``x``."""


@intrinsic(Libdevice("__nv_double2loint"), ptx="mov", pure=True)
def double2loint(x: f64) -> i32:
    """The lower half of the bits of ``x``."""


@intrinsic(Libdevice("__nv_hiloint2double"), ptx="mov.b64", pure=True)
def hiloint2double(high: i32, low: i32) -> f64:
    """The float whose bits are ``high`` above ``low``."""
