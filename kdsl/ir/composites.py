"""The expressions of the typed tree that make tuples, structs and vectors, and take them apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdsl.ir.operators import BinaryOp, UnaryOp
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import ScalarType, Type, VectorType
from kdsl.records import dataclass
from kdsl.source import Span

if TYPE_CHECKING:
    from kdsl.ir.expressions import Expr


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
