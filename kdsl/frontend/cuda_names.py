"""What CUDA C++ calls what kernels write otherwise: for names that are not defined, and for `kdsl intrinsics`."""

from __future__ import annotations

import re

_ATOMICS = {
    "Add": "add", "Sub": "sub", "Min": "min", "Max": "max", "Inc": "inc", "Dec": "dec", "Exch": "exch", "And": "and_",
    "Or": "or_", "Xor": "xor",
}  # fmt: skip
_SCOPES = {"_block": "block", "_system": "system"}
_CACHES = {"__ldcg": "cg", "__ldca": "ca", "__ldcs": "cs", "__ldlu": "lu", "__ldcv": "cv"}
_STORES = {"__stwb": "wb", "__stcg": "cg", "__stcs": "cs", "__stwt": "wt"}
_COMPONENTS = {
    "char": "i8", "uchar": "u8", "short": "i16", "ushort": "u16", "int": "i32", "uint": "u32", "long": "i64",
    "ulong": "u64", "longlong": "i64", "ulonglong": "u64", "float": "f32", "double": "f64",
}  # fmt: skip
_TEXTURE = "there are no textures: pass an array, and index it"
_PRINT = 'print(f"i = {i}")'
_SIZE = "write the number of bytes, 4 of an f32; len(a) counts an array's elements"

NAMES = {
    "threadIdx": "thread_idx",
    "blockIdx": "block_idx",
    "blockDim": "block_dim",
    "gridDim": "grid_dim",
    "warpSize": "warp_size",
    "__syncthreads": "sync_threads()",
    "__syncthreads_count": "sync_threads_count(predicate)",
    "__syncthreads_and": "sync_threads_and(predicate)",
    "__syncthreads_or": "sync_threads_or(predicate)",
    "__syncwarp": "sync_warp(mask)",
    "__threadfence": "fence()",
    "__threadfence_block": 'fence("block")',
    "__threadfence_system": 'fence("system")',
    "__activemask": "active_mask()",
    "__any_sync": "any_sync(mask, predicate)",
    "__all_sync": "all_sync(mask, predicate)",
    "__ballot_sync": "ballot_sync(mask, predicate)",
    "__any": "any_sync(FULL_MASK, predicate)",
    "__all": "all_sync(FULL_MASK, predicate)",
    "__ballot": "ballot_sync(FULL_MASK, predicate)",
    "__match_any_sync": "match_any_sync(mask, value)",
    "__match_all_sync": "match_all_sync(mask, value)",
    "__popc": "popc(x)",
    "__popcll": "popc(x)",
    "__clz": "clz(x)",
    "__clzll": "clz(x)",
    "__ffs": "ffs(x)",
    "__ffsll": "ffs(x)",
    "__brev": "brev(x)",
    "__brevll": "brev(x)",
    "__byte_perm": "byte_perm(x, y, selector)",
    "__funnelshift_l": "funnel_shift_l(lo, hi, shift)",
    "__funnelshift_lc": "funnel_shift_lc(lo, hi, shift)",
    "__funnelshift_r": "funnel_shift_r(lo, hi, shift)",
    "__funnelshift_rc": "funnel_shift_rc(lo, hi, shift)",
    "__mul24": "mul24(x, y)",
    "__umul24": "mul24(x, y)",
    "__mulhi": "mul_hi(x, y)",
    "__umulhi": "mul_hi(x, y)",
    "__mul64hi": "mul_hi(x, y)",
    "__umul64hi": "mul_hi(x, y)",
    "__sad": "sad(x, y, z)",
    "__usad": "sad(x, y, z)",
    "__rhadd": "rhadd(x, y)",
    "__urhadd": "rhadd(x, y)",
    "__uhadd": "hadd(x, y)",
    "__dp4a": "dp4a(a, b, c)",
    "__dp2a_lo": "dp2a_lo(a, b, c)",
    "__dp2a_hi": "dp2a_hi(a, b, c)",
    "__nanosleep": "nanosleep(ns)",
    "__trap": "trap()",
    "__brkpt": "brkpt()",
    "__float_as_int": "bitcast(x, i32)",
    "__float_as_uint": "bitcast(x, u32)",
    "__int_as_float": "bitcast(x, f32)",
    "__uint_as_float": "bitcast(x, f32)",
    "__double_as_longlong": "bitcast(x, i64)",
    "__longlong_as_double": "bitcast(x, f64)",
    "__saturatef": "fast.saturate(x)",
    "__fdividef": "fast.divide(x, y)",
    "__ldg": 'load(p, i, cache="nc")',
    "printf": _PRINT,
    "sizeof": _SIZE,
    "reinterpret_cast": "bitcast(p, Ptr[u32])",
    "static_cast": "a type's name casts: f32(x)",
    "dim3": "a grid is an int or a tuple of the launch: k[(4, 4), 256]",
    "atomicCAS": "atomic.cas(x, i, expected, new)",
    "__shared__": "shared.array(n, dtype)",
    "__constant__": "constant.empty(n, dtype), made outside of kernels",
    "__device__": "device.array(n, dtype), made outside of kernels; functions need no mark",
    "__restrict__": "@kernel(restrict=True)",
    "__launch_bounds__": "@kernel(launch_bounds=256)",
    "__builtin_assume_aligned": "assume_aligned(p, 16)",
    "cooperative_groups": "groups of kdsl: groups.this_block()",
    "cuda": "Numba's `cuda.` is left out: from kdsl import grid, sync_threads, shared, atomic",
    "memcpy": "write a loop; copy_block(destination, source) copies by all threads of the block",
    "memset": "write a loop",
    "malloc": "local.array(n, dtype), shared.array(n, dtype), or an array from the host",
    "free": "nothing is freed in a kernel: leave it out",
    "curand_uniform": "uniform() of kdsl.random",
    "curand_normal": "normal() of kdsl.random",
    "unsigned": "u32",
    "half": "f16",
    "__half": "f16",
    "__nv_bfloat16": "bf16",
    "float": "f32",
    "double": "f64",
    "size_t": "u64",
}  # fmt: skip
"""Names that follow no rule, or whose arguments differ."""


