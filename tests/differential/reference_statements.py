"""The reference's statements: each becomes a closure that changes the lane's variables and says how control goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from . import program as p
from . import semantics
from .collectives import result_types
from .reference_expressions import Frame, Typed, binary, expression
from .reference_memory import atomic, declare, narrowed, store, store_view
from .typing_rules import I32, WEAK_INT, IllTyped, Scalar, TupleType, common, widened

if TYPE_CHECKING:
    from .reference import Scope

BREAK, CONTINUE, RETURN = "break", "continue", "return"
STEPS = " steps"
STEP_LIMIT = 20_000


class TooManySteps(Exception):
    """A generated loop runs longer than a test should."""


Run = Callable[[Frame], str | None]


def block(statements: Sequence[p.Stmt], scope: Scope) -> Run:
    runs = [statement(s, scope) for s in statements]

    def run(frame: Frame) -> str | None:
        for each in runs:
            signal = each(frame)
            if signal is not None:
                return signal
        return None

    return run


def statement(s: p.Stmt, scope: Scope) -> Run:
    match s:
        case p.Assign():
            return scope.store([(name, expression(s.value, scope)) for name in s.targets])
        case p.Augmented():
            return augmented(s, scope)
        case p.TupleAssign():
            values = [expression(value, scope) for value in s.values]
            return scope.store(list(zip(s.targets, values, strict=True)))
        case p.DivmodAssign():
            left, right = expression(s.left, scope), expression(s.right, scope)
            return scope.store([(s.targets[0], binary("//", left, right)), (s.targets[1], binary("%", left, right))])
        case p.If():
            test = expression(s.test, scope).test()
            body, orelse = block(s.body, scope), block(s.orelse, scope)
            return lambda frame: body(frame) if test(frame) else orelse(frame)
        case p.While():
            rounds = while_rounds(expression(s.test, scope).test())
            return loop(rounds, block(s.body, scope), block(s.orelse, scope))
        case p.For():
            rounds = for_rounds(s, scope)
            return loop(rounds, block(s.body, scope), block(s.orelse, scope))
        case p.Break():
            return lambda frame: BREAK
        case p.Continue():
            return lambda frame: CONTINUE
        case p.Unrolled():
            return unrolled([block(body, scope) for body in s.bodies], block(s.orelse, scope))
        case p.Match():
            return match(s, scope)
        case p.Define():
            scope.nested[s.function.name] = s.function
            return lambda frame: None
        case p.Unpack():
            return unpack(s, scope)
        case p.SetComponent():
            old, value = scope.read(s.vector), expression(s.value, scope)
            if s.op is not None:
                value = narrowed(s.op, scope.vectors.components(old, s.name), value, scope)
            return scope.store([(s.vector, scope.vectors.with_component(old, s.name, value))])
        case p.ForEach():
            raise AssertionError("expand.py unrolls it")
        case p.Declare():
            return declare(s, scope)
        case p.Store():
            return store(s, scope)
        case p.StoreView():
            return store_view(s, scope)
        case p.Atomic():
            return atomic(s, scope)
        case p.Collective():
            # Only its types: who runs it knows of other threads.
            types = result_types(s.name, [expression(argument, scope).type for argument in s.arguments])
            return scope.store([(name, Typed(t, lambda frame: 0)) for name, t in zip(s.targets, types, strict=False)])
        case p.Return():
            return scope.give(expression(s.value, scope))


def augmented(s: p.Augmented, scope: Scope) -> Run:
    return scope.store([(s.target, narrowed(s.op, scope.read(s.target), expression(s.value, scope), scope))])


def count_step(frame: Frame) -> None:
    frame[STEPS] = int(frame.get(STEPS, 0)) + 1
    if frame[STEPS] > STEP_LIMIT:
        raise TooManySteps


def loop(rounds: Callable[[Frame], Iterable[None]], body: Run, orelse: Run) -> Run:
    """Runs ``body`` once for each of ``rounds``, which prepares the variables for it."""

    def run(frame: Frame) -> str | None:
        for _ in rounds(frame):
            count_step(frame)
            signal = body(frame)
            if signal == BREAK:
                return None
            if signal == RETURN:
                return signal
        return orelse(frame)

    return run


def unrolled(bodies: Sequence[Run], orelse: Run) -> Run:
    def run(frame: Frame) -> str | None:
        for body in bodies:
            signal = body(frame)
            if signal == BREAK:
                return None
            if signal == RETURN:
                return signal
        return orelse(frame)

    return run


def match(s: p.Match, scope: Scope) -> Run:
    subject = expression(s.subject, scope)
    if not subject.type.is_int:
        raise IllTyped(f"match on {subject.type.name}")
    cases = [match_case(case, subject.type, scope) for case in s.cases]

    def run(frame: Frame) -> str | None:
        value = subject.run(frame)
        for matches, body in cases:
            if matches(frame, value):
                return body(frame)
        return None

    return run


def match_case(case: p.Case, t: Scalar, scope: Scope) -> tuple[Callable[[Frame, int], bool], Run]:
    """Whether a case takes a value, which its capture then holds, and what it does."""
    values = [semantics.literal(pattern.value, t) for pattern in case.patterns]
    taken = " matched"
    keep = scope.store([(case.capture, Typed(t, lambda frame: frame[taken]))]) if case.capture else None
    guard = expression(case.guard, scope).test() if case.guard is not None else None

    def matches(frame: Frame, value: int) -> bool:
        if values and value not in values:
            return False
        frame[taken] = value
        if keep is not None:
            keep(frame)
        return guard is None or guard(frame)

    return matches, block(case.body, scope)


def unpack(s: p.Unpack, scope: Scope) -> Run:
    value = expression(s.value, scope)
    if not isinstance(value.type, TupleType):
        raise IllTyped(f"{value.type.name} unpacked")
    whole = " unpacked"
    parts = [
        (name, Typed(t, lambda frame, k=k: frame[whole][k]))  # type: ignore[misc]
        for k, (name, t) in enumerate(zip(s.targets, value.type.parts, strict=True))
    ]
    store = scope.store(parts)

    def run(frame: Frame) -> None:
        frame[whole] = value.run(frame)
        store(frame)

    return run


def while_rounds(test: Callable[[Frame], bool]) -> Callable[[Frame], Iterator[None]]:
    def rounds(frame: Frame) -> Iterator[None]:
        while test(frame):
            yield

    return rounds


def for_rounds(s: p.For, scope: Scope) -> Callable[[Frame], Iterator[None]]:
    arguments = [expression(argument, scope) for argument in s.arguments]
    t = arguments[0].type
    for argument in arguments[1:]:
        t = common(t, argument.type)
    t = I32 if t == WEAK_INT else widened(t)
    if not t.is_int:
        raise IllTyped(f"a range of {t.name}")
    bounds = [argument.to(t) for argument in arguments]
    target = scope.target(s.target, t)

    def rounds(frame: Frame) -> Iterator[None]:
        values = [int(bound(frame)) for bound in bounds]
        # A step of 0 runs nothing: there is no exception to raise.
        taken = range(*values) if values[2:] != [0] else range(0)
        for i in reversed(taken) if s.way == "reversed" else taken:
            frame[target] = i
            yield

    return rounds
