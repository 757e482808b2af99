"""Names of CUDA C++ in a kernel, and what they are here."""

from __future__ import annotations

import pytest

import kdsl
from kdsl import Array, Ptr, atomic, f32, i32, kernel
from kdsl.explorer.intrinsics import sections
from kdsl.frontend.cuda_names import NAMES, of_cuda

from ..harness import check_errors


def test_names_that_are_not_defined():
    @kernel
    def k(x: Ptr[f32], a: Array[f32, 2], n: i32):
        i = threadIdx.x  # noqa: F821  # error: `threadIdx` is not defined # hint: CUDA's `threadIdx` is thread_idx here
        x[0] = sqrtf(x[0])  # noqa: F821  # error: `sqrtf` is not defined # hint: CUDA's `sqrtf` is math.sqrt here
        atomicAdd(x, 1.0)  # noqa: F821  # error: `atomicAdd` is not defined
        #   # hint: CUDA's `atomicAdd` is atomic.add(x, i, value) here
        __syncthreads()  # noqa: F821  # error: `__syncthreads` is not defined
        #   # hint: CUDA's `__syncthreads` is sync_threads() here
        v = make_float4(1, 2, 3, 4)  # noqa: F821  # error: `make_float4` is not defined
        #   # hint: CUDA's `make_float4` is f32x4(x, y, z, w) here
        t = tex2D(a, 1, 2)  # noqa: F821  # error: `tex2D` is not defined
        #   # hint: there are no textures: pass an array, and index it
        cuda.syncthreads()  # noqa: F821  # error: `cuda` is not defined
        #   # hint: Numba's `cuda.` is left out: from kdsl import grid, sync_threads, shared, atomic
        atomic.add(x[0], 1.0)  # error: atomic.add() needs `value`
        #   # hint: an array and its index are two arguments: atomic.add(x, 0, 1.0)
        atomic.add(a[n, 1], 1.0, scope="block")  # error: atomic.add() needs `value`
        #   # hint: an array and its index are two arguments: atomic.add(a, (n, 1), 1.0, scope="block")

    check_errors(k)


NAMED = [
    ("__expf", "fast.exp(x)"), ("__powf", "fast.pow(x, y)"), ("__fmaf_rn", "math.fma_rn"), ("__dadd_rz", "math.add_rz"),
    ("uint32_t", "u32"), ("float2", "f32x2"), ("uchar4", "u8x4"), ("fmaxf", "max(x, y)"), ("fmaf", "math.fma"),
    ("__stcg", 'store(p, i, value, cache="cg")'), ("__ldg", 'load(p, i, cache="nc")'),
    ("atomicCAS_system", 'atomic.cas(x, i, expected, new, scope="system")'),
    ("__shfl_xor_sync", "shfl_xor_sync(mask, value, lane_mask)"), ("__shfl", "shfl_sync(FULL_MASK, value, source)"),
    ("__reduce_or_sync", "reduce_or_sync(mask, value)"), ("buf", None), ("f", None), ("__init__", None),
]  # fmt: skip


@pytest.mark.parametrize(("name", "instead"), NAMED)
def test_families(name: str, instead: str | None) -> None:
    assert of_cuda(name) == instead


def test_what_is_called_instead_is_there() -> None:
    known = {entry.name for section in sections() for entry in section.entries}
    for name, instead in NAMES.items():
        head, call, _ = instead.partition("(")
        if call and " " not in head and head not in ("print", "@kernel", "constant.empty", "device.array", "uniform"):
            assert head in known or hasattr(kdsl, head) or head == "normal", name
