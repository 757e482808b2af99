"""Types of the kernel language: scalars named as PTX-near as Python allows, vectors, pointers, arrays, tuples.

That of a `@struct` class is in `struct_type`, that of a group in `group_type`, those of constants in `parameter_types`,
and what kernels call them all in `type_names`.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import cached_property
from typing import Any, NoReturn, get_args, get_origin

import numpy as np

from kdsl.lang.complex_type import ComplexType
from kdsl.lang.group_type import GroupType
from kdsl.lang.parameter_types import ConstexprType, GenericType
from kdsl.lang.struct_type import StructType
from kdsl.records import dataclass

ML_DTYPES = {"bf16": "bfloat16", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2"}
"""What ml_dtypes calls the types that NumPy lacks."""


class Kind(Enum):
    """What family a scalar type belongs to."""

    BOOL = "bool"
    SIGNED = "signed"
    UNSIGNED = "unsigned"
    FLOAT = "float"
    FLOAT8 = "float8"


class Space(Enum):
    """A PTX state space; the value is LLVM's address space number for NVPTX."""

    GENERIC = 0
    GLOBAL = 1
    SHARED = 3
    CONSTANT = 4
    LOCAL = 5
    CLUSTER = 7
    """Shared memory of any block of the cluster; PTX calls it ``.shared::cluster``."""


@dataclass(frozen=True)
class ScalarType:
    """A scalar type. ``bits`` is its size in memory; a bool takes one byte there."""

    name: str
    kind: Kind
    bits: int

    @property
    def size(self) -> int:
        """Bytes in memory, which is also the alignment."""
        return self.bits // 8

    @property
    def align(self) -> int:
        return self.size

    @property
    def is_float(self) -> bool:
        return self.kind is Kind.FLOAT

    @property
    def is_float8(self) -> bool:
        """Whether it is a float of 8 bits, which is stored and converted, and nothing else."""
        return self.kind is Kind.FLOAT8

    @property
    def is_int(self) -> bool:
        return self.kind in (Kind.SIGNED, Kind.UNSIGNED)

    @property
    def is_signed(self) -> bool:
        return self.kind is Kind.SIGNED

    @cached_property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype with this layout (those of bf16 and of 8-bit floats come from ml_dtypes)."""
        if self.name in ML_DTYPES:
            import ml_dtypes  # start-up cost: only kernels with these types need it

            found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, ML_DTYPES[self.name]))
            return found
        kind = {"bool": "?", "signed": "i", "unsigned": "u", "float": "f"}[self.kind.value]
        return np.dtype(kind if kind == "?" else f"{kind}{self.size}")

    @property
    def minimum(self) -> int:
        """The smallest value of an integer type."""
        return -(1 << (self.bits - 1)) if self.is_signed else 0

    @property
    def maximum(self) -> int:
        """The largest value of an integer type."""
        return (1 << (self.bits - (1 if self.is_signed else 0))) - 1

    def __call__(self, value: Any) -> Any:
        """On the host: the NumPy scalar of this type, a strong constant when a kernel captures it."""
        return self.numpy.type(value)

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__


@dataclass(frozen=True)
class VectorType:
    """2 to 4 scalars side by side, called x, y, z and w. In memory as CUDA's: 2 and 4 are aligned to their size, 3 to
    one of them.
    """

    element: ScalarType
    lanes: int

    @property
    def name(self) -> str:
        return f"{self.element}x{self.lanes}"

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return self.element.size * self.lanes

    @property
    def align(self) -> int:
        return self.element.size if self.lanes == 3 else self.size

    @property
    def numpy(self) -> np.dtype[Any]:
        """A sub-array of the components, as structured dtypes have it."""
        return np.dtype((self.element.numpy, (self.lanes,)))

    def __call__(self, *parts: Any) -> np.ndarray[Any, Any]:
        """On the host: a NumPy array of the components, of numbers and sequences of them; one number is all of them.

        ValueError for another count, OverflowError for an int that does not fit.
        """
        rows = [part if isinstance(part, Sequence | np.ndarray) and np.shape(part) else (part,) for part in parts]
        numbers = [number for row in rows for number in row]
        if len(rows) == len(numbers) == 1:
            numbers *= self.lanes
        if len(numbers) != self.lanes:
            raise ValueError(f"{self.name}() has {self.lanes} components, and this gives {len(numbers)}")
        return np.array([self.element(n) for n in numbers], self.element.numpy)

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__


def _no_union(type: object, other: object) -> NoReturn:
    """``Ptr[f32] | None``: a launch chooses no type of a parameter."""
    raise TypeError(
        f"{type} | {other}: a parameter of a kernel has one type, and no None; pass a flag beside it, or leave out its "
        f"annotation"
    )


@dataclass(frozen=True)
class PointerType:
    """A raw pointer. A kernel parameter's is global; one to a shared array is shared, and so on."""

    element: Type
    space: Space = Space.GLOBAL

    __or__ = __ror__ = _no_union

    @property
    def size(self) -> int:
        """Bytes in memory, which is also the alignment."""
        return 8

    @property
    def align(self) -> int:
        return 8

    @property
    def numpy(self) -> np.dtype[Any]:
        """An address."""
        return np.dtype(np.uint64)

    def __str__(self) -> str:
        return f"Ptr[{self.element}]"

    __repr__ = __str__


