"""Python source as a program: the inverse of render.py, for programs that are written by hand."""

from __future__ import annotations

import ast

from . import program as p
from .intrinsics import RULES
from .typing_rules import TYPES

BINARY = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
UNARY = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not"}
COMPARE = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


def statements(source: str) -> tuple[p.Stmt, ...]:
    return tuple(s for node in ast.parse(source).body for s in statement(node))


def block(nodes: list[ast.stmt]) -> tuple[p.Stmt, ...]:
    return tuple(s for node in nodes for s in statement(node))


def statement(node: ast.stmt) -> list[p.Stmt]:
    match node:
        case ast.Assign([ast.Tuple(elts=[ast.Name(q), ast.Name(r)])], ast.Call(ast.Name("divmod"), [a, b])):
            return [p.DivmodAssign((q, r), expression(a), expression(b))]
        case ast.Assign(targets=[ast.Tuple(targets)], value=ast.Tuple(values)):
            return [p.TupleAssign(tuple(map(name, targets)), tuple(map(expression, values)))]
        case ast.Assign([ast.Name(target)], ast.Call(ast.Attribute(ast.Name(space), "array"), [shape, ast.Name(kind)])):
            extents = ast.literal_eval(shape)
            return [p.Declare(target, space, kind, extents if isinstance(extents, tuple) else (extents,))]
        case ast.Assign([ast.Name(function)], ast.Lambda(arguments, value)):
            parameters = tuple((a.arg, None) for a in arguments.args)
            return [p.Define(p.Function(function, parameters, (p.Return(expression(value)),)))]
        case ast.Assign([ast.Subscript(ast.Name(array)) as target], value):
            return [p.Store(array, indices(target), expression(value))]
        case ast.Assign():
            return [p.Assign(tuple(map(name, node.targets)), expression(node.value))]
        case ast.AnnAssign(value=ast.expr() as value):
            return [p.Assign((name(node.target),), expression(value), name(node.annotation))]
        case ast.AugAssign(ast.Subscript(ast.Name(array)) as target, op, value):
            return [p.Store(array, indices(target), expression(value), BINARY[type(op)])]
        case ast.AugAssign():
            return [p.Augmented(name(node.target), BINARY[type(node.op)], expression(node.value))]
        case ast.If():
            return [p.If(expression(node.test), block(node.body), block(node.orelse))]
        case ast.While():
            return [p.While(expression(node.test), block(node.body), block(node.orelse))]
        case ast.For(iter=ast.Call(func=ast.Name("range" | "static_range" as way), args=arguments)):
            bounds = tuple(map(expression, arguments))
            return [p.For(name(node.target), bounds, block(node.body), block(node.orelse), way)]
        case ast.Break():
            return [p.Break()]
        case ast.Continue():
            return [p.Continue()]
        case ast.Pass():
            return []
        case ast.Return(value=ast.expr() as value):
            return [p.Return(expression(value))]
    raise ValueError(ast.unparse(node))


def indices(node: ast.Subscript) -> tuple[p.Expr, ...]:
    return tuple(map(expression, node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]))


def name(node: ast.expr) -> str:
    assert isinstance(node, ast.Name)
    return node.id


def expression(node: ast.expr) -> p.Expr:
    match node:
        case ast.Name():
            return p.Name(node.id)
        case ast.Constant(value=bool() | int() | float() as value):
            return p.Literal(value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return p.Literal(-value)
        case ast.UnaryOp():
            return p.Unary(UNARY[type(node.op)], expression(node.operand))
        case ast.BinOp():
            return p.Binary(BINARY[type(node.op)], expression(node.left), expression(node.right))
        case ast.Compare():
            operands = (node.left, *node.comparators)
            return p.Compare(tuple(COMPARE[type(op)] for op in node.ops), tuple(map(expression, operands)))
        case ast.BoolOp():
            return p.Logical("and" if isinstance(node.op, ast.And) else "or", tuple(map(expression, node.values)))
        case ast.IfExp():
            return p.Conditional(expression(node.body), expression(node.test), expression(node.orelse))
        case ast.NamedExpr():
            return p.Walrus(node.target.id, expression(node.value))
        case ast.Subscript(ast.Name(array)):
            return p.Index(array, indices(node))
        case ast.Call():
            return call(node)
    raise ValueError(ast.unparse(node))


def call(node: ast.Call) -> p.Expr:
    match node.func, node.args:
        case function, arguments if ast.unparse(function) in RULES:
            return p.Intrinsic(ast.unparse(function), tuple(map(expression, arguments)))
        case ast.Name("bitcast"), [operand, kind]:
            return p.Bitcast(expression(operand), name(kind))
        case ast.Name(kind), [operand] if kind in TYPES or kind in ("int", "float"):
            return p.Cast(kind, expression(operand))
        case ast.Name("min" | "max" | "abs" | "round" | "pow" as function), arguments:
            return p.Builtin(function, tuple(map(expression, arguments)))
        case ast.Attribute(ast.Name("math"), function), arguments:
            return p.Builtin(function, tuple(map(expression, arguments)))
        case ast.Name(function), arguments:
            return p.Call(function, tuple(map(expression, arguments)))
    raise ValueError(ast.unparse(node))