def of_cuda(name: str) -> str | None:
    """What a kernel writes for a name of CUDA C++; None for another name."""
    return NAMES.get(name) or _ruled(name)


def _ruled(name: str) -> str | None:
    """Families of names."""
    from kdsl.lang import math as device_math  # start-up cost: only for an error
    from kdsl.lang.intrinsic import Intrinsic
    from kdsl.lang.math import fast

    if found := re.fullmatch(r"atomic(Add|Sub|Min|Max|Inc|Dec|Exch|And|Or|Xor|CAS)(_block|_system)?", name):
        arguments = "expected, new" if found[1] == "CAS" else "value"
        scope = f', scope="{_SCOPES[found[2]]}"' if found[2] else ""
        return f"atomic.{_ATOMICS.get(found[1], 'cas')}(x, i, {arguments}{scope})"
    if found := re.fullmatch(r"__shfl(_up|_down|_xor)?(_sync)?", name):
        last = {"_up": "delta", "_down": "delta", "_xor": "lane_mask"}.get(found[1] or "", "source")
        return f"shfl{found[1] or ''}_sync({'mask' if found[2] else 'FULL_MASK'}, value, {last})"
    if found := re.fullmatch(r"__reduce_(add|min|max|and|or|xor)_sync", name):
        return f"reduce_{found[1]}_sync(mask, value)"
    if (found := re.fullmatch(r"(make_)?([a-z]+)([234])", name)) and found[2] in _COMPONENTS:
        parts = ", ".join("xyzw"[: int(found[3])])
        return f"{_COMPONENTS[found[2]]}x{found[3]}" + (f"({parts})" if found[1] else "")
    if found := re.fullmatch(r"u?int(8|16|32|64)_t", name):
        return f"{'u' if name.startswith('u') else 'i'}{found[1]}"
    if name in _CACHES or name in _STORES:
        is_load = name in _CACHES
        return f'load(p, i, cache="{_CACHES[name]}")' if is_load else f'store(p, i, value, cache="{_STORES[name]}")'
    if name.startswith(("tex1D", "tex2D", "tex3D", "texCubemap", "surf1D", "surf2D", "surf3D")):
        return _TEXTURE
    if (found := re.fullmatch(r"__(\w+?)f", name)) and isinstance(vars(fast).get(found[1]), Intrinsic):
        return f"fast.{found[1]}({'x, y' if found[1] == 'pow' else 'x'})"
    if found := re.fullmatch(r"__[fd](add|sub|mul|div|rcp|sqrt|rsqrt|ma|maf)_(r[nzud])", name):
        called = f"{'fma' if found[1].startswith('ma') else found[1]}_{found[2]}"
        return f"math.{called}" if called in device_math.__all__ else None
    if (found := re.fullmatch(r"__(\w+)", name)) and found[1] in device_math.__all__:
        return f"math.{found[1]}"
    if (found := re.fullmatch(r"(\w+)f", name)) and found[1] in device_math.__all__:
        return {"fmax": "max(x, y)", "fmin": "min(x, y)", "fabs": "abs(x)"}.get(found[1]) or f"math.{found[1]}"
    return None
