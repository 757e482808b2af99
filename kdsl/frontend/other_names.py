"""What to write for a name that kdsl lacks: one of CUDA C++, Numba, CuPy, Warp, Triton, PyCUDA or PyTorch, or one that
is misspelt. Loaded only once such a name was asked for.
"""

from __future__ import annotations

import difflib
import keyword
import re
from collections.abc import Iterable

from kdsl.frontend.cuda_names import of_cuda
from kdsl.lang import math as device_math
from kdsl.lang.foreign_names import NAMES as DTYPES

_MAKE = "kdsl.to_device(numpy.{0}(...))"
_PLAIN = "functions need no mark: a kernel calls plain Python functions"
_GRAPH = "with stream.capture() as graph: ..., then run = graph.instantiate()"
_LEFT_OUT = "nothing in its place: names come from kdsl itself, as in `from kdsl import kernel, grid, sync_threads`"
_TAKEN = "nothing: a launch takes other libraries' arrays as they are; kdsl.from_dlpack(a) makes a DeviceArray of one"
_GIVEN = "what the other library has for it, as torch.from_dlpack(a) or cupy.asarray(a)"
_TIMED = "two events, start and end = stream.record(): start.elapsed_ms(end)"

HOST = {
    "ones": "kdsl.full(shape, 1, dtype)",
    "ones_like": "kdsl.full(a.shape, 1, a.dtype)",
    "full_like": "kdsl.full(a.shape, value, a.dtype)",
    **{name: _MAKE.format(name) for name in ("arange", "linspace", "eye", "identity", "tri", "diag", "meshgrid")},
    **dict.fromkeys(("array", "asarray", "ascontiguousarray", "tensor", "as_tensor"), "kdsl.to_device(a)"),
    **dict.fromkeys(("to_gpu", "to_gpu_async", "from_numpy", "from_array", "htod", "memcpy_htod"), "kdsl.to_device(a)"),
    **dict.fromkeys(("asnumpy", "to_numpy", "to_host", "copy_to_host", "from_device", "memcpy_dtoh"), "a.to_host()"),
    **dict.fromkeys(("copy", "clone"), "a.copy(), or destination.copy_from(source)"),
    "memcpy_dtod": "destination.copy_from(source)",
    **dict.fromkeys(("device_array", "mem_alloc", "malloc", "empty_device"), "kdsl.empty(shape, dtype)"),
    "device_array_like": "kdsl.empty_like(a)",
    **dict.fromkeys(("pinned_array", "pagelocked_empty", "pinned", "empty_pinned"), "kdsl.pinned_empty(shape, dtype)"),
    **dict.fromkeys(("managed_array", "managed"), "kdsl.managed_empty(shape, dtype)"),
    **dict.fromkeys(("mapped_array", "mapped", "empty_mapped"), "kdsl.mapped_empty(shape, dtype)"),
    **dict.fromkeys(("ndarray", "GPUArray", "gpuarray", "DeviceNDArray", "Tensor"), "kdsl.DeviceArray"),
    **dict.fromkeys(("array1d", "array2d", "array3d", "array4d", "indexedarray"), "kdsl.Array"),
    **dict.fromkeys(("from_torch", "from_jax", "as_cuda_array", "from_cupy", "from_ptr", "is_cuda_array"), _TAKEN),
    **dict.fromkeys(("to_torch", "to_jax", "to_cupy"), _GIVEN),
    **dict.fromkeys(("jit", "autojit", "vectorize", "guvectorize", "elementwise", "fuse", "RawKernel"), "kdsl.kernel"),
    **dict.fromkeys(("ElementwiseKernel", "ReductionKernel", "reduce", "kernel_function"), "kdsl.kernel"),
    **dict.fromkeys(("func", "function", "device_function", "noinline", "inline"), _PLAIN),
    **dict.fromkeys(("declare_device", "native", "func_native", "CUSource"), "kdsl.extern"),
    **dict.fromkeys(("RawModule", "SourceModule", "Module", "module_from_file"), "kdsl.load_module(image)"),
    "Linker": "kdsl.link",
    "compile_ptx": "k.compile(...).ptx",
    "compile_for_current_device": "k.compile(...)",
    **dict.fromkeys(("launch", "launch_kernel", "cudaLaunchKernel", "cuLaunchKernel"), "k[grid, block](a, b, n)"),
    **dict.fromkeys(("init", "autoinit", "current_context", "Context"), "nothing: devices start when needed"),
    **dict.fromkeys(("cuda", "cupy", "numba", "warp", "driver", "runtime", "lang"), _LEFT_OUT),
    "gpus": "kdsl.devices()",
    "list_devices": "kdsl.devices()",
    **dict.fromkeys(("get_devices", "get_cuda_devices", "cudaGetDeviceCount", "device_count"), "kdsl.devices()"),
    **dict.fromkeys(("select_device", "cudaSetDevice", "use"), "kdsl.set_device"),
    **dict.fromkeys(("get_current_device", "get_device", "cudaGetDevice"), "kdsl.current_device()"),
    **dict.fromkeys(("is_available", "is_cuda_available", "detect"), 'kdsl.current_device().name == "cuda"'),
    **dict.fromkeys(("ScopedDevice", "device_of"), 'with kdsl.Device("cuda:1"):'),
    **dict.fromkeys(("stream", "cudaStreamCreate", "external_stream", "ExternalStream"), "kdsl.Stream"),
    "ScopedStream": "with kdsl.Stream():",
    **dict.fromkeys(("get_stream", "get_current_stream"), "kdsl.current_stream()"),
    **dict.fromkeys(("default_stream", "legacy_default_stream", "null_stream"), "kdsl.legacy_stream"),
    **dict.fromkeys(("per_thread_default_stream", "ptds"), "kdsl.per_thread_stream"),
    **dict.fromkeys(("event", "cudaEventCreate"), "kdsl.Event"),
    **dict.fromkeys(("ScopedTimer", "get_elapsed_time", "event_elapsed_time", "cudaEventElapsedTime"), _TIMED),
    **dict.fromkeys(("ScopedCapture", "capture_begin", "capture_end", "graph", "CUDAGraph", "cudaGraphCreate"), _GRAPH),
    **dict.fromkeys(("capture_launch", "cudaGraphLaunch"), "run = graph.instantiate(), and run.launch(stream)"),
    **dict.fromkeys(("cudaDeviceSynchronize", "synchronize_device", "sync"), "kdsl.synchronize()"),
    **dict.fromkeys(("cudaStreamSynchronize", "synchronize_stream", "wait_stream"), "stream.synchronize()"),
    **dict.fromkeys(("cudaMalloc", "cudaMallocAsync", "mem_pool"), "kdsl.empty(shape, dtype)"),
    "cudaMallocManaged": "kdsl.managed_empty(shape, dtype)",
    **dict.fromkeys(("cudaMallocHost", "cudaHostAlloc"), "kdsl.pinned_empty(shape, dtype)"),
    **dict.fromkeys(("cudaMemcpy", "cudaMemcpyAsync"), "kdsl.to_device(a), a.to_host() or a.copy_from(b)"),
    **dict.fromkeys(("cudaMemset", "cudaMemsetAsync", "memset"), "a.fill(value)"),
    **dict.fromkeys(("cudaFree", "cudaFreeAsync", "cudaFreeHost"), "del a, or a.free()"),
    **dict.fromkeys(("cudaMemGetInfo", "mem_get_info", "get_memory_info"), "kdsl.memory_info()"),
    **dict.fromkeys(("get_default_memory_pool", "MemoryPool"), "kdsl.memory_info() and kdsl.trim_memory()"),
    **dict.fromkeys(("cudaMemPrefetchAsync", "prefetch_async"), "kdsl.mem_prefetch(a)"),
    "cudaMemAdvise": "kdsl.mem_advise(a, advice)",
}  # fmt: skip
"""What programs of other libraries call on the host."""

