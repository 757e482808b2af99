"""Arrays in shared and local memory."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from typing import Any, TypeVar

from kdsl.lang.construct import construct
from kdsl.lang.types import Array

T = TypeVar("T")


class shared:
    """Memory of a block: ``shared.array``."""

    @staticmethod
    @construct
    def array(shape: int | tuple[int, ...], dtype: type[T]) -> Array[T, Any]:
        """An array that all threads of a block share, uninitialised; ``shape`` is constant.

        One allocation for each place in the source and kernel, not a new one per loop iteration; 48 KB in all.
        """


class local:
    """Memory of a thread: ``local.array``."""

    @staticmethod
    @construct
    def array(shape: int | tuple[int, ...], dtype: type[T]) -> Array[T, Any]:
        """An array of one thread, uninitialised; ``shape`` is constant. Constant indices keep it in registers."""
