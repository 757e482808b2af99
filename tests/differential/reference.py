"""The reference evaluator: types a program by its own reading of the language, then runs it on Python numbers.

An expression becomes a `Typed`: its type and a closure over the lane's variables. A function is typed in rounds, until
its variables' types no longer change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace

from . import program as p
from . import semantics
from .semantics import Value
from .typing_rules import (
    BOOL,
    F32,
    I32,
    WEAK_FLOAT,
    WEAK_INT,
    IllTyped,
    Scalar,
    accepts,
    assigned,
    common,
    named,
    quotient,
    widened,
)

Frame = dict[str, Value]
BREAK, CONTINUE, RETURN = "break", "continue", "return"
RESULT, STEPS = " result", " steps"
STEP_LIMIT = 20_000


class UnknownYet(Exception):
    """A variable is read whose type has not been found in this round."""


class TooManySteps(Exception):
    """A generated loop runs longer than a test should."""


@dataclass(frozen=True)
class Typed:
    type: Scalar
    run: Callable[[Frame], Value]

    def to(self, target: Scalar) -> Callable[[Frame], Value]:
        """The value as ``target``, whatever it takes (operands of a common type; casts)."""
        source, run = self.type, self.run
        if source == target:
            return run
        if source.is_weak and target.kind != "bool":
            return lambda frame: semantics.literal(run(frame), target)
        return lambda frame: semantics.cast(run(frame), source, target)

    def implicitly(self, target: Scalar) -> Callable[[Frame], Value]:
        if not accepts(target, self.type):
            raise IllTyped(f"{self.type.name} where {target.name} is wanted")
        return self.to(target)

    def test(self) -> Callable[[Frame], bool]:
        """As a condition: a bool, or an int that is not 0."""
        if self.type.is_float or self.type == WEAK_FLOAT:
            raise IllTyped("a float as a test")
        run = self.run
        return lambda frame: bool(run(frame))


def expression(e: p.Expr, scope: Scope) -> Typed:
    match e:
        case p.Literal():
            kind = BOOL if isinstance(e.value, bool) else WEAK_INT if isinstance(e.value, int) else WEAK_FLOAT
            return Typed(kind, lambda frame: e.value)
        case p.Name():
            return scope.read(e.name)
        case p.Unary():
            return unary(e.op, expression(e.operand, scope))
        case p.Binary():
            return binary(e.op, expression(e.left, scope), expression(e.right, scope))
        case p.Compare():
            return compare(e.ops, [expression(operand, scope) for operand in e.operands])
        case p.Logical():
            tests = [expression(operand, scope).test() for operand in e.operands]
            quantifier = all if e.op == "and" else any
            return Typed(BOOL, lambda frame: quantifier(test(frame) for test in tests))
        case p.Conditional():
            return conditional(*(expression(part, scope) for part in (e.then, e.test, e.orelse)))
        case p.Cast():
            operand, target = expression(e.operand, scope), BOOL if e.type == "bool" else named(e.type)
            source, run = operand.type, operand.run
            return Typed(target, lambda frame: semantics.cast(run(frame), source, target))
        case p.Bitcast():
            return bitcast(expression(e.operand, scope), named(e.type))
        case p.Builtin():
            return builtin(e.name, [expression(argument, scope) for argument in e.arguments])
        case p.Call():
            return scope.call(e.function, [expression(argument, scope) for argument in e.arguments])
        case p.Walrus():
            return scope.walrus(e.name, expression(e.value, scope))


def unary(op: str, operand: Typed) -> Typed:
    if op == "not":
        test = operand.test()
        return Typed(BOOL, lambda frame: not test(frame))
    t, run = operand.type, operand.run
    if t.is_weak:
        return Typed(t, lambda frame: {"-": lambda v: -v, "+": lambda v: +v, "~": lambda v: ~v}[op](run(frame)))
    wide = widened(t)
    value = operand.to(wide)
    if op == "~" and wide.is_float:
        raise IllTyped(f"~ of {t.name}")
    return Typed(wide, lambda frame: semantics.unary(op, value(frame), wide))


WEAK_BINARY: dict[str, Callable[[Value, Value], Value]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "<<": lambda a, b: int(a) << int(b),
    ">>": lambda a, b: int(a) >> int(b),
    "&": lambda a, b: int(a) & int(b),
    "|": lambda a, b: int(a) | int(b),
    "^": lambda a, b: int(a) ^ int(b),
    "**": lambda a, b: a**b,
    "min": min,
    "max": max,
}


def binary(op: str, left: Typed, right: Typed) -> Typed:
    if op in ("<<", ">>") and not (left.type.is_weak and right.type.is_weak):
        return shift(op, left, right)
    if op in ("&", "|", "^") and left.type == right.type == BOOL:
        a, b = left.run, right.run
        return Typed(BOOL, lambda frame: semantics.binary(op, a(frame), b(frame), BOOL))
    t = common(left.type, right.type)
    if t.is_weak:
        a, b = left.run, right.run
        return Typed(quotient(t) if op == "/" else t, lambda frame: WEAK_BINARY[op](a(frame), b(frame)))
    if t.is_float and op in ("&", "|", "^", "<<", ">>"):
        raise IllTyped(f"{op} of {t.name}")
    t = widened(t)
    a, b = left.to(t), right.to(t)
    return Typed(quotient(t) if op == "/" else t, lambda frame: semantics.binary(op, a(frame), b(frame), t))


def shift(op: str, left: Typed, right: Typed) -> Typed:
    t = I32 if left.type == WEAK_INT else widened(left.type)
    if not t.is_int or right.type.is_float or right.type == WEAK_FLOAT:
        raise IllTyped("a shift of or by a float")
    value, amount = left.to(t), right.run
    by = semantics.shift_left if op == "<<" else semantics.shift_right
    return Typed(t, lambda frame: by(int(value(frame)), int(amount(frame)), t))


def compare(ops: Sequence[str], operands: Sequence[Typed]) -> Typed:
    links = []
    for op, left, right in zip(ops, operands, operands[1:], strict=False):
        t = left.type if left.type == right.type else common(left.type, right.type)
        a, b = (left.run, right.run) if t.is_weak else (left.to(t), right.to(t))
        links.append((op, a, b))
    return Typed(BOOL, lambda frame: all(semantics.compare(op, a(frame), b(frame)) for op, a, b in links))


def conditional(then: Typed, test: Typed, orelse: Typed) -> Typed:
    t = side_type(then.type, orelse.type)
    condition = test.test()
    a, b = (then.run, orelse.run) if t.is_weak else (then.to(t), orelse.to(t))
    return Typed(t, lambda frame: a(frame) if condition(frame) else b(frame))


def side_type(then: Scalar, orelse: Scalar) -> Scalar:
    """Of a conditional: one type as it is, else what arithmetic on the two would have."""
    if then == orelse:
        return then
    if then.is_weak != orelse.is_weak:
        strong, weak = (orelse, then) if then.is_weak else (then, orelse)
        if strong.is_int and weak == WEAK_INT:
            return strong
    return common(then, orelse)


def choice(name: str, left: Typed, right: Typed) -> Typed:
    """min and max choose a value rather than compute one, so that two of a narrow type stay narrow."""
    t = side_type(left.type, right.type)
    if t.is_weak:
        return binary(name, left, right)
    a, b = left.to(t), right.to(t)
    return Typed(t, lambda frame: semantics.binary(name, a(frame), b(frame), t))


def bitcast(operand: Typed, target: Scalar) -> Typed:
    if operand.type.bits != target.bits:
        raise IllTyped(f"bitcast of {operand.type.name} to {target.name}")
    source, run = operand.type, operand.run
    return Typed(target, lambda frame: semantics.bitcast(run(frame), source, target))


def builtin(name: str, arguments: Sequence[Typed]) -> Typed:
    if name in ("min", "max"):
        result = arguments[0]
        for argument in arguments[1:]:
            result = choice(name, result, argument)
        return result
    if name == "pow":
        return binary("**", *arguments)
    (operand,) = arguments
    t = operand.type if name in semantics.ROUNDINGS else widened(operand.type)
    if t.is_weak or (name == "sqrt" and not t.is_float):
        raise IllTyped(f"{name} of {t.name}")
    value = operand.to(t)
    return Typed(t, lambda frame: semantics.unary(name, value(frame), t))


# --- statements -------------------------------------------------------------------------------------------------------

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
            return while_loop(expression(s.test, scope).test(), block(s.body, scope), block(s.orelse, scope))
        case p.For():
            return for_loop(s, scope)
        case p.Break():
            return lambda frame: BREAK
        case p.Continue():
            return lambda frame: CONTINUE
        case p.Return():
            return scope.give(expression(s.value, scope))


def augmented(s: p.Augmented, scope: Scope) -> Run:
    """Computed as arithmetic, then narrowed to the variable's type if that is a narrow int."""
    old = scope.read(s.target)
    new = binary(s.op, old, expression(s.value, scope))
    if not old.type.is_weak and new.type != old.type:
        if new.type != I32 or not old.type.is_int:
            raise IllTyped(f"{s.op}= gives {new.type.name}, the variable is {old.type.name}")
        target, value = old.type, new.run
        new = Typed(target, lambda frame: semantics.wrap(int(value(frame)), target))
    return scope.store([(s.target, new)])


