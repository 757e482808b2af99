"""Expressions: one `match` is the index of what each becomes."""

from __future__ import annotations

import ast

from kdsl.frontend import convert, lists, struct_methods
from kdsl.frontend.attributes import attribute
from kdsl.frontend.callees import NestedFunction
from kdsl.frontend.calls import call
from kdsl.frontend.complex_numbers import is_complex
from kdsl.frontend.frame import Frame
from kdsl.frontend.logic import bool_op, comparison, conditional
from kdsl.frontend.meet import cast
from kdsl.frontend.memory import subscript
from kdsl.frontend.operands import Operands
from kdsl.frontend.operators import BINARY, binary, is_operand, unary
from kdsl.frontend.structs import struct_type
from kdsl.frontend.syntax import CONSTANTS, LONGEST_CHAIN, MATRIX_PRODUCT, refuse, refuse_chain
from kdsl.frontend.values import POISON, Poison, Runtime, Static, Tuple, Value, Weak
from kdsl.ir.nodes import UnaryOp
from kdsl.lang.types import VOID, ScalarType, boolean


def evaluate(frame: Frame, node: ast.expr) -> Value:
    """What an expression is; its mistakes are reported."""
    match node:
        case ast.Name():
            return frame.read(node.id, node)
        case ast.Constant():
            return _constant(frame, node)
        case ast.List() | ast.ListComp() | ast.BinOp() if lists.is_list(node):
            return lists.list_(frame, node)
        case ast.BinOp():
            return _binary(frame, node)
        case ast.Subscript():
            return subscript(frame, node)
        case ast.Call():
            return _result(frame, node)
        case ast.Attribute():
            return attribute(frame, node)
        case ast.Compare():
            return comparison(frame, node)
        case ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
            return bool_op(frame, node)
        case ast.UnaryOp():
            return _unary(frame, node)
        case ast.IfExp():
            return conditional(frame, node)
        case ast.Tuple():
            return _tuple(frame, node)
        case ast.NamedExpr():
            return _walrus(frame, node)
        case ast.Lambda():
            return Static(NestedFunction(node, frame))
        case _:
            return refuse(frame, node)


def _result(frame: Frame, node: ast.Call) -> Value:
    """What a call returns. One that returns nothing may only be a statement of its own, or be returned."""
    is_statement = frame.printed is node
    value = call(frame, node)
    if isinstance(value, Runtime) and value.type == VOID and not is_statement:
        return frame.error(node, f"`{frame.text(node)}` returns no value", "call it in a statement of its own")
    return value


def _constant(frame: Frame, node: ast.Constant) -> Value:
    match node.value:
        case bool(value):
            return frame.const(value, boolean, node)
        case int() | float() | complex():
            return Weak(node.value)
        case None | str():
            return Static(node.value)
        case _:
            return frame.error(node, *CONSTANTS[type(node.value)])


def _binary(frame: Frame, node: ast.BinOp) -> Value:
    # A sum of many terms is deep on its left side only: no recursion there.
    spine = [node]
    while isinstance(spine[-1].left, ast.BinOp):
        spine.append(spine[-1].left)
    if len(spine) > LONGEST_CHAIN:
        return refuse_chain(frame, node)
    left = frame.value(spine[-1].left)
    for step in reversed(spine):
        right = frame.value(step.right)
        if isinstance(step.op, ast.MatMult):
            left = frame.error(step, *MATRIX_PRODUCT)
            continue
        left = binary(frame, BINARY[type(step.op)], Operands(left, right, step, (step.left, step.right)))
    return left


def _unary(frame: Frame, node: ast.UnaryOp) -> Value:
    value = frame.value(node.operand)
    if isinstance(node.op, ast.UAdd) and is_complex(value):
        return value
    if isinstance(node.op, ast.UAdd) and struct_type(value):
        return struct_methods.special(frame, "__pos__", value, (), node, node.operand, "`+`")
    if isinstance(node.op, ast.UAdd):
        if not is_operand(frame, value, node.operand, "`+`"):
            return POISON
        if isinstance(value, Runtime) and isinstance(value.type, ScalarType):
            return Runtime(cast(value.expr, convert.widened(value.type), frame.span(node)))
        return value
    op = UnaryOp.NEG if isinstance(node.op, ast.USub) else UnaryOp.INVERT
    return unary(frame, op, value, node, node.operand)


def _tuple(frame: Frame, node: ast.Tuple) -> Value:
    parts = tuple(frame.value(e) for e in node.elts)
    return POISON if any(isinstance(p, Poison) for p in parts) else Tuple(parts)


def _walrus(frame: Frame, node: ast.NamedExpr) -> Value:
    from kdsl.frontend.assign import assigned  # it stands above expressions, and only walrus needs it here

    value = frame.value(node.value)
    return assigned(frame, node.target, value, node)