DEVICE = {
    **dict.fromkeys(("tid", "get_global_id"), "kdsl.grid(1)"),
    "program_id": "kdsl.block_idx.x",
    "num_programs": "kdsl.grid_dim.x",
    "laneid": "kdsl.lane_id()",
    "warpsize": "kdsl.warp_size",
    "const": "kdsl.constant",
    "threadfence": "kdsl.fence()",
    "threadfence_block": 'kdsl.fence("block")',
    "threadfence_system": 'kdsl.fence("system")',
    **dict.fromkeys(("cg", "coop", "this_grid", "this_thread_block"), "kdsl.groups"),
    "syncgrid": "kdsl.grid_sync()",
    **dict.fromkeys(("libdevice", "fp16"), "kdsl.math"),
    **dict.fromkeys(("selp", "where", "select"), "a if p else b"),
    **dict.fromkeys(("constexpr", "Const"), "kdsl.Constexpr"),
    "static": "kdsl.static_range, or a Constexpr parameter",
    **dict.fromkeys(("rand_init", "randf", "randn", "xoroshiro128p", "create_xoroshiro128p_states"), "kdsl.random"),
    **dict.fromkeys(("cdiv", "ceildiv", "divup"), "-(-n // block)"),
    **dict.fromkeys(("Struct", "jitclass"), "kdsl.struct"),
    "vec2": "kdsl.f32x2",
    "vec3": "kdsl.f32x3",
    "vec4": "kdsl.f32x4",
    "int": "kdsl.i32 or kdsl.i64",
    "float": "kdsl.f32 or kdsl.f64",
    "double": "kdsl.f64",
    **dict.fromkeys(("min", "max", "abs", "round", "pow", "len", "range", "print", "bool"), "it is Python's own"),
    **dict.fromkeys(("printf", "device_print"), "Python's print: print(f'i = {i}')"),
}  # fmt: skip
"""What kernels of other libraries call."""


def instead_of(name: str, public: Iterable[str]) -> str | None:
    """What to write for a name on the host; ``public`` are those that kdsl has. None if it is like none of them."""
    return _advice(HOST[name]) if name in HOST else instead_in_kernel(name, public)


def instead_in_kernel(name: str, public: Iterable[str]) -> str | None:
    """What to write for it in a kernel."""
    found = _found(name, public)
    return _advice(found) if found else None


def _advice(found: str) -> str:
    """Code is written; words stand for themselves."""
    return found if " " in found.partition("(")[0] else f"write {found}"


def _found(name: str, public: Iterable[str]) -> str | None:
    known = {_plain(each): each for each in public}
    if (found := DEVICE.get(name)) is not None:
        return found
    if name in device_math.__all__:
        return f"kdsl.math.{name}"
    if name in DTYPES:
        return f"kdsl.{DTYPES[name]}"
    if (same := known.get(_plain(name))) is not None:
        return f"kdsl.{same}"
    if (written := of_cuda(name)) is not None:
        return f"kdsl.{written}" if re.split(r"\W", written)[0] in known.values() else written
    if atomic := re.fullmatch(r"atomic_(\w+)", name):
        return f"kdsl.atomic.{atomic[1]}{'_' if keyword.iskeyword(atomic[1]) else ''}"
    close = difflib.get_close_matches(_plain(name), known, n=1, cutoff=0.75)
    return f"kdsl.{known[close[0]]}" if close else None


def _plain(name: str) -> str:
    """Without what spellings differ in."""
    return name.replace("_", "").casefold()
