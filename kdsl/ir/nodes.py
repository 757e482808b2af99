"""The whole typed tree on one screen: what the frontend makes and codegen lowers.

Expressions come first, then statements and functions. Every expression has a concrete `type` (weak literals are gone)
and a `span`. Every implicit conversion is an explicit `Cast`. Locals are mutable; LLVM's mem2reg builds SSA from them.
docs/language.md says what the operators mean.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from kdsl.ir.access import RELAXED as RELAXED
from kdsl.ir.access import Access as Access
from kdsl.ir.access import Caching as Caching
from kdsl.ir.access import Order as Order
from kdsl.ir.access import Ordering as Ordering
from kdsl.ir.access import Scope as Scope
from kdsl.ir.options import Options as Options
from kdsl.lang.intrinsic import Intrinsic
from kdsl.lang.types import ArrayType, PointerType, ScalarType, TupleType, Type, VectorType, VoidType
from kdsl.source import Span


class BinaryOp(Enum):
    """Operands have the result's type, but a shift's right one may be any int. DIV is true division of floats."""

    ADD, SUB, MUL, DIV, FLOORDIV, MOD, POW = "+", "-", "*", "/", "//", "%", "**"
    AND, OR, XOR, SHL, SHR = "&", "|", "^", "<<", ">>"
    MIN, MAX = "min", "max"


class UnaryOp(Enum):
    """NOT is of a bool, INVERT of an int or bool; ROUND (half to even), FLOOR and CEIL of a float give that float."""

    NEG, INVERT, NOT, ABS = "-", "~", "not", "abs"
    ROUND, FLOOR, CEIL = "round", "floor", "ceil"


class CompareOp(Enum):
    """Operands of one type; the result is bool."""

    EQ, NE, LT, LE, GT, GE = "==", "!=", "<", "<=", ">", ">="


class LogicalOp(Enum):
    """Short-circuit, on bools."""

    AND, OR = "and", "or"


class AtomicOp(Enum):
    """CAS takes (expected, new), the others (value,)."""

    ADD, SUB, MIN, MAX, EXCH, CAS = "add", "sub", "min", "max", "exch", "cas"
    AND, OR, XOR, INC, DEC = "and", "or", "xor", "inc", "dec"


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

    A contiguous array gives the pointer to its first element.
    """

    operand: Expr
    type: ScalarType | PointerType
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
    """A read of memory; one that is not plain has an ``access``."""

    address: Expr
    type: Type
    span: Span
    access: Access | None = None


@dataclass(frozen=True, slots=True)
class Extent:
    """``array.shape[axis]`` of an array whose shape is not known at compile time; type is the array's index type."""

    array: Expr
    axis: int
    type: ScalarType
    span: Span


@dataclass(frozen=True, slots=True)
class SharedArray:
    """A static shared allocation of a block; ``uid`` is unique within the module's kernel and its functions."""

    uid: int
    name: str
    type: ArrayType
    span: Span


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
class LocalArray:
    """An array of one thread."""

    uid: int
    name: str
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
    """One atomic read-modify-write; gives the old value."""

    op: AtomicOp
    address: Expr
    operands: tuple[Expr, ...]
    type: ScalarType
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
    | SharedArray
    | DynamicShared
    | ConstantArray
    | LocalArray
    | TupleExpr
    | TupleElement
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


@dataclass(frozen=True, slots=True)
class Assign:
    local: Local
    value: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Store:
    """A write to memory; one that is not plain has an ``access``."""

    address: Expr
    value: Expr
    span: Span
    access: Access | None = None


@dataclass(frozen=True, slots=True)
class Prefetch:
    """Bring the line of an address in global memory to the cache of that ``level``."""

    address: Expr
    level: str
    span: Span


@dataclass(frozen=True, slots=True)
class Evaluate:
    """An expression for its effect."""

    value: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class If:
    test: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class While:
    test: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class ForRange:
    """``for target in range(start, stop, step)``; all four have one int type. Never wraps; step 0 iterates not at all.

    The target is assigned at the top of each iteration from a hidden counter, so the body may rebind it. ``unroll`` is
    how often LLVM shall copy the body (True: as often as it runs; False or 1: not at all; None: as it likes).
    ``reverse``: the same values from the last to the first.
    """

    target: Local
    start: Expr
    stop: Expr
    step: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]
    span: Span
    unroll: bool | int | None = None
    reverse: bool = False


@dataclass(frozen=True, slots=True)
class Unrolled:
    """A loop over a tuple: the bodies in order. ``continue`` goes to the next body, ``break`` past ``orelse``."""

    bodies: tuple[tuple[Stmt, ...], ...]
    orelse: tuple[Stmt, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Break:
    span: Span


@dataclass(frozen=True, slots=True)
class Continue:
    span: Span


@dataclass(frozen=True, slots=True)
class Return:
    value: Expr | None
    span: Span


@dataclass(frozen=True, slots=True)
class Print:
    """``format`` is vprintf's, the newline included; a bool argument prints as True or False through ``%s``.

    Arguments are i32, u32, i64, u64, f64, bool or pointers, already promoted as C's varargs are.
    """

    format: str
    arguments: tuple[Expr, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Assert:
    test: Expr
    message: str
    span: Span


Stmt = (
    Assign | Store | Prefetch | Evaluate | If | While | ForRange | Unrolled | Break | Continue | Return | Print | Assert
)


@dataclass(frozen=True, slots=True)
class Function:
    """A kernel or one typed instance of a device function. ``name`` is unique in the module and legal in PTX."""

    name: str
    source_name: str
    parameters: tuple[Local, ...]
    result: Type
    body: tuple[Stmt, ...]
    span: Span
    options: Options = field(default_factory=Options)
    is_kernel: bool = False
    written: frozenset[int] | None = None
    """Of a kernel: uids of the parameters through which memory may be written; None if that is not known."""


@dataclass(frozen=True, slots=True)
class Module:
    """What becomes one PTX module: kernels, and the device functions they call; callees first, but in circles."""

    kernels: tuple[Function, ...]
    functions: tuple[Function, ...] = ()

    def __str__(self) -> str:
        from kdsl.ir.show import show  # it imports the nodes

        return show(self)
