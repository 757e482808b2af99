"""DeviceArray against NumPy."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import threading
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from kdsl.lang.types import F32, SCALARS
from kdsl.runtime.array_making import empty, to_device, zeros
from kdsl.runtime.markers import In
from kdsl.runtime.memory import DeviceArray


@pytest.mark.parametrize("name", sorted(SCALARS))
def test_round_trip_of_every_scalar_type(backend: Any, name: str) -> None:
    dtype = SCALARS[name].numpy
    host = np.arange(24).reshape(2, 3, 4).astype(dtype)
    device = to_device(host, backend)
    assert (device.shape, device.dtype, device.nbytes, device.strides) == (
        host.shape,
        host.dtype,
        host.nbytes,
        host.strides,
    )
    assert device.itemsize == host.itemsize and device.ndim == 3 and device.size == 24 and len(device) == 2
    back = device.to_host()
    assert back.dtype == dtype and back.tobytes() == host.tobytes()


def test_non_contiguous_and_swapped_sources_are_copied(backend: Any) -> None:
    host = np.arange(12, dtype=">i4").reshape(3, 4).T
    device = to_device(host, backend)
    assert device.dtype == np.dtype("i4") and device.dtype.isnative
    np.testing.assert_array_equal(device.to_host(), host)


def test_to_device_copies(backend: Any) -> None:
    host = np.zeros(4, np.float32)
    device = to_device(host, backend)
    host[:] = 1
    np.testing.assert_array_equal(device.to_host(), np.zeros(4))


@pytest.mark.parametrize("shape", [0, (0, 3), (), (1,), (2, 3)])
def test_shapes(backend: Any, shape: Any) -> None:
    device = zeros(shape, np.int16, backend=backend)
    expected = np.zeros(shape, np.int16)
    assert device.shape == expected.shape and device.nbytes == expected.nbytes
    np.testing.assert_array_equal(device.to_host(), expected)
    np.testing.assert_array_equal(to_device(expected, backend).to_host(), expected)


def test_to_host_into_out(backend: Any) -> None:
    device = to_device(np.arange(6, dtype=np.int32).reshape(2, 3), backend)
    out = np.zeros((3, 2), np.int32).T
    assert device.to_host(out) is out
    np.testing.assert_array_equal(out, [[0, 1, 2], [3, 4, 5]])
    with pytest.raises(ValueError, match="out has int64"):
        device.to_host(np.zeros((2, 3), np.int64))
    with pytest.raises(TypeError, match="out must be a NumPy array"):
        device.to_host([0] * 6)  # type: ignore[arg-type]
    frozen = np.zeros((2, 3), np.int32)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        device.to_host(frozen)


def test_copy_from(backend: Any, make_backend: Any) -> None:
    device = empty((2, 3), np.float32, backend=backend)
    host = np.arange(6, dtype=np.float32).reshape(3, 2).T
    device.copy_from(host)
    np.testing.assert_array_equal(device.to_host(), host)
    other = zeros((2, 3), backend=backend)
    other.copy_from(device)
    np.testing.assert_array_equal(other.to_host(), host)
    elsewhere = zeros((2, 3), backend=make_backend())
    elsewhere.copy_from(device)
    np.testing.assert_array_equal(elsewhere.to_host(), host)
    with pytest.raises(ValueError, match=r"the source has float64\[2, 3\], this array float32"):
        device.copy_from(np.zeros((2, 3)))
    with pytest.raises(ValueError, match=r"float32\[6\]"):
        device.copy_from(np.zeros(6, np.float32))


@pytest.mark.parametrize("value", [0, 7, -1, 0x0101])
def test_fill(backend: Any, value: int) -> None:
    device = empty((5, 20000), np.int32, backend=backend)
    device.fill(value)
    np.testing.assert_array_equal(device.to_host(), np.full((5, 20000), value, np.int32))


def test_fill_out_of_range(backend: Any) -> None:
    with pytest.raises(OverflowError):
        empty(3, np.int8, backend=backend).fill(300)


def test_reshape_shares_memory(backend: Any) -> None:
    device = to_device(np.arange(12, dtype=np.int32), backend)
    view = device.reshape(3, -1)
    assert view.shape == (3, 4) and view.address == device.address
    assert device.reshape((2, 6)).shape == (2, 6)
    with pytest.raises(ValueError, match="cannot reshape"):
        device.reshape(5, 2)
    del device
    gc.collect()
    np.testing.assert_array_equal(view.to_host(), np.arange(12).reshape(3, 4))
    assert len(backend.memory) == 1
    del view
    gc.collect()
    assert not backend.memory


def test_out_of_memory(backend: Any) -> None:
    with pytest.raises(MemoryError):
        empty(1 << 40, np.uint8, backend=backend)


@pytest.mark.parametrize(
    ("shape", "error"), [(-1, ValueError), ((2, -3), ValueError), (1.5, TypeError), ("3", TypeError), (None, TypeError)]
)
def test_bad_shapes(backend: Any, shape: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="shape"):
        empty(shape, backend=backend)


@pytest.mark.parametrize("host", [np.array(["a"]), np.zeros(2, np.clongdouble), np.zeros(2, "M8[s]")])
def test_dtypes_without_a_device_counterpart(backend: Any, host: Any) -> None:
    with pytest.raises(TypeError, match="is no type of elements that kernels have"):
        to_device(host, backend)


@pytest.mark.parametrize(
    ("host", "text"),
    [
        (None, "got None"),
        (In(np.zeros(2)), r"got kdsl\.In"),
        (np.array([object()]), r"got numpy\.ndarray"),
        ({}, "dict"),
    ],
)
def test_what_is_no_array_of_numbers(backend: Any, host: Any, text: str) -> None:
    with pytest.raises(
        TypeError, match=f"to_device takes numbers, or an array of them; .*{text}, of which NumPy makes"
    ):
        to_device(host, backend)


def test_masked_array_is_refused(backend: Any) -> None:
    with pytest.raises(TypeError, match="filled"):
        to_device(np.ma.masked_array([1, 2], [0, 1]), backend)


def test_interface_is_only_cuda(backend: Any, make_backend: Any) -> None:
    with pytest.raises(AttributeError, match=r"emulator.*to_host"):
        _ = zeros(3, backend=backend).__cuda_array_interface__
    array = zeros((2, 3), np.float16, backend=make_backend("cuda"))
    interface = array.__cuda_array_interface__
    assert (
        interface["shape"] == (2, 3) and interface["typestr"] == "<f2" and interface["data"] == (array.address, False)
    )
    assert interface["version"] == 3 and interface["strides"] is None


def test_no_silent_copy_to_the_host(backend: Any) -> None:
    with pytest.raises(TypeError, match="to_host"):
        np.asarray(zeros(3, backend=backend))


def test_repr(backend: Any) -> None:
    assert (
        repr(empty((2, 3), ml_dtypes.bfloat16, backend=backend))
        == "DeviceArray(shape=(2, 3), dtype=bfloat16, on emulator:0)"
    )


def test_memory_has_one_owner(backend: Any) -> None:
    array = zeros(3, np.int32, backend=backend)
    with pytest.raises(TypeError, match="to_host"):
        pickle.dumps(array._owner)
    assert copy.deepcopy(array).address != array.address
    other = copy.copy(array)  # shares the memory, as a reshape does
    del array
    gc.collect()
    assert other.to_host().tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("shape", (3, 4), r"'shape' of a DeviceArray cannot be set: write a.reshape\(...\)"),
        ("dtype", np.int32, r"'dtype' of a DeviceArray cannot be set: write a.view\(dtype\)"),
        ("strides", (8,), "'strides' of a DeviceArray cannot be set"),
        ("address", 0, "'address' of a DeviceArray cannot be set"),
        ("layout", None, "'layout' of a DeviceArray cannot be set"),
        ("note", 1, "'note' of a DeviceArray cannot be set"),
    ],
)
def test_an_array_stays_what_it_is(backend: Any, name: str, value: Any, text: str) -> None:
    array = zeros(12, backend=backend)
    with pytest.raises(AttributeError, match=text):
        setattr(array, name, value)
    assert array.shape == (12,) and array.to_host().shape == (12,)


def test_views_that_other_threads_make_know_when_the_memory_is_freed(backend: Any) -> None:
    array, made = zeros(12, backend=backend), []
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=lambda: made.extend([array[:] for _ in range(1000)])) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    array.free()
    assert sum(not view.is_freed for view in made) == 0
    # One that was being made meanwhile: it looked before, and is made after.
    late = DeviceArray((12,), F32, backend, array._owner, 0)
    assert late.is_freed
