"""The hint for a float where an int is wanted: `//`, if only true divisions of ints make it one, else a cast."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

from kdsl.frontend import convert
from kdsl.frontend.frame import Frame
from kdsl.ir import nodes as ir
from kdsl.ir.operators import BinaryOp
from kdsl.lang.types import ScalarType

_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod)


def cast_hint(frame: Frame, node: ast.expr, expr: ir.Expr, type: ScalarType) -> str:
    """What makes a value of another scalar type a ``type``; ``expr`` is what ``node`` became."""
    if isinstance(expr, ir.Binary) and expr.span != frame.span(node):
        expr = expr.right  # of `n += a / b`, whose sum is no expression of the source
    # Why not the cast alone? f32 holds 24 bits, and an f64 53: the quotient of large ints is another one.
    kept = whole(node, expr) if type.is_int else None
    if kept is None:
        return f"cast it: {type}({frame.text(node)})"
    written = _floored(node)
    return f"divide with //: {written if convert.converts(kept, type) else f'{type}({written})'}"


def whole(node: ast.expr, expr: ir.Expr) -> ScalarType | None:
    """The int type of an expression if it were written with `//`; None if it stays a float, or divides nowhere."""
    return _kept(node, expr) if _divides(node, expr) else None


def _divides(node: ast.expr, expr: ir.Expr) -> bool:
    return any(isinstance(n, ast.BinOp) and e.op is BinaryOp.DIV for n, e in _operators(node, expr))


def _operators(node: ast.expr, expr: ir.Expr) -> list[tuple[ast.expr, ir.Binary]]:
    """The binary operators at the surface, each as it is written and as it is typed."""
    expr = _uncast(expr)
    below = [pair for part in _parts(node, expr) for pair in _operators(*part)]
    return [(node, expr), *below] if isinstance(expr, ir.Binary) and isinstance(node, ast.BinOp) else below


def _parts(node: ast.expr, expr: ir.Expr) -> list[tuple[ast.expr, ir.Expr]]:
    match node, expr:
        case ast.BinOp(left, op, right), ir.Binary() if isinstance(op, _ARITHMETIC):
            return [(left, expr.left), (right, expr.right)]
        case ast.UnaryOp(operand=operand), ir.Unary():
            return [(operand, expr.operand)]
        case ast.IfExp(body=then, orelse=orelse), ir.Conditional():
            return [(then, expr.then), (orelse, expr.orelse)]
    return []


def _kept(node: ast.expr, expr: ir.Expr) -> ScalarType | None:
    """The int type of a part; None for a float. A literal has that of what it meets."""
    expr = _uncast(expr)
    parts = _parts(node, expr)
    if not parts:
        return expr.type if isinstance(expr.type, ScalarType) and expr.type.is_int else None
    found = [_kept(n, e) for n, e in parts if not _is_literal(n)]
    joined = found[0] if found else None
    for type in found[1:]:
        joined = None if joined is None or type is None else convert.common(joined, type)
    return None if joined is None else convert.widened(joined)


def _is_literal(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def _uncast(expr: ir.Expr) -> ir.Expr:
    while isinstance(expr, ir.Cast) and isinstance(expr.type, ScalarType) and expr.type.is_float:
        expr = expr.operand
    return expr


def _floored(node: ast.expr) -> str:
    """The source with `/` as `//`, of operators at the surface: what a call or an index divides is left."""
    made = copy.deepcopy(node)
    for part in _surface(made):
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Div):
            part.op = ast.FloorDiv()
    return ast.unparse(made)


def _surface(node: ast.expr) -> Iterator[ast.expr]:
    yield node
    match node:
        case ast.BinOp(left, op, right) if isinstance(op, _ARITHMETIC):
            yield from _surface(left)
            yield from _surface(right)
        case ast.UnaryOp(operand=operand):
            yield from _surface(operand)
        case ast.IfExp(body=then, orelse=orelse):
            yield from _surface(then)
            yield from _surface(orelse)
