"""Statements: one `match` is the index of what each becomes."""

from __future__ import annotations

import ast

from kdsl.frontend.assert_messages import Message, message
from kdsl.frontend.assign import assign, augmented_assign, store
from kdsl.frontend.frame import ALL, Frame
from kdsl.frontend.logic import Test, test
from kdsl.frontend.loops import for_, while_
from kdsl.frontend.meet import check_group, converted
from kdsl.frontend.names import RETURN, stored_names
from kdsl.frontend.syntax import LONGEST_CHAIN, RETURNED_VALUE, refuse
from kdsl.frontend.values import Lattice, Poison, Runtime, Static, Tuple, Value, WeakChoice
from kdsl.ir import nodes as ir
from kdsl.lang.group_type import GroupType
from kdsl.lang.types import VOID


def block(frame: Frame, body: list[ast.stmt]) -> tuple[ir.Stmt, ...]:
    """Build statements in order."""
    with frame.block() as built:
        for node in body:
            statement(frame, node)
    return tuple(built)


def statement(frame: Frame, node: ast.stmt) -> None:
    match node:
        case ast.Assign():
            assign(frame, node)
        case ast.AugAssign():
            augmented_assign(frame, node)
        case ast.AnnAssign():
            _annotated(frame, node)
        case ast.Expr():
            _expression(frame, node)
        case ast.If():
            _if(frame, node)
        case ast.For():
            for_(frame, node, block)
        case ast.While():
            while_(frame, node, block)
        case ast.Match():
            from kdsl.frontend.match import match_  # start-up cost: few kernels have one

            match_(frame, node, block)
        case ast.Return():
            _return(frame, node)
        case ast.Break():
            if frame.loops:
                frame.loops[-1].breaks &= frame.bound
            frame.emit(ir.Break(frame.span(node)))
            frame.bound = ALL
        case ast.Continue():
            if frame.loops:
                frame.loops[-1].continues &= frame.bound
            frame.emit(ir.Continue(frame.span(node)))
            frame.bound = ALL
        case ast.Assert():
            _assert(frame, node)
        case ast.FunctionDef():
            _define(frame, node)
        case ast.Pass():
            pass
        case ast.Global(names) | ast.Nonlocal(names):
            refuse(frame, node)
            for name in names:
                frame.bound |= frame.scope.bits.get(name, 0)
        case _:
            refuse(frame, node)
            for name in stored_names(node):
                frame.bound |= frame.scope.bits.get(name, 0)


def _annotated(frame: Frame, node: ast.AnnAssign) -> None:
    if not isinstance(node.target, ast.Name):
        frame.error(node.annotation, "only a variable can be declared with a type", "leave the annotation out")
        return
    name = node.target.id
    if any(p.arg == name for p in frame.scope.parameters):
        frame.error(node.annotation, f"`{name}` is a parameter and has its type already", "leave the annotation out")
        return
    if name not in frame.declared:
        from kdsl.frontend.annotations import local_annotation  # only to report what is wrong with it

        declared, actual = local_annotation(frame, node.annotation), frame.types.get(name)
        if isinstance(declared, GroupType) and actual is not None:
            check_group(frame, declared, actual, f"`{name}` is annotated", node.value or node.target)
    elif frame.scope.declared[name] is not node:
        first = frame.scope.declared[name].lineno
        frame.error(node.annotation, f"`{name}` is declared at line {first} already")
    if node.value is not None:
        store(frame, node.target, frame.value(node.value), node.value, node)


def _expression(frame: Frame, node: ast.Expr) -> None:
    if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return  # a docstring
    frame.printed = node.value
    value = frame.value(node.value)
    frame.printed = None
    match value:
        case Static(None):  # print() and the like have done their work
            pass
        case _:
            _evaluate(frame, value, node.value)


def _evaluate(frame: Frame, value: Value, node: ast.expr) -> None:
    """A value that nobody uses."""
    match value:
        case Runtime() | WeakChoice() | Static():
            expr = frame.runtime(value, node)
            if expr is not None:
                frame.emit(ir.Evaluate(expr, frame.span(node)))
        case Tuple(parts):
            for part in parts:
                _evaluate(frame, part, node)


