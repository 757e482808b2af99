"""The kernels that copy strided arrays, run by the emulator and read by ptxas, against NumPy."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdsl.emulator import Emulator
from kdsl.runtime.array_making import to_device
from kdsl.runtime.driver import CudaDriver
from kdsl.runtime.strided import MOST_AXES, StridedCopy, strided_copies

Bytes = np.ndarray[Any, np.dtype[np.uint8]]


def run(emulator: Emulator, copies: list[StridedCopy]) -> None:
    for copy in copies:
        if copy.axes:
            function = emulator.function(emulator.load(copy.ptx().encode()), copy.name)
            emulator.launch(function, copy.launch, copy.parameters)
        else:
            emulator.copy(copy.destination, copy.source, copy.unit)


@st.composite
def strided(draw: st.DrawFn, shape: tuple[int, ...], itemsize: int, repeats: bool) -> tuple[int, tuple[int, ...], int]:
    """An offset, strides under which no two elements overlap (or axes are repeated), and the bytes that it takes."""
    order = draw(st.permutations(range(len(shape))))
    strides, step = [0] * len(shape), itemsize
    for axis in order:
        gap = draw(st.integers(0, 2)) * draw(st.sampled_from([1, itemsize]))
        strides[axis] = 0 if repeats and draw(st.booleans()) else (step + gap) * draw(st.sampled_from([1, -1]))
        step = (step + gap) * shape[axis]
    low = sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True) if stride < 0)
    return -low, tuple(strides), step


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_strides(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 4), max_size=4), label="shape"))
    itemsize = data.draw(st.sampled_from([1, 2, 3, 4, 8, 12, 16, 20, 48]), label="itemsize")
    to, of = data.draw(strided(shape, itemsize, False)), data.draw(strided(shape, itemsize, True))
    emulator = Emulator()
    destination: Bytes = np.zeros(to[2] + 1, np.uint8)
    source: Bytes = np.arange(of[2] + 1).astype(np.uint8)
    there, here = to_device(destination, emulator), to_device(source, emulator)
    run(emulator, list(strided_copies(shape, to[1], of[1], itemsize, there.address + to[0], here.address + of[0])))

    def view(array: Bytes, place: tuple[int, tuple[int, ...], int]) -> Any:
        first = array[place[0] : place[0] + itemsize].view(f"V{itemsize}")
        return np.lib.stride_tricks.as_strided(first, shape, place[1])

    view(destination, to)[...] = view(source, of)
    np.testing.assert_array_equal(there.to_host(), destination)


@pytest.mark.parametrize(
    ("shape", "to", "of", "itemsize", "axes", "unit"),
    [
        ((4, 8), (32, 4), (32, 4), 4, (), 128),  # all of it contiguous
        ((4, 8), (32, 4), (64, 4), 4, ((4, 32, 64), (2, 16, 16)), 16),  # rows in wide units
        ((4, 8), (64, 8), (64, 8), 4, ((32, 8, 8),), 4),  # two axes that are one
        ((8, 4), (4, 32), (16, 4), 4, ((4, 32, 4), (8, 4, 16)), 4),  # a transposition: neighbours are written
        ((5,), (12,), (24,), 12, ((5, 12, 24), (3, 4, 4)), 4),
        ((7, 1, 1), (2, 99, 3), (-2, 1, 0), 1, ((7, 2, -2),), 1),
        ((0, 3), (3, 1), (3, 1), 1, None, 0),
    ],
)
def test_the_fewest_axes_and_the_widest_units(
    shape: Any, to: Any, of: Any, itemsize: int, axes: Any, unit: int
) -> None:
    copies = list(strided_copies(shape, to, of, itemsize, 4096, 8192))
    assert [(copy.axes, copy.unit) for copy in copies] == ([] if axes is None else [(axes, unit)])


def test_many_axes_are_several_launches() -> None:
    shape = (2, 2, 2) + (3,) * 7
    strides = tuple(5 * 7**axis for axis in reversed(range(10)))
    copies = list(strided_copies(shape, strides, strides[::-1], 1, 0, 0))
    assert len(copies) == 4 and all(len(copy.axes) == MOST_AXES for copy in copies)
    assert sum(copy.count for copy in copies) == np.prod(shape)


def test_long_copies_use_wide_indexes_and_a_bounded_grid() -> None:
    (copy,) = strided_copies((2**31, 2), (4, 1), (2, 1), 1, 0, 0)
    assert (copy.bits, copy.unit, copy.count, copy.launch.grid[0]) == (64, 2, 2**31, 1 << 16)
    (copy,) = strided_copies((1000, 3), (8, 1), (4, 1), 1, 1, 0)
    assert (copy.bits, copy.count, copy.launch.grid[0]) == (32, 3000, 12)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("unit", [1, 2, 4, 8, 16])
def test_kernels_of_both_index_widths(unit: int, bits: int, tmp_path: Path) -> None:
    ptxas = shutil.which("ptxas")
    emulator = Emulator()
    host = np.arange(6 * 5 * 16).astype(np.uint8).reshape(6, 5, 16)[:, :, :unit]
    there, here = to_device(np.zeros(30 * unit, np.uint8), emulator), to_device(host, emulator)
    axes = ((5, 6 * unit, unit), (6, unit, 5 * unit))
    copy = StridedCopy(there.address, here.address, axes, unit)
    text = copy.ptx() if bits == 32 else StridedCopy(0, 0, ((2**31, 1, 1), axes[1]), unit).ptx()
    assert f".reg .b{bits} %i" in text
    function = emulator.function(emulator.load(text.encode()), copy.name)
    emulator.launch(function, copy.launch, copy.parameters)
    np.testing.assert_array_equal(there.to_host().reshape(5, 6, unit), host.transpose(1, 0, 2))
    if ptxas is None:
        pytest.skip("ptxas is not installed")
    (tmp_path / "copy.ptx").write_text(text)
    for target in ("sm_75", "sm_90"):
        made = [ptxas, "-arch", target, "-v", str(tmp_path / "copy.ptx"), "-o", str(tmp_path / "copy.cubin")]
        done = subprocess.run(made, capture_output=True, text=True, check=False)
        assert done.returncode == 0 and " 0 bytes stack frame" in done.stderr, done.stderr


def test_the_driver_launches_one_kernel_for_all_copies_of_a_form(gpu: CudaDriver, fake_driver: Any) -> None:
    seen: list[bytes] = []
    fake_driver.kernels["kdsl_copy_2_axes_4_bytes"] = seen.append
    array = to_device(np.zeros((4, 8), np.int32), gpu)
    fake_driver.called()
    copied = array.T.copy()
    names = fake_driver.called("cuLibraryLoadData", "cuLibraryGetKernel", "cuKernelGetFunction")
    assert names == ["cuMemAllocFromPoolAsync", "cuLaunchKernel"]
    again = array.T.copy()
    assert fake_driver.called() == ["cuMemAllocFromPoolAsync", "cuLaunchKernel"]
    first, second = (list(np.frombuffer(words, np.int64)) for words in seen)
    assert first == [copied.address, array.address, 32, 8, 16, 4, 4, 4, 32]
    assert second == [again.address, *first[1:]]
