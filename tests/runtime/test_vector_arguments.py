"""Arrays for parameters of vectors: of scalars on the host, with a whole number of aligned vectors."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np
import pytest

import kdsl
from kdsl import Array, Ptr, f16x2, f32x4, grid, i32, kernel


@kernel
def doubled(a: Ptr[f32x4], n: i32):
    i = grid(1)
    if i < n:
        a[i] = a[i] + a[i]


@kernel
def rows(a: Array[f32x4, 1], sizes: Ptr[i32]):
    i = grid(1)
    if i < len(a):
        a[i] = a[i] * 2.0
    sizes[0] = a.size


@kernel
def planes(a: Array[f32x4, 2], sizes: Ptr[i32]):
    i = grid(1)
    if i < a.shape[1]:
        a[1, i] = a[1, i] * 2.0
    sizes[0] = a.shape[0]
    sizes[1] = a.shape[1]


@kernel
def pairs(a: Ptr[f16x2]):
    a[0] = a[0] * 2


def misaligned(count: int, offset: int = 1) -> np.ndarray:
    return np.arange(count + 8, dtype=np.float32)[offset : count + offset]


@pytest.mark.parametrize("shape", [(8,), (2, 4), (4, 2), (2, 2, 2)], ids=str)
def test_a_pointer_takes_any_shape(device: str, shape: tuple[int, ...]) -> None:
    a = np.arange(8, dtype=np.float32).reshape(shape)
    on_device = kdsl.to_device(a)
    doubled[1, 32](a, 2)
    doubled[1, 32](on_device, 2)
    expected = np.arange(8, dtype=np.float32).reshape(shape) * 2
    np.testing.assert_array_equal(a, expected)
    np.testing.assert_array_equal(on_device.to_host(), expected)


def test_the_last_axis_of_an_array_is_that_of_the_components(device: str) -> None:
    for make in (lambda a: a, kdsl.to_device):
        a, sizes = make(np.ones((3, 4), np.float32)), np.zeros(2, np.int32)
        rows[1, 32](a, sizes)
        host = a if isinstance(a, np.ndarray) else a.to_host()
        assert (host == 2).all()
        assert sizes[0] == 3
        b = make(np.ones((2, 3, 4), np.float32))
        planes[1, 32](b, sizes)
        host = b if isinstance(b, np.ndarray) else b.to_host()
        assert (host[0] == 1).all()
        assert (host[1] == 2).all()
        assert sizes.tolist() == [2, 3]


def test_arrays_without_elements() -> None:
    doubled[1, 32](np.zeros(0, np.float32), 0)
    rows[1, 32](np.zeros((0, 4), np.float32), np.zeros(1, np.int32))


def test_a_view_that_starts_at_a_vector() -> None:
    a = np.ones(12, np.float32)
    doubled[1, 32](a[4:8], 1)
    assert a.tolist() == [1] * 4 + [2] * 4 + [1] * 4


def test_overlapping_arrays_stay_aligned_on_the_device() -> None:
    whole = np.ones(16, np.float32)

    @kernel
    def both(x: Ptr[kdsl.f32], a: Ptr[f32x4]):
        a[0] = a[0] + x[0]

    both[1, 1](whole[1:], whole[4:])
    assert whole.tolist() == [1] * 4 + [2] * 4 + [1] * 8


KEPT = ", and keep it: the kernel may write it"
POINTER = "doubled: argument `a` takes Ptr[f32x4] (a contiguous array of float32, 4 for each vector), got "
ROWS = "rows: argument `a` takes Array[f32x4, 1] (an array of float32 with 2 dimensions, the last of 4), got "
REFUSED = [
    (doubled, np.zeros(8), POINTER + "a NumPy array of float64; pass a.astype(np.float32)" + KEPT),
    (
        doubled,
        np.zeros(6, np.float32),
        POINTER + "6 elements, which are no whole number of vectors; pass a multiple of 4",
    ),
    (
        doubled,
        misaligned(8),
        POINTER + "an array at an address that is no multiple of 16; pass a.copy()" + KEPT,
    ),
    (
        doubled,
        np.zeros((4, 8), np.float32)[:, :4],
        POINTER + "an array of shape (4, 4) that is not contiguous; pass np.ascontiguousarray(a)" + KEPT,
    ),
    (rows, np.zeros(8, np.float32), ROWS + "an array of shape (8,); pass a.reshape(-1, 4)"),
    (rows, np.zeros((4, 2), np.float32), ROWS + "an array of shape (4, 2); pass a.reshape(-1, 4)"),
    (rows, np.zeros((2, 3, 4), np.float32), ROWS + "an array of shape (2, 3, 4); pass a.reshape(-1, 4)"),
    (
        rows,
        np.zeros((4, 4), np.float32).T,
        ROWS + "an array of shape (4, 4) that is not contiguous; pass np.ascontiguousarray(a)" + KEPT,
    ),
    (
        rows,
        misaligned(8).reshape(2, 4),
        ROWS + "an array at an address that is no multiple of 16; pass a.copy()" + KEPT,
    ),
]


@pytest.mark.parametrize(("checked", "array", "message"), REFUSED, ids=lambda x: getattr(x, "__name__", None))
def test_what_does_not_fit_is_refused(checked: kdsl.Kernel, array: np.ndarray, message: str) -> None:
    others = (2,) if checked is doubled else (np.zeros(1, np.int32),)
    before = array.copy()
    with pytest.raises(kdsl.ArgumentError) as caught:
        checked[1, 32](array, *others)
    assert str(caught.value) == message
    np.testing.assert_array_equal(array, before)


def test_device_arrays_are_checked_too() -> None:
    with pytest.raises(kdsl.ArgumentError, match="6 elements, which are no whole number of vectors"):
        doubled[1, 32](kdsl.to_device(np.zeros(6, np.float32)), 1)
    with pytest.raises(kdsl.ArgumentError, match=r"an array of shape \(2, 2\)"):
        rows[1, 32](kdsl.to_device(np.zeros((2, 2), np.float32)), kdsl.to_device(np.zeros(1, np.int32)))
    with pytest.raises(kdsl.ArgumentError, match="got a DeviceArray of float64"):
        doubled[1, 32](kdsl.to_device(np.zeros(4)), 1)


def test_small_vectors_need_their_own_alignment_only() -> None:
    a = np.ones(8, np.float16)
    pairs[1, 1](a[2:4])
    assert a.tolist() == [1, 1, 2, 2, 1, 1, 1, 1]
    with pytest.raises(kdsl.ArgumentError, match="no multiple of 4"):
        pairs[1, 1](a[1:3])
