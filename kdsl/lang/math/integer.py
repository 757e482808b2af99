"""Integer functions that Python has no operator for."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from kdsl.lang.generic import I, N
from kdsl.lang.intrinsic import Emit, Libdevice, Nvvm, intrinsic
from kdsl.lang.type_names import i32, u32
from kdsl.lang.types import I32, I64, U32, U64


@intrinsic(Emit("clz"), ptx="clz", pure=True)
def clz(x: N) -> i32:
    """Zero bits above the highest set bit; the width for 0."""


@intrinsic(
    Libdevice({I32: "__nv_ffs", U32: "__nv_ffs", I64: "__nv_ffsll", U64: "__nv_ffsll"}),
    ptx="bfind.shiftamt, clz.b64",
    pure=True,
)
def ffs(x: N) -> i32:
    """The place of the lowest set bit, counted from 1; 0 for 0."""


@intrinsic(Emit("popc"), ptx="popc", pure=True)
def popc(x: N) -> i32:
    """Set bits."""


@intrinsic(
    Nvvm(
        {
            I32: "llvm.bitreverse.i32",
            U32: "llvm.bitreverse.i32",
            I64: "llvm.bitreverse.i64",
            U64: "llvm.bitreverse.i64",
        },
        ("x",),
    ),
    ptx="brev",
    pure=True,
)
def brev(x: N) -> N:
    """The bits in reverse order."""


@intrinsic(
    Nvvm(
        {
            I32: "llvm.nvvm.mulhi.i",
            U32: "llvm.nvvm.mulhi.ui",
            I64: "llvm.nvvm.mulhi.ll",
            U64: "llvm.nvvm.mulhi.ull",
        },
        ("x", "y"),
    ),
    ptx="mul.hi",
    pure=True,
)
def mul_hi(x: N, y: N) -> N:
    """The upper half of the product of full width."""


@intrinsic(Libdevice({I32: "__nv_mul24", U32: "__nv_umul24"}), ptx="mul", pure=True)
def mul24(x: I, y: I) -> I:
    """The low 32 bits of the product of the low 24 bits of each."""


@intrinsic(Libdevice({I32: "__nv_hadd", U32: "__nv_uhadd"}), ptx="add", pure=True)
def hadd(x: I, y: I) -> I:
    """``(x + y) >> 1`` without overflow."""


@intrinsic(Libdevice({I32: "__nv_rhadd", U32: "__nv_urhadd"}), ptx="sub", pure=True)
def rhadd(x: I, y: I) -> I:
    """``(x + y + 1) >> 1`` without overflow."""


@intrinsic(Nvvm({I32: "llvm.nvvm.sad.i", U32: "llvm.nvvm.sad.ui"}, ("x", "y", "z")), ptx="sad", pure=True)
def sad(x: I, y: I, z: u32) -> u32:
    """``abs(x - y) + z``."""


@intrinsic(Libdevice("__nv_byte_perm"), ptx="prmt.b32", pure=True)
def byte_perm(x: u32, y: u32, selector: u32) -> u32:
    """Four of the bytes of ``x`` (0 to 3) and ``y`` (4 to 7), each picked by a hexadecimal digit of ``selector``.

    The lowest digit picks the lowest byte; only the low three bits of a digit count.
    """
