"""What can be checked of a kernel without types: its syntax, and that its names are defined."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kdsl.frontend.frame import Frame
from kdsl.frontend.syntax import (
    CONSTANTS,
    EXPRESSIONS,
    MATRIX_PRODUCT,
    PATTERNS,
    RETURNED_VALUE,
    STATEMENTS,
    refuse,
    refuse_pattern,
)


def check_untyped(frame: Frame) -> None:
    """Report every construct that is outside of the language, and every name that is not defined."""
    allowed = {id(part) for node in ast.walk(frame.scope.node) for part in _allowed(node)}
    pending: list[ast.AST] = list(reversed(frame.scope.body))
    while pending:
        node = pending.pop()
        # What is inside of a construct that is refused goes with it.
        if id(node) in allowed or not _refused(frame, node):
            pending += reversed(list(ast.iter_child_nodes(node)))
    for part in _own_nodes(frame.scope.body):
        if isinstance(part, ast.Return) and part.value is not None and not _is_none(part.value):
            frame.error(part, *RETURNED_VALUE)


def _refused(frame: Frame, node: ast.AST) -> bool:
    """Report a node that is outside of the language, or a name that is not defined."""
    match node:
        case ast.stmt() if type(node) in STATEMENTS:
            refuse(frame, node)
        case ast.expr() if type(node) in EXPRESSIONS:
            refuse(frame, node)
        case ast.pattern() if type(node) in PATTERNS:
            refuse_pattern(frame, node)
        case ast.Constant(value=value) if type(value) in CONSTANTS:
            frame.error(node, *CONSTANTS[type(value)])
        case ast.BinOp(op=ast.MatMult()) | ast.AugAssign(op=ast.MatMult()):
            frame.error(node, *MATRIX_PRODUCT)
        case ast.Name(id=name, ctx=ast.Load()) if name in frame.scope.free:
            frame.read_outer(name, node)
        case _:
            return False
    return True


def _allowed(node: ast.AST) -> Iterator[ast.AST]:
    """Nodes that are part of the language where they stand: text to print, slices, a comprehension's own names."""
    match node:
        case ast.Call() | ast.Assert():
            yield from (part for part in ast.walk(node) if isinstance(part, ast.JoinedStr | ast.GeneratorExp))
            yield from (part for part in getattr(node, "args", ()) if isinstance(part, ast.Starred))
        case ast.ListComp(generators=generators) | ast.GeneratorExp(generators=generators):
            own = {n.id for g in generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
            yield from (part for part in ast.walk(node) if isinstance(part, ast.Name) and part.id in own)
        case ast.Subscript(slice=index):
            parts = index.elts if isinstance(index, ast.Tuple) else [index]
            yield from (p for p in parts if isinstance(p, ast.Slice) or getattr(p, "value", None) is ...)


def _own_nodes(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """The nodes of a function, without those of functions in it."""
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            pending += ast.iter_child_nodes(node)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
