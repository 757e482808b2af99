"""Python's functions of whole tuples: enumerate, zip, reversed (of ranges, too), sum, any, all."""

from __future__ import annotations

import ast
from dataclasses import replace

from kdsl.frontend.arguments import match_arguments, plain_arguments, positional
from kdsl.frontend.effects import has_effects
from kdsl.frontend.frame import Frame, describe_object
from kdsl.frontend.logic import as_test
from kdsl.frontend.memory import constant_int, elements
from kdsl.frontend.operators import binary
from kdsl.frontend.values import (
    POISON,
    Poison,
    Range,
    Runtime,
    Static,
    Tuple,
    Value,
    Weak,
    WeakType,
    describe,
    is_bool,
    type_of,
)
from kdsl.ir import nodes as ir
from kdsl.lang.types import ScalarType, boolean

LOOPS = {
    "enumerate": "for i in range(n): x = a[i]",
    "zip": "for i in range(n): x, y = a[i], b[i]",
    "reversed": "range(n - 1, -1, -1) counts down",
    "sum": "write a loop that adds",
    "any": "write a loop, or x or y",
    "all": "write a loop, or x and y",
}


def enumerate_(frame: Frame, node: ast.Call) -> Value:
    """Pairs of a number and an element; of a range for a ``for`` only."""
    found = match_arguments(frame, node, "enumerate", ["iterable", "start"], frozenset({"start"}))
    if found is None:
        return POISON
    value = frame.value(found["iterable"])
    start = frame.value(found["start"]) if "start" in found else Weak(0)
    if isinstance(value, Poison) or isinstance(start, Poison):
        return POISON
    if isinstance(value, Range):
        return _numbered_range(frame, node, value, start, found.get("start", node))
    parts = _parts(frame, value, found["iterable"], "enumerate", "a tuple or range()")
    if parts is None:
        return POISON
    first = constant_int(start)
    if first is None:
        return frame.error(found["start"], "enumerate() of a tuple takes a constant start", "add it to the number")
    return Tuple(tuple(Tuple((Weak(first + i), part)) for i, part in enumerate(parts)))


def _numbered_range(frame: Frame, node: ast.Call, value: Range, start: Value, place: ast.expr) -> Value:
    if value.numbered is not None:
        return frame.error(node, "an enumerate() of an enumerate()", "count in a variable of your own")
    kind = type_of(start)
    is_int = (isinstance(kind, ScalarType) and kind.is_int) or (isinstance(kind, WeakType) and not kind.is_float)
    if not is_int:
        what = f", and this is {describe(kind)}" if kind is not None else ""
        return frame.error(place, f"enumerate() starts at an int{what}")
    return replace(value, numbered=start)


def reversed_(frame: Frame, node: ast.Call) -> Value:
    """A tuple, or a range for a ``for``, from its end."""
    arguments = positional(frame, node, "reversed", 1, 1)
    if arguments is None:
        return POISON
    value = frame.value(arguments[0])
    if isinstance(value, Range):
        if value.reverse or value.numbered is not None:
            return frame.error(node, "reversed() of what is no sequence in Python either", "reverse the range() in it")
        return replace(value, reverse=True)
    parts = _parts(frame, value, arguments[0], "reversed", "a tuple or range()")
    return POISON if parts is None else Tuple(parts[::-1])


def zip_(frame: Frame, node: ast.Call) -> Value:
    """Tuples of one element of each tuple; as long as the shortest, unless ``strict``."""
    if not plain_arguments(frame, node):
        return POISON
    others = [k for k in node.keywords if k.arg != "strict"]
    if others:
        return frame.error(others[0], f"zip() has no parameter `{others[0].arg}`")
    strict = [frame.value(k.value) for k in node.keywords]
    found = [_parts(frame, frame.value(a), a, "zip", "tuples") for a in node.args]
    parts = [p for p in found if p is not None]
    if len(parts) < len(found):
        return POISON
    if strict and not (isinstance(strict[0], Runtime) and isinstance(strict[0].expr, ir.Const) and is_bool(strict[0])):
        return frame.error(node.keywords[0].value, "strict is True or False")
    if strict and isinstance(strict[0], Runtime) and isinstance(strict[0].expr, ir.Const) and strict[0].expr.value:
        lengths = [len(p) for p in parts]
        if len(set(lengths)) > 1:
            return frame.error(node, f"zip() of tuples with {' and '.join(map(str, lengths))} elements")
    return Tuple(tuple(Tuple(row) for row in zip(*parts, strict=False)))


def sum_(frame: Frame, node: ast.Call) -> Value:
    """The elements of a tuple, added from the left to ``start``."""
    found = match_arguments(
        frame, node, "sum", ["iterable", "start"], frozenset({"start"}), positional_only=frozenset({"iterable"})
    )
    if found is None:
        return POISON
    place = found["iterable"]
    parts = _parts(frame, frame.value(place), place, "sum", "a tuple", may_have_effects="start" not in found)
    result = frame.value(found["start"]) if "start" in found else Weak(0)
    if parts is None:
        return POISON
    for part in parts:
        result = binary(frame, ir.BinaryOp.ADD, result, part, node, (found.get("start", place), place))
    return result


def any_(frame: Frame, node: ast.Call) -> Value:
    return _tested(frame, node, "any", ir.LogicalOp.OR, ir.BinaryOp.OR)


def all_(frame: Frame, node: ast.Call) -> Value:
    return _tested(frame, node, "all", ir.LogicalOp.AND, ir.BinaryOp.AND)


def _tested(frame: Frame, node: ast.Call, name: str, logical: ir.LogicalOp, bits: ir.BinaryOp) -> Value:
    arguments = positional(frame, node, name, 1, 1)
    if arguments is None:
        return POISON
    place = arguments[0]
    parts = _parts(frame, frame.value(place), place, name, "a tuple", may_have_effects=True)
    if parts is None:
        return POISON
    tests = [as_test(frame, part, place) for part in parts]
    span = frame.span(node)
    neutral = logical is ir.LogicalOp.AND
    result: ir.Expr = ir.Const(neutral, boolean, span)
    for test in tests:
        if test is None:
            return POISON
        if isinstance(test, ir.Const) and test.value is neutral:
            continue
        if isinstance(result, ir.Const) and result.value is neutral:
            result = test
        elif has_effects(Runtime(test)):
            # All elements are evaluated before the first is looked at.
            result = ir.Binary(bits, result, test, boolean, span)
        else:
            result = ir.Logical(logical, result, test, boolean, span)
    return Runtime(result)


def _parts(
    frame: Frame, value: Value, place: ast.expr, name: str, wanted: str, *, may_have_effects: bool = False
) -> tuple[Value, ...] | None:
    """The elements of a tuple; None (reported) for what is none, and for one that must not be taken apart."""
    if isinstance(value, Poison):
        return None
    if not may_have_effects and has_effects(value):
        hint = f"bind it to a name first: t = {frame.text(place)}"
        frame.error(place, f"{name}() takes a tuple apart, and calls in it would be made out of order", hint)
        return None
    parts = elements(frame, value, place)
    if parts is None:
        kind = type_of(value)
        what = "a range" if kind is None else describe(kind)
        if isinstance(value, Static):
            what = describe_object(value.object, frame.text(place))
        frame.error(place, f"{name}() takes {wanted}, and this is {what}", LOOPS[name])
    return parts
