"""The typed tree that the frontend makes and codegen lowers: its modules and functions, and all nodes under one roof.

The rest: `expressions` (with `memory` and `composites`), `statements`, `operators`. Every expression has a concrete
type: no weak literal is left. Locals are mutable; LLVM's mem2reg builds SSA from them. docs/language.md says what the
operators mean.
"""

from __future__ import annotations

from dataclasses import field

from kdsl.ir.access import (
    RELAXED,
    Access,
    Caching,
    Order,
    Ordering,
    Scope,
)
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
from kdsl.ir.expressions import (
    AssignExpr,
    Binary,
    Bitcast,
    Call,
    Cast,
    Compare,
    Conditional,
    Const,
    Expr,
    Extern,
    ExternCall,
    InlinePtx,
    IntrinsicCall,
    Local,
    LocalAddress,
    Logical,
    Read,
    Unary,
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
from kdsl.ir.operators import (
    AtomicOp,
    BinaryOp,
    CompareOp,
    LogicalOp,
    UnaryOp,
)
from kdsl.ir.options import Options
from kdsl.ir.statements import (
    Assert,
    Assign,
    Break,
    Continue,
    Evaluate,
    ForRange,
    If,
    Prefetch,
    Print,
    Return,
    Stmt,
    Store,
    Unrolled,
    While,
)
from kdsl.lang.types import Type
from kdsl.lang.variables import Variable
from kdsl.records import dataclass
from kdsl.source import Span

__all__ = [
    "RELAXED",
    "Access",
    "ArrayExpr",
    "Assert",
    "Assign",
    "AssignExpr",
    "AssumeAligned",
    "Atomic",
    "AtomicOp",
    "Binary",
    "BinaryOp",
    "Bitcast",
    "Break",
    "Caching",
    "Call",
    "Cast",
    "Compare",
    "CompareOp",
    "Conditional",
    "Const",
    "ConstantArray",
    "Continue",
    "DynamicShared",
    "ElementAddress",
    "Evaluate",
    "Expr",
    "Extent",
    "Extern",
    "ExternCall",
    "FieldAddress",
    "FieldValue",
    "ForRange",
    "Function",
    "If",
    "InlinePtx",
    "IntrinsicCall",
    "IsAligned",
    "Lanewise",
    "ListExpr",
    "Load",
    "Local",
    "LocalAddress",
    "LocalArray",
    "Logical",
    "LogicalOp",
    "Module",
    "ModuleVariable",
    "Options",
    "Order",
    "Ordering",
    "PointerDifference",
    "Prefetch",
    "Print",
    "Read",
    "Return",
    "Scope",
    "SharedArray",
    "Stmt",
    "Store",
    "Stride",
    "StructExpr",
    "Swizzle",
    "TupleElement",
    "TupleExpr",
    "Unary",
    "UnaryOp",
    "Unrolled",
    "VectorCast",
    "VectorExpr",
    "View",
    "While",
    "WithField",
    "WithLane",
]


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
    block_multiple: int = 1
    """Of a kernel: its blocks have a multiple of so many threads, because it works in tiles of them."""


@dataclass(frozen=True, slots=True)
class Module:
    """What becomes one PTX module: kernels, and the device functions they call; callees first, but in circles."""

    kernels: tuple[Function, ...]
    functions: tuple[Function, ...] = ()
    variables: tuple[tuple[str, Variable], ...] = ()
    """Those that the host reads and writes too, by their names in PTX."""
    externs: tuple[Extern, ...] = ()
    """Functions of other compilers that it calls."""

    def __str__(self) -> str:
        from kdsl.ir.show import show  # it imports the nodes

        return show(self)
