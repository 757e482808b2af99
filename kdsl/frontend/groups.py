"""Groups of threads: how they are made, and what they know of themselves. What they do together is in `collectives`."""

from __future__ import annotations

import ast
from typing import Any

from kdsl.frontend.arguments import match_arguments
from kdsl.frontend.callees import GroupMethod
from kdsl.frontend.frame import Frame
from kdsl.frontend.values import POISON, Poison, Runtime, Static, Value, Weak, constant_int
from kdsl.groups import block, cluster, lanes, whole_grid
from kdsl.ir import nodes as ir
from kdsl.lang import groups as classes
from kdsl.lang.group_type import GroupType
from kdsl.lang.types import U32, boolean
from kdsl.lang.warp import active_mask

SIZES = (1, 2, 4, 8, 16, 32)


def own(frame: Frame, node: ast.expr, function: Any, *values: Value) -> Value:
    """A call of a function of `kdsl.groups`, which stands at ``node``."""
    if any(isinstance(v, Poison) for v in values):
        return POISON
    call = ast.copy_location(ast.Call(func=node, args=[], keywords=[]), node)
    return frame.session.call_function(frame, call, function, tuple((v, node) for v in values))


def make(frame: Frame, node: ast.Call, name: str) -> Value:
    """``this_block()`` and its like, by the name of the class."""
    if name == "Tile":
        return _tile(frame, node)
    if match_arguments(frame, node, frame.text(node.func), ()) is None:
        return POISON
    span = frame.span(node)
    if name == "Coalesced":
        # To a type checker it is the function that the stub's annotations say.
        stub: Any = active_mask
        active = ir.IntrinsicCall(stub, (), (), None, U32, span)
        return _of_lanes(frame, Runtime(active), GroupType(name), node)
    return Runtime(ir.Bitcast(ir.Const(0, U32, span), GroupType(name), span))


def _tile(frame: Frame, node: ast.Call) -> Value:
    """``tile(size)``."""
    found = match_arguments(frame, node, frame.text(node.func), ("size",))
    if found is None:
        return POISON
    value, place = frame.value(found["size"]), found["size"]
    size = constant_int(value)
    if size is None:
        if isinstance(value, Poison):
            return POISON
        return frame.error(place, "the size of a tile is a constant int", "1, 2, 4, 8, 16 or 32")
    if size not in SIZES:
        hint = "groups.this_block() has all threads of a block" if size > 32 else None
        return frame.error(place, f"a tile has 1, 2, 4, 8, 16 or 32 threads, not {size}", hint)
    if not frame.quiet:
        frame.session.largest_tile = max(frame.session.largest_tile, size)
    return _of_lanes(frame, own(frame, node, lanes.tile_mask, Weak(size)), GroupType("Tile", size), node)


def of_lanes(frame: Frame, mask: Value, node: ast.expr) -> Value:
    """The coalesced group of these lanes."""
    return _of_lanes(frame, mask, GroupType("Coalesced"), node)


def _of_lanes(frame: Frame, mask: Value, type: GroupType, node: ast.expr) -> Value:
    expr = frame.runtime(mask, node)
    return POISON if expr is None else Runtime(ir.Bitcast(expr, type, frame.span(node)))


def attribute(frame: Frame, group: Runtime, type: GroupType, node: ast.Attribute) -> Value:
    """What a group knows, or a method to be called."""
    member = getattr(getattr(classes, type.name), node.attr, None)
    if member is None or node.attr.startswith("_"):
        hint = "take a tile of it: groups.tile(32)" if hasattr(classes.Tile, node.attr) else None
        return frame.error(node, f"a {type.name} has no `{node.attr}`", hint)
    if callable(member):
        return Static(GroupMethod(group, type, node.attr))
    match node.attr:
        case "rank":
            return rank(frame, group, type, node)
        case "size":
            return _size(frame, group, type, node)
        case "leader":
            return leader(frame, group, type, node)
        case "mask":
            return mask(frame, group, node)
        case "meta_group_rank":
            return own(frame, node, block.tile_number, Weak(type.size))
        case _:
            assert node.attr == "meta_group_size", node.attr
            return own(frame, node, block.tiles, Weak(type.size))


def mask(frame: Frame, group: Runtime, node: ast.expr) -> Value:
    """The lanes of a group of lanes."""
    return Runtime(ir.Bitcast(group.expr, U32, frame.span(node)))


def rank(frame: Frame, group: Runtime, type: GroupType, node: ast.expr) -> Value:
    """The thread's number in its group."""
    match type.name:
        case "Tile":
            return own(frame, node, lanes.tile_rank, Weak(type.size))
        case "Coalesced":
            return own(frame, node, lanes.rank, mask(frame, group, node))
        case "Block":
            return own(frame, node, block.rank)
        case "Cluster":
            return own(frame, node, cluster.rank)
        case _:
            assert type.name == "Grid", type
            return own(frame, node, whole_grid.rank)


def leader(frame: Frame, group: Runtime, type: GroupType, node: ast.expr) -> Value:
    """Whether the thread is the one of rank 0."""
    number = frame.runtime(rank(frame, group, type, node), node)
    if number is None:
        return POISON
    span = frame.span(node)
    return Runtime(ir.Compare(ir.CompareOp.EQ, number, ir.Const(0, number.type, span), boolean, span))


def _size(frame: Frame, group: Runtime, type: GroupType, node: ast.expr) -> Value:
    match type.name:
        case "Tile":
            return Weak(type.size)
        case "Coalesced":
            return own(frame, node, lanes.size, mask(frame, group, node))
        case "Block":
            return own(frame, node, block.size)
        case "Cluster":
            return own(frame, node, cluster.size)
        case _:
            assert type.name == "Grid", type
            return own(frame, node, whole_grid.size)
