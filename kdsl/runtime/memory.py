"""DeviceArray: a C-contiguous array in a device's memory, over any Backend."""

from __future__ import annotations

import functools
import math
import operator
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from kdsl.backend import Backend, device_name
from kdsl.lang.struct_dtype import struct_of_dtype
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import F32, ScalarType, as_type
from kdsl.runtime.device import Device

INT32_ELEMENTS = 2**31 - 1
FILL_PIECE = 64 * 1024


class Layout:
    """What a launcher must know of an array at a glance; interned per backend, so that it is compared by ``is``.

    ``wide`` marks arrays whose element offsets do not fit 31 bits.
    """

    __slots__ = ("backend", "dtype", "type", "wide")

    def __init__(self, backend: Backend, type_: ScalarType | StructType, wide: bool) -> None:
        self.backend, self.type, self.wide = backend, type_, wide
        self.dtype = type_.numpy


class Allocation:
    """Owns device memory, and gives it back when the last array that uses it is gone."""

    __slots__ = ("__weakref__", "address", "backend", "size")

    def __init__(self, backend: Backend, size: int) -> None:
        self.backend, self.size = backend, size
        # Why no allocation of 0 bytes? Not every device has one. The null address is refused if a kernel reads it.
        self.address = 0
        self.address = backend.alloc(size) if size else 0

    def __reduce__(self) -> NoReturn:
        # A second owner of the same address would free it twice.
        raise TypeError(
            "device memory is neither pickled nor deep-copied; copy it with .to_host() and kdsl.to_device()"
        )

    def __del__(self, is_exiting: Callable[[], bool] = sys.is_finalizing) -> None:
        # At interpreter exit the driver may be gone already, and the process gives all memory back anyway. `sys` may be
        # gone, too: a default value stays.
        if self.address and not is_exiting():
            self.backend.free(self.address)


def layout_of(backend: Backend, type_: ScalarType | StructType, wide: bool = False) -> Layout:
    """The one `Layout` for these three. Backends hash by identity and live as long as the process."""
    key: Any = backend  # a Protocol says nothing of hashing
    return _layout(key, type_, wide)


@functools.cache
def _layout(backend: Any, type_: ScalarType | StructType, wide: bool) -> Layout:
    return Layout(backend, type_, wide)


def element_type(dtype: Any) -> ScalarType | StructType:
    """The type that a dtype (ours, NumPy's or Python's) means, or a `@struct` class; TypeError for what kernels cannot
    hold.
    """
    if isinstance(dtype, np.dtype) and dtype.names is not None:
        return struct_of_dtype(dtype)
    found = as_type(dtype)
    if not isinstance(found, ScalarType | StructType):
        raise TypeError(f"the elements of a DeviceArray are scalars or structs, got {found}")
    return found


def normal_shape(shape: Any) -> tuple[int, ...]:
    """A shape as a tuple of ints, from an int or a sequence; ValueError for negative extents."""
    extents = shape if isinstance(shape, (tuple, list)) else (shape,)
    try:
        out = tuple(operator.index(extent) for extent in extents)
    except TypeError:
        raise TypeError(f"a shape is an int or a tuple of ints, got {shape!r}") from None
    if any(extent < 0 for extent in out):
        raise ValueError(f"negative extent in the shape {out}")
    return out


