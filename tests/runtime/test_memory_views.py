"""Views, copies and fills of DeviceArrays: any chain of them gives what NumPy gives."""

from __future__ import annotations

import copy
import gc
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kdsl
from kdsl import Array, DeviceArray, Ptr, f32, i32, kernel, thread_idx

DTYPES = ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16", [("x", "i1"), ("y", "i1"), ("z", "i1")]]
many = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def numbered(shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    """An array whose bytes are all kinds of bytes, but for bools, which have two."""
    made = np.dtype(dtype)
    count = int(np.prod(shape, dtype=np.int64))
    values = (np.arange(count * made.itemsize, dtype=np.int64) * 37 % 251).astype(np.uint8)
    return (values % 2 if made == np.bool_ else values).view(made).reshape(shape)


def same(first: np.ndarray[Any, Any], second: np.ndarray[Any, Any]) -> bool:
    return first.shape == second.shape and first.dtype == second.dtype and first.tobytes() == second.tobytes()


@st.composite
def basic_index(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[Any, ...]:
    key: list[Any] = []
    for extent in shape[: draw(st.integers(0, len(shape)))]:
        ends = st.none() | st.integers(-extent - 2, extent + 2)
        slices = st.builds(slice, ends, ends, st.sampled_from([None, 1, 2, 3, -1, -2]))
        key.append(draw(slices | st.integers(-extent, extent - 1) if extent else slices))
    if draw(st.booleans()):
        key.insert(draw(st.integers(0, len(key))), None)
    at = draw(st.integers(0, len(key)))
    if draw(st.booleans()) and at == len(key):
        key.append(Ellipsis)
    return tuple(key)


def step(data: st.DataObject, host: np.ndarray[Any, Any], device: DeviceArray) -> tuple[Any, DeviceArray]:
    """One view more of both."""
    match data.draw(st.sampled_from(["index", "index", "transpose", "reshape", "squeeze", "ravel"])):
        case "index":
            key = data.draw(basic_index(host.shape))
            return host[(*key, Ellipsis) if Ellipsis not in key else key], device[key]
        case "transpose":
            axes = data.draw(st.permutations(range(host.ndim)))
            return host.transpose(axes), device.transpose(*axes)
        case "squeeze":
            return host.squeeze(), device.squeeze()
        case how:
            shape = (-1,) if how == "ravel" or host.size == 0 else data.draw(st.sampled_from(factors(host.size)))
            made = host.reshape(shape)
            if np.shares_memory(made, host) or not host.size:
                return made, device.reshape(shape) if how == "reshape" else device.reshape(*shape)
            with pytest.raises(ValueError, match=r"a\.copy\(\)\.reshape"):
                device.reshape(shape)
            return host, device


def factors(size: int) -> list[tuple[int, ...]]:
    pairs = [(n, size // n) for n in range(1, size + 1) if size % n == 0]
    return [(size,), *pairs, *((a, 1, b) for a, b in pairs), *((a, -1) for a, _ in pairs)]


@many
@given(data=st.data())
def test_chains_of_views_read_and_write_as_numpys(device: str, data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(0, 5), max_size=4), label="shape"))
    whole = numbered(shape, data.draw(st.sampled_from(DTYPES), label="dtype"))
    host, on_device = whole, kdsl.to_device(whole)
    whole_on_device = on_device
    for _ in range(data.draw(st.integers(0, 4), label="views")):
        host, on_device = step(data, host, on_device)
        assert (on_device.shape, on_device.size, on_device.nbytes) == (host.shape, host.size, host.nbytes)
        assert on_device.is_contiguous == host.flags.c_contiguous
        moving = [(a, b) for a, b, n in zip(on_device.strides, host.strides, host.shape, strict=True) if n > 1]
        assert not host.size or all(a == b for a, b in moving)
    assert same(on_device.to_host(), host)
    out = np.empty(host.shape[::-1], host.dtype).T
    on_device.to_host(out)
    assert same(out, host)
    copied = on_device.copy()
    assert copied.is_contiguous and same(copied.to_host(), host)

    source = numbered(host.shape, host.dtype)[::-1] if host.ndim else numbered((), host.dtype)
    match data.draw(st.sampled_from(["host", "device", "row", "number", "copy_from", "fill"]), label="write"):
        case "host":
            on_device[...] = source
            host[...] = source
        case "device":
            on_device[...] = kdsl.to_device(source)
            host[...] = source
        case "row" if host.ndim:
            on_device[...] = source[:1] if data.draw(st.booleans()) else kdsl.to_device(source)[:1]
            host[...] = source[:1]
        case "copy_from":
            on_device.copy_from(source)
            host[...] = source
        case _ if host.dtype.names:
            record = numbered((1,), host.dtype)[0]
            on_device.fill(record)
            host[...] = record
        case how:
            number = data.draw(st.sampled_from([0, 1, True]))
            if how == "fill":
                on_device.fill(number)
            else:
                on_device[...] = number
            host[...] = number
    assert same(whole_on_device.to_host(), whole)
    assert same(copied.to_host(), copied.to_host())


@many
@given(data=st.data())
def test_overlapping_copies_read_all_before_they_write(device: str, data: st.DataObject) -> None:
    host = np.arange(48, dtype=np.int32).reshape(6, 8)
    array = kdsl.to_device(host)
    to, of = (data.draw(basic_index(host.shape)) for _ in range(2))
    to = to if Ellipsis in to else (*to, Ellipsis)
    try:
        host[to] = host[of].copy()
    except ValueError:
        with pytest.raises(ValueError, match="do not fit"):
            array[to] = array[of]
        return
    array[to] = array[of]
    np.testing.assert_array_equal(array.to_host(), host)


@pytest.mark.parametrize("name", ["bf16", "f8e4m3", "f8e5m2"])
def test_small_floats_in_strided_views(device: str, name: str) -> None:
    dtype = getattr(kdsl, name)(0).dtype
    array, host = kdsl.zeros((5, 6), dtype), np.zeros((5, 6), dtype)
    array[1::2, ::-3] = 1.5
    host[1::2, ::-3] = 1.5
    assert same(array.to_host(), host) and same(array[:, 2].to_host(), host[:, 2])


def test_wide_elements_and_many_axes(device: str) -> None:
    wide = np.dtype([("a", "f8", 5), ("b", "i4", 2)])
    host = numbered((3, 4, 5), wide)
    array = kdsl.to_device(host)
    assert same(array[::-1, 1:3, ::2].to_host(), host[::-1, 1:3, ::2])
    deep = np.arange(3**10, dtype=np.int16).reshape((3,) * 10)
    array = kdsl.to_device(deep)
    key = (slice(None, None, 2),) * 10
    assert same(array[key].to_host(), deep[key])
    array[key] = 7
    deep[key] = 7
    assert same(array.to_host(), deep)


def test_a_view_keeps_the_memory_and_shares_it(device: str) -> None:
    array = kdsl.to_device(np.arange(12, dtype=np.int32))
    view = array[2:10].reshape(2, 4)[:, ::2]
    duplicate = copy.copy(view)
    array.fill(5)
    del array
    gc.collect()
    assert view.to_host().tolist() == duplicate.to_host().tolist() == [[5, 5], [5, 5]]


def test_items_and_iteration(device: str) -> None:
    array = kdsl.to_device(np.arange(6, dtype=np.float32).reshape(2, 3))
    assert [row.to_host().tolist() for row in array] == [[0, 1, 2], [3, 4, 5]]
    assert array[1, 2].shape == () and array[1, 2].item() == 5.0 and type(array[1, 2].item()) is float
    with pytest.raises(ValueError, match=r"item\(\) reads one element, and this array has 6"):
        array.item()
    with pytest.raises(TypeError, match=r"iterate over a\.to_host\(\)"):
        list(array[0])
    with pytest.raises(TypeError, match="without dimensions"):
        len(array[0, 0])


@pytest.mark.parametrize(
    ("key", "error", "text"),
    [
        (6, IndexError, "index 6 is out of bounds"),
        ((0, 0, 0), IndexError, "too many indices"),
        ([0, 1], IndexError, "not by arrays, lists or masks"),
        (np.array([True] * 6), IndexError, "write a kernel that gathers"),
        (True, IndexError, "not by arrays"),
        ("x", IndexError, r"a\.to_host\(\)\['x'\]"),
        (1.5, TypeError, "indexed by ints, slices"),
        (slice(None, None, 0), ValueError, "step cannot be zero"),
    ],
)
def test_other_indexes_are_refused(key: Any, error: type[Exception], text: str) -> None:
    array = kdsl.zeros((6, 2))
    with pytest.raises(error, match=text):
        array[key]
    with pytest.raises(error, match=text):
        array[key] = 0


@pytest.mark.parametrize(
    ("dtype", "value", "error", "text"),
    [
        ("i4", 1.5, TypeError, "holds no fractions, got 1.5"),
        ("i1", 300, OverflowError, "300 is out of the range of i8, -128 to 127"),
        ("u8", -1, OverflowError, "out of the range of u64"),
        ("i4", 2**70, OverflowError, "out of the range of i32"),
        ("?", 2, OverflowError, "out of the range of bool, 0 to 1"),
        ("f4", 1e300, OverflowError, "out of the range of f32"),
        ("f2", 70000, OverflowError, "out of the range of f16"),
        ("f4", 1j, TypeError, "holds no complex numbers"),
        ("f4", "1", TypeError, "holds numbers, got '1'"),
        ("f4", None, TypeError, "holds numbers, got None"),
        ("f4", np.ones(3), ValueError, r"dtype float64, this array float32: convert it, a\.astype\('float32'\)"),
        ("f4", np.zeros(4, np.float32), ValueError, r"shape \(4,\) do not fit"),
        ("f4", np.zeros((2, 3), np.float32), ValueError, "do not fit"),
        ("f4", np.ma.masked_array(np.zeros(3, np.float32), [0, 1, 0]), TypeError, "filled"),
    ],
)
def test_values_that_would_change_are_refused(dtype: str, value: Any, error: type[Exception], text: str) -> None:
    array = kdsl.zeros(3, dtype)
    with pytest.raises(error, match=text):
        array[...] = value
    assert array.to_host().tolist() == [0, 0, 0]


def test_values_that_fit_are_converted() -> None:
    array = kdsl.zeros(3, np.float32)
    array[:] = [1, 2.5, True]
    assert array.to_host().tolist() == [1, 2.5, 1]
    array[0] = np.float64(0.5)
    array[1:] = 2**100
    assert array.to_host().tolist() == [0.5, 2.0**100, 2.0**100]
    array[2] = float("inf")
    assert array[2].item() == float("inf")
    bits = kdsl.zeros(2, "?")
    bits[1] = 1
    assert bits.to_host().tolist() == [False, True]


def test_an_array_is_neither_compared_nor_a_truth_nor_anothers() -> None:
    array, other = kdsl.zeros(3), kdsl.zeros(3)
    for compare in (lambda: array == other, lambda: array != other, lambda: array == 0, lambda: np.zeros(3) == array):
        with pytest.raises(TypeError, match=r"np\.array_equal\(a\.to_host\(\), b\.to_host\(\)\)"):
            compare()
    with pytest.raises(TypeError, match="no truth value"):
        bool(array)
    assert array in [array] and {array: 1}[array] == 1
    for name in ("astype", "numpy", "get", "sum"):
        assert not hasattr(array, name)
        with pytest.raises(AttributeError, match=f"no '{name}': .*to_host"):
            getattr(array, name)


def test_reinterpreting_views(device: str) -> None:
    host = np.arange(24, dtype=np.int32).reshape(4, 6)
    array = kdsl.to_device(host)
    assert same(array[::2].view(np.int16).to_host(), host[::2].view(np.int16))
    assert same(array.view(np.int64)[1:].to_host(), host.view(np.int64)[1:])
    assert same(array[:, ::2].view(f32).to_host(), host[:, ::2].view(np.float32))
    with pytest.raises(ValueError, match="last axis must be contiguous"):
        array.T.view(np.int16)
    with pytest.raises(ValueError, match="multiples of 8"):
        array.reshape(-1)[1:9].view(np.int64)
    pairs = kdsl.to_device(np.zeros((4, 3), np.int32))
    with pytest.raises(ValueError, match=r"view a\.copy\(\)"):
        pairs[:, :2].view(np.int64)


@kernel
def doubled(x: Ptr[f32], n: i32) -> None:
    i = thread_idx.x
    if i < n:
        x[i] = x[i] * 2.0


@kernel
def rows(x: Array[f32, 2]) -> None:
    i = thread_idx.x
    if i < x.shape[0]:
        x[i, 0] = 7.0


@kernel
def any_layout(x, out) -> None:
    i = thread_idx.x
    if i < x.shape[0]:
        for j in range(x.shape[1]):
            out[i, j] = x[i, j] + 1


def test_contiguous_views_are_passed_on(device: str) -> None:
    array = kdsl.to_device(np.ones(8, np.float32))
    doubled[1, 32](array[2:5], 3)
    doubled[1, 32](array[7], 1)
    assert array.to_host().tolist() == [1, 1, 2, 2, 2, 1, 1, 2]
    grid = kdsl.zeros((4, 3))
    rows[1, 32](grid[1:3])
    assert grid.to_host()[:, 0].tolist() == [0, 7, 7, 0]


def test_strided_views_need_a_kernel_that_takes_them(device: str) -> None:
    array = kdsl.to_device(np.arange(24, dtype=np.float32).reshape(4, 6))
    with pytest.raises(
        kdsl.ArgumentError, match=r"`x` takes Ptr\[f32\].*not contiguous; pass x\.copy\(\), and keep it"
    ):
        doubled[1, 32](array[:, 0], 4)
    with pytest.raises(kdsl.ArgumentError, match=r"not contiguous; pass x\.copy\(\).*leave out the annotation"):
        rows[1, 32](array.T)
    for view, host in (
        (array.T, array.to_host().T),
        (array[::-2, 1::2], array.to_host()[::-2, 1::2]),
        (array, array.to_host()),
    ):
        out = kdsl.zeros(view.shape)
        for _ in range(3):  # the first, a found one and a known one
            any_layout[1, 32](view, out)
        np.testing.assert_array_equal(out.to_host(), host + 1)
        spread = kdsl.zeros((view.shape[0] * 2, view.shape[1] * 3))
        any_layout[1, 32](view, spread[::2, ::3])
        np.testing.assert_array_equal(spread.to_host()[::2, ::3], host + 1)
        assert np.count_nonzero(spread.to_host()) == host.size


def test_numpys_integers_are_indexes_and_two_ellipses_are_none() -> None:
    array = kdsl.to_device(np.arange(6, dtype=np.float32).reshape(2, 3))
    assert array[np.int64(1), np.uint8(2)].item() == 5.0
    assert array[..., None, -1].shape == (2, 1)
    with pytest.raises(IndexError, match="at most one ellipsis"):
        array[..., ...]
    with pytest.raises(IndexError, match="not by arrays"):
        array[np.float32(1)]
