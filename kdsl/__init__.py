"""A typed GPU kernel language inside Python. This is the map of the package, in the order of the pipeline.

    Python function -> ast -> typed tree -> LLVM IR -> PTX -> cubin -> driver -> GPU
                                                        \\-> emulator

lang        what a kernel author imports: types, and a typed stub for each intrinsic
compiler    `kernel` and `compile`
configured  a kernel with grid and block; specialization: one compiled for types, on a device
compilation one run of the pipeline, every stage kept: what `compile` gives and all views read
contracts   what a kernel requires of its launches: the launcher checks it, and the compiler relies on it
source      places in a user's source, and `CompileError`
frontend    Python's syntax tree to the typed tree
ir          the typed tree
codegen     the typed tree to LLVM IR, PTX and SASS; the only part that imports llvmlite
target      the architectures, and what each of them has
ptx_lines   from a line of PTX back to the Python line
emulator    runs PTX text without a GPU
cache       compilations on disk, which the next process finds
runtime     the CUDA driver, arrays in device memory, streams, launching
backend     what a place that runs kernels offers: the driver and the emulator are two
device_choice  the devices of this process: GPUs where there are some, else the emulator
current     which device is current, and the environment's settings of it
host        arrays on the current device; streams: its streams, events and graphs
variables   arrays that kernels and the host know by name: `device.array`, `constant.empty`
parameters  what a launch or `compile` says of a kernel's parameters
annotations of parameters, as types; captured: what a kernel read by name; compiled: what a launch has to know of it
groups      what groups of threads do together. It is written in the kernel language, and so are random (random
            numbers), complex_functions and block_copies
module      several kernels in one module; loading: modules that other compilers made; linking with them
explorer    views of a compilation
ahead       kernels built ahead of time for programs without kdsl, and stubs for type checkers
cli         the ``kdsl`` command, with files (loading a user's), demo and doctor
records     dataclasses that cost little to make
timeline    what took how long; tracing records the calls of the emulator in it
errors      all exceptions
checks      how a failed check of a debug build is told; garbage holds the collector back

Public names are loaded when they are first used: importing kdsl costs little beyond NumPy and calls nothing of CUDA.
`kdsl.compile`, `kdsl.math` and `kdsl.random` are not in ``__all__``: they would hide Python's own in an ``import *``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kdsl.version import __version__

if TYPE_CHECKING:
    from kdsl import errors as errors
    from kdsl import groups as groups
    from kdsl import random as random
    from kdsl.ahead.build import build
    from kdsl.backend import (
        CheckError,
        DeviceAssertionError,
        DeviceError,
        LaunchTimeout,
        MemoryFault,
        SynchronizationError,
    )
    from kdsl.compilation import Compilation
    from kdsl.compiler import Kernel, kernel
    from kdsl.compiler import compile as compile
    from kdsl.current import current_device, devices, set_device
    from kdsl.host import (
        empty,
        empty_like,
        from_dlpack,
        full,
        managed_empty,
        mapped_empty,
        mem_advise,
        mem_prefetch,
        memory_info,
        pinned_empty,
        set_release_threshold,
        synchronize,
        to_device,
        trim_memory,
        zeros,
        zeros_like,
    )
    from kdsl.lang import atomic
    from kdsl.lang import math as math
    from kdsl.lang.alignment import assume_aligned, copy_block, is_aligned
    from kdsl.lang.bits import (
        bfe,
        bfi,
        dp2a_hi,
        dp2a_lo,
        dp4a,
        funnel_shift_l,
        funnel_shift_lc,
        funnel_shift_r,
        funnel_shift_rc,
        lop3,
        mad_wide64,
        mul_wide,
        mul_wide64,
    )
    from kdsl.lang.casts import bitcast
    from kdsl.lang.cluster import (
        cluster_arrive,
        cluster_block_idx,
        cluster_dim,
        cluster_grid_dim,
        cluster_idx,
        cluster_rank,
        cluster_size,
        cluster_sync,
        cluster_wait,
        map_shared_rank,
        shared_rank_of,
    )
    from kdsl.lang.collective import (
        elect_sync,
        match_all_sync,
        match_any_sync,
        reduce_add_sync,
        reduce_and_sync,
        reduce_max_sync,
        reduce_min_sync,
        reduce_or_sync,
        reduce_xor_sync,
    )
    from kdsl.lang.extern import extern
    from kdsl.lang.fixed_array import FixedArray
    from kdsl.lang.index import (
        block_dim,
        block_idx,
        grid,
        grid_dim,
        gridsize,
        lane_id,
        lanemask_eq,
        lanemask_ge,
        lanemask_gt,
        lanemask_le,
        lanemask_lt,
        thread_idx,
        warp_id,
        warp_size,
    )
    from kdsl.lang.inline import asm
    from kdsl.lang.math import brev, byte_perm, clz, fast, ffs, fma, hadd, mul24, mul_hi, popc, rhadd, rsqrt, sad
    from kdsl.lang.memory import address_of, load, local, prefetch, shared, store
    from kdsl.lang.policies import createpolicy_fractional
    from kdsl.lang.sizes import align_of, size_of
    from kdsl.lang.special import brkpt, clock, clock64, globaltimer, nanosleep, sm_id, trap
    from kdsl.lang.static import static_assert, static_range, type_of, unroll
    from kdsl.lang.struct import struct
    from kdsl.lang.synchronization import (
        FULL_MASK,
        barrier,
        barrier_arrive,
        fence,
        sync_threads,
        sync_threads_and,
        sync_threads_count,
        sync_threads_or,
        sync_warp,
    )
    from kdsl.lang.types import (
        Array,
        Constexpr,
        Ptr,
        bf16,
        complex64,
        complex128,
        f8e4m3,
        f8e5m2,
        f16,
        f32,
        f64,
        i8,
        i16,
        i32,
        i64,
        u8,
        u16,
        u32,
        u64,
    )
    from kdsl.lang.vectors import (
        bf16x2,
        bf16x4,
        f8e4m3x2,
        f8e4m3x4,
        f8e5m2x2,
        f8e5m2x4,
        f16x2,
        f16x4,
        f32x2,
        f32x3,
        f32x4,
        f64x2,
        f64x3,
        i8x4,
        i16x2,
        i16x4,
        i32x2,
        i32x3,
        i32x4,
        i64x2,
        u8x3,
        u8x4,
        u16x2,
        u16x4,
        u32x2,
        u32x3,
        u32x4,
        u64x2,
    )
    from kdsl.lang.warp import (
        active_mask,
        all_sync,
        any_sync,
        ballot_sync,
        shfl_down_sync,
        shfl_sync,
        shfl_up_sync,
        shfl_xor_sync,
    )
    from kdsl.lang.whole_grid import grid_dependency_wait, grid_launch_dependents, grid_sync
    from kdsl.linking import link
    from kdsl.loading import LoadedKernel, LoadedModule, load_module
    from kdsl.module import KernelModule, cuda_module
    from kdsl.runtime.config import LaunchConfig
    from kdsl.runtime.device import Device
    from kdsl.runtime.errors import ArgumentError, LaunchConfigError, LaunchContractError
    from kdsl.runtime.hooks import LaunchRecord, launch_hooks
    from kdsl.runtime.markers import In, InOut, Out
    from kdsl.runtime.memory import DeviceArray
    from kdsl.runtime.memory_pool import MemoryInfo
    from kdsl.runtime.prepared import PreparedLaunch
    from kdsl.source import CompileError
    from kdsl.streams import Event, Graph, Stream, current_stream, legacy_stream, per_thread_stream
    from kdsl.target import Target
    from kdsl.variables import constant, device

_MODULES = {
    "kdsl.lang.types": (
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
    "kdsl.compiler": "Kernel kernel",
    "kdsl.current": "current_device devices set_device",
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
            raise AttributeError(f"module 'kdsl' has no attribute {name!r}")
        module = import_module(_HOME[name])
        # `atomic`, `math`, `random`, `groups` and `errors` are modules themselves.
        is_module = _HOME[name] in ("kdsl", "kdsl.lang")
        value = import_module(f"{_HOME[name]}.{name}") if is_module else getattr(module, name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})


__all__ = [
    "FULL_MASK",
    "ArgumentError",
    "Array",
    "CheckError",
    "Compilation",
    "CompileError",
    "Constexpr",
    "Device",
    "DeviceArray",
    "DeviceAssertionError",
    "DeviceError",
    "Event",
    "FixedArray",
    "Graph",
    "In",
    "InOut",
    "Kernel",
    "KernelModule",
    "LaunchConfig",
    "LaunchConfigError",
    "LaunchContractError",
    "LaunchRecord",
    "LaunchTimeout",
    "LoadedKernel",
    "LoadedModule",
    "MemoryFault",
    "MemoryInfo",
    "Out",
    "PreparedLaunch",
    "Ptr",
    "Stream",
    "SynchronizationError",
    "Target",
    "__version__",
    "active_mask",
    "address_of",
    "align_of",
    "all_sync",
    "any_sync",
    "asm",
    "assume_aligned",
    "atomic",
    "ballot_sync",
    "barrier",
    "barrier_arrive",
    "bf16",
    "bf16x2",
    "bf16x4",
    "bfe",
    "bfi",
    "bitcast",
    "block_dim",
    "block_idx",
    "brev",
    "brkpt",
    "build",
    "byte_perm",
    "clock",
    "clock64",
    "cluster_arrive",
    "cluster_block_idx",
    "cluster_dim",
    "cluster_grid_dim",
    "cluster_idx",
    "cluster_rank",
    "cluster_size",
    "cluster_sync",
    "cluster_wait",
    "clz",
    "complex64",
    "complex128",
    "constant",
    "copy_block",
    "createpolicy_fractional",
    "cuda_module",
    "current_device",
    "current_stream",
    "device",
    "devices",
    "dp2a_hi",
    "dp2a_lo",
    "dp4a",
    "elect_sync",
    "empty",
    "empty_like",
    "errors",
    "extern",
    "f8e4m3",
    "f8e4m3x2",
    "f8e4m3x4",
    "f8e5m2",
    "f8e5m2x2",
    "f8e5m2x4",
    "f16",
    "f16x2",
    "f16x4",
    "f32",
    "f32x2",
    "f32x3",
    "f32x4",
    "f64",
    "f64x2",
    "f64x3",
    "fast",
    "fence",
    "ffs",
    "fma",
    "from_dlpack",
    "full",
    "funnel_shift_l",
    "funnel_shift_lc",
    "funnel_shift_r",
    "funnel_shift_rc",
    "globaltimer",
    "grid",
    "grid_dependency_wait",
    "grid_dim",
    "grid_launch_dependents",
    "grid_sync",
    "gridsize",
    "groups",
    "hadd",
    "i8",
    "i8x4",
    "i16",
    "i16x2",
    "i16x4",
    "i32",
    "i32x2",
    "i32x3",
    "i32x4",
    "i64",
    "i64x2",
    "is_aligned",
    "kernel",
    "lane_id",
    "lanemask_eq",
    "lanemask_ge",
    "lanemask_gt",
    "lanemask_le",
    "lanemask_lt",
    "launch_hooks",
    "legacy_stream",
    "link",
    "load",
    "load_module",
    "local",
    "lop3",
    "mad_wide64",
    "managed_empty",
    "map_shared_rank",
    "mapped_empty",
    "match_all_sync",
    "match_any_sync",
    "mem_advise",
    "mem_prefetch",
    "memory_info",
    "mul24",
    "mul_hi",
    "mul_wide",
    "mul_wide64",
    "nanosleep",
    "per_thread_stream",
    "pinned_empty",
    "popc",
    "prefetch",
    "reduce_add_sync",
    "reduce_and_sync",
    "reduce_max_sync",
    "reduce_min_sync",
    "reduce_or_sync",
    "reduce_xor_sync",
    "rhadd",
    "rsqrt",
    "sad",
    "set_device",
    "set_release_threshold",
    "shared",
    "shared_rank_of",
    "shfl_down_sync",
    "shfl_sync",
    "shfl_up_sync",
    "shfl_xor_sync",
    "size_of",
    "sm_id",
    "static_assert",
    "static_range",
    "store",
    "struct",
    "sync_threads",
    "sync_threads_and",
    "sync_threads_count",
    "sync_threads_or",
    "sync_warp",
    "synchronize",
    "thread_idx",
    "to_device",
    "trap",
    "trim_memory",
    "type_of",
    "u8",
    "u8x3",
    "u8x4",
    "u16",
    "u16x2",
    "u16x4",
    "u32",
    "u32x2",
    "u32x3",
    "u32x4",
    "u64",
    "u64x2",
    "unroll",
    "warp_id",
    "warp_size",
    "zeros",
    "zeros_like",
]
