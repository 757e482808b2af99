"""The expressions of the typed tree. Each has a concrete `type` and a `span`; a conversion is an explicit `Cast`.

Here are those of scalars, and calls; those of memory are in `memory`, those of tuples, structs and vectors in
`composites`.
"""

from __future__ import annotations

from kdsl.ir.composites import (
    FieldValue,
    Lanewise,
    StructExpr,
    Swizzle,
    TupleElement,
    TupleExpr,
    VectorCast,
    VectorExpr,
    WithField,
    WithLane,
)
from kdsl.ir.memory import (
    ArrayExpr,
    AssumeAligned,
    Atomic,
    ConstantArray,
    DynamicShared,
    ElementAddress,
    Extent,
    FieldAddress,
    IsAligned,
    ListExpr,
    Load,
    LocalArray,
    ModuleVariable,
    PointerDifference,
    SharedArray,
    Stride,
    View,
)
from kdsl.ir.operators import BinaryOp, CompareOp, LogicalOp, UnaryOp
from kdsl.lang.extern import ExternFunction, Source
from kdsl.lang.group_type import GroupType
from kdsl.lang.intrinsic import Intrinsic
from kdsl.lang.types import PointerType, ScalarType, TupleType, Type, VoidType
from kdsl.records import dataclass
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
class LocalAddress:
    """Where a variable lies, whose struct has an array in it: that is in local memory, or in registers after all."""

    local: Local
    type: PointerType
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
class Call:
    """A call of a device function of the same module."""

    function: str
    arguments: tuple[Expr, ...]
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class Extern:
    """A device function of another compiler: its symbol, its types, and what is linked for it. ``result`` is VOID for
    none.
    """

    symbol: str
    parameters: tuple[Type, ...]
    result: Type
    functions: tuple[ExternFunction, ...] = ()
    """Those that declare it, of which each may say what defines it."""

    @property
    def link(self) -> tuple[Source, ...]:
        """What it is linked with."""
        return tuple(source for function in self.functions for source in function.link)

    def __str__(self) -> str:
        result = "" if isinstance(self.result, VoidType) else f" -> {self.result}"
        return f"{self.symbol}({', '.join(map(str, self.parameters))}){result}"


@dataclass(frozen=True, slots=True)
class ExternCall:
    """A call of a function that is not in the module. It may access any memory that it can reach."""

    extern: Extern
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
    | LocalAddress
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
    | ExternCall
    | Atomic
    | InlinePtx
)
