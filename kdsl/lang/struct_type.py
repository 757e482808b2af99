"""The type of a `@struct` class: named fields that lie in memory as in C. `kdsl.lang.struct` makes it of a class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from kdsl.lang.types import MemoryType, ScalarType, VectorType


@dataclass(frozen=True)
class StructField:
    """One field; ``offset`` counts bytes from the beginning of the struct."""

    name: str
    type: MemoryType
    offset: int


class StructType:
    """Named fields of types that may lie in memory, at the offsets that C gives them. Two are equal if they are one.

    ``python`` is the class that it belongs to, None for that of a NumPy dtype or of the language. It is made before its
    fields are known, so that they may point to it: ``size`` is 0 until then.
    """

    def __init__(self, name: str, python: type | None = None) -> None:
        self.name = name
        self.python = python
        self.fields: tuple[StructField, ...] = ()
        self.size = 0
        self.align = 1

    def complete(self, fields: Iterable[tuple[str, MemoryType]], align: int = 1) -> None:
        """Lay the fields out: each naturally aligned, the whole to its strictest field and to ``align``."""
        end, found = 0, []
        for name, type in fields:
            offset = -(-end // type.align) * type.align
            found.append(StructField(name, type, offset))
            align, end = max(align, type.align), offset + type.size
        self.set_layout(found, -(-end // align) * align, align)

    def set_layout(self, fields: Iterable[StructField], size: int, align: int) -> None:
        """Fields at offsets that something else has chosen."""
        self.fields, self.size, self.align = tuple(fields), size, align

    def index(self, name: str) -> int | None:
        """The position of a field; None if there is none of that name."""
        return next((i for i, field in enumerate(self.fields) if field.name == name), None)

    def leaves(self, path: str = "", offset: int = 0) -> Iterator[tuple[str, Any, int]]:
        """Path (``position.x``), type and offset of every scalar, vector and pointer in it, in order."""
        for field in self.fields:
            name, place = f"{path}{field.name}", offset + field.offset
            if isinstance(field.type, StructType):
                yield from field.type.leaves(f"{name}.", place)
            else:
                yield name, field.type, place

    @cached_property
    def numpy(self) -> np.dtype[Any]:
        """The structured dtype with this layout; a vector is a sub-array in it, a pointer a uint64."""
        return np.dtype(
            {
                "names": [f.name for f in self.fields],
                "formats": [f.type.numpy for f in self.fields],
                "offsets": [f.offset for f in self.fields],
                "itemsize": self.size,
            },
            align=True,
        )

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__


@cache
def struct_of_dtype(dtype: np.dtype[Any]) -> StructType:
    """The type of the elements of a structured NumPy array whose class nobody named: the same for equal dtypes.

    TypeError for a dtype with fields that kernels do not have, or at offsets where C has none.
    """
    from kdsl.lang.types import VectorType, as_type  # they need the type above

    made = StructType(f"struct {{{', '.join(dtype.names or ())}}}")
    fields: list[StructField] = []
    align = 1
    for name in dtype.names or ():
        assert dtype.fields is not None
        field, offset, *_ = dtype.fields[name]
        if field.subdtype is not None:
            scalar, shape = field.subdtype
            element = as_type(scalar)
            type: MemoryType = _vector(name, element, shape, VectorType)
        elif field.names is not None:
            type = struct_of_dtype(field)
        else:
            type = as_type(field)  # type: ignore[assignment]  # of a plain dtype it is a scalar
        if offset % type.align:
            raise TypeError(f"field {name!r} is at byte {offset}, which is no multiple of {type.align}")
        align = max(align, type.align)
        fields.append(StructField(name, type, offset))
    if dtype.itemsize % align or not fields:
        raise TypeError(f"elements of {dtype.itemsize} bytes, which is no multiple of {align}")
    made.set_layout(fields, dtype.itemsize, align)
    return made


def _vector(name: str, element: object, shape: tuple[int, ...], vector: type[VectorType]) -> VectorType:
    if len(shape) != 1 or shape[0] not in (2, 4):
        raise TypeError(f"field {name!r} has the shape {shape}, and kernels have vectors of 2 and 4")
    scalar: ScalarType = element  # type: ignore[assignment]  # as above
    return vector(scalar, shape[0])
