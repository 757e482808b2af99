"""Bit fields, shifts of two words, any logic of three words, and small dot products (PTX ISA 9.0, 9.7.1 and 9.7.8)."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from typing import overload

from kdsl.lang.generic import I, L, N
from kdsl.lang.intrinsic import Emit, Nvvm, intrinsic
from kdsl.lang.type_names import i32, i64, u32, u64
from kdsl.lang.types import I32, U32


@intrinsic(Nvvm("llvm.fshl.i32", ("hi", "lo", "shift")), ptx="shf.l.wrap.b32", pure=True)
def funnel_shift_l(lo: u32, hi: u32, shift: u32) -> u32:
    """The upper 32 bits of ``hi:lo << (shift & 31)``."""


@intrinsic(Nvvm("llvm.nvvm.fshl.clamp.i32", ("hi", "lo", "shift")), ptx="shf.l.clamp.b32", pure=True)
def funnel_shift_lc(lo: u32, hi: u32, shift: u32) -> u32:
    """The upper 32 bits of ``hi:lo << min(shift, 32)``."""


@intrinsic(Nvvm("llvm.fshr.i32", ("hi", "lo", "shift")), ptx="shf.r.wrap.b32", pure=True)
def funnel_shift_r(lo: u32, hi: u32, shift: u32) -> u32:
    """The lower 32 bits of ``hi:lo >> (shift & 31)``."""


@intrinsic(Nvvm("llvm.nvvm.fshr.clamp.i32", ("hi", "lo", "shift")), ptx="shf.r.clamp.b32", pure=True)
def funnel_shift_rc(lo: u32, hi: u32, shift: u32) -> u32:
    """The lower 32 bits of ``hi:lo >> min(shift, 32)``."""


@intrinsic(Emit("bfe"), ptx="bfe", pure=True)
def bfe(x: N, start: u32, length: u32) -> N:
    """``length`` bits of ``x`` from bit ``start`` up, as a number; signed if ``x`` is.

    What lies above the highest bit of ``x`` is 0, or its sign. ``start`` and ``length`` are 0 to 255.
    """


@intrinsic(Emit("bfi"), ptx="bfi", pure=True)
def bfi(field: N, x: N, start: u32, length: u32) -> N:
    """``x`` with its ``length`` bits from bit ``start`` up replaced by the lowest of ``field``.

    Bits above the highest of ``x`` fall away. ``start`` and ``length`` are 0 to 255.
    """


@intrinsic(Emit("lop3"), ptx="lop3.b32", pure=True)
def lop3(a: u32, b: u32, c: u32, lut: u32) -> u32:
    """Any logic of three words: ``lut`` is what it gives for ``a = 0xF0, b = 0xCC, c = 0xAA``.

    So ``(a & b) ^ c`` has the table ``(0xF0 & 0xCC) ^ 0xAA``. It is a constant from 0 to 255.
    """


@overload
def mul_wide(x: i32, y: i32) -> i64: ...
@overload
def mul_wide(x: u32, y: u32) -> u64: ...  # type: ignore[overload-cannot-match]
@intrinsic(Emit("mul_wide"), ptx="mul.wide", pure=True)
def mul_wide(x: int, y: int) -> int:
    """The whole product, in 64 bits."""


@intrinsic(Emit("mul_wide64"), ptx="mul.hi", pure=True)
def mul_wide64(x: L, y: L) -> tuple[u64, L]:
    """The whole product of two 64-bit ints, in 128 bits: the lower 64, and the upper 64 with the sign."""


@intrinsic(Emit("mad_wide64"), ptx="mul.hi", pure=True)
def mad_wide64(x: u64, y: u64, lo: u64, hi: u64) -> tuple[u64, u64]:
    """``x * y`` plus the 128 bits ``hi:lo``, in 128 bits that wrap: the lower 64, and the upper 64."""


@intrinsic(Nvvm({I32: "llvm.nvvm.idp4a.s.s", U32: "llvm.nvvm.idp4a.u.u"}, ("a", "b", "c")), ptx="dp4a", pure=True)
def dp4a(a: I, b: I, c: I) -> I:
    """``c`` plus the products of the four bytes of ``a`` with those of ``b``."""


@intrinsic(
    Nvvm({I32: "llvm.nvvm.idp2a.s.s", U32: "llvm.nvvm.idp2a.u.u"}, ("a", "b", False, "c")), ptx="dp2a.lo", pure=True
)
def dp2a_lo(a: I, b: I, c: I) -> I:
    """``c`` plus the products of the two halves of ``a`` with the two lower bytes of ``b``."""


@intrinsic(
    Nvvm({I32: "llvm.nvvm.idp2a.s.s", U32: "llvm.nvvm.idp2a.u.u"}, ("a", "b", True, "c")), ptx="dp2a.hi", pure=True
)
def dp2a_hi(a: I, b: I, c: I) -> I:
    """``c`` plus the products of the two halves of ``a`` with the two upper bytes of ``b``."""
