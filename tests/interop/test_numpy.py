"""NumPy's arrays of every sort: mapped files, subclasses, orders, read-only ones, the dtypes of ml_dtypes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kdsl
from kdsl import Array, Ptr, f32, grid, i32, kernel


@kernel
def add_one(x: Ptr[f32], n: i32) -> None:
    i = grid(1)
    if i < n:
        x[i] += 1


@kernel
def total(x: Ptr[f32], out: Ptr[f32], n: i32) -> None:
    if grid(1) == 0:
        sum = 0.0
        for i in range(n):
            sum += x[i]
        out[0] = sum


@kernel
def copy_2d(x, y) -> None:  # type: ignore[no-untyped-def]
    i, j = grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        y[i, j] = x[i, j]


@kernel
def rows(x: Array[f32, 2], out: Array[f32, 1]) -> None:
    i = grid(1)
    if i < x.shape[0]:
        out[i] = x[i, 0]


def test_mapped_files(device: str, tmp_path: Path) -> None:
    path = tmp_path / "numbers.bin"
    np.arange(100, dtype=np.float32).tofile(path)
    add_one[1, 128](np.memmap(path, np.float32, "r+"), 100)
    assert np.fromfile(path, np.float32).tolist() == list(range(1, 101))
    read_only = np.memmap(path, np.float32, "r")
    out = np.zeros(1, np.float32)
    total[1, 32](read_only, out, 100)
    assert out[0] == sum(range(1, 101))
    with pytest.raises(ValueError, match="a read-only NumPy array of float32, which the kernel may write"):
        add_one[1, 128](read_only, 100)
    copied = np.memmap(path, np.float32, "c")  # written in memory alone
    add_one[1, 128](copied, 100)
    assert copied[0] == 2
    assert np.fromfile(path, np.float32)[0] == 1


def test_subclasses(device: str) -> None:
    class Mine(np.ndarray[Any, Any]):
        pass

    x = np.zeros(8, np.float32).view(Mine)
    add_one[1, 32](x, 8)
    assert x.tolist() == [1] * 8
    records = np.zeros(4, [("a", "f4")]).view(np.recarray)
    add_one[1, 32](records.a, 4)
    assert records.a.tolist() == [1] * 4
    matrix = np.asmatrix(np.zeros((2, 3), np.float32))
    add_one[1, 32](matrix, 6)
    assert matrix.tolist() == [[1] * 3] * 2
    with pytest.raises(TypeError, match=r"a masked array; pass x\.data"):
        add_one[1, 32](np.ma.masked_array(np.zeros(4, np.float32), [1, 0, 0, 0]), 4)


def test_orders_and_strides(device: str) -> None:
    x = np.asfortranarray(np.arange(12, dtype=np.float32).reshape(3, 4))
    y = np.zeros((3, 4), np.float32, order="F")
    copy_2d[1, (4, 4)](x, y)
    assert (x == y).all()
    z = np.zeros((3, 4), np.float32)
    copy_2d[1, (4, 4)](x[::-1, ::-1], z)
    assert (z == x[::-1, ::-1]).all()
    copy_2d[1, (4, 4)](np.broadcast_to(np.float32(7), (3, 4)), z)
    assert (z == 7).all()
    with pytest.raises(ValueError, match=r"not contiguous; pass np\.ascontiguousarray\(x\)"):
        rows[1, 32](x, np.zeros(3, np.float32))


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
def test_dtypes_of_ml_dtypes(device: str, dtype: Any) -> None:
    x = np.arange(12).reshape(3, 4).astype(dtype)
    y = np.zeros((3, 4), dtype)
    copy_2d[1, (4, 4)](x, y)
    assert (x.view(np.uint8) == y.view(np.uint8)).all()
    ours = kdsl.to_device(x)
    assert ours.dtype == dtype
    copy_2d[1, (4, 4)](ours, z := kdsl.zeros((3, 4), dtype))
    assert (z.to_host().view(np.uint8) == x.view(np.uint8)).all()


def test_dtypes_that_kernels_do_not_have(device: str) -> None:
    for dtype in (ml_dtypes.int4, ml_dtypes.float8_e4m3b11fnuz, np.longdouble):
        with pytest.raises(TypeError, match="which kernels do not have"):
            copy_2d[1, (4, 4)](np.zeros((3, 4), dtype), np.zeros((3, 4), np.float32))