def count_step(frame: Frame) -> None:
    frame[STEPS] = int(frame.get(STEPS, 0)) + 1
    if frame[STEPS] > STEP_LIMIT:
        raise TooManySteps


def while_loop(test: Callable[[Frame], bool], body: Run, orelse: Run) -> Run:
    def run(frame: Frame) -> str | None:
        while test(frame):
            count_step(frame)
            signal = body(frame)
            if signal == BREAK:
                return None
            if signal == RETURN:
                return signal
        return orelse(frame)

    return run


def for_loop(s: p.For, scope: Scope) -> Run:
    arguments = [expression(argument, scope) for argument in s.arguments]
    t = arguments[0].type
    for argument in arguments[1:]:
        t = common(t, argument.type)
    t = I32 if t == WEAK_INT else widened(t)
    if not t.is_int:
        raise IllTyped(f"a range of {t.name}")
    bounds = [argument.to(t) for argument in arguments]
    target = scope.target(s.target, t)
    body, orelse = block(s.body, scope), block(s.orelse, scope)

    def run(frame: Frame) -> str | None:
        values = [int(bound(frame)) for bound in bounds]
        if len(values) == 3 and values[2] == 0:
            return orelse(frame)
        for i in range(*values):
            count_step(frame)
            frame[target] = i
            signal = body(frame)
            if signal == BREAK:
                return None
            if signal == RETURN:
                return signal
        return orelse(frame)

    return run


