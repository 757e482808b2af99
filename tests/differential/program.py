"""Programs as data: the part of the kernel language that the differential tests exercise.

Types are here by name only (``"i32"``); what they mean is the reference's business.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Name:
    name: str


@dataclass(frozen=True)
class Literal:
    value: bool | int | float


@dataclass(frozen=True)
class Unary:
    """``op`` is one of ``- + ~ not``."""

    op: str
    operand: Expr


@dataclass(frozen=True)
class Binary:
    """``op`` is one of ``+ - * / // % ** & | ^ << >>``."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Compare:
    """A chain: ``operands[0] ops[0] operands[1] ops[1] ...``."""

    ops: tuple[str, ...]
    operands: tuple[Expr, ...]


@dataclass(frozen=True)
class Logical:
    """``and`` or ``or`` of two or more."""

    op: str
    operands: tuple[Expr, ...]


@dataclass(frozen=True)
class Conditional:
    then: Expr
    test: Expr
    orelse: Expr


@dataclass(frozen=True)
class Cast:
    """``type(operand)``; ``int`` and ``float`` are i32 and f32 spelt Python's way."""

    type: str
    operand: Expr


@dataclass(frozen=True)
class Bitcast:
    operand: Expr
    type: str


@dataclass(frozen=True)
class Builtin:
    """``min max abs round pow``, and ``floor ceil sqrt`` of the math module."""

    name: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True)
class Call:
    """A call of one of the program's device functions."""

    function: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True)
class Walrus:
    name: str
    value: Expr


@dataclass(frozen=True)
class Index:
    """``array[i, j]``."""

    array: str
    indices: tuple[Expr, ...]


@dataclass(frozen=True)
class Place:
    """Where a thread is, as it is written: ``thread_idx.x``, ``lane_id()``; an i32."""

    text: str


@dataclass(frozen=True)
class Intrinsic:
    """A pure function of kdsl's: ``popc``, ``fma`` ..."""

    name: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True)
class Tuple:
    """``(a, b)``: what a function returns, or a variable holds."""

    items: tuple[Expr, ...]


@dataclass(frozen=True)
class Item:
    """``name[0]`` of a variable that holds a tuple."""

    name: str
    index: int


@dataclass(frozen=True)
class Vector:
    """``f32x4(parts)``: scalars and vectors, one scalar for all lanes, or a vector to convert."""

    type: str
    parts: tuple[Expr, ...]


@dataclass(frozen=True)
class Components:
    """``vector.x`` or ``vector.zyx``."""

    vector: Expr
    names: str


@dataclass(frozen=True)
class View:
    """``(bitcast(array, Ptr[type]) + offset)[index]``: a part of an array's bits, through a pointer."""

    array: str
    type: str
    offset: Expr
    index: Expr


Expr = (
    View
    | Tuple
    | Item
    | Vector
    | Components
    | Name
    | Literal
    | Unary
    | Binary
    | Compare
    | Logical
    | Conditional
    | Cast
    | Bitcast
    | Builtin
    | Call
    | Walrus
    | Index
    | Place
    | Intrinsic
)


@dataclass(frozen=True)
class Assign:
    """``a = b = value``; ``annotation`` only with one target."""

    targets: tuple[str, ...]
    value: Expr
    annotation: str | None = None


@dataclass(frozen=True)
class Augmented:
    target: str
    op: str
    value: Expr


@dataclass(frozen=True)
class TupleAssign:
    """``a, b = x, y``: all values are taken before any is stored."""

    targets: tuple[str, ...]
    values: tuple[Expr, ...]


@dataclass(frozen=True)
class DivmodAssign:
    """``q, r = divmod(left, right)``."""

    targets: tuple[str, str]
    left: Expr
    right: Expr


@dataclass(frozen=True)
class If:
    test: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...] = ()


@dataclass(frozen=True)
class While:
    test: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...] = ()


@dataclass(frozen=True)
class For:
    """``for target in range(*arguments)``.

    ``way`` may be ``reversed``, or ``static_range`` of literals, which unrolls; ``unroll`` is what ``range`` takes.
    """

    target: str
    arguments: tuple[Expr, ...]
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...] = ()
    way: str = "range"
    unroll: str = ""


