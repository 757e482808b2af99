"""Python's functions of whole tuples: enumerate, zip, reversed (of ranges, too), tuple, sum, any, all."""

from __future__ import annotations

import ast
from dataclasses import replace

from kdsl.frontend.arguments import match_arguments, plain_arguments, positional
from kdsl.frontend.array_elements import array_elements
from kdsl.frontend.assign import kept
from kdsl.frontend.comprehensions import after, evaluated_before, values_of
from kdsl.frontend.describing import describe_object
from kdsl.frontend.effects import has_effects
from kdsl.frontend.frame import Frame
from kdsl.frontend.logic import as_test
from kdsl.frontend.memory import constant_int, elements
from kdsl.frontend.operands import Operands
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
    "tuple": "write the tuple: (a, b)",
}


def enumerate_(frame: Frame, node: ast.Call) -> Value:
    """Pairs of a number and an element; of a range for a ``for`` only."""
    found = match_arguments(frame, node, "enumerate", ["iterable", "start"], frozenset({"start"}))
    if found is None:
        return POISON
    value = _argument(frame, found["iterable"], is_iterated=frame.iterated is node)
    start = frame.value(found["start"]) if "start" in found else Weak(0)
    if isinstance(value, Poison) or isinstance(start, Poison):
        return POISON
    if isinstance(value, Range):
        return _numbered_range(frame, node, value, start, found.get("start", node))
    whole = _parts(frame, value, found["iterable"], "enumerate", "a tuple or range()")
    if whole is None:
        return POISON
    parts = whole.elements
    first = constant_int(start)
    if first is None:
        return frame.error(found["start"], "enumerate() of a tuple takes a constant start", "add it to the number")
    return Tuple(tuple(Tuple((Weak(first + i), part)) for i, part in enumerate(parts)), lazy=whole.lazy)


def _argument(frame: Frame, node: ast.expr, *, is_iterated: bool) -> Value:
    """What is enumerated, zipped or reversed. Before a loop it is evaluated once, and may be the result of a call."""
    before = frame.before
    frame.iterated = node if is_iterated else None
    value = frame.value(node)
    frame.iterated = None
    if not is_iterated or frame.quiet or (isinstance(value, Tuple) and value.lazy):
        return value
    if before is None:
        return kept(frame, value, node)
    return evaluated_before(frame, value, node, before) if has_effects(value) else value


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
    value = _argument(frame, arguments[0], is_iterated=frame.iterated is node)
    if isinstance(value, Range):
        if value.reverse or value.numbered is not None:
            return frame.error(node, "reversed() of what is no sequence in Python either", "reverse the range() in it")
        return replace(value, reverse=True)
    parts = _parts(frame, value, arguments[0], "reversed", "a tuple or range()")
    return POISON if parts is None else Tuple(parts.elements[::-1], lazy=parts.lazy)


def zip_(frame: Frame, node: ast.Call) -> Value:
    """Tuples of one element of each tuple; as long as the shortest, unless ``strict``."""
    if not plain_arguments(frame, node):
        return POISON
    others = [k for k in node.keywords if k.arg != "strict"]
    if others:
        return frame.error(others[0], f"zip() has no parameter `{others[0].arg}`")
    strict = [frame.value(k.value) for k in node.keywords]
    is_iterated = frame.iterated is node
    values = [_argument(frame, a, is_iterated=is_iterated) for a in node.args]
    found = [_parts(frame, value, a, "zip", "tuples") for value, a in zip(values, node.args, strict=True)]
    whole = [p for p in found if p is not None]
    if len(whole) < len(found):
        return POISON
    parts = [p.elements for p in whole]
    if strict and not (isinstance(strict[0], Runtime) and isinstance(strict[0].expr, ir.Const) and is_bool(strict[0])):
        return frame.error(node.keywords[0].value, "strict is True or False")
    if strict and isinstance(strict[0], Runtime) and isinstance(strict[0].expr, ir.Const) and strict[0].expr.value:
        lengths = [len(p) for p in parts]
        if len(set(lengths)) > 1:
            return frame.error(node, f"zip() of tuples with {' and '.join(map(str, lengths))} elements")
    return Tuple(tuple(Tuple(row) for row in zip(*parts, strict=False)), lazy=any(p.lazy for p in whole))


