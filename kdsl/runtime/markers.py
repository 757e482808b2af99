"""`In`, `Out` and `InOut`: which way a launch copies a host array. Without one it is copied in, and back if the kernel
may write it.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from kdsl.runtime.host_memory import IN_PLACE, memory_of
from kdsl.runtime.interface import is_foreign
from kdsl.runtime.memory import DeviceArray


class Marker:
    """A host array with the ways in which a launch copies it. Not for arrays on a device, which are used in place."""

    __slots__ = ("array",)
    is_read: ClassVar[bool]
    """Whether it is copied to the device before the launch."""
    is_returned: ClassVar[bool]
    """Whether it is copied back after it."""

    def __init__(self, array: Any) -> None:
        name = type(self).__name__
        if isinstance(array, Marker):
            raise TypeError(f"{name}({array!r}): one marker is enough")
        if isinstance(array, DeviceArray):
            raise TypeError(f"{name} marks host arrays; a DeviceArray is used where it is: pass it by itself")
        memory = memory_of(array)
        if memory is not None and memory.kind in IN_PLACE:
            raise TypeError(
                f"{name} marks arrays that are copied; a {memory.kind} one is used where it is: pass it by itself"
            )
        if not isinstance(array, np.ndarray) and not is_foreign(array):
            raise TypeError(f"{name} marks a host array, such as a NumPy array; got {array!r}")
        self.array = array

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    @property
    def ndim(self) -> int:
        return len(self.array.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.array.shape, dtype=np.int64))

    @property
    def dtype(self) -> Any:
        return self.array.dtype

    def __len__(self) -> int:
        return len(self.array)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.dtype}{list(self.shape)})"


class In(Marker):
    """Copied to the device, and never back: what the kernel writes into it is dropped with the copy."""

    __slots__ = ()
    is_read = True
    is_returned = False


class Out(Marker):
    """Copied back only: the kernel finds unspecified elements in it, and what it does not write stays so."""

    __slots__ = ()
    is_read = False
    is_returned = True


class InOut(Marker):
    """Copied both ways."""

    __slots__ = ()
    is_read = True
    is_returned = True


def unmarked(value: Any) -> Any:
    """The array in a marker, or the value itself."""
    return value.array if isinstance(value, Marker) else value
