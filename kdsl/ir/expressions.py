"""The expressions of the typed tree. Each has a concrete `type` and a `span`; a conversion is an explicit `Cast`."""

from __future__ import annotations

from dataclasses import dataclass

from kdsl.ir.access import RELAXED, Access, Ordering
from kdsl.ir.operators import AtomicOp, BinaryOp, CompareOp, LogicalOp, UnaryOp
from kdsl.lang.intrinsic import Intrinsic
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import ArrayType, GroupType, PointerType, ScalarType, TupleType, Type, VectorType, VoidType
from kdsl.lang.variables import Variable
from kdsl.source import Span


@dataclass(frozen=True, slots=True)
class Local:
    """A mutable variable of a function, or a parameter; ``uid`` is unique within the function."""

    name: str
    type: Type
    uid: int


@dataclass(frozen=True, slots=True)
class Const:
    value: bool | int | float
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class Read:
    local: Local
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class AssignExpr:
    """Store to a local, and give the value (walrus; the middle of a chained comparison)."""

    local: Local
    value: Expr
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class Binary:
    op: BinaryOp
    left: Expr
    right: Expr
    type: ScalarType
    span: Span


@dataclass(frozen=True, slots=True)
class Unary:
    op: UnaryOp
    operand: Expr
    type: ScalarType
    span: Span


@dataclass(frozen=True, slots=True)
class Compare:
    op: CompareOp
    left: Expr
    right: Expr
    type: ScalarType
    span: Span


@dataclass(frozen=True, slots=True)
class Logical:
    op: LogicalOp
    left: Expr
    right: Expr
    type: ScalarType
    span: Span


@dataclass(frozen=True, slots=True)
class Conditional:
    """``then if test else orelse``; only the chosen side is evaluated."""

    test: Expr
    then: Expr
    orelse: Expr
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class Cast:
    """Scalar to scalar by value: ints keep the low bits, float to int saturates with NaN as 0, to bool is ``!= 0``.

    ``checked``: a debug build stops where an int that this gives is not the value that there was.
    """

    operand: Expr
    type: ScalarType
    span: Span
    checked: bool = False


@dataclass(frozen=True, slots=True)
class Bitcast:
    """The same bits as another scalar type of the same size, or a pointer with another element type or space.

    An array gives the pointer to its first element. A group of threads is made of the u32 of its lanes, and gives it.
    """

    operand: Expr
    type: ScalarType | PointerType | GroupType
    span: Span


@dataclass(frozen=True, slots=True)
class ElementAddress:
    """The address of ``base[indices]``: one index for a pointer, ``ndim`` for an array, each of any int type."""

    base: Expr
    indices: tuple[Expr, ...]
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


@dataclass(frozen=True, slots=True)
class TupleExpr:
    elements: tuple[Expr, ...]
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class TupleElement:
    value: Expr
    index: int
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class StructExpr:
    """A struct of values of its fields' types, in their order."""

    elements: tuple[Expr, ...]
    type: StructType
    span: Span


@dataclass(frozen=True, slots=True)
class FieldValue:
    """The field of a struct at a position."""

    value: Expr
    index: int
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class WithField:
    """A struct with another value in one field; that value is evaluated first."""

    value: Expr
    index: int
    element: Expr
    type: StructType
    span: Span


@dataclass(frozen=True, slots=True)
class FieldAddress:
    """The address of a field of the struct at an address."""

    address: Expr
    index: int
    type: PointerType
    span: Span


@dataclass(frozen=True, slots=True)
class VectorExpr:
    """A vector of scalars of its element type, one for each lane."""

    elements: tuple[Expr, ...]
    type: VectorType
    span: Span


@dataclass(frozen=True, slots=True)
class Swizzle:
    """The lanes of a vector, or the one lane of a scalar, in this order and as often as named: ``v.zy``, ``v.xxxx``."""

    value: Expr
    lanes: tuple[int, ...]
    type: ScalarType | VectorType
    span: Span


@dataclass(frozen=True, slots=True)
class WithLane:
    """A vector with another scalar in one lane; the scalar is evaluated first."""

    value: Expr
    index: int
    element: Expr
    type: VectorType
    span: Span


@dataclass(frozen=True, slots=True)
class Lanewise:
    """An operator on each lane; operands have the result's type. An op of None is a fused ``a * b + c`` of floats."""

    op: BinaryOp | UnaryOp | None
    operands: tuple[Expr, ...]
    type: VectorType
    span: Span


@dataclass(frozen=True, slots=True)
class VectorCast:
    """`Cast` of each lane, to a vector of as many."""

    operand: Expr
    type: VectorType
    span: Span


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a device function of the same module."""

    function: str
    arguments: tuple[Expr, ...]
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class IntrinsicCall:
    """``constants`` holds compile-time arguments by parameter name; ``bound`` what the stub's TypeVar was bound to.

    ``parameters`` names the stub's parameter for each of ``arguments``; every default has been filled in.
    """

    intrinsic: Intrinsic
    arguments: tuple[Expr, ...]
    parameters: tuple[str, ...]
    bound: ScalarType | None
    type: Type
    span: Span
    constants: tuple[tuple[str, bool | int | str], ...] = ()


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
class InlinePtx:
    """Instructions written in PTX. ``template`` is their text, with a number for each result, then each operand.

    Without results ``type`` is VOID, with one it is a scalar type or a tuple of one, with more a tuple of scalars.
    Operands are scalars and pointers. ``volatile``: not left out, repeated or moved across others. ``memory``: may
    access any memory. ``early``: a result may be written before every operand was read. ``names`` are the operands'.
    """

    template: tuple[str | int, ...]
    operands: tuple[Expr, ...]
    names: tuple[str, ...]
    type: Type
    volatile: bool
    memory: bool
    early: bool
    span: Span

    @property
    def results(self) -> tuple[Type, ...]:
        match self.type:
            case VoidType():
                return ()
            case TupleType(elements):
                return elements
            case _:
                return (self.type,)


Expr = (
    Const
    | Read
    | AssignExpr
    | Binary
    | Unary
    | Compare
    | Logical
    | Conditional
    | Cast
    | Bitcast
    | ElementAddress
    | PointerDifference
    | Load
    | Extent
    | Stride
    | View
    | ArrayExpr
    | AssumeAligned
    | IsAligned
    | SharedArray
    | DynamicShared
    | ConstantArray
    | ModuleVariable
    | LocalArray
    | ListExpr
    | TupleExpr
    | TupleElement
    | StructExpr
    | FieldValue
    | WithField
    | FieldAddress
    | VectorExpr
    | Swizzle
    | WithLane
    | Lanewise
    | VectorCast
    | Call
    | IntrinsicCall
    | Atomic
    | InlinePtx
)
