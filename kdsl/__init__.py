"""A typed GPU kernel language inside Python. This is the map of the package, in the order of the pipeline.

    Python function -> ast -> typed tree -> LLVM IR -> PTX -> cubin -> driver -> GPU
                                                        \\-> emulator

lang        what a kernel author imports: types, and a typed stub for each intrinsic
groups      what groups of threads do together. It is written in the kernel language, and so are random (random
            numbers), complex_functions and block_copies
decorator   `kernel`; compiler: the `Kernel` that it makes, and `compile`
parameters  what a launch or `compile` says of a kernel's parameters; annotations: as types; signatures: all that a
            check takes
configured  a kernel with grid and block; specialization: one compiled for types, on a device; homes: on which device
            a launch runs; starting: the order of a first launch's work
compilation one run of the pipeline, every stage kept: what `compile` gives and all views read
contracts   what a kernel requires of its launches: the launcher checks it, and the compiler relies on it
source      places in a user's source, and `CompileError`
frontend    Python's syntax tree to the typed tree
ir          the typed tree
codegen     the typed tree to LLVM IR, PTX and SASS; the only part that imports llvmlite. libdevice: where it is
target      the architectures, and what each of them has
ptx_lines   from a line of PTX back to the Python line
captured    what a kernel read by name; compiled: what else a launch has to know of it
cache       compilations on disk, which the next process finds
emulator    runs PTX text without a GPU
runtime     the CUDA driver, arrays in device memory, streams, launching
backend     what a place that runs kernels offers: the driver and the emulator are two. stream_state, captures: what
            both remember of streams
device_choice  the devices of this process: GPUs where there are some, else the emulator
current     which device is current, and the environment's settings of it
host        arrays on the current device; streams: its streams, events and graphs
variables   arrays that kernels and the host know by name: `device.array`, `constant.empty`
module      several kernels in one module; loading: modules that other compilers made, of loaded_signatures; linking
            with them
resources   what a kernel takes, and how many of its blocks run at once, with the arithmetic in occupancy
pickling    kernels for other processes
explorer    views of a compilation
ahead       kernels built ahead of time for programs without kdsl, and stubs for type checkers; typing: what stubs use
cli         the ``kdsl`` command, with files (loading a user's), demo and doctor
records     dataclasses that cost little to make; locks: that survive a fork
timeline    what took how long; tracing records the calls of the emulator in it
errors      all exceptions
checks      how a failed check of a debug build is told; garbage holds the collector back

Public names are loaded when they are first used: importing kdsl costs little beyond NumPy and calls nothing of CUDA.
Decorating a function loads a quarter of the modules; a first launch the others, while the driver starts beside it.
`kdsl.compile`, `kdsl.math` and `kdsl.random` are not in ``__all__``: they would hide Python's own in an ``import *``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kdsl.version import __version__

# Why is each name here three times? Type checkers read only imports and a literal ``__all__``, and neither says to a
# running program where a name comes from before its module is loaded. A test holds the three together.
if TYPE_CHECKING:
    # fmt: off
    # isort: off
    from kdsl.lang.type_names import (
        i8, i16, i32, i64, u8, u16, u32, u64, f8e4m3, f8e5m2, f16, bf16, f32, f64, complex64, complex128, Ptr, Array,
        Constexpr,
    )
    from kdsl.lang.vectors import (
        i8x4, i16x2, i16x4, i32x2, i32x3, i32x4, i64x2, u8x3, u8x4, u16x2, u16x4, u32x2, u32x3, u32x4, u64x2, f8e4m3x2,
        f8e4m3x4, f8e5m2x2, f8e5m2x4, f16x2, f16x4, bf16x2, bf16x4, f32x2, f32x3, f32x4, f64x2, f64x3,
    )
    from kdsl.lang.fixed_array import FixedArray
    from kdsl.lang.extern import extern
    from kdsl.lang.index import (
        thread_idx, block_idx, block_dim, grid_dim, grid, gridsize, lane_id, warp_id, warp_size, lanemask_eq,
        lanemask_lt, lanemask_le, lanemask_gt, lanemask_ge,
    )
    from kdsl.lang.synchronization import (
        FULL_MASK, barrier, barrier_arrive, fence, sync_threads, sync_threads_count, sync_threads_and, sync_threads_or,
        sync_warp,
    )
    from kdsl.lang.cluster import (
        cluster_idx, cluster_dim, cluster_block_idx, cluster_grid_dim, cluster_rank, cluster_size, cluster_sync,
        cluster_arrive, cluster_wait, map_shared_rank, shared_rank_of,
    )
    from kdsl.lang.whole_grid import grid_sync, grid_dependency_wait, grid_launch_dependents
    from kdsl.lang.warp import (
        shfl_sync, shfl_up_sync, shfl_down_sync, shfl_xor_sync, all_sync, any_sync, ballot_sync, active_mask,
    )
    from kdsl.lang.collective import (
        match_any_sync, match_all_sync, elect_sync, reduce_add_sync, reduce_min_sync, reduce_max_sync, reduce_and_sync,
        reduce_or_sync, reduce_xor_sync,
    )
    from kdsl.lang.bits import (
        funnel_shift_l, funnel_shift_lc, funnel_shift_r, funnel_shift_rc, bfe, bfi, lop3, mul_wide, mul_wide64,
        mad_wide64, dp4a, dp2a_lo, dp2a_hi,
    )
    from kdsl.lang.sizes import align_of, size_of
    from kdsl.lang.special import brkpt, clock, clock64, globaltimer, nanosleep, sm_id, trap
    from kdsl.lang.memory import address_of, shared, local, load, store, prefetch
    from kdsl.lang.policies import createpolicy_fractional
    from kdsl.lang.alignment import assume_aligned, copy_block, is_aligned
    from kdsl.lang.inline import asm
    from kdsl.lang.static import static_assert, static_range, type_of, unroll
    from kdsl.lang.struct import struct
    from kdsl.lang.casts import bitcast
    from kdsl.lang.math import fast, fma, rsqrt, brev, byte_perm, clz, ffs, hadd, mul24, mul_hi, popc, rhadd, sad
    from kdsl.lang import atomic
    from kdsl.source import CompileError
    from kdsl.target import Target
    from kdsl.backend import (
        DeviceError, DeviceAssertionError, CheckError, MemoryFault, SynchronizationError, LaunchTimeout,
    )
    from kdsl.ahead.build import build
    from kdsl.compilation import Compilation
    from kdsl.compiler import Kernel
    from kdsl.current import current_device, devices, set_device
    from kdsl.decorator import kernel
    from kdsl.linking import link
    from kdsl.loading import LoadedKernel, LoadedModule, load_module
    from kdsl.module import KernelModule, cuda_module
    from kdsl.variables import constant, device
    from kdsl.streams import Event, Graph, Stream, current_stream, legacy_stream, per_thread_stream
    from kdsl.host import (
        empty, empty_like, from_dlpack, full, managed_empty, mapped_empty, mem_advise, mem_prefetch, memory_info,
        pinned_empty, set_release_threshold, synchronize, to_device, trim_memory, zeros, zeros_like,
    )
    from kdsl.runtime.config import LaunchConfig
    from kdsl.runtime.device import Device
    from kdsl.runtime.markers import In, InOut, Out
    from kdsl.runtime.memory import DeviceArray
    from kdsl.runtime.hooks import LaunchRecord, launch_hooks
    from kdsl.runtime.memory_pool import MemoryInfo
    from kdsl.runtime.prepared import PreparedLaunch
    from kdsl.runtime.errors import ArgumentError, LaunchConfigError, LaunchContractError
    from kdsl import errors as errors, groups as groups, random as random
    from kdsl.compiler import compile as compile
    from kdsl.lang import math as math
    # isort: on
    # fmt: on

# Where `__getattr__` finds them.
_MODULES = {
    "kdsl.lang.type_names": (
        "i8 i16 i32 i64 u8 u16 u32 u64 f8e4m3 f8e5m2 f16 bf16 f32 f64 complex64 complex128 Ptr Array Constexpr"
    ),
    "kdsl.lang.vectors": (
        "i8x4 i16x2 i16x4 i32x2 i32x3 i32x4 i64x2 u8x3 u8x4 u16x2 u16x4 u32x2 u32x3 u32x4 u64x2 "
        "f8e4m3x2 f8e4m3x4 f8e5m2x2 f8e5m2x4 f16x2 f16x4 bf16x2 bf16x4 f32x2 f32x3 f32x4 f64x2 f64x3"
    ),
    "kdsl.lang.fixed_array": "FixedArray",
    "kdsl.lang.extern": "extern",
    "kdsl.lang.index": (
        "thread_idx block_idx block_dim grid_dim grid gridsize lane_id warp_id warp_size "
        "lanemask_eq lanemask_lt lanemask_le lanemask_gt lanemask_ge"
    ),
    "kdsl.lang.synchronization": (
        "FULL_MASK barrier barrier_arrive fence "
        "sync_threads sync_threads_count sync_threads_and sync_threads_or sync_warp"
    ),
    "kdsl.lang.cluster": (
        "cluster_idx cluster_dim cluster_block_idx cluster_grid_dim cluster_rank cluster_size "
        "cluster_sync cluster_arrive cluster_wait map_shared_rank shared_rank_of"
    ),
    "kdsl.lang.whole_grid": "grid_sync grid_dependency_wait grid_launch_dependents",
    "kdsl.lang.warp": "shfl_sync shfl_up_sync shfl_down_sync shfl_xor_sync all_sync any_sync ballot_sync active_mask",
    "kdsl.lang.collective": (
        "match_any_sync match_all_sync elect_sync reduce_add_sync reduce_min_sync reduce_max_sync "
        "reduce_and_sync reduce_or_sync reduce_xor_sync"
    ),
    "kdsl.lang.bits": (
        "funnel_shift_l funnel_shift_lc funnel_shift_r funnel_shift_rc bfe bfi lop3 "
        "mul_wide mul_wide64 mad_wide64 dp4a dp2a_lo dp2a_hi"
    ),
    "kdsl.lang.sizes": "align_of size_of",
    "kdsl.lang.special": "brkpt clock clock64 globaltimer nanosleep sm_id trap",
    "kdsl.lang.memory": "address_of shared local load store prefetch",
    "kdsl.lang.policies": "createpolicy_fractional",
    "kdsl.lang.alignment": "assume_aligned copy_block is_aligned",
    "kdsl.lang.inline": "asm",
    "kdsl.lang.static": "static_assert static_range type_of unroll",
    "kdsl.lang.struct": "struct",
    "kdsl.lang.casts": "bitcast",
    "kdsl.lang.math": "fast fma rsqrt brev byte_perm clz ffs hadd mul24 mul_hi popc rhadd sad",
    "kdsl.lang": "atomic",
    "kdsl.source": "CompileError",
    "kdsl.target": "Target",
    "kdsl.backend": "DeviceError DeviceAssertionError CheckError MemoryFault SynchronizationError LaunchTimeout",
    "kdsl.ahead.build": "build",
    "kdsl.compilation": "Compilation",
    "kdsl.compiler": "Kernel",
    "kdsl.current": "current_device devices set_device",
    "kdsl.decorator": "kernel",
    "kdsl.linking": "link",
    "kdsl.loading": "LoadedKernel LoadedModule load_module",
    "kdsl.module": "KernelModule cuda_module",
    "kdsl.variables": "constant device",
    "kdsl.streams": "Event Graph Stream current_stream legacy_stream per_thread_stream",
    "kdsl.host": (
        "empty empty_like from_dlpack full managed_empty mapped_empty mem_advise mem_prefetch memory_info pinned_empty "
        "set_release_threshold synchronize to_device trim_memory zeros zeros_like"
    ),
    "kdsl.runtime.config": "LaunchConfig",
    "kdsl.runtime.device": "Device",
    "kdsl.runtime.markers": "In InOut Out",
    "kdsl.runtime.memory": "DeviceArray",
    "kdsl.runtime.hooks": "LaunchRecord launch_hooks",
    "kdsl.runtime.memory_pool": "MemoryInfo",
    "kdsl.runtime.prepared": "PreparedLaunch",
    "kdsl.runtime.errors": "ArgumentError LaunchConfigError LaunchContractError",
}
_HOME = {name: module for module, names in _MODULES.items() for name in names.split()}
_HOME |= {"compile": "kdsl.compiler", "math": "kdsl.lang", "random": "kdsl", "groups": "kdsl", "errors": "kdsl"}


if not TYPE_CHECKING:
    # A type checker that saw this would take any name for a public one.
    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise _missing(name)
        module = import_module(_HOME[name])
        # `atomic`, `math`, `random`, `groups` and `errors` are modules themselves.
        is_module = _HOME[name] in ("kdsl", "kdsl.lang")
        value = import_module(f"{_HOME[name]}.{name}") if is_module else getattr(module, name)
        globals()[name] = value
        return value


def _missing(name: str) -> AttributeError | ImportError:
    """That there is no such name, and what to write for it."""
    import sys

    asking = sys._getframe(1).f_back
    # Those are Python's own questions: of its tools, and whether `from kdsl import host` means a module.
    if (name[:2] == name[-2:] == "__") or (asking and asking.f_globals.get("__name__") == "importlib._bootstrap"):
        return AttributeError(f"module 'kdsl' has no attribute {name!r}")
    from opcode import opmap  # start-up cost, as the next: for mistakes alone

    from kdsl.frontend.other_names import instead_of

    instead = instead_of(name, [*__all__, "compile", "math", "random"])
    advice = f": {instead}" if instead else ""
    # Why look at who asks? Python's own ImportError would leave the advice out.
    if asking and asking.f_code.co_code[asking.f_lasti] == opmap["IMPORT_FROM"]:
        return ImportError(f"cannot import name {name!r} from 'kdsl'{advice}", name="kdsl", path=__file__)
    # Why a name and no object? Python would add a guess of its own.
    return AttributeError(f"module 'kdsl' has no attribute {name!r}{advice}", name=name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})


# fmt: off
__all__ = [  # noqa: RUF022 (by subject)
    "__version__",
    # Types and literals of the kernel language.
    "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f8e4m3", "f8e5m2", "f16", "bf16", "f32", "f64", "complex64",
    "complex128", "Ptr", "Array", "Constexpr", "i8x4", "i16x2", "i16x4", "i32x2", "i32x3", "i32x4", "i64x2", "u8x3",
    "u8x4", "u16x2", "u16x4", "u32x2", "u32x3", "u32x4", "u64x2", "f8e4m3x2", "f8e4m3x4", "f8e5m2x2", "f8e5m2x4",
    "f16x2", "f16x4", "bf16x2", "bf16x4", "f32x2", "f32x3", "f32x4", "f64x2", "f64x3", "FixedArray", "struct",
    "bitcast", "align_of", "size_of",
    # What a kernel asks the compiler for.
    "static_assert", "static_range", "type_of", "unroll", "assume_aligned", "copy_block", "is_aligned", "asm", "extern",
    # Where a thread is.
    "thread_idx", "block_idx", "block_dim", "grid_dim", "grid", "gridsize", "lane_id", "warp_id", "warp_size",
    "lanemask_eq", "lanemask_lt", "lanemask_le", "lanemask_gt", "lanemask_ge",
    # Barriers, clusters and the whole grid.
    "FULL_MASK", "barrier", "barrier_arrive", "fence", "sync_threads", "sync_threads_count", "sync_threads_and",
    "sync_threads_or", "sync_warp", "cluster_idx", "cluster_dim", "cluster_block_idx", "cluster_grid_dim",
    "cluster_rank", "cluster_size", "cluster_sync", "cluster_arrive", "cluster_wait", "map_shared_rank",
    "shared_rank_of", "grid_sync", "grid_dependency_wait", "grid_launch_dependents",
    # Warps.
    "shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync", "all_sync", "any_sync", "ballot_sync",
    "active_mask", "match_any_sync", "match_all_sync", "elect_sync", "reduce_add_sync", "reduce_min_sync",
    "reduce_max_sync", "reduce_and_sync", "reduce_or_sync", "reduce_xor_sync", "groups",
    # Numbers and bits; `math` and `random` are not in ``import *``.
    "fast", "fma", "rsqrt", "brev", "byte_perm", "clz", "ffs", "hadd", "mul24", "mul_hi", "popc", "rhadd", "sad",
    "funnel_shift_l", "funnel_shift_lc", "funnel_shift_r", "funnel_shift_rc", "bfe", "bfi", "lop3", "mul_wide",
    "mul_wide64", "mad_wide64", "dp4a", "dp2a_lo", "dp2a_hi",
    # Memory, and the machine.
    "address_of", "shared", "local", "load", "store", "prefetch", "createpolicy_fractional", "atomic", "brkpt", "clock",
    "clock64", "globaltimer", "nanosleep", "sm_id", "trap",
    # Kernels and modules; `compile` is not in ``import *``.
    "Kernel", "kernel", "Compilation", "Target", "KernelModule", "cuda_module", "link", "LoadedKernel", "LoadedModule",
    "load_module", "build", "constant", "device",
    # Launches.
    "LaunchConfig", "PreparedLaunch", "In", "InOut", "Out", "LaunchRecord", "launch_hooks",
    # Devices and their memory.
    "Device", "current_device", "devices", "set_device", "DeviceArray", "MemoryInfo", "empty", "empty_like",
    "from_dlpack", "full", "managed_empty", "mapped_empty", "mem_advise", "mem_prefetch", "memory_info", "pinned_empty",
    "set_release_threshold", "synchronize", "to_device", "trim_memory", "zeros", "zeros_like",
    # Streams, events and graphs.
    "Event", "Graph", "Stream", "current_stream", "legacy_stream", "per_thread_stream",
    # Errors; `errors` has them all.
    "errors", "CompileError", "ArgumentError", "LaunchConfigError", "LaunchContractError", "DeviceError",
    "DeviceAssertionError", "CheckError", "MemoryFault", "SynchronizationError", "LaunchTimeout",
]
# fmt: on
