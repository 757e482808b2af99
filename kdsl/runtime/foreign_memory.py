"""What a GPU adds for sharing memory with other libraries: their streams, and where an address lies."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from kdsl.backend import Backend
from kdsl.runtime.driver_entry import pointer_function
from kdsl.runtime.foreign_array import ForeignArray, NotOnDeviceError
from kdsl.runtime.torch_tensors import note_used, note_written

if TYPE_CHECKING:
    from kdsl.runtime.driver_calls import Calls
    from kdsl.runtime.lent_arrays import LentArrays


@runtime_checkable
class SharingBackend(Protocol):
    """A GPU whose memory and streams other libraries use too."""

    ordinal: int
    lent: LentArrays

    def order(self, first: int, then: int) -> None: ...
    def join(self) -> None:
        """Make later work on the default stream wait for what was launched on streams that are not ordered with it."""
        ...

    def keep(self, owners: Any, stream: int) -> None:
        """Hold ``owners`` until what is in ``stream`` now has ended."""
        ...

    def release(self, owners: Any) -> None:
        """Drop ``owners`` once all work so far has ended; for finalizers."""
        ...

    def own_memory_test(self) -> Callable[[int], bool]:
        """What says whether an address is in memory of this GPU, as the driver knows it; False too where that cannot be
        asked.
        """
        ...

    def device_of(self, address: int) -> int | None:
        """The GPU whose memory ``address`` is in; None for memory that every GPU reaches. NotOnDeviceError for none."""
        ...


def device_of(backend: Backend, address: int) -> int | None:
    """Where an address lies, on a backend that knows; None if any GPU reaches it."""
    sharing = sharing_of(backend)
    return None if sharing is None else sharing.device_of(address)


def sharing_of(backend: Any) -> SharingBackend | None:
    """The backend, if other libraries use its memory too. Asked once: each look at the Protocol takes 20 us."""
    return _sharing_of(backend)


@cache
def _sharing_of(backend: Any) -> SharingBackend | None:
    return backend if isinstance(backend, SharingBackend) else None


def note_launch(arrays: Sequence[tuple[ForeignArray, bool]], stream: int, backend: Backend) -> None:
    """Tell the owners of other libraries' arrays what a launch in ``stream`` does with them: (array, whether it may
    write it).
    """
    if not arrays:
        return
    note_written(array.tensor for array, written in arrays if written and array.tensor is not None)
    sharing = sharing_of(backend)
    if sharing is None:
        return
    away = [a for a, _ in arrays if not a.is_host and not (a.is_ordered and a.stream in (None, stream))]
    note_used([array.tensor for array in away if array.tensor is not None], stream)
    for array in away:
        if array.immutable:
            sharing.lent.add(array)
    owners = [array.owner for array in away if array.tensor is None and not array.immutable]
    if owners:
        sharing.keep(owners, stream)


INVALID_VALUE = 1
HOST_MEMORY = 1
"""CU_MEMORYTYPE_HOST."""


def own_memory_test(calls: Calls) -> Callable[[int], bool]:
    """What `SharingBackend.own_memory_test` gives: a third of the price of a call through cuda-python."""
    ask = pointer_function(calls.api, "cuPointerGetAttribute", 3)
    attribute, own = int(calls.api.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL), calls.ordinal
    number = ctypes.c_int

    def is_own_memory(address: int) -> bool:
        found = number(-1)
        # Without a context, or after a fork, it is not known.
        return not calls.forked and not ask(ctypes.byref(found), attribute, address) and found.value == own

    return is_own_memory


def ordinal_of(calls: Calls, address: int) -> int | None:
    """What `SharingBackend.device_of` says, asked of the driver: one call where it is the device's own memory."""
    attributes = calls.api.CUpointer_attribute
    calls.enter()
    code, ordinal = calls.attempt("cuPointerGetAttribute", attributes.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address)
    if code == INVALID_VALUE:
        raise NotOnDeviceError(f"its address 0x{address:x} is in no memory that CUDA knows; pass a live array")
    if code:
        raise calls.error(code, "cuPointerGetAttribute")
    if int(ordinal) == calls.ordinal:
        return calls.ordinal
    for attribute in (attributes.CU_POINTER_ATTRIBUTE_IS_MANAGED, attributes.CU_POINTER_ATTRIBUTE_MEMORY_TYPE):
        # True is managed memory, and 1 pinned memory of the host: every GPU reaches both.
        if int(calls.bare("cuPointerGetAttribute", attribute, address)) == HOST_MEMORY:
            return None
    return int(ordinal)
