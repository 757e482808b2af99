"""``for x in array``: each element, or row, is read when its turn comes."""

from __future__ import annotations

import ast
from collections.abc import Callable

from kdsl.frontend.array_elements import element
from kdsl.frontend.assign import kept
from kdsl.frontend.frame import Frame, Loop
from kdsl.frontend.values import Runtime, Value
from kdsl.ir import nodes as ir
from kdsl.lang.types import I32, ArrayType, Space

Body = Callable[[Frame, list[ast.stmt]], tuple[ir.Stmt, ...]]
LARGEST_UNROLL = 32
"""Elements of a local array whose loop is written out, so that the array stays in registers."""


def is_array(value: Value) -> bool:
    return isinstance(value, Runtime) and isinstance(value.type, ArrayType)


def for_array(frame: Frame, node: ast.For, value: Value, block: Body, assign_targets: Callable[[Value], None]) -> None:
    """A loop over the first axis of an array; ``assign_targets`` gives an element to the loop's variables."""
    array = kept(frame, value, node.iter)
    assert isinstance(array, Runtime)
    t = array.type
    assert isinstance(t, ArrayType)
    index, span = t.index or I32, frame.span(node)
    counter = frame.local("position", index)
    before = frame.bound
    loop = Loop()
    frame.loops.append(loop)
    with frame.block() as built:
        assign_targets(kept(frame, element(frame, array.expr, ir.Read(counter, index, span), node.iter), node.iter))
        built += block(frame, node.body)
    frame.loops.pop()
    runs = t.shape is not None and t.shape[0] > 0
    frame.bound = (frame.bound & loop.continues) if runs else before
    orelse = block(frame, node.orelse)
    frame.bound &= loop.breaks
    zero, one = ir.Const(0, index, span), ir.Const(1, index, span)
    stop = ir.Extent(array.expr, 0, index, span) if t.shape is None else ir.Const(t.shape[0], index, span)
    unroll = True if t.space is Space.LOCAL and t.shape is not None and t.shape[0] <= LARGEST_UNROLL else None
    frame.emit(ir.ForRange(counter, zero, stop, one, tuple(built), orelse, span, unroll))
