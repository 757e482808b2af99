"""Comprehensions and generator expressions: their loops are unrolled while the kernel is compiled."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import field

from kdsl.frontend.array_elements import parts_of
from kdsl.frontend.describing import shown
from kdsl.frontend.effects import has_effects
from kdsl.frontend.frame import Frame
from kdsl.frontend.logic import test
from kdsl.frontend.memory import constant_int
from kdsl.frontend.unpacking import spread
from kdsl.frontend.values import POISON, Poison, Range, Runtime, Value, Weak
from kdsl.ir import nodes as ir
from kdsl.lang.types import TupleType
from kdsl.records import dataclass

LARGEST = 1024
NOT_CONSTANT = "a comprehension runs over what is known while the kernel is compiled"


Each = Callable[[ast.expr], bool]
"""Takes the element of one iteration; whether it is right."""


@dataclass
class Made:
    """What is to be evaluated before the values of a comprehension, in order, and how many iterations there were."""

    each: Each
    before: list[ir.Expr] = field(default_factory=list)
    count: int = 0
    failed: bool = False


def values_of(frame: Frame, node: ast.GeneratorExp) -> tuple[tuple[Value, ...], list[ir.Expr]] | None:
    """The values of a generator expression, and what comes before them; None (reported) if it is wrong."""
    values: list[Value] = []

    def each(element: ast.expr) -> bool:
        values.append(frame.value(element))
        return not isinstance(values[-1], Poison)

    before = iterate(frame, node, each)
    return None if before is None else (tuple(values), before)


def iterate(frame: Frame, node: ast.ListComp | ast.GeneratorExp, each: Each) -> list[ir.Expr] | None:
    """Go through a comprehension; what is evaluated before it, None (reported) if it is wrong, or not known yet."""
    made = Made(each)
    names = {n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
    hidden = {name: frame.copies[name] for name in names if name in frame.copies}
    bound = frame.bound
    _generate(frame, node, 0, made)
    frame.bound = bound
    for name in names:
        frame.copies.pop(name, None)
    frame.copies.update(hidden)
    return None if made.failed else made.before


def _generate(frame: Frame, node: ast.ListComp | ast.GeneratorExp, depth: int, made: Made) -> None:
    if depth == len(node.generators):
        made.failed |= not made.each(node.elt)
        made.count += 1
        if made.count > LARGEST and not made.failed:
            frame.error(node, f"a comprehension makes more than {LARGEST} values", "write a loop")
            made.failed = True
        return
    generator = node.generators[depth]
    if generator.is_async:
        frame.error(node, "`async for` cannot run in a kernel")
        made.failed = True
        return
    values = _iterated(frame, generator.iter, made, is_first=depth == 0)
    if values is None:
        made.failed = True
        return
    for value in values:
        if not bind(frame, generator.target, value, generator.iter):
            made.failed = True
        if made.failed:
            return
        chosen = list(_chosen(frame, generator.ifs))
        if None in chosen:
            made.failed = True
            return
        if all(chosen):
            _generate(frame, node, depth + 1, made)


def _chosen(frame: Frame, tests: list[ast.expr]) -> Iterator[bool | None]:
    """What each condition says; None (reported) for one that is not constant."""
    for condition in tests:
        asked = test(frame, condition)
        if asked.constant is None and asked.expr is not None:
            frame.error(condition, "a condition in a comprehension is constant", "write a loop with an if")
        yield asked.constant
        if not asked.constant:
            return


def _iterated(frame: Frame, place: ast.expr, made: Made, *, is_first: bool) -> tuple[Value, ...] | None:
    outer, frame.before, frame.iterated = frame.before, made.before, place
    count = len(made.before)
    value = frame.value(place)
    frame.before, frame.iterated = outer, None
    if isinstance(value, Range):
        return _range(frame, value, place)
    if has_effects(value):
        value = evaluated_before(frame, value, place, made.before)
    if len(made.before) > count and not is_first:
        frame.error(place, "calls in a later `for` of a comprehension would be made out of order", "write loops")
        return None
    parts = parts_of(frame, value, place)
    if parts is None and not isinstance(value, Poison):
        what = shown(frame, value, place)
        frame.error(place, f"{NOT_CONSTANT}, and this is {what}", "range(4), a tuple, or an array of known shape")
    return parts


def evaluated_before(frame: Frame, value: Value, place: ast.expr, before: list[ir.Expr]) -> Value:
    """A value that is evaluated once, before all others."""
    expr = frame.runtime(value, place)
    if expr is None:
        return POISON
    local = frame.local("iterated", expr.type)
    before.append(ir.AssignExpr(local, expr, expr.type, expr.span))
    return Runtime(ir.Read(local, local.type, expr.span))


def _range(frame: Frame, value: Range, place: ast.expr) -> tuple[Value, ...] | None:
    numbers = [constant_int(part) for part in (value.start, value.stop, value.step)]
    start, stop, step = numbers
    if start is None or stop is None or step is None:
        frame.error(place, f"{NOT_CONSTANT}, and this range is not", "write a loop")
        return None
    counted = range(start, stop, step)
    if len(counted) > LARGEST:
        frame.error(place, f"a comprehension makes more than {LARGEST} values", "write a loop")
        return None
    found: list[Value] = [Weak(n) for n in (reversed(counted) if value.reverse else counted)]
    if value.numbered is not None:
        frame.error(place, "enumerate() of a range() in a comprehension", "count with the range() alone")
        return None
    return tuple(found)


def bind(frame: Frame, target: ast.expr, value: Value, place: ast.expr) -> bool:
    """Set the variables of a comprehension; they are its own."""
    match target:
        case ast.Name(id=name):
            frame.copies[name] = value
            return True
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            parts = parts_of(frame, value, place)
            if parts is None:
                frame.error(target, "these are no tuples, which could be unpacked")
                return False
            found = spread(frame, parts, target, targets)
            return found is not None and all(bind(frame, t, v, place) for t, v in zip(targets, found, strict=True))
        case ast.Starred(value=inner):
            return bind(frame, inner, value, place)
    frame.error(target, "the variable of a comprehension is a name")
    return False


def after(frame: Frame, before: list[ir.Expr], result: ir.Expr) -> ir.Expr:
    """A result that is evaluated after what comes before it."""
    if not before:
        return result
    whole = ir.TupleExpr((*before, result), TupleType((*(e.type for e in before), result.type)), result.span)
    return ir.TupleElement(whole, len(before), result.type, result.span)
