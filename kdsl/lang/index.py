"""Where a thread is: special registers and what follows from them (PTX ISA 9.0, chapter 10).

Indices are i32 with known ranges: a launch never has more than 2^31 - 1 threads along an axis.
"""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NoReturn, cast, overload

from kdsl.lang.intrinsic import Emit, Intrinsic, Nvvm, intrinsic
from kdsl.lang.only_in_kernels import OnlyInKernels
from kdsl.lang.type_names import i32, u32
from kdsl.records import dataclass

warp_size = 32
"""Threads of a warp, on every architecture so far."""


@dataclass(frozen=True)
class Registers(OnlyInKernels):
    """A special register with three components, read without a call: ``thread_idx.x``."""

    x: i32
    y: i32
    z: i32

    def host_error(self) -> TypeError:
        name = cast(Intrinsic, self.x).name.rpartition(".")[0]
        return TypeError(f"{name}.x, .y and .z have values in a kernel alone: read them inside a @kernel function")

    if not TYPE_CHECKING:

        def __getitem__(self, _: object) -> NoReturn:
            raise self.host_error()

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(f"a special register has .x, .y and .z, and no {name!r}")


def special_register(name: str, ptx: str, doc: str, module: str = __name__, min_sm: int = 75) -> Any:
    """The three components of a special register; on the host each is an `Intrinsic`, not a number."""

    def component(axis: str) -> Any:
        def stub() -> i32: ...

        stub.__name__ = stub.__qualname__ = f"{name}.{axis}"
        stub.__doc__, stub.__module__ = doc.format(axis=axis), module
        lowering = Nvvm(f"llvm.nvvm.read.ptx.sreg.{ptx}.{axis}", ())
        mnemonic = f"%{ptx.replace('.', '_')}.{axis}"
        return Intrinsic(stub, lowering, mnemonic, min_sm=min_sm, register=True, pure=True)

    return Registers(component("x"), component("y"), component("z"))


thread_idx: Registers = special_register("thread_idx", "tid", "The thread's index within its block along {axis}.")
block_idx: Registers = special_register("block_idx", "ctaid", "The block's index within the grid along {axis}.")
block_dim: Registers = special_register("block_dim", "ntid", "Threads of a block along {axis}, at least 1.")
grid_dim: Registers = special_register("grid_dim", "nctaid", "Blocks of the grid along {axis}, at least 1.")


@overload
def grid(ndim: Literal[1]) -> i32: ...
@overload
def grid(ndim: Literal[2]) -> tuple[i32, i32]: ...
@overload
def grid(ndim: Literal[3]) -> tuple[i32, i32, i32]: ...
@intrinsic(Emit("grid"), ptx="mad.lo.s32", pure=True)
def grid(ndim: Literal[1, 2, 3]) -> Any:
    """The thread's index within the whole grid, ``block_idx * block_dim + thread_idx``: x, (x, y) or (x, y, z)."""


@overload
def gridsize(ndim: Literal[1]) -> i32: ...
@overload
def gridsize(ndim: Literal[2]) -> tuple[i32, i32]: ...
@overload
def gridsize(ndim: Literal[3]) -> tuple[i32, i32, i32]: ...
@intrinsic(Emit("gridsize"), ptx="mul.lo.s32", pure=True)
def gridsize(ndim: Literal[1, 2, 3]) -> Any:
    """Threads of the whole grid, ``grid_dim * block_dim``: along x, (x, y) or (x, y, z)."""


@intrinsic(Nvvm("llvm.nvvm.read.ptx.sreg.laneid", ()), ptx="%laneid", pure=True)
def lane_id() -> i32:
    """The thread's lane within its warp, 0 to 31."""


@intrinsic(Emit("warp_id"), ptx="shr.u32", pure=True)
def warp_id() -> i32:
    """The warp's index within its block: the thread's linear index, x fastest, over 32.

    Not PTX's ``%warpid``, which names a hardware slot and may change while the thread runs.
    """


@intrinsic(Nvvm("llvm.nvvm.read.ptx.sreg.lanemask.eq", ()), ptx="%lanemask_eq", pure=True)
def lanemask_eq() -> u32:
    """The caller's own lane as a mask, a bit each."""


@intrinsic(Nvvm("llvm.nvvm.read.ptx.sreg.lanemask.lt", ()), ptx="%lanemask_lt", pure=True)
def lanemask_lt() -> u32:
    """The lanes below the caller's, a bit each."""


@intrinsic(Nvvm("llvm.nvvm.read.ptx.sreg.lanemask.le", ()), ptx="%lanemask_le", pure=True)
def lanemask_le() -> u32:
    """The lanes below the caller's, and its own, a bit each."""


@intrinsic(Nvvm("llvm.nvvm.read.ptx.sreg.lanemask.gt", ()), ptx="%lanemask_gt", pure=True)
def lanemask_gt() -> u32:
    """The lanes above the caller's, a bit each."""


@intrinsic(Nvvm("llvm.nvvm.read.ptx.sreg.lanemask.ge", ()), ptx="%lanemask_ge", pure=True)
def lanemask_ge() -> u32:
    """The lanes above the caller's, and its own, a bit each."""