@dataclass(frozen=True)
class ArrayType:
    """An array of 1 to 4 dimensions. ``shape`` is known for shared and local arrays, None for parameters.

    ``index`` is the type of extents and strides (None: i32). A value is the data pointer, then the extents unless the
    shape is known, then the strides (counted in elements, not bytes) if ``strided``.
    """

    element: ElementType
    ndim: int
    space: Space = Space.GLOBAL
    shape: tuple[int, ...] | None = None
    index: ScalarType | None = None
    strided: bool = False

    __or__ = __ror__ = _no_union

    def __str__(self) -> str:
        return f"Array[{self.element}, {self.ndim}]"

    __repr__ = __str__


@dataclass(frozen=True)
class TupleType:
    """A tuple of any types; it lives in registers. ``python`` is the class of a NamedTuple, whose fields have names."""

    elements: tuple[Type, ...]
    python: type | None = None

    def __str__(self) -> str:
        if self.python is not None:
            return self.python.__name__
        return f"tuple[{', '.join(map(str, self.elements))}]"

    __repr__ = __str__


@dataclass(frozen=True)
class VoidType:
    """What a function without a value returns."""

    def __str__(self) -> str:
        return "None"

    __repr__ = __str__


ElementType = ScalarType | VectorType | StructType
"""What arrays are made of."""
MemoryType = ScalarType | VectorType | PointerType | StructType
"""What may lie in memory: these have a size, an alignment and a NumPy dtype."""
Type = (
    ScalarType
    | VectorType
    | PointerType
    | StructType
    | ArrayType
    | TupleType
    | GroupType
    | VoidType
    | ConstexprType
    | GenericType
)
VOID = VoidType()
STRUCT_TYPE = "__struct_type__"
"""The attribute of a `@struct` class that holds its type."""

# A separate name, because `bool` must stay Python's: kernels write `bool`, the compiler says `boolean`.
boolean = ScalarType("bool", Kind.BOOL, 8)
# The compiler's own view of what kernels call i8 and f32, which a type checker sees as int and float.
I8, I16, I32, I64 = (ScalarType(f"i{b}", Kind.SIGNED, b) for b in (8, 16, 32, 64))
U8, U16, U32, U64 = (ScalarType(f"u{b}", Kind.UNSIGNED, b) for b in (8, 16, 32, 64))
F16, F32, F64 = (ScalarType(f"f{b}", Kind.FLOAT, b) for b in (16, 32, 64))
BF16 = ScalarType("bf16", Kind.FLOAT, 16)
F8E4M3, F8E5M2 = (ScalarType(name, Kind.FLOAT8, 8) for name in ("f8e4m3", "f8e5m2"))
SCALARS: dict[str, ScalarType] = {
    t.name: t for t in (boolean, I8, I16, I32, I64, U8, U16, U32, U64, F8E4M3, F8E5M2, F16, BF16, F32, F64)
}
COMPLEX64, COMPLEX128 = ComplexType(F32), ComplexType(F64)


def as_type(annotation: Any) -> Type:
    """The type that an annotation object means: ours, a NumPy dtype or scalar type, Python's int, float, complex, bool
    or None.

    Raises TypeError naming what is not a type. Strings are resolved by the caller, which knows the scope.
    """
    if isinstance(annotation, Type):
        return annotation
    if annotation is None:
        return VOID
    if get_origin(annotation) is tuple:
        return TupleType(tuple(map(as_type, get_args(annotation))))
    if isinstance(annotation, type) and issubclass(annotation, tuple) and hasattr(annotation, "_fields"):
        from kdsl.lang.named import named_tuple_type  # it needs the types above

        return named_tuple_type(annotation)
    if isinstance(annotation, type) and isinstance(made := vars(annotation).get(STRUCT_TYPE), StructType):
        return made
    python: dict[Any, Type] = {int: I32, float: F32, bool: boolean, complex: COMPLEX64}
    try:
        if annotation in python:
            return python[annotation]
        dtype = np.dtype(annotation)
    except TypeError:
        raise _no_type(annotation) from None
    for scalar in SCALARS.values():
        if scalar.name not in ML_DTYPES and scalar.numpy == dtype:
            return scalar
    for number in (COMPLEX64, COMPLEX128):
        if number.numpy == dtype:
            return number
    for name, theirs in ML_DTYPES.items():
        if dtype.name == theirs:
            return SCALARS[name]
    raise _no_type(annotation)


def _no_type(annotation: Any) -> TypeError:
    from kdsl.lang.foreign_names import name_meant  # start-up cost: for mistakes alone

    meant = name_meant(annotation)
    return TypeError(f"{annotation!r} is not a type of the kernel language" + (f"; write {meant}" if meant else ""))