def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides, in elements, of a C-contiguous array."""
    out, step = [], 1
    for extent in reversed(shape):
        out.append(step)
        step *= extent
    return tuple(reversed(out))


def host_bytes(array: np.ndarray[Any, Any]) -> memoryview:
    """The bytes of a C-contiguous host array, any dtype (ml_dtypes' too, which have no buffer format)."""
    return array.reshape(-1).view(np.uint8).data


class DeviceArray:
    """A C-contiguous array in device memory; the memory is freed with the last array that uses it.

    Made by `to_device`, `empty` and `zeros`. Reshaping shares memory. Read it on the host with `to_host`.
    """

    __slots__ = ("__weakref__", "_owner", "address", "layout", "shape")
    layout: Layout
    address: int
    shape: tuple[int, ...]

    def __init__(
        self,
        shape: tuple[int, ...],
        type_: ScalarType | StructType,
        backend: Backend,
        owner: Any = None,
        address: int | None = None,
    ) -> None:
        """Fresh memory, or memory at ``address`` that ``owner`` keeps alive."""
        count = math.prod(shape)
        if address is None:
            owner = Allocation(backend, count * type_.size)
            address = owner.address
        self._owner = owner
        self.address = address
        self.shape = shape
        self.layout = layout_of(backend, type_, count > INT32_ELEMENTS)

    @property
    def backend(self) -> Backend:
        return self.layout.backend

    @property
    def device(self) -> Device:
        """Where it lives: kernels that take it run there."""
        return Device.of(self.backend)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.layout.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        return self.layout.type.size

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next along each axis, as NumPy counts them."""
        return tuple(stride * self.itemsize for stride in contiguous_strides(self.shape))

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self.backend.name != "cuda":
            raise AttributeError(
                f"this DeviceArray is on the {self.backend.name}, where no CUDA library can read it; use .to_host()"
            )
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address, False),
            "strides": None,
            "version": 3,
            # 1 is the legacy default stream, which everything launched here is ordered with.
            "stream": 1,
        }

    def to_host(self, out: np.ndarray[Any, Any] | None = None) -> np.ndarray[Any, Any]:
        """The elements as a NumPy array (``out``, if given), after all work enqueued before."""
        if out is None:
            out = np.empty(self.shape, self.dtype)
        elif not isinstance(out, np.ndarray):
            raise TypeError(f"out must be a NumPy array, got {type(out).__name__}")
        elif out.shape != self.shape or out.dtype != self.dtype:
            raise ValueError(f"out has {out.dtype}{list(out.shape)}, this array {self.dtype}{list(self.shape)}")
        elif not out.flags.writeable:
            raise ValueError("out is read-only")
        if not self.size:
            return out
        if out.flags.c_contiguous:
            self.backend.read(self.address, host_bytes(out))
        else:
            out[...] = self.to_host()
        return out

    def copy_from(self, source: Any) -> None:
        """Overwrite all elements from a host array or a DeviceArray of the same shape and dtype."""
        array = source if isinstance(source, DeviceArray) else np.asarray(source)
        if array.shape != self.shape or array.dtype != self.dtype:
            raise ValueError(
                f"the source has {array.dtype}{list(array.shape)}, this array {self.dtype}{list(self.shape)}"
            )
        if not self.size:
            return
        if not isinstance(array, DeviceArray):
            self.backend.write(self.address, host_bytes(np.asarray(array, order="C")))
        elif array.backend is self.backend:
            self.backend.copy(self.address, array.address, self.nbytes)
        else:
            self.backend.write(self.address, host_bytes(array.to_host()))

    def to(self, device: str | int | Device) -> DeviceArray:
        """The same elements on ``device``: a copy, or this array itself if it lives there."""
        there = (device if isinstance(device, Device) else Device(device)).backend
        if there is self.backend:
            return self
        copy = DeviceArray(self.shape, self.layout.type, there)
        copy.copy_from(self)
        return copy

    def fill(self, value: Any) -> None:
        """Set every element to ``value``, converted as NumPy does (OverflowError for an int out of range)."""
        element = np.full(1, value, self.dtype)
        pattern = element.tobytes()
        if not self.size:
            return
        if pattern == pattern[:1] * len(pattern):
            self.backend.fill(self.address, pattern[0], self.nbytes)
            return
        # A first piece from the host, then the device doubles what is there.
        done = min(self.nbytes, FILL_PIECE)
        self.backend.write(self.address, host_bytes(np.full(done // self.itemsize, element[0], self.dtype)))
        while done < self.nbytes:
            step = min(done, self.nbytes - done)
            self.backend.copy(self.address + done, self.address, step)
            done += step

    def reshape(self, *shape: Any) -> DeviceArray:
        """The same memory under another shape; one extent may be -1."""
        # NumPy's own rules and messages, on an array that takes no memory.
        model = np.broadcast_to(np.empty((), np.uint8), (self.size,)).reshape(*shape)
        return DeviceArray(model.shape, self.layout.type, self.backend, self._owner, self.address)

    def view(self, dtype: Any) -> DeviceArray:
        """The same memory as elements of another type, as NumPy's ``view``: the last extent changes with the size."""
        type_ = element_type(dtype)
        # NumPy's own rules and messages, on an array that takes no memory.
        model = np.lib.stride_tricks.as_strided(
            np.empty(1, f"V{self.itemsize}"), self.shape, contiguous_strides((*self.shape, self.itemsize))[:-1]
        ).view(f"V{type_.size}")
        if self.address % type_.align:
            raise ValueError(f"{type_} lies at multiples of {type_.align}, and this array at {self.address:#x}")
        return DeviceArray(model.shape, type_, self.backend, self._owner, self.address)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-dimensional DeviceArray")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"DeviceArray(shape={self.shape}, dtype={self.dtype}, on {device_name(self.backend)})"

    def __array__(self, *_: Any, **__: Any) -> np.ndarray[Any, Any]:
        raise TypeError("a DeviceArray is not copied to the host unasked: use .to_host()")


def is_masked(array: Any) -> bool:
    """Whether it is a NumPy masked array. Plain arrays are not asked: NumPy imports np.ma when it is first named, which
    takes 50 ms.
    """
    return type(array) is not np.ndarray and isinstance(array, np.ndarray) and isinstance(array, np.ma.MaskedArray)


def to_device(array: Any, backend: Backend) -> DeviceArray:
    """A copy of a host array (or what NumPy makes of the value) in device memory, C-contiguous and of native byte
    order.
    """
    if isinstance(array, DeviceArray):
        copy = DeviceArray(array.shape, array.layout.type, backend)
        copy.copy_from(array)
        return copy
    if is_masked(array):
        raise TypeError("a masked array has no device counterpart: pass array.filled(value) or array.data")
    host = np.asarray(array, order="C")
    type_ = element_type(host.dtype.newbyteorder("="))
    host = host.astype(type_.numpy, copy=False)
    device = DeviceArray(host.shape, type_, backend)
    if host.size:
        backend.write(device.address, host_bytes(host))
    return device


def empty(shape: Any, dtype: Any = F32, *, backend: Backend) -> DeviceArray:
    """An uninitialised array; ``dtype`` is a type of the kernel language or a NumPy dtype."""
    return DeviceArray(normal_shape(shape), element_type(dtype), backend)


def zeros(shape: Any, dtype: Any = F32, *, backend: Backend) -> DeviceArray:
    """An array of zeros."""
    array = empty(shape, dtype, backend=backend)
    if array.nbytes:
        backend.fill(array.address, 0, array.nbytes)
    return array
