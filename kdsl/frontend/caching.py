"""``load``, ``store`` and ``prefetch``: accesses that say how they are cached, or that they are volatile."""

from __future__ import annotations

import ast

from kdsl.frontend.access import address_argument, choice, element_type, store_in_order, written_argument
from kdsl.frontend.arguments import match_arguments
from kdsl.frontend.frame import Frame
from kdsl.frontend.meet import converted
from kdsl.frontend.values import POISON, Poison, Runtime, Static, Value
from kdsl.ir import nodes as ir
from kdsl.ir.nodes import Caching
from kdsl.ir.verify import LOAD_CACHES, PREFETCH_LEVELS, STORE_CACHES
from kdsl.lang.types import SCALARS, Space

OPTIONS = frozenset({"cache", "volatile"})


def load(frame: Frame, node: ast.Call) -> Value:
    """``load(array, index, cache=, volatile=)``."""
    name = frame.text(node.func)
    found = match_arguments(frame, node, name, ("array", "index", "cache", "volatile"), OPTIONS, OPTIONS)
    if found is None:
        return POISON
    address = address_argument(frame, node, found)
    caching = _caching(frame, found, LOAD_CACHES, name)
    if address is None or caching is None or not _may_say(frame, address, caching, found, name):
        return POISON
    type = element_type(frame, address, tuple(SCALARS.values()), found, name)
    access = None if caching == Caching() else caching
    return POISON if type is None else Runtime(ir.Load(address, type, frame.span(node), access))


def store(frame: Frame, node: ast.Call) -> Value:
    """``store(array, index, value, cache=, volatile=)``, as a statement."""
    name = frame.text(node.func)
    if frame.printed is not node:
        return frame.error(node, f"{name}() returns no value", "call it in a statement of its own")
    found = match_arguments(frame, node, name, ("array", "index", "value", "cache", "volatile"), OPTIONS, OPTIONS)
    if found is None:
        return POISON
    address, value = written_argument(frame, node, found), frame.value(found["value"])
    caching = _caching(frame, found, STORE_CACHES, name)
    if address is None or caching is None or isinstance(value, Poison):
        return POISON
    if not _may_say(frame, address, caching, found, name):
        return POISON
    type = element_type(frame, address, tuple(SCALARS.values()), found, name)
    expr = None if type is None else converted(frame, value, type, found["value"], f"{name}()")
    if expr is None:
        return POISON
    if not frame.quiet:
        store_in_order(frame, address, expr, node, None if caching == Caching() else caching)
    return Static(None)


def prefetch(frame: Frame, node: ast.Call) -> Value:
    """``prefetch(array, index, level=)``, as a statement."""
    name = frame.text(node.func)
    if frame.printed is not node:
        return frame.error(node, f"{name}() returns no value", "call it in a statement of its own")
    level = frozenset({"level"})
    found = match_arguments(frame, node, name, ("array", "index", "level"), level, level)
    if found is None:
        return POISON
    address = address_argument(frame, node, found)
    chosen = choice(frame, found, "level", {c: c for c in PREFETCH_LEVELS}, PREFETCH_LEVELS[0], name)
    if address is None or chosen is None:
        return POISON
    if address.type.space is not Space.GLOBAL:
        return frame.error(found["array"], f"{name}() is of global memory, and this is {_memory(address)}")
    if not frame.quiet:
        frame.emit(ir.Prefetch(address, str(chosen), frame.span(node)))
    return Static(None)


def _caching(frame: Frame, found: dict[str, ast.expr], caches: tuple[str, ...], name: str) -> Caching | None:
    """What ``cache`` and ``volatile`` say; None (reported) if they are wrong."""
    if "cache" in found and frame.value(found["cache"]) == Static(None):
        found = {parameter: place for parameter, place in found.items() if parameter != "cache"}
    cache = choice(frame, found, "cache", {c: c for c in caches}, "", name)
    volatile = choice(frame, found, "volatile", {False: False, True: True}, False, name)
    if cache is None or volatile is None:
        return None
    if cache and volatile:
        frame.error(found["cache"], "a volatile access has no cache operator", "leave out one of them")
        return None
    return Caching(str(cache), volatile)


def _may_say(frame: Frame, address: ir.ElementAddress, caching: Caching, found: dict[str, ast.expr], name: str) -> bool:
    """Whether the element's memory has caches, or other threads that may change it; what has not is reported."""
    space = address.type.space
    if caching.cache and space is not Space.GLOBAL:
        frame.error(found["cache"], f"`cache` of {name}() is of global memory, and this is {_memory(address)}")
        return False
    if caching.volatile and space not in (Space.GLOBAL, Space.SHARED, Space.CLUSTER):
        frame.error(found["volatile"], f"no other thread changes {_memory(address)}: nothing is volatile there")
        return False
    return True


def _memory(address: ir.ElementAddress) -> str:
    return f"{address.type.space.name.lower()} memory"
