"""Stand-ins for arrays of CuPy, Numba and a library that kdsl does not know, and for CuPy itself."""

from __future__ import annotations

import ctypes
import sys
import types
from typing import Any

import numpy as np


def row_major(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    return tuple(int(size * np.prod(shape[axis + 1 :])) for axis in range(len(shape)))


class Cupy(types.ModuleType):
    """As much of CuPy as kdsl asks for. ``streams`` are the current ones, by GPU."""

    def __init__(self) -> None:
        super().__init__("cupy")
        self.streams = {0: 0, 1: 0}
        self.ndarray = ndarray
        self.cuda = types.SimpleNamespace(get_current_stream=self._current)

    def _current(self, number: int = -1) -> Any:
        return types.SimpleNamespace(ptr=self.streams[max(number, 0)])


class ndarray:  # noqa: N801
    """An array of CuPy."""

    def __init__(self, address: int = 4096, shape: tuple[int, ...] = (4,), dtype: Any = "f4", **more: Any) -> None:
        self.shape, self.dtype = shape, np.dtype(dtype)
        self.strides = more.get("strides", row_major(shape, self.dtype.itemsize))
        number = more.get("number", 0)
        self.data = types.SimpleNamespace(ptr=address, device_id=number)
        self.device = types.SimpleNamespace(id=number)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    @property
    def flags(self) -> Any:
        contiguous = self.strides == row_major(self.shape, self.dtype.itemsize)
        return types.SimpleNamespace(c_contiguous=contiguous)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape, "typestr": self.dtype.str, "descr": self.dtype.descr, "version": 3,
            "strides": None if self.flags.c_contiguous else self.strides, "data": (self.data.ptr, False),
            "stream": sys.modules["cupy"].streams[0] or 1,
        }  # fmt: skip


ndarray.__module__ = "cupy"


class Lent:
    """An array of a library that kdsl does not know. Its interface is made anew each time, of attributes that may be
    changed.
    """

    def __init__(self, address: int = 4096, shape: Any = (4,), **more: Any) -> None:
        self.address, self.shape, self.typestr, self.strides = address, shape, "<f4", None
        self.readonly, self.stream, self.mask, self.form = False, None, None, dict
        self.raises: Exception | None = None
        self.__dict__.update(more)

    @property
    def __cuda_array_interface__(self) -> Any:
        if self.raises is not None:
            raise self.raises
        return self.form({
            "shape": self.shape, "typestr": self.typestr, "strides": self.strides, "mask": self.mask, "version": 3,
            "data": (self.address, self.readonly), "stream": self.stream,
        })  # fmt: skip


class DeviceNDArray(Lent):
    """An array of Numba: its interface is built from the pointer of its memory, and has the strides of every array that
    is not contiguous.
    """

    def __init__(self, address: int = 4096, shape: tuple[int, ...] = (4,), **more: Any) -> None:
        super().__init__(address, shape, **more)
        self.gpu_data = types.SimpleNamespace(device_ctypes_pointer=ctypes.c_size_t(address))

    @property
    def __cuda_array_interface__(self) -> Any:
        return {
            "shape": tuple(self.shape), "strides": self.strides, "typestr": self.typestr, "version": 3,
            "data": (self.gpu_data.device_ctypes_pointer.value, False), "stream": self.stream,
        }  # fmt: skip


DeviceNDArray.__module__ = "numba.cuda.cudadrv.devicearray"


class LentOnHost(np.ndarray):  # type: ignore[type-arg]
    """An array of NumPy's that another GPU library reads where it is."""

    __cuda_array_interface__ = Lent().__cuda_array_interface__
