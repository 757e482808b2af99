"""Clocks, sleep, traps, and where the hardware runs a thread (PTX ISA 9.0, 9.7.19 and chapter 10)."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from kdsl.lang.intrinsic import Emit, Nvvm, intrinsic
from kdsl.lang.type_names import i32, u32, u64


@intrinsic(Emit("clock"), ptx="%clock")
def clock() -> u32:
    """Cycles of the multiprocessor's clock, modulo ``2**32``. Memory accesses stay on their side of it.

    Only differences within one block mean anything.
    """


@intrinsic(Emit("clock"), ptx="%clock64")
def clock64() -> u64:
    """`clock` in 64 bits, which do not wrap."""


@intrinsic(Emit("clock"), ptx="%globaltimer")
def globaltimer() -> u64:
    """Nanoseconds since some time in the past, the same for all blocks. How often it moves on depends on the GPU."""


@intrinsic(Nvvm("llvm.nvvm.nanosleep", ("ns",)), ptx="nanosleep.u32")
def nanosleep(ns: u32) -> None:
    """Wait for about ``ns`` nanoseconds, at most twice that; ``ns`` is at most 1,000,000."""


@intrinsic(Nvvm("llvm.trap", ()), ptx="trap")
def trap() -> None:
    """Stop the whole kernel: the host gets a DeviceError, and the GPU takes no more work from this process."""


@intrinsic(Nvvm("llvm.debugtrap", ()), ptx="brkpt")
def brkpt() -> None:
    """A breakpoint for a debugger on the device. Without one the GPU stops the kernel; the emulator goes on."""


@intrinsic(Nvvm("llvm.nvvm.read.ptx.sreg.smid", ()), ptx="%smid")
def sm_id() -> i32:
    """The multiprocessor that runs the block. A block that was preempted may go on elsewhere."""