# --- functions --------------------------------------------------------------------------------------------------------


class Scope:
    """One function while it is typed: what its variables are known to be, and what this round finds them assigned."""

    def __init__(self, known: dict[str, Scalar], constants: dict[str, Value], functions: dict[str, p.Function]) -> None:
        self.known = known
        self.constants = constants
        self.functions = functions
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
        function = self.functions[name]
        kinds = [
            argument.type if annotation is None else named(annotation)
            for argument, (_, annotation) in zip(arguments, function.parameters, strict=True)
        ]
        values = [argument.implicitly(kind) for argument, kind in zip(arguments, kinds, strict=True)]
        names = [parameter for parameter, _ in function.parameters]
        body, scope = settle(function.body, dict(zip(names, kinds, strict=True)), self.functions)
        assert scope.result is not None and not scope.result.is_weak

        def run(frame: Frame) -> Value:
            inner: Frame = {n: value(frame) for n, value in zip(names, values, strict=True)}
            body(inner)
            return inner[RESULT]

        return Typed(scope.result, run)


def settle(
    body: Sequence[p.Stmt],
    fixed: dict[str, Scalar],
    functions: dict[str, p.Function],
    output: Scalar | None = None,
) -> tuple[Run, Scope]:
    """Type a function's body by rounds, and give it with the scope in which its variables have their types."""
    single = {name: value for name, value in constants(body).items() if name not in fixed}
    fixed = fixed | {name: WEAK_FLOAT if isinstance(v, float) else WEAK_INT for name, v in single.items()}
    fixed |= {s.targets[0]: named(s.annotation) for s in walk(body) if isinstance(s, p.Assign) and s.annotation}
    known = dict(fixed)
    defaults: dict[str, Scalar] = {}
    for _ in range(100):
        scope = Scope(known | defaults, single, functions)
        scope.output = output
        for s in walk(body):
            try:
                if isinstance(s, p.If | p.While):
                    expression(s.test, scope)
                else:
                    statement(s if not isinstance(s, p.For) else p.For(s.target, s.arguments, ()), scope)
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
    run = block(body, scope)
    for name, t in known.items():
        if name in scope.found and not t.is_weak and not accepts(t, scope.found[name]):
            raise IllTyped(f"{name} is {t.name} and is assigned {scope.found[name].name}")
    return run, scope


