"""The expressions of the typed tree that address memory, read it, or change it in one step; and arrays in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdsl.ir.access import RELAXED, Access, Ordering
from kdsl.ir.operators import AtomicOp
from kdsl.lang.types import ArrayType, PointerType, ScalarType, Type, VectorType
from kdsl.lang.variables import Variable
from kdsl.records import dataclass
from kdsl.source import Span

if TYPE_CHECKING:
    from kdsl.ir.expressions import Expr


@dataclass(frozen=True, slots=True)
class ElementAddress:
    """The address of ``base[indices]``: one index for a pointer, ``ndim`` for an array, each of any int type."""

    base: Expr
    indices: tuple[Expr, ...]
    type: PointerType
    span: Span


@dataclass(frozen=True, slots=True)
class FieldAddress:
    """The address of a field of the struct at an address."""

    address: Expr
    index: int
    type: PointerType
    span: Span


@dataclass(frozen=True, slots=True)
class PointerDifference:
    """How many elements ``left`` is past ``right``; both are of one type, and a whole number of elements apart."""

    left: Expr
    right: Expr
    type: ScalarType
    span: Span


@dataclass(frozen=True, slots=True)
class Load:
    """A read of memory; one that is not plain has an ``access``, and may have a cache ``policy`` (a u64)."""

    address: Expr
    type: Type
    span: Span
    access: Access | None = None
    policy: Expr | None = None


@dataclass(frozen=True, slots=True)
class Atomic:
    """One atomic read-modify-write; gives the old value. Of a vector each element is one by itself."""

    op: AtomicOp
    address: Expr
    operands: tuple[Expr, ...]
    type: ScalarType | VectorType
    span: Span
    ordering: Ordering = RELAXED


@dataclass(frozen=True, slots=True)
class Extent:
    """``array.shape[axis]`` of an array whose shape is not known at compile time; type is the array's index type."""

    array: Expr
    axis: int
    type: ScalarType
    span: Span


@dataclass(frozen=True, slots=True)
class Stride:
    """How many elements apart neighbours along an axis of an array are; type is the array's index type."""

    array: Expr
    axis: int
    type: ScalarType
    span: Span


@dataclass(frozen=True, slots=True)
class View:
    """A part of an array, or of the memory at a pointer, as an array: ``base[starts:stops:steps]`` for each axis.

    An axis that is not ``kept`` has an index as its start, and is none of the view's. A start or stop of None is the
    base's end on that side; a step of None is 1. A step that is no constant and not positive gives an empty axis. With
    all of them None the same elements get a less specific type.
    """

    base: Expr
    starts: tuple[Expr | None, ...]
    stops: tuple[Expr | None, ...]
    steps: tuple[Expr | None, ...]
    kept: tuple[bool, ...]
    type: ArrayType
    span: Span


@dataclass(frozen=True, slots=True)
class ArrayExpr:
    """An array of its parts: where it begins, its extents unless the type knows them, its strides if it is strided.

    In a debug build the product of the extents is ``size``, if that is given.
    """

    address: Expr
    extents: tuple[Expr, ...]
    strides: tuple[Expr, ...]
    type: ArrayType
    span: Span
    size: Expr | None = None


@dataclass(frozen=True, slots=True)
class AssumeAligned:
    """A pointer or array whose address is promised to be a multiple of a power of two; a debug build checks it."""

    operand: Expr
    alignment: int
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class IsAligned:
    """Whether the address of a pointer or array is a multiple of a power of two."""

    operand: Expr
    alignment: int
    type: ScalarType
    span: Span


@dataclass(frozen=True, slots=True)
class SharedArray:
    """A static shared allocation of a block; ``uid`` is unique within the module's kernel and its functions.

    ``common``: there is one for the kernel and all functions, whichever of them name it.
    """

    uid: int
    name: str
    type: ArrayType
    span: Span
    common: bool = False


@dataclass(frozen=True, slots=True)
class DynamicShared:
    """Where the block's dynamic shared memory begins, ``offset`` bytes on (of any int type)."""

    offset: Expr
    type: PointerType
    span: Span


@dataclass(frozen=True, slots=True)
class ConstantArray:
    """A host array's contents in constant memory; two of the same contents and element type are one."""

    name: str
    data: bytes
    type: ArrayType
    span: Span


@dataclass(frozen=True, slots=True)
class ModuleVariable:
    """A variable of the module in global or constant memory; ``name`` is its name in PTX."""

    name: str
    variable: Variable
    type: ArrayType
    span: Span


@dataclass(frozen=True, slots=True)
class LocalArray:
    """An array of one thread."""

    uid: int
    name: str
    type: ArrayType
    span: Span


@dataclass(frozen=True, slots=True)
class ListExpr:
    """An array of one thread that gets these elements, ``repeat`` times over; in the same place each time."""

    array: LocalArray
    elements: tuple[Expr, ...]
    repeat: int
    type: ArrayType
    span: Span
