"""DeviceArrays for other libraries: DLPack capsules, and what `__cuda_array_interface__` says.

NumPy makes the capsule, of an array of bare ints over the same memory, and kdsl then writes the device and the dtype
into it: NumPy's deleter may run in any thread, and after the interpreter's end, which a function in Python may not.
"""

from __future__ import annotations

import ctypes
import struct
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from kdsl.backend import Backend
from kdsl.lang.complex_type import ComplexType
from kdsl.lang.struct_type import StructType
from kdsl.runtime.allocation import Allocation
from kdsl.runtime.dlpack import CODES, CPU, CUDA, TENSOR, read
from kdsl.runtime.foreign_array import HostMemory
from kdsl.runtime.foreign_memory import SharingBackend
from kdsl.runtime.layout import reach

if TYPE_CHECKING:
    from kdsl.runtime.memory import DeviceArray

HEAD = struct.Struct("<Q 2i i 2BH")
"""The DLTensor's first fields, which are written anew."""
assert TENSOR.format.startswith(HEAD.format)


@runtime_checkable
class HostMemoryBackend(Protocol):
    """A device whose memory is the host's, and can be shared with libraries on it."""

    def host_memory(self, address: int, size: int) -> np.ndarray[Any, Any]:
        """The ``size`` bytes that kernels find at ``address``, which stay as long as the result does."""
        ...

    def adopt(self, memory: np.ndarray[Any, Any]) -> int:
        """The address at which kernels find memory of the host, until it is given back with `Backend.free`."""
        ...


def lend(array: DeviceArray) -> None:
    """Note that another library is given the address; ValueError once the memory was freed."""
    array._check_live()
    if isinstance(array._owner, Allocation):
        array._owner.is_shared = True


def dlpack_device(backend: Backend) -> tuple[int, int]:
    """DLPack's type and number of the device whose memory a backend has."""
    if isinstance(backend, SharingBackend):
        return CUDA, backend.ordinal
    if isinstance(backend, HostMemoryBackend):
        return CPU, 0
    raise BufferError(f"memory of the {backend.name} is shared with no other library; use .to_host()")


def capsule(
    array: DeviceArray,
    stream: int | None = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """A DLPack capsule of the array's memory, which the array outlives; the meaning of each argument is DLPack's.

    BufferError for what DLPack cannot say: elements that are structs, another device without a copy.
    """
    if isinstance(array.layout.type, StructType) and not isinstance(array.layout.type, ComplexType):
        raise BufferError(f"DLPack has no structs such as {array.dtype}; share its bytes, a.view(np.uint8)")
    lend(array)
    here = dlpack_device(array.backend)
    if dl_device is not None and tuple(map(int, dl_device)) != here:
        return _elsewhere(array, max_version, dl_device, copy)
    if copy:
        copied = type(array)(array.shape, array.layout.type, array.backend)
        copied.copy_from(array)
        array = copied
    if isinstance(array.backend, SharingBackend):
        _make_ready(array.backend, stream)
        return _capsule(array, array.address, array, here, max_version)
    if stream not in (None, -1):
        raise BufferError(f"memory of the host has no streams: stream must be None, got {stream!r}")
    assert isinstance(array.backend, HostMemoryBackend)
    low, high = reach(array.shape, array.strides)
    size = high - low + array.itemsize if array.size else 0
    # The bytes themselves are held too: they outlive an explicit free().
    memory = array.backend.host_memory(array.address + low, size)
    start: int = memory.__array_interface__["data"][0]
    return _capsule(array, start - low, (array, memory), here, max_version)


def _elsewhere(array: DeviceArray, max_version: Any, device: tuple[int, int], copy: bool | None) -> Any:
    if tuple(map(int, device)) != (CPU, 0):
        raise BufferError(f"this array is on {array.backend.name}; it is exported there, or copied to the host")
    if copy is False:
        raise BufferError("the host reads this array's memory only as a copy: pass copy=None or True")
    host = array.to_host()
    address: int = host.__array_interface__["data"][0]
    return _capsule(array, address, host, (CPU, 0), max_version, host.strides)


def _make_ready(backend: SharingBackend, stream: int | None) -> None:
    """Make a stream wait for the work on this array, wherever it was launched."""
    if stream is not None and type(stream) is not int:
        raise TypeError(f"stream is an int or None, got {stream!r}")
    if stream == 0:
        raise BufferError("stream 0 is ambiguous: pass 1 for the legacy default stream, 2 for the per-thread one")
    if stream == -1:
        return
    # All launches are ordered with the legacy default stream then, which None and 1 mean.
    backend.join()
    if stream not in (None, 1):
        backend.order(0, stream)


def _capsule(
    array: DeviceArray,
    address: int,
    owner: Any,
    device: tuple[int, int],
    max_version: Any,
    strides: tuple[int, ...] | None = None,
) -> Any:
    type_ = array.layout.type
    size = type_.size
    memory = HostMemory(
        address,
        array.shape,
        (strides or array.strides) if array.size else None,
        f"<u{size}" if size <= 8 else f"<c{size}",
        False,
        owner,
    )
    made = _numpy_capsule(np.asarray(memory), max_version)
    tensor = read(made)
    code, bits = CODES[type_.name]
    # NumPy gives arrays without elements a place of their own.
    head = HEAD.pack(address if array.size else 0, *device, tensor.ndim, code, bits, 1)
    ctypes.memmove(tensor.address, head, HEAD.size)
    return made


def _numpy_capsule(array: np.ndarray[Any, Any], max_version: tuple[int, int] | None) -> Any:
    if max_version is None or max_version[0] < 1:
        return array.__dlpack__()
    try:
        return array.__dlpack__(max_version=(1, 0))
    except TypeError:  # NumPy 2.0, which knows only the unversioned form
        return array.__dlpack__()


def cuda_array_interface(array: DeviceArray) -> dict[str, Any]:
    """Version 3 of the protocol. Work on ``stream`` that follows comes after all that was launched on this array."""
    backend = array.backend
    if backend.name != "cuda":
        raise AttributeError(
            f"this DeviceArray is on the {backend.name}, where no CUDA library can read it; use .to_host()"
        )
    lend(array)
    if isinstance(backend, SharingBackend):
        backend.join()
    dtype = array.dtype
    interface: dict[str, Any] = {
        "shape": array.shape,
        "typestr": dtype.str,
        "data": (array.address, False),
        "strides": None if array.is_contiguous else array.strides,
        "version": 3,
        # 1 is the legacy default stream, which everything launched here is ordered with.
        "stream": 1,
    }
    if dtype.names is not None:
        interface["descr"] = dtype.descr
    return interface
