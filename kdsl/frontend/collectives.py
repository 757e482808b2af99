"""What the threads of a group do together: each method becomes calls of functions of `kdsl.groups`."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from kdsl.frontend.arguments import match_arguments
from kdsl.frontend.callees import GroupMethod
from kdsl.frontend.combining import Combination, combination
from kdsl.frontend.frame import Frame
from kdsl.frontend.groups import leader, mask, of_lanes, own, rank
from kdsl.frontend.meet import converted
from kdsl.frontend.shuffles import is_movable
from kdsl.frontend.values import POISON, Poison, Runtime, Static, Value, Weak, constant_int, describe, type_of
from kdsl.frontend.workspace import workspace
from kdsl.groups import block, cluster, lanes, whole_grid
from kdsl.lang import groups as classes
from kdsl.lang.group_type import GroupType
from kdsl.lang.types import I32, I64, Kind, ScalarType, Type, boolean
from kdsl.records import dataclass

MOST = {"Block": 1024, "Cluster": 16 * 1024, "Coalesced": 32}
"""Threads of the largest group."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One call of a method: the group, and the expression for each argument that is given."""

    frame: Frame
    node: ast.Call
    group: Runtime
    type: GroupType
    found: Mapping[str, ast.expr]

    def own(self, function: Any, *values: Value) -> Value:
        """A call of a function of `kdsl.groups`."""
        return own(self.frame, self.node, function, *values)

    @property
    def mask(self) -> Value:
        return mask(self.frame, self.group, self.node)

    @property
    def rank(self) -> Value:
        return rank(self.frame, self.group, self.type, self.node)

    @property
    def size(self) -> Value:
        """Of a tile."""
        return Weak(self.type.size)

    def argument(self, name: str, type: ScalarType, default: int | None = None) -> Value:
        """A scalar argument, converted."""
        if name not in self.found:
            assert default is not None
            return Weak(default)
        value = self.frame.value(self.found[name])
        if isinstance(value, Weak) and type.is_int and not isinstance(value.value, float):
            return value
        expr = converted(self.frame, value, type, self.found[name], f"`{name}`")
        return POISON if expr is None else Runtime(expr)

    def value(self, name: str = "value") -> Runtime | None:
        """A value that moves between threads; None (reported) for what does not."""
        place = self.found[name]
        found = self.frame.value(place)
        if isinstance(found, Poison):
            return None
        expr = self.frame.runtime(found, place)
        if expr is None:
            return None
        if is_movable(expr.type):
            return Runtime(expr)
        method = self.node.func.attr if isinstance(self.node.func, ast.Attribute) else ""
        message = (
            f"{method}() takes scalars, vectors, and tuples and structs of them, and this is {describe(expr.type)}"
        )
        self.frame.error(place, message)
        return None

    def workspace(self, type: Type) -> tuple[Value, Value]:
        """Memory for an element of each block, and how many elements it has."""
        place = self.found["workspace"]
        return workspace(self.frame, self.frame.value(place), type, place)

    def scalar(self, name: str) -> Value:
        """A scalar of any type; what is none is reported."""
        value = self.value(name)
        if value is None or isinstance(value.type, ScalarType):
            return POISON if value is None else value
        method = self.node.func.attr if isinstance(self.node.func, ast.Attribute) else ""
        return self.frame.error(self.found[name], f"{method}() takes a scalar, and this is {describe(value.type)}")


def call_method(frame: Frame, method: GroupMethod, node: ast.Call) -> Value:
    """``g.reduce(value, "add")``."""
    if not isinstance(node.func, ast.Attribute):
        hint = f"call it directly: g.{method.name}(...)"
        return frame.error(node.func, f"`{frame.text(node.func)}` is a method of a group, which is no value", hint)
    stub = getattr(getattr(classes, method.type.name), method.name)
    parameters = list(inspect.signature(stub).parameters.values())[1:]
    optional = frozenset(p.name for p in parameters if p.default is not p.empty)
    keywords = frozenset(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)
    found = match_arguments(frame, node, frame.text(node.func), [p.name for p in parameters], optional, keywords)
    if found is None:
        return POISON
    return METHODS[method.name](Asked(frame, node, method.group, method.type, found))


