"""Typed trees written by hand: what the frontend would make, without the frontend."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from kdsl.ir import nodes as ir
from kdsl.lang.index import block_dim, block_idx, thread_idx
from kdsl.lang.intrinsic import Intrinsic
from kdsl.lang.types import I32, SCALARS, VOID, ArrayType, PointerType, ScalarType, Type, boolean
from kdsl.source import Span

NUMBERS = tuple(s for s in SCALARS.values() if not s.is_float8)
"""The types that have operators."""

AT = Span("/somewhere/kernels.py", 1, 1, 1, 2)
_uids = itertools.count()


def at(line: int, column: int = 1) -> Span:
    return Span("/somewhere/kernels.py", line, column, line, column + 1)


def local(name: str, t: Type) -> ir.Local:
    return ir.Local(name, t, next(_uids))


def read(variable: ir.Local, span: Span = AT) -> ir.Read:
    return ir.Read(variable, variable.type, span)


def const(value: bool | int | float, t: Type = I32) -> ir.Const:
    return ir.Const(value, t, AT)


def binary(op: str, left: ir.Expr, right: ir.Expr, span: Span = AT) -> ir.Binary:
    assert isinstance(left.type, ScalarType)
    return ir.Binary(ir.BinaryOp(op), left, right, left.type, span)


def unary(op: str, operand: ir.Expr) -> ir.Unary:
    assert isinstance(operand.type, ScalarType)
    return ir.Unary(ir.UnaryOp(op), operand, operand.type, AT)


def compare(op: str, left: ir.Expr, right: ir.Expr, span: Span = AT) -> ir.Compare:
    return ir.Compare(ir.CompareOp(op), left, right, boolean, span)


def logical(op: str, left: ir.Expr, right: ir.Expr) -> ir.Logical:
    return ir.Logical(ir.LogicalOp(op), left, right, boolean, AT)


def cast(value: ir.Expr, t: ScalarType) -> ir.Cast:
    return ir.Cast(value, t, AT)


def element(base: ir.Expr, *indices: ir.Expr, span: Span = AT) -> ir.ElementAddress:
    assert isinstance(base.type, PointerType | ArrayType)
    return ir.ElementAddress(base, indices, PointerType(base.type.element, base.type.space), span)


def load(base: ir.Expr, *indices: ir.Expr, span: Span = AT) -> ir.Load:
    address = element(base, *indices, span=span)
    return ir.Load(address, address.type.element, span)


def store(base: ir.Expr, *indices_and_value: ir.Expr, span: Span = AT) -> ir.Store:
    *indices, value = indices_and_value
    return ir.Store(element(base, *indices, span=span), value, span)


def assign(variable: ir.Local, value: ir.Expr, span: Span = AT) -> ir.Assign:
    return ir.Assign(variable, value, span)


def intrinsic(stub: object, *arguments: ir.Expr, t: Type = I32, **constants: bool | int | str) -> ir.IntrinsicCall:
    assert isinstance(stub, Intrinsic)
    names = tuple(stub.stub.__annotations__)[: len(arguments)]
    return ir.IntrinsicCall(stub, arguments, names, None, t, AT, tuple(constants.items()))


def global_index(span: Span = AT) -> ir.Binary:
    """``block_idx.x * block_dim.x + thread_idx.x``."""
    product = binary("*", intrinsic(block_idx.x), intrinsic(block_dim.x), span)
    return binary("+", product, intrinsic(thread_idx.x), span)


@dataclass
class Kernel:
    """A kernel in the making: its parameters by name, and its statements."""

    name: str
    options: ir.Options = field(default_factory=ir.Options)
    parameters: list[ir.Local] = field(default_factory=list)
    body: list[ir.Stmt] = field(default_factory=list)

    def parameter(self, name: str, t: Type) -> ir.Read:
        self.parameters.append(local(name, t))
        return read(self.parameters[-1])

    def pointer(self, name: str, element_type: Type) -> ir.Read:
        return self.parameter(name, PointerType(element_type))

    def add(self, *statements: ir.Stmt) -> None:
        self.body += statements

    def function(self) -> ir.Function:
        return ir.Function(
            self.name, self.name, tuple(self.parameters), VOID, tuple(self.body), AT, self.options, is_kernel=True
        )

    def module(self, *functions: ir.Function) -> ir.Module:
        return ir.Module((self.function(),), functions)


def pointwise(
    name: str, result: Type, operands: list[ScalarType], make: object, options: ir.Options | None = None
) -> ir.Function:
    """``out[thread_idx.x] = make(a[thread_idx.x], b[thread_idx.x], ...)``."""
    kernel = Kernel(name, options or ir.Options())
    out = kernel.pointer("out", result)
    arrays = [kernel.pointer(f"x{i}", t) for i, t in enumerate(operands)]
    i = intrinsic(thread_idx.x)
    assert callable(make)
    kernel.add(store(out, i, make(*(load(a, i) for a in arrays))))
    return kernel.function()
