"""Making arrays, giving their memory back, and running out of it."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import Ptr, f32, i32, kernel, struct
from kdsl.runtime import array_making


@struct
class Pair:
    first: f32
    second: i32


@kernel
def first_of(x: Ptr[f32], y: Ptr[f32]) -> None:
    y[0] = x[0]


@pytest.mark.parametrize(
    ("dtype", "value"),
    [("f4", 1.5), ("f8", 1.1), ("?", True), ("i2", -300), ("u8", 2**63 + 5), ("c8", 1 + 2j), ("c16", 1j), ("i1", -1)],
)
@pytest.mark.parametrize("shape", [(), 0, 5, (300, 301), (2, 0)])
def test_full(device: str, shape: Any, dtype: str, value: Any) -> None:
    array, host = kdsl.full(shape, value, dtype), np.full(shape, value, dtype)
    assert array.shape == host.shape and array.to_host().tobytes() == host.tobytes()
    assert array.address % 256 == 0


def test_full_of_small_floats_and_structs(device: str) -> None:
    assert kdsl.full(3, 1.5, kdsl.bf16).to_host().tolist() == [1.5] * 3
    assert kdsl.full(3, 448.0, kdsl.f8e4m3).to_host().tolist() == [448.0] * 3
    with pytest.raises(OverflowError):
        kdsl.full(3, 449e3, kdsl.f8e4m3)
    pairs = kdsl.full(70000, Pair(1.5, 2), Pair)
    assert (pairs.to_host() == np.array((1.5, 2), Pair.dtype)).all()
    pairs[::2] = np.array((0, 7), Pair.dtype)
    assert pairs.to_host()["second"].tolist()[:4] == [7, 2, 7, 2]


def test_arrays_like_others(device: str) -> None:
    host = np.ones((2, 3), np.int16)
    for like in (host, kdsl.to_device(host), kdsl.to_device(host).T):
        made = kdsl.zeros_like(like)
        assert (made.shape, made.dtype, made.is_contiguous) == (like.shape, like.dtype, True)
        assert not made.to_host().any()
        other = kdsl.empty_like(like, f32, 7)
        assert (other.shape, other.dtype) == ((7,), np.float32)
    assert kdsl.zeros_like(kdsl.full(3, 1j, kdsl.complex64)).to_host().tolist() == [0] * 3
    listed = kdsl.zeros_like([[1.5, 2.5]])
    assert (listed.shape, listed.dtype) == ((1, 2), np.float64)


@pytest.mark.parametrize(
    ("shape", "error", "text"),
    [
        (2**70, ValueError, "too large"),
        ((2**32, 2**32), ValueError, "too large"),
        ((2**62, 4, 0), ValueError, "too large"),
        (-1, ValueError, "negative extent"),
        ((1,) * 65, ValueError, "65 dimensions"),
        (2.0, TypeError, "a shape is an int"),
    ],
)
def test_absurd_shapes(device: str, shape: Any, error: type[Exception], text: str) -> None:
    for make in (kdsl.empty, kdsl.zeros):
        with pytest.raises(error, match=text):
            make(shape)
    with pytest.raises(error, match=text):
        kdsl.full(shape, 1)


def test_what_was_freed_cannot_be_used(device: str) -> None:
    array, other = kdsl.full(4, 1.0), kdsl.zeros(4)
    view = array[1:3]
    array.free()
    array.free()
    assert array.is_freed and view.is_freed and not other.is_freed
    for use in (
        array.to_host,
        view.copy,
        lambda: view[0],
        lambda: array.fill(1),
        lambda: other.copy_from(array),
        lambda: array.copy_from(other),
        lambda: other.__setitem__(0, array[0]),
        lambda: array.reshape(2, 2),
    ):
        with pytest.raises(ValueError, match=r"was freed by free\(\)"):
            use()
    for _ in range(2):
        with pytest.raises(kdsl.ArgumentError, match=r"argument `x` takes .* freed\), whose memory free\(\) has given"):
            first_of[1, 1](view, other)
        first_of[1, 1](other, other)


def test_free_from_a_view_and_of_memory_of_others(device: str) -> None:
    array = kdsl.full(6, 2.0).reshape(2, 3)
    array.free()
    assert array.is_freed
    empty = kdsl.zeros(0)
    empty.free()
    assert empty.is_freed
    table = kdsl.device.array(4, f32)

    @kernel
    def reads(out: Ptr[f32]) -> None:
        out[0] = table[0]

    reads[1, 1](kdsl.zeros(1))
    with pytest.raises(ValueError, match="which frees it"):
        table.on_device().free()
    if device == "emulator":
        with pytest.raises(ValueError, match="this memory belongs to the library that it was taken from, which frees"):
            kdsl.from_dlpack(np.arange(4)).free()


def test_many_views_of_one_array_cost_no_memory(make_backend: Any) -> None:
    backend = make_backend()
    array = array_making.zeros(100, backend=backend)
    for index in range(1000):
        array[index % 100]
    owner: Any = array._owner
    assert len(owner._users) < 50
    views = [array[i:] for i in range(100)]
    array.free()
    assert all(view.is_freed for view in views) and not backend.memory
    del array, views
    gc.collect()
    assert backend.calls.count("free") == 1


def test_the_emulators_fresh_memory_shows_who_reads_it() -> None:
    assert np.isnan(kdsl.empty(3).to_host()).all() and kdsl.empty(3, i32).to_host().tolist() == [-1] * 3
    out = np.zeros(2, np.float32)

    @kernel
    def accumulates(x: Ptr[f32]) -> None:
        x[0] = x[0] + 1.0

    accumulates[1, 1](kdsl.Out(out))
    assert np.isnan(out).all()
