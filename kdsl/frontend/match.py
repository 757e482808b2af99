"""`match` on values: cases become a chain of tests, and a case's captures are assigned where its pattern matches."""

from __future__ import annotations

import ast
from collections.abc import Callable

from kdsl.frontend.assign import kept, store
from kdsl.frontend.choosing import is_instance
from kdsl.frontend.describing import describe_object
from kdsl.frontend.frame import ALL, Frame
from kdsl.frontend.logic import Test, test
from kdsl.frontend.memory import elements
from kdsl.frontend.names import captured_name
from kdsl.frontend.operands import Operands
from kdsl.frontend.operators import compare
from kdsl.frontend.syntax import LONGEST_CHAIN, refuse_pattern
from kdsl.frontend.values import POISON, Poison, Runtime, Static, Tuple, Value, describe, is_bool, type_of
from kdsl.ir import nodes as ir
from kdsl.lang.types import boolean
from kdsl.records import dataclass

Body = Callable[[Frame, list[ast.stmt]], tuple[ir.Stmt, ...]]


@dataclass(frozen=True, slots=True)
class Arm:
    """One case: what is evaluated before its test, the test (None for what is wrong), the body."""

    before: tuple[ir.Stmt, ...]
    test: ir.Expr | None
    body: tuple[ir.Stmt, ...]
    case: ast.match_case


def match_(frame: Frame, node: ast.Match, block: Body) -> None:
    """The subject is evaluated once; the first case that matches and whose guard holds is run."""
    if len(node.cases) > LONGEST_CHAIN:
        hint = "look the value up in an array, or split the match"
        frame.error(frame.file.first_line(node), f"more than {LONGEST_CHAIN} cases", hint)
        return
    subject = kept(frame, frame.value(node.subject), node.subject)
    arms: list[Arm] = []
    after = ALL
    for case in node.cases:
        with frame.block() as before:
            asked = _asked(frame, node, case, subject)
        # What can never come is dropped before its types are looked at.
        if asked.constant is not False:
            frame.bound = asked.when_true
            arms.append(Arm(tuple(before), asked.expr, block(frame, case.body), case))
            after &= frame.bound
        frame.bound = asked.when_false
        if asked.constant:
            break
    frame.bound &= after
    rest: tuple[ir.Stmt, ...] = ()
    for arm in reversed(arms):
        if isinstance(arm.test, ir.Const) and arm.test.value:
            rest = (*arm.before, *arm.body)
        elif arm.test is not None:
            rest = (*arm.before, ir.If(arm.test, arm.body, rest, frame.file.span(arm.case.pattern)))
    for built in rest:
        frame.emit(built)


def _asked(frame: Frame, node: ast.Match, case: ast.match_case, subject: Value) -> Test:
    """Whether a case is taken. Its captures are assigned before its guard is asked, as the guard may read them."""
    before = frame.bound
    asked = _matches(frame, case.pattern, subject, node.subject)
    matched = _test(asked, before)
    if matched.constant is False:
        return matched
    captures = _captures(frame, case.pattern, subject, node.subject)
    if case.guard is None and not captures:
        return matched
    with frame.block() as assignments:
        frame.bound = matched.when_true
        for target, value in captures:
            store(frame, target, value, node.subject, node)
    if case.guard is None or asked is None:
        when_true = frame.bound
        if case.guard is not None:
            test(frame, case.guard)
        return _kept_test(frame, case, asked, tuple(assignments), None, Test(None, when_true, matched.when_false))
    with frame.block() as guarded:
        guard = test(frame, case.guard)
    both = Test(None, guard.when_true, matched.when_false & guard.when_false)
    return _kept_test(frame, case, asked, (*assignments, *guarded), guard, both)