def _if(frame: Frame, node: ast.If) -> None:
    """An if with its elifs: a chain of them may be long, so it is walked, not recursed into."""
    arms: list[tuple[Test, tuple[ir.Stmt, ...], ast.If]] = []
    after = ALL
    orelse: list[ast.stmt] = [node]
    while len(orelse) == 1 and isinstance(orelse[0], ast.If):
        arm = orelse[0]
        asked = test(frame, arm.test)
        orelse = arm.orelse
        if asked.constant is not False:
            frame.bound = asked.when_true
            arms.append((asked, block(frame, arm.body), arm))
            after &= frame.bound
        frame.bound = asked.when_false
        if asked.constant:
            # What can never come is dropped before its types are looked at.
            orelse = []
    if len(arms) > LONGEST_CHAIN:
        frame.error(
            frame.file.first_line(node),
            f"more than {LONGEST_CHAIN} elifs",
            "look the value up in an array, or split the chain",
        )
    rest = block(frame, orelse)
    frame.bound &= after
    for asked, body, arm in reversed(arms):
        if asked.constant:
            rest = body
        elif asked.expr is not None:
            rest = (ir.If(asked.expr, body, rest, frame.span(arm)),)
    for built in rest:
        frame.emit(built)


def _return(frame: Frame, node: ast.Return) -> None:
    type = frame.types.get(RETURN)
    if node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None):
        if type is not None and type != VOID:
            frame.error(
                node, f"`{frame.name}` returns {type} elsewhere, and nothing here", "return a value, or none anywhere"
            )
        frame.emit(ir.Return(None, frame.span(node)))
    elif frame.outermost:
        frame.value(node.value)
        frame.error(node, *RETURNED_VALUE)
    else:
        _return_value(frame, node, node.value, type)
    frame.bound = ALL


def _return_value(frame: Frame, node: ast.Return, place: ast.expr, type: Lattice | None) -> None:
    frame.printed = place
    value = frame.value(place)
    frame.printed = None
    is_nothing = isinstance(value, Runtime) and value.type == VOID
    if isinstance(value, Runtime) and is_nothing and type == VOID:
        frame.emit(ir.Evaluate(value.expr, frame.span(place)))
        frame.emit(ir.Return(None, frame.span(node)))
    elif is_nothing:
        frame.error(place, f"`{frame.text(place)}` returns no value", "return a value everywhere, or nowhere")
    elif type == VOID:
        if not isinstance(value, Poison):
            where = "is annotated `-> None`" if RETURN in frame.declared else "returns nothing elsewhere"
            frame.error(
                node, f"`{frame.name}` {where}, and returns a value here", "return a value everywhere, or nowhere"
            )
    elif type is not None:
        first = getattr(frame.decided.get(RETURN), "lineno", None)
        line = f" (line {first})" if first and RETURN not in frame.declared else ""
        expr = converted(frame, value, type, place, f"the result of `{frame.name}`{line}")  # type: ignore[arg-type]
        if expr is not None:
            frame.emit(ir.Return(expr, frame.span(node)))
    else:
        frame.runtime(value, place)


def _assert(frame: Frame, node: ast.Assert) -> None:
    asked = test(frame, node.test)
    made: Message | None = Message()
    if made is not None and node.msg is None:
        made.literal(f"assertion failed: {frame.text(node.test)}")
    elif node.msg is not None:
        frame.bound = asked.when_false
        made = message(frame, node.msg)
        frame.bound = asked.when_true & asked.when_false
    if made is None or not frame.session.options.asserts:
        return
    frame.bound = asked.when_true
    if asked.expr is not None:
        frame.emit(ir.Assert(asked.expr, made.text, frame.span(node), made.template, tuple(made.values)))


def _define(frame: Frame, node: ast.FunctionDef) -> None:
    frame.bound |= frame.scope.bits[node.name]
    for decorator in node.decorator_list:
        frame.error(decorator, "a function inside of a kernel takes no decorators", "leave it out")
    if node.name not in frame.constants and len(frame.scope.bindings[node.name]) > 1:
        frame.error(
            frame.file.first_line(node),
            f"`{node.name}` is bound more than once: a name for a function or type is bound once",
            "give each its own name",
        )
