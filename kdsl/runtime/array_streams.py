"""Copies of arrays that are put into a stream, and do not wait where the host memory is pinned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kdsl.captures import StreamCaptureError
from kdsl.runtime.array_copies import host_bytes
from kdsl.runtime.graph_backend import GraphBackend
from kdsl.runtime.host_memory import HostAllocator, HostMemory, memory_of
from kdsl.runtime.host_values import HostArray, host_array
from kdsl.runtime.stream import stream_handle
from kdsl.runtime.stream_backend import StreamBackend

if TYPE_CHECKING:
    from kdsl.runtime.memory import DeviceArray


def read(array: DeviceArray, out: HostArray, stream: Any) -> None:
    """Copy all elements to ``out``: if that is pinned, once the work that is in the stream now has ended."""
    backend, handle = _stream_of(array, stream)
    _check(array, out, "out")
    if not array.size:
        return
    memory = _pinned(out, array, handle)
    backend.read_in(handle, array.address, host_bytes(out), out if memory is None else memory)
    if memory is None:
        backend.synchronize_stream(handle)


def write(array: DeviceArray, source: HostArray | DeviceArray, stream: Any) -> None:
    """Overwrite all elements, after the work that is in the stream now; at once only if the source is not pinned."""
    backend, handle = _stream_of(array, stream)
    _check(array, source, "the source")
    if not array.size:
        return
    if not isinstance(source, np.ndarray):
        if source.backend is not array.backend:
            raise ValueError("a copy in a stream is of arrays of one device: copy without a stream")
        backend.copy_in(handle, array.address, source.address, array.nbytes)
        return
    source = host_array(source, array.layout.type)
    memory = _pinned(source, array, handle)
    backend.write_in(handle, array.address, host_bytes(source), source if memory is None else memory)
    if memory is None:
        backend.synchronize_stream(handle)


def _stream_of(array: DeviceArray, stream: Any) -> tuple[Any, int]:
    backend = array.backend
    if not (isinstance(backend, HostAllocator) and isinstance(backend, StreamBackend)):
        raise ValueError(f"the {array.backend.name} has no copies in streams")
    return backend, stream_handle(stream, array.backend)


def _check(array: DeviceArray, other: Any, what: str) -> None:
    contiguous = other.flags.c_contiguous if isinstance(other, np.ndarray) else other.is_contiguous
    if not array.is_contiguous or not contiguous:
        which = what if array.is_contiguous else "this array"
        raise ValueError(f"{which} is not contiguous, and copies in a stream are of bytes in a row: pass a copy of it")


def _pinned(host: HostArray, array: DeviceArray, stream: int) -> HostMemory | None:
    """The pinned memory under a host array, which the device copies from and to by itself."""
    memory = memory_of(host)
    # One GPU's pinned memory is pinned for all of them. Managed memory may have to be moved first.
    if memory is not None and memory.kind != "managed" and memory.backend.name == array.backend.name:
        return memory
    backend = array.backend
    if isinstance(backend, GraphBackend) and backend.capture_of(stream) is not None:
        raise StreamCaptureError("a copy of ordinary host memory inside of a capture: use a kdsl.pinned_empty array")
    return None
