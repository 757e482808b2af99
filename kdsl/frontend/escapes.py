"""What would outlive its memory: a local array that its function returns, and a list that a loop makes anew."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from kdsl.frontend import structs
from kdsl.frontend.frame import Frame
from kdsl.frontend.lists import is_list
from kdsl.frontend.values import Lattice
from kdsl.frontend.written import children, is_written
from kdsl.ir import nodes as ir
from kdsl.lang.fixed_array import has_fixed_array
from kdsl.lang.types import ArrayType, PointerType, Space, TupleType, Type

COPY = "let the caller make it, and pass it as an argument"


def check_returned(frame: Frame, body: tuple[ir.Stmt, ...]) -> None:
    """Report a `return` of a local array of the function's own: it ends with the function."""
    nodes = list(_all(body))
    returned = [n for n in nodes if isinstance(n, ir.Return) and n.value is not None and _is_local(n.value.type)]
    if not returned:
        return
    assigned = [n for n in nodes if isinstance(n, ir.Assign | ir.AssignExpr) and _is_local(n.local.type)]
    own: set[int] = set()
    while True:
        found = {n.local.uid for n in assigned if _holds(n.value, own)}
        if found <= own:
            break
        own |= found
    for statement in returned:
        assert statement.value is not None
        if _holds(statement.value, own):
            frame.error(statement.value.span, f"a local array of `{frame.name}` ends with it", COPY)


def check_object(frame: Frame, body: tuple[ir.Stmt, ...], callees: Mapping[str, ir.Function]) -> None:
    """Report a method that changes an array of its object through another name, or in a function that it calls."""
    if structs.method_name(frame) is None or frame.changes_self or not frame.scope.parameters:
        return
    own = frame.locals.get(frame.scope.parameters[0].arg)
    if own is None or frame.name in structs.IN_PLACE or not has_fixed_array(own.type):
        return
    if frame.session.reporter.count == 0 and is_written(own, body, callees):
        message = f"`{frame.name}` changes an array of `{own.name}` through another name, and is not seen to change it"
        name = f"{own.name}.array[i] = ..."
        frame.error(frame.file.def_line(frame.scope.node), message, f"assign to its elements in the method: {name}")


def _is_local(type: Type) -> bool:
    if isinstance(type, TupleType):
        return any(map(_is_local, type.elements))
    return isinstance(type, ArrayType | PointerType) and type.space is Space.LOCAL


def _holds(value: ir.Expr, own: set[int]) -> bool:
    """Whether a value is made of a local array, or of a variable that holds one."""
    for node in _all((value,)):
        if isinstance(node, ir.LocalArray | ir.LocalAddress) or (isinstance(node, ir.Read) and node.local.uid in own):
            return True
    return False


def _all(nodes: tuple[object, ...]) -> Iterator[object]:
    pending: list[object] = list(nodes)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, ir.Load):  # what is read is no address any more
            pending += children(node)


def check_made_anew(frame: Frame, target: ast.Name, type: Lattice | None) -> None:
    """Report a list made in a loop, in the place of the one before it, which another name still holds."""
    if not frame.loops or frame.quiet or not isinstance(type, ArrayType) or type.space is not Space.LOCAL:
        return
    own = next((b.value for b in frame.scope.bindings.get(target.id, ()) if b.target is target), None)
    if own is None or not _makes_list(own):
        return
    for other, bindings in frame.scope.bindings.items():
        for binding in bindings:
            if other != target.id and binding.value is not None and _is_part_of(binding.value, target.id):
                line = getattr(binding.target, "lineno", target.lineno)
                message = f"a list made anew takes the place of the one before, which `{other}` holds (line {line})"
                frame.error(own, message, f"copy the elements: {other}[:] = {target.id}")
                return


def _makes_list(value: ast.expr) -> bool:
    if isinstance(value, ast.IfExp):
        return _makes_list(value.body) or _makes_list(value.orelse)
    return is_list(value)


def _is_part_of(value: ast.expr, name: str) -> bool:
    """Whether an expression is the array of that name, or a view of it."""
    match value:
        case ast.Name(id=found):
            return found == name
        case ast.Subscript(value=inner, slice=index):
            return any(isinstance(n, ast.Slice) for n in ast.walk(index)) and _is_part_of(inner, name)
        case ast.IfExp(body=then, orelse=orelse):
            return _is_part_of(then, name) or _is_part_of(orelse, name)
        case ast.Attribute(value=inner) | ast.Call(func=ast.Attribute(value=inner)):
            return _is_part_of(inner, name)
        case ast.Tuple(elts=parts):
            return any(_is_part_of(part, name) for part in parts)
        case _:
            return False
