"""Host memory that a device reaches: pinned, for copies that run beside other work; mapped and managed, which kernels
use in place. To the host each is a NumPy array.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Literal, NoReturn, Protocol, runtime_checkable

import numpy as np

from kdsl.backend import Backend, device_name
from kdsl.lang.types import F32
from kdsl.runtime.element_types import element_type
from kdsl.runtime.layout import checked_bytes, normal_shape
from kdsl.runtime.scalars import shown
from kdsl.runtime.stream import stream_handle

Kind = Literal["pinned", "mapped", "managed"]
IN_PLACE = ("mapped", "managed")
"""What kernels use where it is."""


@runtime_checkable
class HostAllocator(Protocol):
    """A backend with such memory, and copies that only enqueue."""

    def alloc_host(self, size: int, kind: Kind) -> tuple[int, int]:
        """``size`` fresh bytes: their addresses for the host and for kernels. MemoryError if there is no room,
        DeviceError if the device has no such memory.
        """
        ...

    def free_host(self, host: int, device: int, size: int, kind: Kind) -> None:
        """Give it back; safe while kernels in flight use it in place."""
        ...

    def write_in(self, stream: int, address: int, source: memoryview, owner: Any) -> None:
        """Enqueue a copy of pinned bytes to the device; ``owner`` is held until it is over."""
        ...

    def read_in(self, stream: int, address: int, destination: memoryview, owner: Any) -> None:
        """Enqueue a copy of device bytes to pinned ones; ``owner`` is held until it is over."""
        ...

    def copy_in(self, stream: int, destination: int, source: int, size: int) -> None:
        """Enqueue a copy within the device."""
        ...

    def prefetch(self, address: int, size: int, to_host: bool, stream: int) -> None:
        """Move managed memory to the device or to the host before it is used there."""
        ...

    def advise(self, address: int, size: int, advice: str) -> None:
        """Say how managed memory will be used: a name of `ADVICE`."""
        ...


ADVICE = ("read_mostly", "prefer_device", "prefer_host", "accessed_by_device", "accessed_by_host")
"""What `advise` takes, each also with ``unset_`` before it."""


class HostMemory:
    """Owns such memory, and gives it back when the last NumPy array over it is gone."""

    __slots__ = ("__weakref__", "backend", "device", "host", "kind", "size")

    def __init__(self, backend: Backend, size: int, kind: Kind) -> None:
        self.host = 0
        self.backend: Any = backend
        self.size, self.kind = size, kind
        if not isinstance(backend, HostAllocator):
            raise TypeError(f"the {backend.name} has no {kind} memory")
        self.host, self.device = backend.alloc_host(size, kind)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return {"shape": (self.size,), "typestr": "|u1", "data": (self.host, False), "version": 3}

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self.kind} memory is not pickled; arrays over it are, as copies")

    def __repr__(self) -> str:
        return f"<{self.size} bytes of {self.kind} memory of {device_name(self.backend)}>"

    def __del__(self, is_exiting: Callable[[], bool] = sys.is_finalizing) -> None:
        # At interpreter exit the driver may be gone already, and the process gives all memory back anyway.
        if self.host and not is_exiting():
            self.backend.free_host(self.host, self.device, self.size, self.kind)


def empty(shape: Any, dtype: Any = F32, *, kind: Kind, backend: Backend) -> np.ndarray[Any, Any]:
    """An uninitialised NumPy array over fresh memory of this kind."""
    wanted, type_ = normal_shape(shape), element_type(dtype)
    size = checked_bytes(wanted, type_)
    if not size:
        return np.empty(wanted, type_.numpy)
    return np.asarray(HostMemory(backend, size, kind)).view(type_.numpy).reshape(wanted)


def memory_of(array: Any) -> HostMemory | None:
    """The memory under a NumPy array, or under a view of one, if it is of these kinds."""
    while isinstance(array, (np.ndarray, memoryview)):
        array = array.obj if isinstance(array, memoryview) else array.base
    return array if isinstance(array, HostMemory) else None


def in_place(array: np.ndarray[Any, Any], backend: Any) -> HostMemory | None:
    """The memory under an array that kernels on this device use where it is."""
    memory = memory_of(array)
    return memory if memory is not None and memory.kind in IN_PLACE and memory.backend is backend else None


def device_address(array: np.ndarray[Any, Any], memory: HostMemory) -> int:
    """What kernels call the place of an array's first element."""
    address: int = array.__array_interface__["data"][0]
    return memory.device + address - memory.host


def prefetch(array: Any, to: str, stream: Any) -> None:
    """Enqueue the move of managed memory; ``to`` is ``device`` or ``host``."""
    if to not in ("device", "host"):
        stream_fix = "; a stream goes by name, stream=s" if hasattr(to, "handle") else ""
        raise ValueError(f"managed memory is moved to 'device' or 'host', got {to!r}{stream_fix}")
    memory = _managed(array)
    if memory is not None:
        handle = stream_handle(stream, memory.backend)
        memory.backend.prefetch(device_address(array, memory), array.nbytes, to == "host", handle)


def advise(array: Any, advice: str) -> None:
    """Pass advice on to the device."""
    if not isinstance(advice, str) or advice.removeprefix("unset_") not in ADVICE:
        raise ValueError(f"the advice is one of {', '.join(ADVICE)}, or one with unset_ before it; got {advice!r}")
    memory = _managed(array)
    if memory is not None:
        memory.backend.advise(device_address(array, memory), array.nbytes, advice)


def _managed(array: Any) -> HostMemory | None:
    """The memory under an array; None for one without elements."""
    if isinstance(array, np.ndarray) and not array.size:
        return None
    memory = memory_of(array)
    if memory is None or memory.kind != "managed":
        raise TypeError(f"an array is needed that kdsl.managed_empty made, or a part of one; got {shown(array)}")
    if not array.flags.c_contiguous:
        raise ValueError("a contiguous part of a managed array is needed")
    return memory
