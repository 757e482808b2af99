"""Launches that took arrays of the real CuPy, Numba and JAX before, on a GPU: the fast way is taken, and left where an
argument is no longer plain.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl.runtime import launcher
from tests.interop.kernels import axpy

pytestmark = pytest.mark.gpu
N = 1 << 16
BLOCKS = N // 256


class Slow(Exception):
    """The checked way was taken."""


@pytest.fixture(autouse=True)
def on_the_gpu(on_the_emulator: None) -> Any:
    kdsl.set_device("cuda")
    yield
    kdsl.set_device("emulator")


@pytest.fixture
def only_fast(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Make the checked way an error from now on."""

    def check(*_: Any) -> None:
        raise Slow

    return lambda: monkeypatch.setattr(launcher.Launcher, "checked_arguments", check)


@pytest.fixture
def cupy() -> Any:
    return pytest.importorskip("cupy", reason="CuPy is not installed")


def test_cupy(cupy: Any, only_fast: Any) -> None:
    x, y = cupy.arange(N, dtype=cupy.float32), cupy.ones(N, cupy.float32)
    side = cupy.cuda.Stream(non_blocking=True)
    for _ in range(2):  # the first launch compiles, the second makes launches in that stream ready
        with side:
            axpy[BLOCKS, 256](1.0, x, y, N)
    side.synchronize()
    only_fast()
    for stream in (side, cupy.cuda.Stream.null, side):
        with stream:
            y.fill(1)
            axpy[BLOCKS, 256](2.0, x, y, N)
            y *= 10
            total = y - 20 * x
        stream.synchronize()
        assert float(total.min()) == float(total.max()) == 10
    ours = kdsl.zeros(N)
    axpy[BLOCKS, 256](1.0, x, ours, N)
    assert (ours.to_host() == np.arange(N, dtype=np.float32)).all()
    doubles, rows = cupy.zeros(N, cupy.float64), cupy.zeros((N, 2), cupy.float32)
    for other in (doubles, rows[:, 0], y[1:].view(cupy.uint8)[2:-2].view(cupy.float32), np.zeros(N, np.float32)):
        with pytest.raises(Slow):
            axpy[BLOCKS, 256](1.0, x, other, 1)
        with pytest.raises(Slow):
            axpy[BLOCKS, 256](1.0, other, y, 1)
    with pytest.raises(Slow), kdsl.Stream():
        axpy[BLOCKS, 256](1.0, x, y, N)


def test_numba(only_fast: Any) -> None:
    cuda: Any = pytest.importorskip("numba.cuda", reason="Numba is not installed")
    x, y = cuda.to_device(np.arange(N, dtype=np.float32)), cuda.to_device(np.ones(N, np.float32))
    stream = cuda.stream()
    bound = x.bind(stream), y.bind(stream)
    for _ in range(2):  # the first launch compiles, the second makes launches in that stream ready
        axpy[BLOCKS, 256](1.0, *bound, N)
    stream.synchronize()
    only_fast()
    axpy[BLOCKS, 256](1.0, x, y, N)
    cuda.synchronize()
    assert (y.copy_to_host() == 3 * np.arange(N, dtype=np.float32) + 1).all()
    axpy[BLOCKS, 256](1.0, *bound, N)
    stream.synchronize()
    assert (y.copy_to_host() == 4 * np.arange(N, dtype=np.float32) + 1).all()
    doubles, rows = cuda.to_device(np.zeros(N)), cuda.to_device(np.zeros((N, 2), np.float32))
    for other in (doubles, rows[:, 0], bound[1]):
        with pytest.raises(Slow):
            axpy[BLOCKS, 256](1.0, x, other, 1)


def test_an_interface_whose_memory_is_freed(cupy: Any, only_fast: Any) -> None:
    """By cuMemFree, which an address alone does not show."""

    class Lent:
        def __init__(self, address: int) -> None:
            self.__cuda_array_interface__ = {"shape": (N,), "typestr": "<f4", "data": (address, False), "version": 3}

    address = cupy.cuda.runtime.malloc(4 * N)
    lent, y = Lent(address), cupy.zeros(N, cupy.float32)
    axpy[BLOCKS, 256](0.0, lent, y, N)
    cupy.cuda.Device().synchronize()
    cupy.cuda.runtime.free(address)
    with pytest.raises(ValueError, match="is in no memory that CUDA knows; pass a live array"):
        axpy[BLOCKS, 256](0.0, lent, y, N)


@pytest.fixture
def on_gpu() -> Callable[[Any], Any]:
    """Put an array where JAX has its GPU."""
    jax: Any = pytest.importorskip("jax", reason="JAX is not installed")
    gpus = [device for device in jax.devices() if device.platform == "gpu"]
    if not gpus:
        pytest.skip("this JAX has no GPU")
    return lambda value: jax.device_put(value, gpus[0])


def test_jax(on_gpu: Any, only_fast: Any) -> None:
    x = on_gpu(np.arange(N, dtype=np.float32))
    y = kdsl.zeros(N)
    axpy[BLOCKS, 256](1.0, x, y, N)
    z = x + 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launcher.Launcher, "checked_arguments", None)
        for _ in range(3):
            axpy[BLOCKS, 256](1.0, x, y, N)
        with pytest.raises(TypeError):
            axpy[BLOCKS, 256](1.0, z, y, N)
    axpy[BLOCKS, 256](1.0, z, y, N)
    assert (y.to_host() == 5 * np.arange(N, dtype=np.float32) + 1).all()
    x.delete()
    with pytest.raises(TypeError, match="was deleted or donated"):
        axpy[BLOCKS, 256](1.0, x, y, N)


def test_memory_of_jax_is_not_given_out_while_a_launch_reads_it(on_gpu: Any) -> None:
    from tests.interop.test_cuda_libraries import spin_and_fill

    expected = np.arange(N, dtype=np.float32)
    slow = kdsl.zeros(N)
    for _ in range(10):
        x = on_gpu(expected) + 0
        y = kdsl.zeros(N)
        axpy[BLOCKS, 256](1.0, x, y, N)
        spin_and_fill[BLOCKS, 256](slow, N, 20_000_000)
        axpy[BLOCKS, 256](1.0, x, y, N)  # the fast way, behind the spinning
        del x
        gc.collect()
        others = [on_gpu(np.zeros(N, np.float32)) + 7 for _ in range(8)]
        assert (y.to_host() == 2 * expected).all()
        del others


def test_donation_after_a_synchronisation(on_gpu: Any) -> None:
    jax: Any = pytest.importorskip("jax", reason="JAX is not installed")
    x = on_gpu(np.ones(N, np.float32)) + 0
    y = kdsl.zeros(N)
    axpy[BLOCKS, 256](1.0, x, y, N)
    kdsl.synchronize()
    assert float(jax.jit(lambda v: v + 1, donate_argnums=0)(x).min()) == 2
    assert x.is_deleted()
