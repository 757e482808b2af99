"""``load``, ``store`` and ``prefetch``: accesses that say how they are cached, or that they are volatile."""

from __future__ import annotations

import ast

from kdsl.frontend.access import address_argument, choice, store_in_order, written_argument
from kdsl.frontend.arguments import match_arguments
from kdsl.frontend.frame import Frame
from kdsl.frontend.meet import converted
from kdsl.frontend.values import POISON, Poison, Runtime, Static, Value, describe
from kdsl.ir import nodes as ir
from kdsl.ir.nodes import Caching
from kdsl.ir.verify import EVICTIONS, LOAD_CACHES, PREFETCH_LEVELS, PREFETCH_SIZES, STORE_CACHES
from kdsl.lang.types import U64, Space

STORE_OPTIONS = ("cache", "volatile", "evict", "policy")
LOAD_OPTIONS = (*STORE_OPTIONS, "l2_prefetch")


def load(frame: Frame, node: ast.Call) -> Value:
    """``load(array, index, cache=, volatile=, evict=, l2_prefetch=, policy=)``."""
    name, options = frame.text(node.func), frozenset(LOAD_OPTIONS)
    found = match_arguments(frame, node, name, ("array", "index", *LOAD_OPTIONS), options, options)
    if found is None:
        return POISON
    found = _without_none(frame, found)
    address = address_argument(frame, node, found)
    caching, policy = _caching(frame, found, LOAD_CACHES, name), _policy(frame, found, name)
    if address is None or caching is None or not _may_say(frame, address, caching, found, name):
        return POISON
    if "policy" in found and policy is None:
        return POISON
    return Runtime(ir.Load(address, address.type.element, frame.span(node), _access(caching, policy), policy))


def store(frame: Frame, node: ast.Call) -> Value:
    """``store(array, index, value, cache=, volatile=, evict=, policy=)``, as a statement."""
    name, options = frame.text(node.func), frozenset(STORE_OPTIONS)
    if frame.printed is not node:
        return frame.error(node, f"{name}() returns no value", "call it in a statement of its own")
    found = match_arguments(frame, node, name, ("array", "index", "value", *STORE_OPTIONS), options, options)
    if found is None:
        return POISON
    found = _without_none(frame, found)
    address, value = written_argument(frame, node, found), frame.value(found["value"])
    caching, policy = _caching(frame, found, STORE_CACHES, name), _policy(frame, found, name)
    if address is None or caching is None or isinstance(value, Poison):
        return POISON
    if not _may_say(frame, address, caching, found, name):
        return POISON
    expr = converted(frame, value, address.type.element, found["value"], f"{name}()")
    if expr is None or ("policy" in found and policy is None):
        return POISON
    if not frame.quiet:
        store_in_order(frame, address, expr, node, _access(caching, policy), policy)
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


def _without_none(frame: Frame, found: dict[str, ast.expr]) -> dict[str, ast.expr]:
    """The arguments without the options that are None, which say nothing."""
    return {
        name: place
        for name, place in found.items()
        if name not in ("cache", "evict", "l2_prefetch", "policy") or frame.value(place) != Static(None)
    }


def _access(caching: Caching, policy: ir.Expr | None) -> Caching | None:
    return None if caching == Caching() and policy is None else caching


def _caching(frame: Frame, found: dict[str, ast.expr], caches: tuple[str, ...], name: str) -> Caching | None:
    """What the options say; None (reported) if they are wrong."""
    cache = choice(frame, found, "cache", {c: c for c in caches}, "", name)
    volatile = choice(frame, found, "volatile", {False: False, True: True}, False, name)
    evict = choice(frame, found, "evict", {e: e for e in EVICTIONS}, "", name)
    size = choice(frame, found, "l2_prefetch", {s: s for s in PREFETCH_SIZES}, 0, name)
    if cache is None or volatile is None or evict is None or size is None:
        return None
    if cache and volatile:
        frame.error(found["cache"], "a volatile access has no cache operator", "leave out one of them")
        return None
    for option in ("evict", "l2_prefetch", "policy"):
        if volatile and option in found:
            frame.error(found[option], f"a volatile access has no `{option}`", "leave out one of them")
            return None
    if evict and cache not in ("", "nc"):
        hint = f"leave out one of them; cache={cache!r} says when the line is evicted, too"
        frame.error(found["evict"], "an access has a cache operator or a priority of eviction", hint)
        return None
    return Caching(str(cache), volatile, str(evict), int(size))


def _policy(frame: Frame, found: dict[str, ast.expr], name: str) -> ir.Expr | None:
    """The cache policy; None if there is none, or (reported) if this is no policy."""
    if "policy" not in found:
        return None
    value = frame.value(found["policy"])
    if isinstance(value, Poison):
        return None
    expr = frame.runtime(value, found["policy"])
    if expr is None or (expr.type == U64 and not isinstance(expr, ir.Const)):
        return expr
    this = "a constant" if isinstance(expr, ir.Const) else describe(expr.type)
    message = f"`policy` of {name}() is what createpolicy_fractional() gives, and this is {this}"
    frame.error(found["policy"], message)
    return None


def _may_say(frame: Frame, address: ir.ElementAddress, caching: Caching, found: dict[str, ast.expr], name: str) -> bool:
    """Whether the element's memory has caches, or other threads that may change it; what has not is reported."""
    space = address.type.space
    for option in ("cache", "evict", "l2_prefetch", "policy"):
        if option in found and space is not Space.GLOBAL:
            frame.error(found[option], f"`{option}` of {name}() is of global memory, and this is {_memory(address)}")
            return False
    if caching.volatile and space not in (Space.GLOBAL, Space.SHARED, Space.CLUSTER):
        frame.error(found["volatile"], f"no other thread changes {_memory(address)}: nothing is volatile there")
        return False
    return True


def _memory(address: ir.ElementAddress) -> str:
    return f"{address.type.space.name.lower()} memory"