def tuple_(frame: Frame, node: ast.Call) -> Value:
    """The elements of a tuple, vector, array or generator expression as a tuple."""
    arguments = positional(frame, node, "tuple", 1, 1)
    taken = None if arguments is None else taken_values(frame, arguments[0], "tuple")
    if taken is None:
        return POISON
    parts, before = taken
    if not before:
        return Tuple(parts)
    whole = frame.runtime(Tuple(parts), node)
    return POISON if whole is None else Runtime(after(frame, before, whole))


def sum_(frame: Frame, node: ast.Call) -> Value:
    """The elements of a tuple, added from the left to ``start``."""
    found = match_arguments(
        frame, node, "sum", ["iterable", "start"], frozenset({"start"}), positional_only=frozenset({"iterable"})
    )
    if found is None:
        return POISON
    place = found["iterable"]
    taken = taken_values(frame, place, "sum", may_have_effects="start" not in found)
    result = frame.value(found["start"]) if "start" in found else Weak(0)
    if taken is None:
        return POISON
    parts, before = taken
    for part in parts:
        result = binary(frame, ir.BinaryOp.ADD, Operands(result, part, node, (found.get("start", place), place)))
    return Runtime(after(frame, before, result.expr)) if isinstance(result, Runtime) else result


def any_(frame: Frame, node: ast.Call) -> Value:
    return _tested(frame, node, "any", ir.LogicalOp.OR, ir.BinaryOp.OR)


def all_(frame: Frame, node: ast.Call) -> Value:
    return _tested(frame, node, "all", ir.LogicalOp.AND, ir.BinaryOp.AND)


def _tested(frame: Frame, node: ast.Call, name: str, logical: ir.LogicalOp, bits: ir.BinaryOp) -> Value:
    arguments = positional(frame, node, name, 1, 1)
    if arguments is None:
        return POISON
    place = arguments[0]
    taken = taken_values(frame, place, name, may_have_effects=True)
    if taken is None:
        return POISON
    parts, before = taken
    # A generator gives no further element when the result is known.
    is_generator = isinstance(place, ast.GeneratorExp)
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
        elif has_effects(Runtime(test)) and not is_generator:
            # All elements are evaluated before the first is looked at.
            result = ir.Binary(bits, result, test, boolean, span)
        else:
            result = ir.Logical(logical, result, test, boolean, span)
    return Runtime(after(frame, before, result))


def taken_values(
    frame: Frame, place: ast.expr, name: str, *, may_have_effects: bool = True
) -> tuple[tuple[Value, ...], list[ir.Expr]] | None:
    """The elements of a tuple, an array or a generator expression, and what is evaluated before them."""
    if isinstance(place, ast.GeneratorExp):
        return values_of(frame, place)
    parts = _parts(frame, frame.value(place), place, name, "a tuple", may_have_effects=may_have_effects)
    return None if parts is None else (parts.elements, [])


def _parts(
    frame: Frame, value: Value, place: ast.expr, name: str, wanted: str, *, may_have_effects: bool = False
) -> Tuple | None:
    """A tuple, or the elements of an array; None (reported) for others, and for one that must not be taken apart."""
    if isinstance(value, Poison):
        return None
    if not may_have_effects and has_effects(value):
        hint = f"bind it to a name first: t = {frame.text(place)}"
        frame.error(place, f"{name}() takes a tuple apart, and calls in it would be made out of order", hint)
        return None
    parts = elements(frame, value, place)
    loads = array_elements(frame, value, place) if parts is None else None
    if loads is not None:
        return Tuple(loads, lazy=True)
    if parts is None:
        kind = type_of(value)
        what = "a range" if kind is None else describe(kind)
        if isinstance(value, Static):
            what = describe_object(value.object, frame.text(place))
        frame.error(place, f"{name}() takes {wanted}, and this is {what}", LOOPS[name])
        return None
    return Tuple(parts, lazy=isinstance(value, Tuple) and value.lazy)
