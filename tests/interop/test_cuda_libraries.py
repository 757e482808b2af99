"""CuPy, cuda.core and Numba on a GPU: arrays and streams both ways."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import Ptr, f32, grid, i32, kernel
from tests.interop.kernels import axpy, copy_elements

pytestmark = pytest.mark.gpu


@kernel
def spin_and_fill(x: Ptr[f32], n: i32, cycles: kdsl.u64) -> None:
    begin = kdsl.clock64()
    while kdsl.clock64() - begin < cycles:
        pass
    i = grid(1)
    if i < n:
        x[i] = 7.0


N = 1 << 20
BLOCKS = N // 256


@pytest.fixture(autouse=True)
def on_the_gpu(on_the_emulator: None) -> None:
    kdsl.set_device("cuda")


@pytest.fixture
def cupy() -> Any:
    return pytest.importorskip("cupy", reason="CuPy is not installed")


@pytest.fixture
def core() -> Any:
    return pytest.importorskip("cuda.core", reason="cuda.core is not installed")


def test_cupy_arrays(cupy: Any) -> None:
    x, y = cupy.arange(N, dtype=cupy.float32), cupy.ones(N, dtype=cupy.float32)
    axpy[BLOCKS, 256](2.0, x, y, N)
    assert (cupy.asnumpy(y) == 2 * np.arange(N, dtype=np.float32) + 1).all()
    every_other = cupy.zeros(8, cupy.float32)
    copy_elements[1, 32](cupy.arange(16, dtype=cupy.float32)[::2], every_other)
    assert every_other.tolist() == [0, 2, 4, 6, 8, 10, 12, 14]


def test_our_arrays_in_cupy(cupy: Any) -> None:
    ours = kdsl.to_device(np.arange(12, dtype=np.float32).reshape(3, 4))
    for theirs in (cupy.asarray(ours), cupy.from_dlpack(ours)):
        assert theirs.tolist() == ours.to_host().tolist()
        assert theirs.data.ptr == ours.address
    assert cupy.asarray(ours[:, ::2]).tolist() == ours.to_host()[:, ::2].tolist()
    shared = kdsl.from_dlpack(cupy.ones(N, cupy.float32))
    axpy[BLOCKS, 256](1.0, shared, shared, N)
    assert shared.to_host().sum() == 2 * N


def test_a_launch_goes_on_the_current_stream_of_cupy(cupy: Any) -> None:
    stream = cupy.cuda.Stream(non_blocking=True)
    x, y = cupy.zeros(N, cupy.float32), cupy.zeros(N, cupy.float32)
    cupy.cuda.Device().synchronize()
    for _ in range(10):
        with stream:
            x.fill(0)
            y.fill(0)
            spin_and_fill[BLOCKS, 256, stream](x, N, 20_000_000)
            axpy[BLOCKS, 256](2.0, x, y, N)
            total = y.sum()
        stream.synchronize()
        assert float(total) == 14 * N


def test_our_array_on_a_stream_of_cupy_is_ready_when_shared(cupy: Any) -> None:
    stream = cupy.cuda.Stream(non_blocking=True)
    for _ in range(10):
        array = kdsl.zeros(N, f32)
        spin_and_fill[BLOCKS, 256, stream](array, N, 20_000_000)
        assert float(cupy.asarray(array).min()) == 7
        array.fill(0)
        spin_and_fill[BLOCKS, 256, stream](array, N, 20_000_000)
        assert float(cupy.from_dlpack(array).min()) == 7


def test_memory_is_freed_behind_a_stream_of_cupy(cupy: Any) -> None:
    stream = cupy.cuda.Stream(non_blocking=True)
    for _ in range(10):
        array = kdsl.zeros(N, f32)
        spin_and_fill[BLOCKS, 256, stream](array, N, 20_000_000)
        del array
        fresh = kdsl.zeros(N, f32)
        stream.synchronize()
        assert fresh.to_host().sum() == 0


def test_bfloat16_and_structs_of_cupy(cupy: Any) -> None:
    import ml_dtypes

    dtype = np.dtype([("x", "f4"), ("y", "i4")])
    host = np.zeros(4, dtype)
    host["x"], host["y"] = range(4), range(4, 8)
    ours = kdsl.to_device(host)
    interface = ours.__cuda_array_interface__
    assert interface["typestr"] == "|V8"

    class Lent:
        __cuda_array_interface__ = interface

    out = kdsl.zeros(4, dtype)
    copy_elements[1, 32](Lent(), out)
    assert (out.to_host() == host).all()
    halves = kdsl.to_device(np.arange(4).astype(ml_dtypes.bfloat16))
    try:
        theirs = cupy.from_dlpack(halves)
    except (BufferError, TypeError, RuntimeError) as error:
        pytest.skip(f"this CuPy has no bfloat16: {error}")
    copied = kdsl.zeros(4, kdsl.bf16)
    copy_elements[1, 32](theirs, copied)
    assert copied.to_host().tolist() == [0, 1, 2, 3]


def test_streams_and_buffers_of_cuda_core(core: Any) -> None:
    device = core.Device(0)
    device.set_current()
    stream = device.create_stream()
    x = kdsl.zeros(N, f32)
    spin_and_fill[BLOCKS, 256, stream](x, N, 20_000_000)
    stream.sync()
    assert x.to_host().min() == 7
    theirs = device.create_stream(kdsl.Stream())
    assert theirs.handle is not None
    buffer = device.allocate(4 * N, stream=stream)
    shared = kdsl.from_dlpack(buffer)
    assert shared.nbytes == 4 * N
    stream.sync()
    numbers = shared.view(f32)
    numbers.fill(3)
    assert numbers.to_host().sum() == 3 * N
    view = core.utils.StridedMemoryView.from_any_interface(x, stream_ptr=-1)
    assert (view.ptr, view.shape, view.is_device_accessible) == (x.address, (N,), True)


def test_a_pointer_that_is_no_memory_of_a_gpu(cupy: Any) -> None:
    class Host:
        memory = np.zeros(4, np.float32)
        __cuda_array_interface__ = {
            "shape": (4,), "typestr": "<f4", "data": (memory.ctypes.data, False), "version": 3
        }  # fmt: skip

    with pytest.raises(ValueError, match="is in no memory that CUDA knows"):
        axpy[1, 32](1.0, Host(), Host(), 4)
    pinned = cupy.cuda.alloc_pinned_memory(16)

    class Pinned:
        __cuda_array_interface__ = {"shape": (4,), "typestr": "<f4", "data": (pinned.ptr, False), "version": 3}

    np.frombuffer(pinned, np.float32, 4)[:] = 1
    axpy[1, 32](1.0, Pinned(), Pinned(), 4)
    kdsl.synchronize()
    assert np.frombuffer(pinned, np.float32, 4).tolist() == [2] * 4


def test_numba_arrays() -> None:
    numba_cuda: Any = pytest.importorskip("numba.cuda", reason="Numba is not installed")
    x = numba_cuda.to_device(np.arange(8, dtype=np.float32))
    y = numba_cuda.to_device(np.ones(8, np.float32))
    axpy[1, 32](2.0, x, y, 8)
    kdsl.synchronize()
    assert y.copy_to_host().tolist() == [1, 3, 5, 7, 9, 11, 13, 15]
    ours = kdsl.to_device(np.arange(4, dtype=np.float32))
    assert numba_cuda.as_cuda_array(ours).copy_to_host().tolist() == [0, 1, 2, 3]