def _sync(asked: Asked) -> Value:
    match asked.type.name:
        case "Block":
            return asked.own(block.wait)
        case "Cluster":
            return asked.own(cluster.wait)
        case "Grid":
            return asked.own(whole_grid.wait)
        case _:
            return asked.own(lanes.wait, asked.mask)


def _reduce(asked: Asked) -> Value:
    value, combined = _combined(asked)
    if value is None or combined is None:
        return POISON
    reduction = combined.reduction
    function = combined.function
    span = asked.frame.span(asked.node)
    match asked.type.name:
        case "Block" | "Cluster" | "Grid":
            if reduction is not None:
                of_block = asked.own(block.reduce_by, value, combined.identity(span), reduction)
            else:
                of_block = asked.own(block.reduce, value, function)
            return _across(asked, of_block, value, function)
        case _ if reduction is not None and asked.type.size != 1:
            return asked.own(lanes.reduce_by, value, asked.mask, reduction)
        case "Tile" if combined.name:
            return asked.own(lanes.exchange, value, asked.mask, asked.size, function)
        case "Tile":
            return asked.own(lanes.fold, value, asked.mask, asked.size, function)
        case _:
            return asked.own(lanes.fold_scattered, value, asked.mask, function)


def _across(asked: Asked, of_block: Value, value: Runtime, function: Static) -> Value:
    """What the blocks have, combined."""
    match asked.type.name:
        case "Block":
            return of_block
        case "Cluster":
            return asked.own(cluster.across, of_block, function)
        case _:
            return asked.own(whole_grid.across, of_block, function, *asked.workspace(value.type))


def _combined(asked: Asked) -> tuple[Runtime | None, Combination | None]:
    value = asked.value()
    op = asked.frame.value(asked.found["op"])
    if value is None:
        return None, None
    return value, combination(asked.frame, value.expr, op, asked.node, asked.found["op"])


def _inclusive_scan(asked: Asked) -> Value:
    value, combined = _combined(asked)
    if value is None or combined is None:
        return POISON
    return _scanned(asked, value, combined)


def _scanned(asked: Asked, value: Runtime, combined: Combination) -> Value:
    match asked.type.name:
        case "Block":
            return asked.own(block.inclusive_scan, value, combined.function)
        case "Cluster":
            return asked.own(cluster.inclusive_scan, value, combined.function)
        case "Grid":
            return asked.own(whole_grid.inclusive_scan, value, combined.function, *asked.workspace(value.type))
        case "Tile":
            return asked.own(lanes.scan, value, asked.rank, asked.mask, asked.size, combined.function)
        case _:
            return asked.own(lanes.scan_scattered, value, asked.mask, combined.function)


def _exclusive_scan(asked: Asked) -> Value:
    value, combined = _combined(asked)
    if value is None or combined is None:
        return POISON
    init = None
    if "init" in asked.found and not _is_none(asked.frame.value(asked.found["init"])):
        place = asked.found["init"]
        expr = converted(asked.frame, asked.frame.value(place), value.type, place, "`init`")
        if expr is None:
            return POISON
        init = Runtime(expr)
    elif not combined.name:
        message = "exclusive_scan() with a function needs `init`, which rank 0 gets"
        return asked.frame.error(asked.node, message, "such as init=0")
    before = _before(asked, value, combined)
    leads = leader(asked.frame, asked.group, asked.type, asked.node)
    if init is None:
        return asked.own(lanes.from_first, before, leads, combined.identity(asked.frame.span(asked.node)))
    return asked.own(lanes.behind, before, leads, init, combined.function)


def _is_none(value: Value) -> bool:
    return isinstance(value, Static) and value.object is None


