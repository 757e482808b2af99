"""Arrays in shared, constant and local memory."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from typing import Any, TypeVar

from kdsl.lang.construct import construct
from kdsl.lang.types import Array, Ptr

T = TypeVar("T")


class shared:
    """Memory of a block: ``shared.array`` and ``shared.dynamic``."""

    @staticmethod
    @construct
    def array(shape: int | tuple[int, ...], dtype: type[T]) -> Array[T, Any]:
        """An array that all threads of a block share, uninitialised; ``shape`` is constant.

        One allocation for each place in the source and kernel, not a new one per loop iteration; 48 KB in all.
        """

    @staticmethod
    @construct
    def dynamic(dtype: type[T], offset: int = 0) -> Ptr[T]:
        """The dynamic shared memory of the launch, ``k[grid, block, stream, shared_bytes]``, from byte ``offset`` on.

        All threads of a block share it; it is uninitialised, and aligned to 16 bytes. Views at several offsets may
        have several types. Its length is what the launch says: pass it as a parameter if the kernel needs it.
        """


class constant:
    """Memory that all threads only read: ``constant.array``."""

    @staticmethod
    @construct
    def array(array: Any) -> Array[Any, Any]:
        """A copy of a NumPy array of the host that the kernel captures, for all threads to read; 64 KB in all.

        Fastest where the threads of a warp read the same element. It is copied when the kernel is compiled; a launch
        after the array has changed, or its name was bound to another, compiles again.
        """


class local:
    """Memory of a thread: ``local.array``."""

    @staticmethod
    @construct
    def array(shape: int | tuple[int, ...], dtype: type[T]) -> Array[T, Any]:
        """An array of one thread, uninitialised; ``shape`` is constant. Constant indices keep it in registers."""
