"""The names of types that kernels are written with: `f32`, `Ptr[f32]`, `Array[f32, 2]`, `Constexpr[int]`.

To a type checker the scalar names are plain ``int``, ``float`` and ``bool``; the kernel compiler really checks them.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar, Union, get_args, get_origin, overload

import numpy as np

from kdsl.lang.parameter_types import ConstexprType
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import (
    BF16,
    COMPLEX64,
    COMPLEX128,
    F8E4M3,
    F8E5M2,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    ArrayType,
    ElementType,
    PointerType,
    ScalarType,
    Type,
    VectorType,
    as_type,
)

T = TypeVar("T")

if TYPE_CHECKING:
    # One name a line: a chained assignment is not a type alias to mypy.
    i8 = int
    i16 = int
    i32 = int
    i64 = int
    u8 = int
    u16 = int
    u32 = int
    u64 = int
    f16 = float
    bf16 = float
    f8e4m3 = float
    f8e5m2 = float
    f32 = float
    f64 = float
    complex64 = complex
    complex128 = complex

    class Ptr(Generic[T]):
        """A raw pointer, indexed and moved as in C."""

        dtype: Any

        @overload
        def __getitem__(self, index: int) -> T: ...
        @overload
        def __getitem__(self, index: slice) -> Array: ...
        def __getitem__(self, index: Any) -> Any: ...
        @overload
        def __setitem__(self, index: int, value: T) -> None: ...
        @overload
        def __setitem__(self, index: slice, value: Any) -> None: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...
        def __add__(self, count: int) -> Ptr[T]: ...
        def __radd__(self, count: int) -> Ptr[T]: ...
        @overload
        def __sub__(self, other: int) -> Ptr[T]: ...
        @overload
        def __sub__(self, other: Ptr[T]) -> int: ...
        def __sub__(self, other: Any) -> Any: ...
        def __lt__(self, other: Ptr[T]) -> bool: ...
        def __le__(self, other: Ptr[T]) -> bool: ...
        def __gt__(self, other: Ptr[T]) -> bool: ...
        def __ge__(self, other: Ptr[T]) -> bool: ...

    # Why Any? `Array[f32, 2]` has a number where a type checker wants a type, which it accepts below Any alone.
    Array: Any
    Constexpr = Annotated[T, "known while the kernel is compiled"]

else:
    i8, i16, i32, i64 = I8, I16, I32, I64
    u8, u16, u32, u64 = U8, U16, U32, U64
    f8e4m3, f8e5m2, f16, bf16, f32, f64 = F8E4M3, F8E5M2, F16, BF16, F32, F64
    complex64, complex128 = COMPLEX64, COMPLEX128

    class Ptr:
        """A raw pointer, indexed as in C: ``Ptr[f32]``."""

        def __class_getitem__(cls, element):
            # A type variable stays one, for a launch or a call to bind.
            type = element if isinstance(element, TypeVar) else as_type(element)
            if hasattr(type, "shape") and isinstance(type, StructType):
                raise TypeError(f"a {type} is a field of a struct; a pointer to its elements is Ptr[{type.element}]")
            return PointerType(type)

    class Array:
        """A C-contiguous array of 1 to 4 dimensions: ``Array[f32, 2]``."""

        def __class_getitem__(cls, arguments):
            element, ndim = arguments if isinstance(arguments, tuple) else (arguments, 1)
            if not isinstance(ndim, int) or not 1 <= ndim <= 4:
                raise TypeError(f"Array takes a dtype and 1 to 4 dimensions, got {ndim!r}")
            scalar = element if isinstance(element, TypeVar) else as_type(element)
            if not isinstance(scalar, ElementType | TypeVar) or hasattr(scalar, "shape"):
                raise TypeError(f"the elements of an Array are scalars, vectors or structs, got {scalar}")
            return ArrayType(scalar, ndim)

    class Constexpr:
        """A parameter whose value is part of the compiled kernel: ``Constexpr[int]``."""

        def __class_getitem__(cls, element):
            return constexpr_type(element)


def constexpr_type(element: Any) -> ConstexprType:
    """``Constexpr[element]``. TypeError for what no constant is."""
    if get_origin(element) in (Union, UnionType) and type(None) in get_args(element) and len(get_args(element)) == 2:
        (inner,) = (part for part in get_args(element) if part is not type(None))
        return replace(constexpr_type(inner), optional=True)
    if get_origin(element) is tuple:
        form = tuple(part if part is ... else constexpr_type(part) for part in get_args(element))
        return ConstexprType(None, form=form)
    if element is str or (isinstance(element, type) and issubclass(element, Enum)):
        return ConstexprType(None, form=element)
    if element in (type, np.dtype) or get_origin(element) is type:
        return ConstexprType(None, form=Type)
    scalar = as_type(element)
    if isinstance(scalar, VectorType):
        parts = ", ".join([str(scalar.element)] * scalar.lanes)
        raise TypeError(f"Constexpr takes no vector; write {scalar} alone, or Constexpr[tuple[{parts}]]")
    if not isinstance(scalar, ScalarType):
        raise TypeError(f"Constexpr takes a scalar type, a tuple, an enum, type or str, got {scalar}")
    return ConstexprType(scalar, element is int or element is float)