def _before(asked: Asked, value: Runtime, combined: Combination) -> Value:
    """What the ranks below give; of rank 0 any value."""
    match asked.type.name:
        case "Block":
            return asked.own(block.exclusive_scan, value, combined.function)
        case "Cluster":
            return asked.own(cluster.exclusive_scan, value, combined.function)
        case "Grid":
            return asked.own(whole_grid.exclusive_scan, value, combined.function, *asked.workspace(value.type))
        case "Tile":
            return asked.own(lanes.below, _scanned(asked, value, combined), asked.mask, asked.size)
        case _:
            return asked.own(lanes.below_scattered, _scanned(asked, value, combined), asked.mask)


def _broadcast(asked: Asked) -> Value:
    value = asked.value()
    source = asked.argument("src", I64 if asked.type.name == "Grid" else I32, 0)
    if value is None or isinstance(source, Poison):
        return POISON
    number = constant_int(source)
    if number is not None and not 0 <= number < (asked.type.size or MOST.get(asked.type.name, 2**63)):
        place = asked.found["src"]
        return asked.frame.error(place, f"a {asked.type} has no rank {number}")
    match asked.type.name:
        case "Block":
            return asked.own(block.broadcast, value, source)
        case "Cluster":
            return asked.own(cluster.broadcast, value, source)
        case "Grid":
            return asked.own(whole_grid.broadcast, value, source, *asked.workspace(value.type))
        case "Tile":
            return asked.own(lanes.shfl, value, asked.mask, source, asked.size)
        case _ if number == 0:
            return asked.own(lanes.first, value, asked.mask)
        case _:
            return asked.own(lanes.shfl_scattered, value, asked.mask, source)


def _moving(name: str, of_tile: Any, scattered: Any) -> Callable[[Asked], Value]:
    """shfl and its kin, with their second parameter's name."""

    def method(asked: Asked) -> Value:
        value, second = asked.value(), asked.argument(name, I32)
        if value is None or isinstance(second, Poison):
            return POISON
        if asked.type.name == "Tile":
            return asked.own(of_tile, value, asked.mask, second, asked.size)
        return asked.own(scattered, value, asked.mask, second)

    return method


def _voting(function: Any) -> Callable[[Asked], Value]:
    def method(asked: Asked) -> Value:
        return asked.own(function, asked.mask, asked.argument("predicate", boolean))

    return method


def _ballot(asked: Asked) -> Value:
    predicate = asked.argument("predicate", boolean)
    if asked.type.name == "Tile":
        return asked.own(lanes.ballot, asked.mask, predicate, asked.size)
    return asked.own(lanes.ballot_packed, asked.mask, predicate)


def _match_any(asked: Asked) -> Value:
    value = asked.scalar("value")
    if asked.type.name == "Tile":
        return asked.own(lanes.match_any, asked.mask, value, asked.size)
    return asked.own(lanes.match_any_packed, asked.mask, value)


def _match_all(asked: Asked) -> Value:
    return asked.own(lanes.match_all, asked.mask, asked.scalar("value"))


def _partition(asked: Asked) -> Value:
    label = asked.scalar("label")
    type = type_of(label)
    if isinstance(label, Poison) or not isinstance(type, ScalarType):
        return POISON
    function = lanes.split if type.kind is Kind.BOOL else lanes.labelled
    return of_lanes(asked.frame, asked.own(function, asked.mask, label), asked.node)


METHODS: Mapping[str, Callable[[Asked], Value]] = {
    "sync": _sync,
    "reduce": _reduce,
    "inclusive_scan": _inclusive_scan,
    "exclusive_scan": _exclusive_scan,
    "broadcast": _broadcast,
    "shfl": _moving("src", lanes.shfl, lanes.shfl_scattered),
    "shfl_up": _moving("delta", lanes.shfl_up, lanes.shfl_up_scattered),
    "shfl_down": _moving("delta", lanes.shfl_down, lanes.shfl_down_scattered),
    "shfl_xor": _moving("lane_mask", lanes.shfl_xor, None),
    "any": _voting(lanes.any_),
    "all": _voting(lanes.all_),
    "ballot": _ballot,
    "match_any": _match_any,
    "match_all": _match_all,
    "partition": _partition,
}
