"""`FixedArray[f32, 4]`: a field of a struct that is an array, as C's `float w[4]`, and what it holds on the host."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from kdsl.lang.complex_type import ComplexType
from kdsl.lang.struct_type import StructField, StructType
from kdsl.lang.types import MemoryType, ScalarType, VectorType, as_type

LARGEST = 4096
"""Elements of a field: each is loaded and stored by itself where a struct is copied."""


class FixedArrayType(StructType):
    """An array inside of a struct. For its layout it is a struct with a field for each element, row by row.

    Made by `fixed_array`: two of the same element and shape are one.
    """

    def __init__(self, element: MemoryType, shape: tuple[int, ...]) -> None:
        super().__init__(f"FixedArray[{', '.join(map(str, (element, *shape)))}]")
        self.element = element
        self.shape = shape
        fields = [StructField(f"[{i}]", element, i * element.size) for i in range(prod(shape))]
        self.set_layout(fields, element.size * len(fields), element.align)

    @cached_property
    def numpy(self) -> np.dtype[Any]:
        """A sub-array, as structured dtypes have it; one of vectors has the components as its last axis."""
        inner = self.element.numpy
        return np.dtype((inner.base, (*self.shape, *inner.shape)))


@cache
def fixed_array(element: MemoryType, shape: tuple[int, ...]) -> FixedArrayType:
    """The type of an array of this element and shape."""
    return FixedArrayType(element, shape)


def has_fixed_array(type: object) -> bool:
    """Whether a type is a struct with an array in it, however deep."""
    if isinstance(type, FixedArrayType):
        return True
    return isinstance(type, StructType) and any(has_fixed_array(f.type) for f in type.fields)


if TYPE_CHECKING:
    # Why Any? `FixedArray[f32, 4]` has a number where a type checker wants a type, which it accepts below Any alone.
    FixedArray: Any
else:

    class FixedArray:
        """A field of a struct that is an array of 1 to 4 dimensions: ``FixedArray[f32, 4]``, ``FixedArray[f32, 3, 3]``.

        Its elements are scalars, vectors, pointers or structs.
        """

        def __class_getitem__(cls, arguments):
            element, *shape = arguments if isinstance(arguments, tuple) else (arguments,)
            type = as_type(element)
            if isinstance(type, FixedArrayType):
                type, shape = type.element, [*shape, *type.shape]
            if not isinstance(type, MemoryType):
                raise TypeError(f"the elements of a FixedArray are scalars, vectors, pointers or structs, got {type}")
            numbers = all(isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in shape)
            if not 1 <= len(shape) <= 4 or not numbers:
                raise TypeError(f"FixedArray takes a type and 1 to 4 extents, such as FixedArray[f32, 4], got {shape}")
            if prod(shape) > LARGEST:
                raise TypeError(f"a FixedArray has at most {LARGEST} elements, got {prod(shape)}")
            if type.size == 0:
                raise TypeError(f"a struct cannot hold itself; hold pointers: FixedArray[Ptr[{type}], {shape[0]}]")
            return fixed_array(type, tuple(shape))


def held(type: FixedArrayType, value: Any, what: str) -> Any:
    """What a field holds on the host: a NumPy array of numbers, a list (of lists) of structs or addresses.

    ValueError, naming the field as ``what``, for another shape.
    """
    if isinstance(type.element, ScalarType | VectorType | ComplexType):
        array = np.array(value, type.element.numpy.base)
        shape = type.numpy.shape
        if array.shape != shape:
            raise ValueError(f"{what} takes {_by(shape)} numbers ({type}), got {_by(array.shape) or 'one number'}")
        return array
    return _rows(value, type.shape, f"{what} ({type})")


def _rows(value: Any, shape: tuple[int, ...], what: str) -> list[Any]:
    if not isinstance(value, Sequence | np.ndarray) or len(value) != shape[0]:
        got = len(value) if isinstance(value, Sequence | np.ndarray) else type(value).__name__
        raise ValueError(f"{what} takes {_by(shape)} elements, got {got}")
    return [_rows(row, shape[1:], what) if len(shape) > 1 else row for row in value]


def _by(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))


def items(type: FixedArrayType, value: Any) -> Iterator[Any]:
    """The elements that a field holds, row by row. ValueError for another shape."""
    if isinstance(value, np.ndarray) and isinstance(type.element, ScalarType | VectorType | StructType):
        if value.shape != type.numpy.shape:
            raise ValueError(f"{type} takes {_by(type.numpy.shape)} numbers, got {_by(value.shape)}")
        yield from value.reshape(prod(type.shape), *value.shape[len(type.shape) :])
        return
    rows = _rows(value, type.shape, str(type))
    for _ in type.shape[1:]:
        rows = [part for row in rows for part in row]
    yield from rows


def nested(type: FixedArrayType, parts: list[Any]) -> list[Any]:
    """Elements as rows of rows, as NumPy takes them."""
    for extent in reversed(type.shape[1:]):
        parts = [parts[i : i + extent] for i in range(0, len(parts), extent)]
    return parts
