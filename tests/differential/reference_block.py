"""The reference's blocks of threads: each thread is a generator that stops wherever it has to wait for others."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import program as p
from .collectives import FULL, RULES, result_types
from .expand import expanded
from .memory import Epochs, Undefined
from .reference import RESULT, settled
from .reference_expressions import THREAD, Frame, Typed, expression
from .reference_statements import BREAK, RETURN, Run, count_step, for_rounds, statement, while_rounds
from .typing_rules import BOOL, I32, U32, Scalar
from .variables import walk

if TYPE_CHECKING:
    from .reference import Scope


@dataclass(frozen=True)
class Event:
    """A thread has come to ``node`` with these arguments, and waits for what it gives."""

    node: p.Collective
    arguments: tuple[Any, ...]
    type: Scalar


Steps = Generator[Event, tuple[Any, ...], str | None]
Stepped = Callable[[Frame], Steps]


def stepped(statements: Sequence[p.Stmt], scope: Scope) -> Stepped:
    """A block of statements, some of which wait."""
    runs = [stepped_statement(s, scope) for s in statements]

    def run(frame: Frame) -> Steps:
        for each in runs:
            signal = yield from each(frame)
            if signal is not None:
                return signal
        return None

    return run


def at_once(run: Run) -> Stepped:
    def steps(frame: Frame) -> Steps:
        return run(frame)
        yield  # makes it a generator

    return steps


def stepped_statement(s: p.Stmt, scope: Scope) -> Stepped:
    if not waits(s, scope):
        return at_once(statement(s, scope))
    match s:
        case p.Assign((target,), p.Call() as call):
            return called(target, call, scope)
        case p.Collective():
            return collective(s, scope)
        case p.If():
            return branch(expression(s.test, scope).test(), stepped(s.body, scope), stepped(s.orelse, scope))
        case p.While():
            rounds = while_rounds(expression(s.test, scope).test())
            return loop(rounds, stepped(s.body, scope), stepped(s.orelse, scope))
        case p.For():
            rounds = for_rounds(s, scope)
            return loop(rounds, stepped(s.body, scope), stepped(s.orelse, scope))
        case p.Unrolled():
            return unrolled([stepped(body, scope) for body in s.bodies], stepped(s.orelse, scope))
    raise AssertionError(s)


def waits(s: p.Stmt, scope: Scope) -> bool:
    """Whether a statement may wait for other threads, itself or in a function that it calls."""
    for inner in walk([s]):
        if isinstance(inner, p.Assign) and isinstance(inner.value, p.Call):
            function = scope.functions.get(inner.value.function)
            if function is not None and any(waits(each, scope) for each in function.body):
                return True
        if isinstance(inner, p.Collective):
            return True
    return False


def called(target: str, call: p.Call, scope: Scope) -> Stepped:
    """``target = f(x)`` of a function in which threads wait."""
    function = scope.functions[call.function]
    arguments = [expression(argument, scope) for argument in call.arguments]
    names, kinds, values = scope.parameters(function, arguments)
    inner_scope = settled(function.body, dict(zip(names, kinds, strict=True)), scope.functions)
    assert inner_scope.result is not None
    body, given = stepped(expanded(function.body), inner_scope), " given"
    store = scope.store([(target, Typed(inner_scope.result, lambda frame: frame[given]))])

    def run(frame: Frame) -> Steps:
        inner: Frame = {n: value(frame) for n, value in zip(names, values, strict=True)}
        inner[THREAD] = frame[THREAD]
        yield from body(inner)
        frame[given] = inner[RESULT]
        store(frame)
        return None

    return run


def branch(test: Callable[[Frame], bool], body: Stepped, orelse: Stepped) -> Stepped:
    def run(frame: Frame) -> Steps:
        return (yield from (body if test(frame) else orelse)(frame))

    return run


def loop(rounds: Callable[[Frame], Iterable[None]], body: Stepped, orelse: Stepped) -> Stepped:
    def run(frame: Frame) -> Steps:
        for _ in rounds(frame):
            count_step(frame)
            signal = yield from body(frame)
            if signal == BREAK:
                return None
            if signal == RETURN:
                return signal
        return (yield from orelse(frame))

    return run


def unrolled(bodies: Sequence[Stepped], orelse: Stepped) -> Stepped:
    def run(frame: Frame) -> Steps:
        for body in bodies:
            signal = yield from body(frame)
            if signal == BREAK:
                return None
            if signal == RETURN:
                return signal
        return (yield from orelse(frame))

    return run


def collective(s: p.Collective, scope: Scope) -> Stepped:
    typed = [expression(argument, scope) for argument in s.arguments]
    wanted = [t or mine.type for mine, t in zip(typed, RULES[s.name].parameters, strict=False)]
    runs = [
        # An i32 is taken where a lane or a mask is wanted.
        mine.run if mine.type == I32 and t == U32 else mine.implicitly(t)
        for mine, t in zip(typed, wanted, strict=True)
    ]
    types = result_types(s.name, [mine.type for mine in typed])
    kept = [f" {name} of collective" for name in s.targets]
    results = [Typed(t, lambda frame, key=key: frame[key]) for t, key in zip(types, kept, strict=False)]  # type: ignore[misc]
    store = scope.store(list(zip(s.targets, results, strict=True))) if s.targets else None
    value_type = typed[1].type if len(typed) > 1 else BOOL

    def run(frame: Frame) -> Steps:
        arguments = tuple(each(frame) for each in runs)
        given = yield Event(s, arguments + (32,) * (s.name.startswith("shfl") and len(arguments) == 3), value_type)
        frame.update(zip(kept, given, strict=False))
        if store is not None:
            store(frame)
        return None

    return run


class Block:
    """Threads that run until all have ended."""

    def __init__(self, body: Stepped, frames: Sequence[Frame], epochs: Epochs, backwards: bool = False) -> None:
        self.steps = {k: body(frame) for k, frame in enumerate(frames)}
        self.frames = frames
        self.waiting: dict[int, Event] = {}
        self.epochs = epochs
        self.backwards = backwards

    def run(self) -> None:
        ready: dict[int, tuple[Any, ...] | None] = dict.fromkeys(self.steps)
        while self.steps:
            for k in sorted(ready, reverse=self.backwards):
                self.advance(k, ready[k])
            ready = self.released()
            if not ready and self.steps:
                raise Undefined("threads wait for each other")

    def advance(self, k: int, given: tuple[Any, ...] | None) -> None:
        try:
            self.waiting[k] = next(self.steps[k]) if given is None else self.steps[k].send(given)
        except StopIteration:
            del self.steps[k]

    def released(self) -> dict[int, tuple[Any, ...] | None]:
        """The threads that may go on, with what each is given."""
        groups: dict[tuple[Any, ...], list[int]] = {}
        for k, event in self.waiting.items():
            groups.setdefault(self.group(k, event), []).append(k)
        ready: dict[int, tuple[Any, ...] | None] = {}
        for (waits, _, _, size), threads in groups.items():
            if len(threads) < size:
                continue
            if len(threads) > size:
                raise Undefined("more threads at a barrier than it counts")
            if waits == "block":
                self.epochs.now += 1
            ready |= self.results(threads, waits)
        for k in ready:
            del self.waiting[k]
        return ready

    def group(self, k: int, event: Event) -> tuple[Any, ...]:
        """Whom thread ``k`` waits for: the kind, the warp or the barrier, what names the group, and how many they are."""
        waits = RULES[event.node.name].waits
        if waits == "block":
            return waits, 0, id(event.node), len(self.steps)
        if waits == "named":
            return waits, int(event.arguments[0]), 0, int(event.arguments[1])
        mask = int(event.arguments[0]) & FULL
        if not mask >> (k % 32) & 1:
            raise Undefined("a lane outside of its mask")
        return waits, k // 32, (id(event.node), mask), mask.bit_count()

    def results(self, threads: Sequence[int], waits: str) -> dict[int, tuple[Any, ...] | None]:
        base = threads[0] // 32 * 32 if waits == "warp" else 0
        came = {k - base: self.waiting[k].arguments for k in sorted(threads)}
        return {k: RULES[self.waiting[k].node.name].give(came, k - base, self.waiting[k].type) for k in threads}
