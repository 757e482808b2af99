"""Views of an array as NumPy makes them: which shape, strides and offset an index, a transposition or another dtype
gives. Nothing here touches the elements.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from kdsl.records import dataclass


@dataclass(frozen=True, slots=True)
class Geometry:
    """Where elements lie: ``strides`` in bytes, and ``offset`` of the first one."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int
    offset: int = 0

    def model(self) -> np.ndarray[Any, Any]:
        """An array of this form whose elements must not be touched, for NumPy's own rules and messages."""
        base = np.empty((), f"V{self.itemsize}")
        return np.lib.stride_tricks.as_strided(base, self.shape, self.strides)

    def of(self, view: np.ndarray[Any, Any], model: np.ndarray[Any, Any]) -> Geometry:
        """What a view of ``model`` says of this array."""
        moved = view.__array_interface__["data"][0] - model.__array_interface__["data"][0]
        return Geometry(view.shape, view.strides, view.itemsize, self.offset + moved)


def indexed(array: Geometry, key: Any) -> Geometry:
    """What ``array[key]`` is, for ints, slices, ``...`` and None; IndexError or TypeError for anything else."""
    shape, strides, offset = [], [], array.offset
    axis = 0
    for part in _whole(array, key if isinstance(key, tuple) else (key,)):
        if part is None:
            shape.append(1)
            strides.append(0)
            continue
        extent, stride = array.shape[axis], array.strides[axis]
        if isinstance(part, slice):
            start, stop, step = _ends(part, extent)
            count = len(range(start, stop, step))
            shape.append(count)
            strides.append(stride * step)
            offset += start * stride if count else 0
        else:
            offset += _place(part, axis, extent) * stride
        axis += 1
    return Geometry(tuple(shape), tuple(strides), array.itemsize, offset)


def _whole(array: Geometry, keys: tuple[Any, ...]) -> tuple[Any, ...]:
    """The keys with ``...`` and what is missing at the end written out: one for each axis, beside the Nones."""
    for part in keys:
        if part is not None and part is not Ellipsis and type(part) is not int and not isinstance(part, slice):
            _check_key(part)
    missing = len(array.shape) - sum(part is not None and part is not Ellipsis for part in keys)
    if missing < 0:
        given = len(array.shape) - missing
        raise IndexError(f"too many indices: the array has {len(array.shape)} dimensions, and {given} are indexed")
    rest = (slice(None),) * missing
    if Ellipsis not in keys:
        return (*keys, *rest)
    at = keys.index(Ellipsis)
    if Ellipsis in keys[at + 1 :]:
        raise IndexError("an index has at most one ellipsis, ...")
    return (*keys[:at], *rest, *keys[at + 1 :])


def _ends(part: slice, extent: int) -> tuple[int, int, int]:
    try:
        return part.indices(extent)
    except TypeError:
        raise TypeError(f"a DeviceArray is sliced by ints and None, got {part!r}") from None


def _place(part: Any, axis: int, extent: int) -> int:
    index = operator.index(part)
    if not -extent <= index < extent:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with {extent} elements")
    return index + extent if index < 0 else index


def _check_key(part: Any) -> None:
    if isinstance(part, (bool, np.bool_, list, np.ndarray)) or hasattr(part, "shape"):
        if isinstance(part, np.integer):
            return
        raise IndexError(
            "a DeviceArray is indexed by ints, slices, ... and None, not by arrays, lists or masks: write a kernel "
            "that gathers, or index .to_host()"
        )
    if isinstance(part, str):
        raise IndexError(f"a DeviceArray has no views of fields: write a.to_host()[{part!r}]")
    try:
        operator.index(part)
    except TypeError:
        raise TypeError(f"a DeviceArray is indexed by ints, slices, ... and None, got {part!r}") from None


def reshaped(array: Geometry, shape: tuple[Any, ...]) -> Geometry | None:
    """The same elements in the same order under another shape, in which one extent may be -1; None if only a copy has
    them so.
    """
    count = 1
    for extent in array.shape:
        count *= extent
    # NumPy's own rules and messages, on an array that takes no memory.
    wanted = np.broadcast_to(np.empty((), np.uint8), (count,)).reshape(*shape).shape
    model = array.model()
    strides = _strides_for(array, wanted)
    if strides is None:
        return None
    return array.of(np.lib.stride_tricks.as_strided(model, wanted, strides), model)


def _strides_for(array: Geometry, wanted: tuple[int, ...]) -> tuple[int, ...] | None:
    """The strides under which the elements have another shape of as many elements."""
    if 0 in wanted:
        out, step = [], array.itemsize
        for extent in reversed(wanted):
            out.append(step)
            step *= max(extent, 1)
        return tuple(reversed(out))
    runs = _runs(array)
    strides = [0] * len(wanted)
    left, stride = runs.pop() if runs else (1, array.itemsize)
    for axis in reversed(range(len(wanted))):
        extent = wanted[axis]
        if extent == 1:
            strides[axis] = stride
            continue
        if left == 1 and runs:
            left, stride = runs.pop()
        if left % extent:
            return None
        strides[axis] = stride
        left, stride = left // extent, stride * extent
    return tuple(strides)


def _runs(array: Geometry) -> list[tuple[int, int]]:
    """(elements, stride) of the fewest axes that reach the elements in their order."""
    runs: list[tuple[int, int]] = []
    for extent, stride in zip(array.shape, array.strides, strict=True):
        if extent == 1:
            continue
        if runs and runs[-1][1] == extent * stride:
            runs[-1] = (runs[-1][0] * extent, stride)
        else:
            runs.append((extent, stride))
    return runs


def transposed(array: Geometry, axes: tuple[Any, ...]) -> Geometry:
    """As NumPy's ``transpose``: the axes reversed, or in the order that ``axes`` says."""
    model = array.model()
    return array.of(model.transpose(*axes), model)


def squeezed(array: Geometry, axis: Any) -> Geometry:
    """As NumPy's ``squeeze``: without the axes of extent 1, or without those that ``axis`` names."""
    model = array.model()
    return array.of(model.squeeze(axis), model)


def viewed(array: Geometry, itemsize: int) -> Geometry:
    """As NumPy's ``view`` of elements of another size: the last axis must be contiguous, and changes its extent."""
    model = array.model()
    return array.of(model.view(f"V{itemsize}"), model)
