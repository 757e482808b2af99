"""An array that another library owns, as a launch sees it."""

from __future__ import annotations

from typing import Any

import numpy as np

from kdsl.lang.struct_type import StructType
from kdsl.lang.types import ScalarType
from kdsl.records import dataclass


# Not frozen: one is made for each argument of a launch, and each field would cost twice as much.
@dataclass(slots=True)
class ForeignArray:
    """Memory that someone else owns. ``strides`` are in elements, None if C-contiguous.

    ``type`` is None for a dtype that kernels do not have, whose name is in ``dtype``; ``stream`` is where its last
    writer ran.
    """

    address: int
    shape: tuple[int, ...]
    type: ScalarType | StructType | None
    dtype: str
    strides: tuple[int, ...] | None = None
    readonly: bool = False
    stream: int | None = None
    misaligned_strides: bool = False
    device: int | None = None
    """The number of the GPU whose memory it is, where the library says."""
    is_host: bool = False
    """In memory that the host reads."""
    owner: Any = None
    """Keeps the memory alive."""
    is_ordered: bool = True
    """The library reuses the memory only behind the work in ``stream``: dropped while a launch there runs, it stays."""
    tensor: Any = None
    """The PyTorch tensor that it is."""
    immutable: str = ""
    """Why it never changes, and what to do instead of writing it: of JAX's arrays, whose exports are kept."""

    def on_host(self) -> np.ndarray[Any, Any]:
        """The same memory as a NumPy array, which keeps it alive."""
        assert self.is_host
        assert self.type is not None
        dtype = self.type.numpy
        if 0 in self.shape:
            return np.empty(self.shape, dtype)
        strides = None if self.strides is None else tuple(stride * dtype.itemsize for stride in self.strides)
        memory = HostMemory(
            self.address, self.shape, strides, f"|V{dtype.itemsize}", self.readonly, (self.owner, self.tensor)
        )  # fmt: skip
        # Opaque bytes, because the dtypes of ml_dtypes have no name in NumPy's protocol.
        return np.asarray(memory).view(dtype)


class HostMemory:
    """Memory at an address, for `numpy.asarray`, which reads none of it. An array of it keeps ``owner`` alive."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(
        self,
        address: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...] | None,
        typestr: str,
        readonly: bool,
        owner: Any,
    ) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "data": (address, readonly),
            "shape": shape,
            "strides": strides,
            "typestr": typestr,
            "version": 3,
        }


class NotOnDeviceError(Exception):
    """The object is an array that a kernel cannot use; the message says what to do about it, if that is known."""


def is_contiguous(shape: tuple[int, ...], strides: tuple[int, ...], size: int = 1) -> bool:
    """Whether strides, in units of which an element has ``size``, are those of a C-contiguous array."""
    if 0 in shape:
        return True
    expected = size
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent != 1 and stride != expected:
            return False
        expected *= extent
    return True
