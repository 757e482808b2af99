"""Copies into, out of and between arrays on a device, of any strides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kdsl.captures import SCRATCH, WAITING
from kdsl.runtime.graph_backend import check_uncaptured
from kdsl.runtime.host_values import HostArray, host_array
from kdsl.runtime.layout import reach
from kdsl.runtime.scalars import shown

if TYPE_CHECKING:
    from kdsl.runtime.memory import DeviceArray

FILL_PIECE = 64 * 1024


def host_bytes(array: HostArray) -> memoryview:
    """The bytes of a C-contiguous host array, any dtype (ml_dtypes' too, which have no buffer format)."""
    return array.reshape(-1).view(np.uint8).data


def check_out(array: DeviceArray, out: Any) -> None:
    """TypeError or ValueError unless the array's elements can be copied into ``out``."""
    if not isinstance(out, np.ndarray):
        fix = ""
        if hasattr(out, "layout"):
            fix = "; a.copy_to(b) and b.copy_from(a) copy between device arrays"
        elif hasattr(out, "handle"):
            fix = "; a stream goes by name, to_host(stream=s)"
        raise TypeError(f"out must be a NumPy array, got {shown(out)}{fix}")
    if out.shape != array.shape or out.dtype != array.dtype:
        raise ValueError(
            f"out has {out.dtype}{list(out.shape)}, this array {array.dtype}{list(array.shape)}; without out, "
            "to_host() makes one that fits"
        )
    if not out.flags.writeable:
        raise ValueError("out is read-only; without out, to_host() makes an array")


def check_source(array: DeviceArray, source: Any) -> None:
    """ValueError unless the elements of a NumPy array or a DeviceArray can be copied into the array as they are."""
    if source.shape != array.shape or source.dtype.newbyteorder("=") != array.dtype:
        fix = ""
        if source.dtype.kind in "biufc" and source.dtype.newbyteorder("=") != array.dtype:
            fix = f"; convert it, np.asarray(source).astype({array.dtype.name!r})"
        elif source.shape != array.shape:
            fix = "; a[...] = source broadcasts, and copies into a part"
        raise ValueError(
            f"the source has {source.dtype}{list(source.shape)}, this array {array.dtype}{list(array.shape)}{fix}"
        )


def read(array: DeviceArray, out: HostArray) -> None:
    """Copy all elements to a host array of the same shape and dtype."""
    if not out.size:
        return
    if not array.is_contiguous:
        check_uncaptured(array.backend, "a copy to the host", WAITING)
        array = array.copy()
    if out.flags.c_contiguous:
        array.backend.read(array.address, host_bytes(out))
    else:
        fresh = np.empty(out.shape, out.dtype)
        array.backend.read(array.address, host_bytes(fresh))
        out[...] = fresh


def write(array: DeviceArray, source: HostArray) -> None:
    """Overwrite all elements with those of a host array, which is broadcast to the shape."""
    source = np.broadcast_to(source.reshape(source.shape[max(source.ndim - array.ndim, 0) :]), array.shape)
    if not source.size:
        return
    if array.is_contiguous and source.size > 1 and not any(source.strides):
        fill(array, source.flat[0])
    elif array.is_contiguous:
        array.backend.write(array.address, host_bytes(np.ascontiguousarray(source).reshape(array.shape)))
    else:
        # A row that is repeated goes over once.
        once = source[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in source.strides)]
        staged = _scratch(array, once.shape, "a copy to a strided array")
        staged.backend.write(staged.address, host_bytes(np.ascontiguousarray(once).reshape(once.shape)))
        copy(array, staged)


def copy_from_peer(array: DeviceArray, source: DeviceArray) -> None:
    """Overwrite all elements with those of an array of the same dtype on another device of the kind, broadcast to the
    shape.
    """
    if not array.size:
        return
    if not source.is_contiguous:
        source = source.copy()
    backend: Any = array.backend
    there = array if array.is_contiguous and source.shape == array.shape else array._new(source.shape)
    backend.copy_from_peer(there.address, source.backend, source.address, source.nbytes)
    if there is not array:
        copy(array, there)


def copy(array: DeviceArray, source: DeviceArray) -> None:
    """Overwrite all elements with those of another array of the same dtype and device, broadcast to the shape."""
    if not array.size:
        return
    if _overlap(array, source):
        # As if all of it had been read before anything is written.
        if source.address == array.address and source.strides == array.strides and source.shape == array.shape:
            return
        whole = _scratch(array, source.shape, "a copy between overlapping arrays")
        copy(whole, source)
        source = whole
    backend = array.backend
    if array.is_contiguous and source.is_contiguous and source.shape == array.shape:
        backend.copy(array.address, source.address, array.nbytes)
        return
    # Axes that the source lacks, and those of extent 1, are repeated; those that it has more have extent 1.
    repeated = [0 if extent == 1 else stride for extent, stride in zip(source.shape, source.strides, strict=True)]
    strides = ([0] * array.ndim + repeated)[len(repeated) :]
    backend.copy_strided(array.address, array.strides, source.address, tuple(strides), array.shape, array.itemsize)


def _scratch(array: DeviceArray, shape: tuple[int, ...], doing: str) -> DeviceArray:
    """Memory for ``doing`` something beside an array; StreamCaptureError in a capture, which has none to give."""
    check_uncaptured(array.backend, doing, SCRATCH)
    return array._new(shape)


def _overlap(first: DeviceArray, second: DeviceArray) -> bool:
    (low, high), (other_low, other_high) = bounds(first), bounds(second)
    return low < other_high and other_low < high


def bounds(array: DeviceArray) -> tuple[int, int]:
    """The addresses [low, high) that the elements lie in."""
    if not array.size:
        return array.address, array.address
    before, after = reach(array.shape, array.strides)
    return array.address + before, array.address + after + array.itemsize


def fill(array: DeviceArray, value: Any) -> None:
    """Set every element to ``value``."""
    element = host_array(value, array.layout.type)
    if element.ndim:
        raise ValueError(f"one value fills an array, got values of shape {element.shape}: write a[...] = values")
    if not array.size:
        return
    pattern = element.tobytes()
    width = next((width for width in (1, 2, 4) if _repeats(pattern, width) and array.address % width == 0), 0)
    if not array.is_contiguous:
        one = _scratch(array, (1,) * array.ndim, "a fill of a strided array")
        one.backend.write(one.address, memoryview(pattern))
        copy(array, one)
    elif width:
        array.backend.fill(array.address, int.from_bytes(pattern[:width], "little"), array.nbytes, width)
    else:
        _double(array, pattern)


def _double(array: DeviceArray, pattern: bytes) -> None:
    """Fill contiguous memory: a first piece from the host, then the device doubles what is there."""
    done = min(array.nbytes, FILL_PIECE - FILL_PIECE % len(pattern) or len(pattern))
    array.backend.write(array.address, memoryview(pattern * (done // len(pattern))))
    while done < array.nbytes:
        step = min(done, array.nbytes - done)
        array.backend.copy(array.address + done, array.address, step)
        done += step


def _repeats(pattern: bytes, width: int) -> bool:
    """Whether all of it is its first ``width`` bytes again and again."""
    return len(pattern) % width == 0 and pattern == pattern[:width] * (len(pattern) // width)