def _kept_test(
    frame: Frame,
    case: ast.match_case,
    matched: ir.Expr | None,
    assignments: tuple[ir.Stmt, ...],
    guard: Test | None,
    bound: Test,
) -> Test:
    """The test of a case with a guard or captures, which run where the pattern matches."""
    span = frame.file.span(case.pattern)
    asked = matched if guard is None else guard.expr
    if matched is None or asked is None:
        return Test(None, bound.when_true, bound.when_false)
    if isinstance(matched, ir.Const):
        for statement in assignments:
            frame.emit(statement)
        return Test(asked, bound.when_true, bound.when_false)
    if not assignments and guard is not None:
        expr = ir.Logical(ir.LogicalOp.AND, matched, asked, boolean, span)
        return Test(expr, bound.when_true, bound.when_false)
    local = frame.local("matched", boolean)
    taken = () if guard is None else (ir.Assign(local, asked, span),)
    frame.emit(ir.Assign(local, matched, span))
    frame.emit(ir.If(ir.Read(local, boolean, span), (*assignments, *taken), (), span))
    return Test(ir.Read(local, boolean, span), bound.when_true, bound.when_false)


def _test(expr: ir.Expr | None, bound: int) -> Test:
    """A test that assigns nothing; where it cannot come, everything is assigned."""
    known = expr.value if isinstance(expr, ir.Const) else None
    return Test(expr, ALL if known is False else bound, ALL if known is True else bound)


def _captures(frame: Frame, pattern: ast.pattern, subject: Value, place: ast.expr) -> list[tuple[ast.Name, Value]]:
    """The names that a pattern binds, and what to."""
    found: list[tuple[ast.Name, Value]] = []
    match pattern:
        case ast.MatchAs(pattern=inner):
            if inner is not None:
                found += _captures(frame, inner, subject, place)
            target = captured_name(pattern)
            if target is not None:
                found.append((target, subject))
        case ast.MatchOr(patterns=patterns):
            # They capture nothing, or have been refused.
            for one in patterns:
                found += _captures(frame, one, POISON, place)
        case ast.MatchSequence(patterns=patterns):
            parts = elements(frame, subject, place)
            if parts is None or len(parts) != len(patterns):
                parts = (POISON,) * len(patterns)
            for one, part in zip(patterns, parts, strict=True):
                found += _captures(frame, one, part, place)
    return found


def _matches(frame: Frame, pattern: ast.pattern, subject: Value, place: ast.expr) -> ir.Expr | None:
    """Whether a value has the form of a pattern; None (reported) for what is wrong."""
    match pattern:
        case ast.MatchValue(value=value):
            return _equals(frame, value, subject, place)
        case ast.MatchSingleton(value=constant):
            return _singleton(frame, pattern, constant, subject)
        case ast.MatchAs(pattern=None):
            return ir.Const(True, boolean, frame.file.span(pattern))
        case ast.MatchAs(pattern=ast.pattern() as inner):
            return _matches(frame, inner, subject, place)
        case ast.MatchOr(patterns=patterns):
            return _any(frame, patterns, subject, place)
        case ast.MatchSequence(patterns=patterns):
            return _tuple(frame, pattern, patterns, subject, place)
        case ast.MatchClass():
            return _class(frame, pattern, subject, place)
        case _:
            refuse_pattern(frame, pattern)
            return None


def _equals(frame: Frame, value: ast.expr, subject: Value, place: ast.expr) -> ir.Expr | None:
    wanted = frame.value(value)
    if isinstance(subject, Poison) or isinstance(wanted, Poison):
        return None
    if isinstance(subject, Tuple) or (isinstance(subject, Runtime) and elements(frame, subject, place) is not None):
        what = _described(frame, subject, place)
        frame.error(value, f"the subject is {what}, which is never one value", "write a tuple of patterns: case (0, 1)")
        return None
    result = compare(frame, ir.CompareOp.EQ, Operands(subject, wanted, value, (place, value)))
    return result.expr if isinstance(result, Runtime) else None