@dataclass(frozen=True)
class ForEach:
    """``for target in (a, b, c)``, of any types: one copy of the body for each."""

    target: str
    items: tuple[Expr, ...]
    body: tuple[Stmt, ...]


@dataclass(frozen=True)
class Unrolled:
    """What the reference makes of a loop that is unrolled."""

    bodies: tuple[tuple[Stmt, ...], ...]
    orelse: tuple[Stmt, ...] = ()


@dataclass(frozen=True)
class Case:
    """``case 1 | 2 if guard:``; without patterns ``case capture:``, or ``case _:``."""

    patterns: tuple[Literal, ...]
    capture: str | None
    guard: Expr | None
    body: tuple[Stmt, ...]


@dataclass(frozen=True)
class Match:
    subject: Expr
    cases: tuple[Case, ...]


@dataclass(frozen=True)
class Define:
    """A function inside the program, which sees the variables around it; a lambda if it is only a Return."""

    function: Function


@dataclass(frozen=True)
class Unpack:
    """``a, b = value``, of a call that returns a tuple."""

    targets: tuple[str, ...]
    value: Expr


@dataclass(frozen=True)
class SetComponent:
    """``vector.x = value``; with ``op``, ``vector.x op= value``."""

    vector: str
    name: str
    value: Expr
    op: str | None = None


@dataclass(frozen=True)
class Break:
    pass


@dataclass(frozen=True)
class Continue:
    pass


@dataclass(frozen=True)
class Return:
    """In a device function: return a value. In the program itself: store this to the first output, and return."""

    value: Expr


@dataclass(frozen=True)
class Declare:
    """``name = local.array(shape, type)``, or ``shared.array``."""

    name: str
    space: str
    type: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Store:
    """``array[i, j] = value``; with ``op``, ``array[i, j] op= value``."""

    array: str
    indices: tuple[Expr, ...]
    value: Expr
    op: str | None = None


@dataclass(frozen=True)
class StoreView:
    """An assignment to a View; with ``op``, an augmented one."""

    view: View
    value: Expr
    op: str | None = None


@dataclass(frozen=True)
class Atomic:
    """``target = atomic.name(array, index, *arguments)``; without a target the old value is dropped.

    ``name`` may be ``cas_add``: a loop around ``atomic.cas`` that adds.
    """

    name: str
    array: str
    indices: tuple[Expr, ...]
    arguments: tuple[Expr, ...]
    target: str | None = None


@dataclass(frozen=True)
class Collective:
    """``targets = name(*arguments)``, to which several threads come: barriers, shuffles, votes, reductions."""

    name: str
    arguments: tuple[Expr, ...] = ()
    targets: tuple[str, ...] = ()


Stmt = (
    Assign
    | Augmented
    | TupleAssign
    | DivmodAssign
    | If
    | While
    | For
    | Break
    | Continue
    | Return
    | ForEach
    | Unrolled
    | Match
    | Define
    | Unpack
    | SetComponent
    | Declare
    | Store
    | StoreView
    | Atomic
    | Collective
)


@dataclass(frozen=True)
class Function:
    """A device function. A parameter's annotation is a type's name or None; every path ends in a Return.

    One with an annotated ``result`` may call itself.
    """

    name: str
    parameters: tuple[tuple[str, str | None], ...]
    body: tuple[Stmt, ...]
    result: str | None = None


@dataclass(frozen=True)
class Grid:
    """How a program of many threads is launched. ``block`` is (x, y)."""

    blocks: int
    block: tuple[int, int]

    @property
    def threads(self) -> int:
        """In a block."""
        return self.block[0] * self.block[1]


@dataclass(frozen=True)
class Buffer:
    """An array in global memory that all threads may change, compared when the program has ended."""

    name: str
    type: str
    size: int


@dataclass(frozen=True)
class Program:
    """Inputs are one value a lane; ``result`` is stored to the output of type ``output`` if no Return came before.

    With a ``grid`` the lanes are its threads, which know of each other; ``uniforms`` are passed by value.
    """

    inputs: tuple[tuple[str, str], ...]
    body: tuple[Stmt, ...]
    result: Expr
    output: str
    functions: tuple[Function, ...] = field(default=())
    grid: Grid | None = None
    uniforms: tuple[tuple[str, str], ...] = ()
    buffers: tuple[Buffer, ...] = ()
