"""``assume_aligned``, ``is_aligned`` and ``copy_block``."""

from __future__ import annotations

import ast

from kdsl import block_copies
from kdsl.frontend.arguments import match_arguments
from kdsl.frontend.copies import check_extents
from kdsl.frontend.frame import Frame
from kdsl.frontend.values import POISON, Poison, Runtime, Static, Value, constant_int, describe, type_of
from kdsl.ir import nodes as ir
from kdsl.lang.types import ArrayType, PointerType, Space, boolean

LARGEST = 4096
BY_RANK = {1: block_copies.rank_1, 2: block_copies.rank_2, 3: block_copies.rank_3}


def assume_aligned(frame: Frame, node: ast.Call) -> Value:
    """``assume_aligned(pointer, alignment)``."""
    found = _arguments(frame, node, "assume_aligned")
    if found is None:
        return POISON
    expr, alignment = found
    return Runtime(ir.AssumeAligned(expr, alignment, expr.type, frame.span(node)))


def is_aligned(frame: Frame, node: ast.Call) -> Value:
    """``is_aligned(pointer, alignment)``."""
    found = _arguments(frame, node, "is_aligned")
    if found is None:
        return POISON
    expr, alignment = found
    return Runtime(ir.IsAligned(expr, alignment, boolean, frame.span(node)))


def _arguments(frame: Frame, node: ast.Call, name: str) -> tuple[ir.Expr, int] | None:
    found = match_arguments(frame, node, name, ("pointer", "alignment"))
    if found is None:
        return None
    value, number = frame.value(found["pointer"]), frame.value(found["alignment"])
    if isinstance(value, Poison) or isinstance(number, Poison):
        return None
    if not isinstance(value, Runtime) or not isinstance(value.type, PointerType | ArrayType):
        kind = type_of(value)
        what = f", and this is {describe(kind)}" if kind is not None else ""
        frame.error(found["pointer"], f"{name}() takes a Ptr or an array{what}")
        return None
    alignment = constant_int(number)
    if alignment is None or not 1 <= alignment <= LARGEST or alignment & (alignment - 1):
        message = f"an alignment is a constant power of two, up to {LARGEST} bytes"
        frame.error(found["alignment"], message, f"such as {name}(p, 16)")
        return None
    return value.expr, alignment


def copy_block(frame: Frame, node: ast.Call) -> Value:
    """``copy_block(destination, source)``, as a statement."""
    name = "copy_block"
    if frame.printed is not node:
        return frame.error(node, f"{name}() returns no value", "call it in a statement of its own")
    found = match_arguments(frame, node, name, ("destination", "source"))
    if found is None:
        return POISON
    places = (found["destination"], found["source"])
    values = [frame.value(place) for place in places]
    types: list[ArrayType] = []
    for value, place in zip(values, places, strict=True):
        if isinstance(value, Poison):
            return POISON
        if not isinstance(value, Runtime) or not isinstance(value.type, ArrayType):
            kind = type_of(value)
            hint = f"say its end: {frame.text(place)}[0:n]" if isinstance(kind, PointerType) else None
            what = f", and this is {describe(kind)}" if kind is not None else ""
            return frame.error(place, f"{name}() takes arrays{what}", hint)
        types.append(value.type)
    to, of = types
    if to.ndim != of.ndim or (to.shape is not None and of.shape is not None and to.shape != of.shape):
        return frame.error(node, f"{name}() of {describe(of)} to {describe(to)}", "extents must be equal")
    if to.space is Space.CONSTANT:
        return frame.error(places[0], "a kernel cannot write constant memory")
    is_dense = not to.strided and not of.strided and to.element == of.element and 16 % to.element.size == 0
    if not is_dense and to.ndim not in BY_RANK:
        return frame.error(node, f"{name}() of 4 dimensions takes contiguous arrays of one type", "copy part by part")
    if frame.session.options.debug and not frame.quiet:
        a, b = (value.expr for value in values if isinstance(value, Runtime))
        check_extents(frame, a, to, b, of, frame.span(node))
    call = ast.copy_location(ast.Call(node.func, list(places), []), node)
    made = frame.session.call_function(frame, call, block_copies.dense if is_dense else BY_RANK[to.ndim])
    if not frame.quiet and isinstance(made, Runtime):
        frame.emit(ir.Evaluate(made.expr, frame.span(node)))
    return Static(None)