def _singleton(frame: Frame, pattern: ast.pattern, constant: bool | None, subject: Value) -> ir.Expr | None:
    """True, False and None, which Python compares with `is`."""
    span = frame.file.span(pattern)
    if isinstance(subject, Poison):
        return None
    if constant is None:
        if isinstance(subject, Static):
            return ir.Const(subject.object is None, boolean, span)
        frame.error(span, "None is not a value that a kernel computes with", "leave the case out")
        return None
    if not isinstance(subject, Runtime) or not is_bool(subject):
        kind = describe(type_of(subject)) if type_of(subject) is not None else "no bool"  # type: ignore[arg-type]
        frame.error(span, f"`case {constant}` asks for a bool, and the subject is {kind}", f"case {int(constant)}")
        return None
    if isinstance(subject.expr, ir.Const):
        return ir.Const(bool(subject.expr.value) is constant, boolean, span)
    return subject.expr if constant else ir.Unary(ir.UnaryOp.NOT, subject.expr, boolean, span)


def _class(frame: Frame, pattern: ast.MatchClass, subject: Value, place: ast.expr) -> ir.Expr | None:
    """``case f32():`` asks for the subject's type, which is known."""
    if pattern.patterns or pattern.kwd_patterns:
        message = "a pattern asks for a type alone, without parts"
        frame.error(frame.file.span(pattern), message, f"case {frame.text(pattern.cls)}():")
        return None
    asked = frame.value(pattern.cls)
    if isinstance(subject, Poison) or isinstance(asked, Poison):
        return None
    found = is_instance(frame, subject, asked, place, pattern.cls)
    return None if found is None else ir.Const(found, boolean, frame.file.span(pattern))


def _any(frame: Frame, patterns: list[ast.pattern], subject: Value, place: ast.expr) -> ir.Expr | None:
    found: list[ir.Expr | None] = []
    for one in patterns:
        for part in ast.walk(one):
            if isinstance(part, ast.pattern) and captured_name(part) is not None:
                frame.error(frame.file.span(part), "an alternative of `|` captures no name", "write a case for each")
                return None
        found.append(_matches(frame, one, subject, place))
    return _joined(frame, ir.LogicalOp.OR, found, patterns[0])


def _tuple(
    frame: Frame, pattern: ast.pattern, patterns: list[ast.pattern], subject: Value, place: ast.expr
) -> ir.Expr | None:
    for one in patterns:
        if isinstance(one, ast.MatchStar):
            refuse_pattern(frame, one)
            return None
    if isinstance(subject, Poison):
        return None
    parts = elements(frame, subject, place)
    if parts is None:
        what = _described(frame, subject, place)
        hint = "name the parts: match (x, y): ..."
        frame.error(frame.file.span(pattern), f"the subject is {what}, which is no tuple", hint)
        return None
    if len(parts) != len(patterns):
        message = f"the subject has {len(parts)} elements, and this pattern {len(patterns)}: it never matches"
        frame.error(frame.file.span(pattern), message, "leave the case out, or write `_` for each element")
        return None
    places = place.elts if isinstance(place, ast.Tuple) and len(place.elts) == len(parts) else [place] * len(parts)
    found = [_matches(frame, one, part, where) for one, part, where in zip(patterns, parts, places, strict=True)]
    return _joined(frame, ir.LogicalOp.AND, found, pattern)


def _joined(frame: Frame, op: ir.LogicalOp, found: list[ir.Expr | None], pattern: ast.pattern) -> ir.Expr | None:
    """All or any of several tests; what is known is left out."""
    neutral = op is ir.LogicalOp.AND
    result: ir.Expr = ir.Const(neutral, boolean, frame.file.span(pattern))
    for one in found:
        if one is None:
            return None
        if isinstance(one, ir.Const):
            if one.value is not neutral:
                return one
        elif isinstance(result, ir.Const):
            result = one
        else:
            result = ir.Logical(op, result, one, boolean, frame.file.span(pattern))
    return result


def _described(frame: Frame, subject: Value, place: ast.expr) -> str:
    if isinstance(subject, Static):
        return describe_object(subject.object, frame.text(place))
    kind = type_of(subject)
    return describe(kind) if kind is not None else "a range"