def constants(body: Sequence[p.Stmt]) -> dict[str, Value]:
    """Names bound once in the whole function, to a number."""
    counts: dict[str, int] = {}
    values: dict[str, Value] = {}
    for s in walk(body):
        for name in bound_by(s):
            counts[name] = counts.get(name, 0) + 1
            if isinstance(s, p.Assign) and isinstance(s.value, p.Literal) and not s.annotation:
                values[name] = s.value.value
    return {n: v for n, v in values.items() if counts[n] == 1 and not isinstance(v, bool)}


def bound_by(s: p.Stmt) -> list[str]:
    """The names that a statement binds, but for those that the blocks inside of it do."""
    head = replace(s, body=(), orelse=()) if isinstance(s, p.If | p.While | p.For) else s
    return targets(s) + [node.name for node in nodes(head) if isinstance(node, p.Walrus)]


def nodes(node: object) -> Iterator[object]:
    """Everything in a tree."""
    yield node
    if isinstance(node, tuple):
        for part in node:
            yield from nodes(part)
    elif is_dataclass(node):
        for each in fields(node):
            yield from nodes(getattr(node, each.name))


def targets(s: p.Stmt) -> list[str]:
    match s:
        case p.Assign() | p.TupleAssign() | p.DivmodAssign():
            return list(s.targets)
        case p.Augmented() | p.For():
            return [s.target]
        case _:
            return []


def walk(body: Sequence[p.Stmt]) -> Iterator[p.Stmt]:
    for s in body:
        yield s
        if isinstance(s, p.If | p.While | p.For):
            yield from walk(s.body)
            yield from walk(s.orelse)


def evaluator(program: p.Program) -> Callable[[Sequence[Value]], Value]:
    """The program as a function from a lane's inputs to its output; raises IllTyped for what must not compile."""
    output = named(program.output)
    functions = {f.name: f for f in program.functions}
    inputs = {name: named(t) for name, t in program.inputs}
    body, scope = settle((*program.body, p.Return(program.result)), inputs, functions, output)

    def run(values: Sequence[Value]) -> Value:
        frame: Frame = dict(zip(inputs, values, strict=True))
        body(frame)
        return frame[RESULT]

    return run


def type_of(e: p.Expr, variables: dict[str, Scalar], functions: Sequence[p.Function] = ()) -> Scalar:
    """An expression's type, given its variables'."""
    return expression(e, Scope(dict(variables), {}, {f.name: f for f in functions})).type
