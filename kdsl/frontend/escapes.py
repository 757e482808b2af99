"""What would outlive its memory: a local array that its function returns; and objects changed unseen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kdsl.frontend import structs
from kdsl.frontend.frame import Frame
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
