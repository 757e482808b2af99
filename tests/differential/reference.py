"""The reference evaluator: types a program by its own reading of the language, then runs it on Python numbers.

A function is typed in rounds, until its variables' types no longer change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from . import program as p
from . import reference_vectors
from .expand import expanded
from .memory import Thread
from .reference_expressions import THREAD, Frame, Typed, expression
from .reference_memory import element, view
from .reference_statements import RETURN, Run, block, statement
from .semantics import Value
from .typing_rules import F32, I32, WEAK_FLOAT, WEAK_INT, IllTyped, Scalar, accepts, assigned, named
from .variables import constants, walk

RESULT = " result"


class UnknownYet(Exception):
    """A variable is read whose type has not been found in this round."""


class Scope:
    """One function while it is typed: what its variables are known to be, and what this round finds them assigned."""

    def __init__(self, known: dict[str, Scalar], constants: dict[str, Value], functions: Functions) -> None:
        self.known = known
        self.constants = constants
        self.functions = functions
        self.arrays: dict[str, Scalar] = {}
        self.nested: dict[str, p.Function] = {}
        self.vectors = reference_vectors
        self.found: dict[str, Scalar] = {}
        self.bindings: dict[str, int] = {}
        self.result: Scalar | None = None
        self.output: Scalar | None = None
        """What a program's returned values are stored as."""

    def read(self, name: str) -> Typed:
        if name in self.constants:
            value = self.constants[name]
            return Typed(self.known[name], lambda frame: value)
        if name not in self.known:
            raise UnknownYet(name)
        return Typed(self.known[name], lambda frame: frame[name])

    def array(self, name: str) -> Scalar:
        if name not in self.arrays:
            raise UnknownYet(name)
        return self.arrays[name]

    def element(self, e: p.Index) -> Typed:
        return element(e, self)

    def view(self, e: p.View) -> Typed:
        return view(e, self)

    def bind(self, name: str, t: Scalar) -> None:
        self.found[name] = assigned(self.found.get(name), t)
        self.bindings[name] = self.bindings.get(name, 0) + 1

    def converted(self, name: str, value: Typed) -> Callable[[Frame], Value]:
        """The value as the variable holds it; the type may not be known in an early round."""
        t = self.known.get(name)
        if t is None or t.is_weak or not accepts(t, value.type):
            return value.run
        return value.to(t)

    def store(self, values: list[tuple[str, Typed]]) -> Run:
        for name, value in values:
            self.bind(name, value.type)
        pairs = [(name, self.converted(name, value)) for name, value in values]

        def run(frame: Frame) -> None:
            frame.update([(name, value(frame)) for name, value in pairs])

        return run

    def walrus(self, name: str, value: Typed) -> Typed:
        self.bind(name, value.type)
        run = self.converted(name, value)

        def store(frame: Frame) -> Value:
            frame[name] = run(frame)
            return frame[name]

        known = self.known.get(name)
        return Typed(value.type if known is None else known, store)

    def target(self, name: str, t: Scalar) -> str:
        self.bind(name, t)
        return name

    def give(self, value: Typed) -> Run:
        if self.output is not None:
            run = value.implicitly(self.output)
        else:
            self.result = assigned(self.result, value.type)
            run = value.run

        def leave(frame: Frame) -> str:
            frame[RESULT] = run(frame)
            return RETURN

        return leave

    def call(self, name: str, arguments: Sequence[Typed]) -> Typed:
        if name in self.nested:
            return self.call_nested(self.nested[name], arguments)
        function = self.functions[name]
        names, kinds, values = self.parameters(function, arguments)
        if function.result is not None:
            return self.call_annotated(function, names, kinds, values)
        body, scope = settle(function.body, dict(zip(names, kinds, strict=True)), self.functions)
        assert scope.result is not None and not scope.result.is_weak

        def run(frame: Frame) -> Value:
            inner: Frame = {n: value(frame) for n, value in zip(names, values, strict=True)}
            inner[THREAD] = frame[THREAD]
            body(inner)
            return inner[RESULT]

        return Typed(scope.result, run)

    def parameters(
        self, function: p.Function, arguments: Sequence[Typed]
    ) -> tuple[list[str], list[Scalar], list[Callable[[Frame], Any]]]:
        """The names and types of a function's parameters in a call, and the values for them."""
        kinds = [
            argument.type if annotation is None else named(annotation)
            for argument, (_, annotation) in zip(arguments, function.parameters, strict=True)
        ]
        values = [argument.implicitly(kind) for argument, kind in zip(arguments, kinds, strict=True)]
        return [name for name, _ in function.parameters], kinds, values

    def call_annotated(
        self, function: p.Function, names: list[str], kinds: list[Scalar], values: list[Callable[[Frame], Any]]
    ) -> Typed:
        """A call of a function that may call itself: its body is typed once, and is there when it runs."""
        assert function.result is not None
        result, bodies, name = named(function.result), self.functions.bodies, function.name
        if name not in bodies:
            bodies[name] = lambda frame: None
            scope = settled(function.body, dict(zip(names, kinds, strict=True)), self.functions, result)
            bodies[name] = block(expanded(function.body), scope)

        def run(frame: Frame) -> Value:
            inner: Frame = {n: value(frame) for n, value in zip(names, values, strict=True)}
            inner[THREAD] = frame[THREAD]
            bodies[name](inner)
            return inner[RESULT]

        return Typed(result, run)

    def call_nested(self, function: p.Function, arguments: Sequence[Typed]) -> Typed:
        """A call of a function that reads the variables around it, as they are at the call."""
        names, kinds, values = self.parameters(function, arguments)
        fixed = self.known | dict(zip(names, kinds, strict=True))
        scope = settled(function.body, fixed, self.functions, None, self.arrays, self.constants)
        body = block(expanded(function.body), scope)
        assert scope.result is not None and not scope.result.is_weak

        def run(frame: Frame) -> Value:
            inner: Frame = frame | {n: value(frame) for n, value in zip(names, values, strict=True)}
            body(inner)
            return inner[RESULT]

        return Typed(scope.result, run)


