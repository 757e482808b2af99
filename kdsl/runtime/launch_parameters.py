"""A kernel's parameters as a launch sees them, and what it finds for those that take arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kdsl.backend import Backend
from kdsl.lang.struct_dtype import dtype_name
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import U64, ArrayType, PointerType, ScalarType, Type, VectorType
from kdsl.records import dataclass
from kdsl.runtime.errors import ArgumentError
from kdsl.runtime.interface import ForeignArray
from kdsl.runtime.layout import contiguous_strides


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a kernel, as a launch sees it. ``written`` says that the kernel may write through it."""

    kernel: str
    name: str
    type: Type
    written: bool = True

    @property
    def where(self) -> str:
        """How every message about it begins."""
        return f"{self.kernel}: argument `{self.name}`"

    @property
    def element(self) -> ScalarType | StructType:
        """The type of an array parameter's elements; of vectors, that of a component."""
        if self.vector is not None:
            return self.vector.element
        assert isinstance(self.type, (PointerType, ArrayType))
        element = self.type.element
        return element if isinstance(element, ScalarType | StructType) else U64

    @property
    def vector(self) -> VectorType | None:
        """The type of its elements, if they are vectors."""
        element = self.type.element if isinstance(self.type, (PointerType, ArrayType)) else None
        return element if isinstance(element, VectorType) else None

    @property
    def takes(self) -> str:
        """What it takes, in words."""
        vector = self.vector
        if isinstance(self.type, PointerType):
            count = f", {vector.lanes} for each vector" if vector is not None else ""
            return f"{self.type} (a contiguous array of {dtype_name(self.element)}{count})"
        assert isinstance(self.type, ArrayType)
        if vector is not None:
            shape = f"{dimensions(self.type.ndim + 1)}, the last of {vector.lanes}"
            return f"{self.type} (an array of {self.element.numpy} with {shape})"
        return f"{self.type} (an array of {dtype_name(self.element)} with {dimensions(self.type.ndim)})"

    def passing(self, made: str) -> str:
        """The advice to pass ``made``, a copy: what the kernel writes into one is lost with it."""
        return f"pass {made}, and keep it: the kernel may write it" if self.written else f"pass {made}"

    def error(self, kind: Callable[[str], ArgumentError], got: str, fix: str) -> ArgumentError:
        return kind(f"{self.where} takes {self.takes}, got {got}; {fix}")


# Not frozen: one is made for each argument of a launch, and each field would cost twice as much.
@dataclass(slots=True)
class ArrayArgument:
    """An array that fits its parameter. ``strides`` are in elements, None if C-contiguous.

    ``host`` must be copied to the device first. ``copy`` is what makes a contiguous copy, as a user writes it.
    ``is_read`` and ``is_returned`` are a host array's copies, to the device and back if the kernel may write it.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    host: np.ndarray[Any, Any] | None = None
    stream: int | None = None
    foreign: ForeignArray | None = None
    copy: str = "a contiguous copy"
    is_read: bool = True
    is_returned: bool = True
    peer: Backend | None = None
    """The other device whose memory it is in."""

    @property
    def element_strides(self) -> tuple[int, ...]:
        return contiguous_strides(self.shape) if self.strides is None else self.strides


def dimensions(ndim: int) -> str:
    """``ndim`` in words."""
    return f"{ndim} dimension{'s' if ndim != 1 else ''}"
