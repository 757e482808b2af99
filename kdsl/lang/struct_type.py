"""The type of a `@struct` class: named fields that lie in memory as in C. `kdsl.lang.struct` makes it of a class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kdsl.records import dataclass

if TYPE_CHECKING:
    from kdsl.lang.types import MemoryType


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
                yield from field.type.leaves(name if hasattr(field.type, "shape") else f"{name}.", place)
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
