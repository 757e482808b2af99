"""Variables of a module: arrays in global or constant memory that outlive a launch and that the host knows by name.

What the host does with them is in `kdsl.variables`; this is what the compiler must know.
"""

from __future__ import annotations

import os
import re
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from kdsl.lang.struct_type import StructType
from kdsl.lang.types import I32, ArrayType, ElementType, ScalarType, Space, VectorType
from kdsl.locks import Lock

POINTER = "kdsl_address_of_"
"""Begins the name of what holds the address of a variable in global memory."""
CONSTANT_BYTES = 64 * 1024
MOST_INITIAL_BYTES = 1024 * 1024
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


class Variable:
    """One variable. ``initial`` are its first bytes, None for zeros; ``name`` is its PTX name, None for the name that
    a kernel reads it by.

    A kernel that names it depends on the object, as on all that it captures.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        element: ElementType,
        space: Space,
        initial: bytes | None,
        name: str | None,
    ) -> None:
        if name is not None and (not isinstance(name, str) or not _NAME.fullmatch(name)):
            raise ValueError(f"name={name!r} is no name in PTX: ASCII letters, digits and _, a letter first")
        if initial is not None and len(initial) > MOST_INITIAL_BYTES:
            raise ValueError(
                f"init has {len(initial)} bytes, and a module holds {MOST_INITIAL_BYTES}: leave init out, and copy the "
                "values with .copy_from(...)"
            )
        self.type = ArrayType(element, len(shape), space, shape)
        self.initial = initial
        self.name = name
        self.lock = Lock()
        self.homes: dict[Any, Any] = {}
        """Where it lies on each device that it is on."""
        self._sent_as: str | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # A kernel that is pickled by value takes it along. Where it comes twice it is one variable again.
        if self._sent_as is None:
            self._sent_as = os.urandom(16).hex()
            _KNOWN[self._sent_as, self.initial] = self
        given = (self.shape, self.type.element, self.type.space, self.initial, self.name)
        return _restored, (type(self), self._sent_as, given)

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents as a kernel sees them."""
        return self.type.shape or ()

    @property
    def host_shape(self) -> tuple[int, ...]:
        """The shape as the host sees it: a vector is one more axis."""
        element = self.type.element
        return (*self.shape, element.lanes) if isinstance(element, VectorType) else self.shape

    @property
    def scalar(self) -> ScalarType | StructType:
        element = self.type.element
        return element.element if isinstance(element, VectorType) else element

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) * self.type.element.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's type of its scalars."""
        return self.scalar.numpy


_KNOWN: WeakValueDictionary[tuple[str, bytes | None], Variable] = WeakValueDictionary()
"""Variables that were pickled or unpickled, by what they were sent as and their first bytes."""
_KNOWING = Lock()


def _restored(kind: type[Variable], sent_as: str, given: tuple[Any, ...]) -> Variable:
    """A pickled variable: it begins anew in each process, and there is one of it."""
    with _KNOWING:
        found = _KNOWN.get((sent_as, given[3]))
        if found is None:
            found = _KNOWN[sent_as, given[3]] = kind(*given)
            found._sent_as = sent_as
        return found


def checked_shape(shape: Any) -> tuple[int, ...]:
    """1 to 4 constant extents; TypeError or ValueError for anything else."""
    extents = shape if isinstance(shape, tuple | list) else (shape,)
    for extent in extents:
        if isinstance(extent, bool) or not hasattr(type(extent), "__index__"):
            raise TypeError(f"a shape is an int or a tuple of ints, got {shape!r}")
    numbers = tuple(int(extent) for extent in extents)
    if not 1 <= len(numbers) <= 4 or min(numbers) < 1:
        raise ValueError(f"an array of a module has 1 to 4 extents of at least 1, got {shape!r}")
    if int(np.prod(numbers, dtype=object)) > I32.maximum:
        raise ValueError(f"the shape {numbers} has more than 2**31 - 1 elements, which a kernel does not index")
    return numbers
