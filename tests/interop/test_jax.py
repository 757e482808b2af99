"""JAX's arrays: read by kernels where they lie, never written; DeviceArrays as JAX's; kernels under jit."""

from __future__ import annotations

import gc
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kdsl
from kdsl.runtime.errors import ArgumentTypeError, ArgumentValueError
from tests.interop.kernels import axpy, copy_elements

jax: Any = pytest.importorskip("jax", reason="JAX is not installed")
jnp: Any = pytest.importorskip("jax.numpy", reason="JAX is not installed")


def cpu(value: Any) -> Any:
    return jax.device_put(value, jax.devices("cpu")[0])


def test_a_kernel_reads_jax_arrays() -> None:
    y = np.ones(8, np.float32)
    axpy[1, 32](2.0, cpu(jnp.arange(8, dtype=jnp.float32)), y, 8)
    assert y.tolist() == [1, 3, 5, 7, 9, 11, 13, 15]
    halves = cpu(jnp.arange(8, dtype=jnp.bfloat16))
    out = np.zeros(8, ml_dtypes.bfloat16)
    copy_elements[1, 32](halves, out)
    assert out.tolist() == list(range(8))


def test_a_kernel_never_writes_them() -> None:
    x = cpu(jnp.ones(8, jnp.float32))
    with pytest.raises(ArgumentValueError) as caught:
        axpy[1, 32](2.0, np.ones(8, np.float32), x, 8)
    assert str(caught.value) == (
        "axpy: argument `y` takes Ptr[f32] (a contiguous array of float32), got a read-only jaxlib.ArrayImpl, which the "
        "kernel may write; JAX's arrays never change: write into kdsl.empty(shape, dtype) and take that as "
        "jax.dlpack.from_dlpack(out), or use jax.pure_callback, as docs/interop.md shows"
    )
    with pytest.raises(BufferError, match="is read-only, which a DeviceArray is not; pass copy=True, or pass it to"):
        kdsl.from_dlpack(x)
    copied = kdsl.from_dlpack(x, copy=True)
    copied.fill(5)
    assert x.tolist() == [1] * 8


def test_our_arrays_are_jax_arrays_without_a_copy() -> None:
    ours = kdsl.to_device(np.arange(8, dtype=np.float32))
    theirs = jax.dlpack.from_dlpack(ours)
    assert theirs.tolist() == list(range(8))
    assert theirs.unsafe_buffer_pointer() == np.from_dlpack(ours).ctypes.data
    del ours
    gc.collect()
    assert (theirs + 1).tolist() == list(range(1, 9))


def test_what_jax_traces_or_has_deleted_is_refused() -> None:
    y = np.ones(8, np.float32)
    with pytest.raises(ArgumentTypeError, match=r"stands for an array that JAX traces.* jax\.pure_callback, as docs"):
        jax.jit(lambda x: axpy[1, 32](2.0, x, y, 8))(jnp.ones(8))
    x = cpu(jnp.ones(8))
    x.delete()
    with pytest.raises(ArgumentTypeError, match="was deleted or donated; pass a live array"):
        axpy[1, 32](2.0, x, y, 8)


def scaled(x: Any, factor: float) -> Any:
    """What docs/interop.md shows."""

    def host(values: Any) -> np.ndarray[Any, Any]:
        out = np.zeros(values.shape, np.float32)
        axpy[kdsl.LaunchConfig.for_num_elems(out.size)](factor, np.asarray(values), out, out.size)
        return out

    return jax.pure_callback(host, jax.ShapeDtypeStruct(x.shape, jnp.float32), x, vmap_method="sequential")


def test_pure_callback_under_jit() -> None:
    x = cpu(jnp.arange(300, dtype=jnp.float32))
    assert jax.jit(lambda v: scaled(v, 3.0) + 1)(x).tolist() == [3 * v + 1 for v in range(300)]


@pytest.mark.gpu
def test_on_a_gpu() -> None:
    kdsl.set_device("cuda")
    gpus = [device for device in jax.devices() if device.platform == "gpu"]
    if not gpus:
        pytest.skip("this JAX has no GPU")
    n = 1 << 20
    for dtype in (jnp.float32, jnp.bfloat16):
        x = jax.device_put(jnp.arange(n, dtype=jnp.float32).astype(dtype), gpus[0])
        for _ in range(5):
            y = (x * 2) @ jnp.eye(1, dtype=dtype) if x.ndim == 2 else x * 2
            out = kdsl.zeros(n, np.dtype(dtype))
            copy_elements[n // 256, 256](y, out)
            expected = np.asarray(y)
            del y
            assert (out.to_host() == expected).all()
            theirs = jax.dlpack.from_dlpack(out)
            assert (np.asarray(theirs + 1) == np.asarray(x * 2 + 1)).all()
