"""New arrays in a device's memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from kdsl.backend import Backend
from kdsl.lang.types import F32
from kdsl.runtime import array_copies
from kdsl.runtime.element_types import element_type
from kdsl.runtime.host_values import as_numpy, is_masked
from kdsl.runtime.layout import normal_shape
from kdsl.runtime.memory import DeviceArray
from kdsl.runtime.scalars import shown


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
    host = np.asarray(as_numpy(array), order="C")
    if host.dtype == object:
        raise TypeError(
            f"to_device takes numbers, or an array of them; got {shown(array)}, of which NumPy makes objects"
        )
    type_ = element_type(host.dtype.newbyteorder("="))
    host = host.astype(type_.numpy, copy=False)
    device = DeviceArray(host.shape, type_, backend)
    if host.nbytes:
        backend.write(device.address, array_copies.host_bytes(host))
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


def full(shape: Any, value: Any, dtype: Any = F32, *, backend: Backend) -> DeviceArray:
    """An array whose elements are all ``value``."""
    array = empty(shape, dtype, backend=backend)
    array.fill(value)
    return array