class Functions(dict[str, p.Function]):
    """A program's functions by name, with the bodies of those that call themselves."""

    def __init__(self, functions: Sequence[p.Function]) -> None:
        super().__init__({f.name: f for f in functions})
        self.bodies: dict[str, Run] = {}


def settle(
    body: Sequence[p.Stmt],
    fixed: dict[str, Scalar],
    functions: Functions,
    output: Scalar | None = None,
) -> tuple[Run, Scope]:
    """A function's body, with the scope in which its variables have their types."""
    scope = settled(body, fixed, functions, output)
    return block(expanded(body), scope), scope


def settled(
    body: Sequence[p.Stmt],
    fixed: dict[str, Scalar],
    functions: Functions,
    output: Scalar | None = None,
    arrays: dict[str, Scalar] | None = None,
    outer: dict[str, Value] | None = None,
) -> Scope:
    """Type a function's body by rounds, and give the scope in which its variables have their types.

    ``outer`` are the constants around a nested function.
    """
    body = expanded(body)
    single = {name: value for name, value in constants(body).items() if name not in fixed}
    single |= outer or {}
    fixed = fixed | {name: WEAK_FLOAT if isinstance(v, float) else WEAK_INT for name, v in single.items()}
    fixed |= {s.targets[0]: named(s.annotation) for s in walk(body) if isinstance(s, p.Assign) and s.annotation}
    known = dict(fixed)
    defaults: dict[str, Scalar] = {}
    for _ in range(100):
        scope = Scope(known | defaults, single, functions)
        scope.output = output
        scope.arrays |= arrays or {}
        for s in walk(body):
            try:
                if isinstance(s, p.If | p.While):
                    expression(s.test, scope)
                else:
                    statement(head(s), scope)
            except (UnknownYet, IllTyped):
                continue  # what is still wrong when the types have settled is found below
        found = scope.found | fixed
        if found != known:
            known = found
            continue
        weak = {n: F32 if t == WEAK_FLOAT else I32 for n, t in known.items() if t.is_weak and n not in single}
        if weak == defaults:
            break
        defaults = weak
    else:
        raise IllTyped("the variables' types do not settle")
    scope = Scope(known | defaults, single, functions)
    scope.output = output
    scope.arrays |= arrays or {}
    block(body, scope)
    for name, t in known.items():
        if name in scope.found and not t.is_weak and not accepts(t, scope.found[name]):
            raise IllTyped(f"{name} is {t.name} and is assigned {scope.found[name].name}")
    return scope


def head(s: p.Stmt) -> p.Stmt:
    """A statement without its blocks, which are typed by themselves."""
    match s:
        case p.For():
            return replace(s, body=(), orelse=())
        case p.Unrolled():
            return p.Unrolled(())
        case p.Match():
            return replace(s, cases=tuple(replace(case, body=()) for case in s.cases))
    return s


def evaluator(program: p.Program) -> Callable[[Sequence[Value]], Value]:
    """The program as a function from a lane's inputs to its output; raises IllTyped for what must not compile."""
    output = named(program.output)
    functions = Functions(program.functions)
    inputs = {name: named(t) for name, t in program.inputs}
    body, _ = settle((*program.body, p.Return(program.result)), inputs, functions, output)

    def run(values: Sequence[Value]) -> Value:
        frame: Frame = dict(zip(inputs, values, strict=True)) | {THREAD: Thread(0, 0, 0, None)}
        body(frame)
        return frame[RESULT]

    return run


def type_of(e: p.Expr, variables: dict[str, Scalar], functions: Sequence[p.Function] = ()) -> Scalar:
    """An expression's type, given its variables'."""
    return expression(e, Scope(dict(variables), {}, Functions(functions))).type
