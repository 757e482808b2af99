"""What can be checked of a kernel without types: its syntax, and that its names are defined."""

from __future__ import annotations

import ast

from kdsl.frontend.frame import Frame
from kdsl.frontend.syntax import COMPARISONS, EXPRESSIONS, STATEMENTS, refuse, refuse_comparison


def check_untyped(frame: Frame) -> None:
    """Report every construct that is outside of the language, and every name that is not defined."""
    printed = {
        id(part)
        for node in ast.walk(frame.scope.node)
        if isinstance(node, ast.Call | ast.Assert)
        for part in ast.walk(node)
        if isinstance(part, ast.JoinedStr)
    }
    targets = {id(t) for node in ast.walk(frame.scope.node) for t in _targets(node)}
    for statement in frame.scope.body:
        for node in ast.walk(statement):
            if type(node) in STATEMENTS:
                assert isinstance(node, ast.stmt)
                refuse(frame, node)
            elif type(node) in EXPRESSIONS and id(node) not in printed and id(node) not in targets:
                assert isinstance(node, ast.expr)
                refuse(frame, node)
            elif isinstance(node, ast.Compare):
                for op in node.ops:
                    if type(op) in COMPARISONS:
                        refuse_comparison(frame, op, node)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in frame.scope.free:
                frame.read_outer(node.id, node)


def _targets(node: ast.AST) -> list[ast.expr]:
    """Lists that are assigned to: `[a, b] = ...` is a tuple of targets."""
    match node:
        case ast.Assign(targets=targets):
            return [t for t in targets if isinstance(t, ast.List)]
        case ast.For(target=ast.List() as target):
            return [target]
        case _:
            return []
