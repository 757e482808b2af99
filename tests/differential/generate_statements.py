"""Random statement programs: assignments of every kind, branches, bounded loops, early returns, device functions."""

from __future__ import annotations

import itertools
from random import Random

from . import program as p
from . import typing_rules
from .generate import ALL, COMPARISONS, FLOATS, INTS, Access, Expressions, output_type, refuses_constants
from .typing_rules import BOOL, F32, I32, I64, U32, U64, Scalar

LOOP_LIMIT = 5
Signature = tuple[tuple[Scalar, ...], Scalar]
Functions = dict[str, Signature]


class Statements:
    """Makes the body of one function. ``result`` is what its Return statements give."""

    def __init__(self, random: Random, inputs: dict[str, Scalar], functions: Functions, result: Scalar) -> None:
        self.random = random
        self.result = result
        self.variables = dict(inputs)
        self.expressions = Expressions(random, self.variables, functions)
        self.assignable: set[str] = set(inputs)
        self.constants: set[str] = set()
        self.count = 0
        self.may_return = True
        self.locked: set[str] = set()
        """Arrays that may be read and not written now."""

    def fresh(self, prefix: str = "v") -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def body(self, length: int, depth: int, loop: bool = False) -> tuple[p.Stmt, ...]:
        """A block; what it declares is not known after it."""
        before, arrays = dict(self.variables), dict(self.expressions.arrays)
        statements: list[p.Stmt] = []
        for _ in range(length):
            statements += self.one(depth, loop)
        for name in self.variables.keys() - before.keys():
            del self.variables[name]
        self.expressions.arrays = arrays
        return tuple(statements)

    def one(self, depth: int, loop: bool) -> list[p.Stmt]:
        makers = [self.declare, self.declare_weak, self.assign, self.augment, self.augment, self.several, self.divmod]
        if depth > 0:
            makers += [lambda: self.branch(depth, loop)] * 3
            makers += [lambda: self.for_loop(depth), lambda: self.while_loop(depth)]
        if loop:
            makers += [self.leave_loop]
        if len(self.expressions.arrays) < 3:
            makers += [self.array]
        if self.expressions.arrays.keys() - self.locked:
            makers += [self.element] * 2
        if self.may_return and self.random.random() < 0.06:
            makers = [self.give]
        return self.random.choice(makers)()

    def declare(self) -> list[p.Stmt]:
        value, t = self.expressions.any(2)
        name = self.fresh()
        annotation = t.name if self.random.random() < 0.2 else None
        names = (name,) if annotation or self.random.random() < 0.8 else (name, self.fresh())
        self.know({n: t for n in names})
        return [p.Assign(names, value, annotation)]

    def know(self, types: dict[str, Scalar]) -> None:
        self.variables.update(types)
        self.assignable |= types.keys()

    def declare_weak(self) -> list[p.Stmt]:
        """A variable that starts as a literal and takes its type from a later assignment, or stays a literal's."""
        name = self.fresh("w")
        if self.random.random() < 0.3:
            value = self.expressions.literal(self.random.choice((I32, F32)))
            t = F32 if isinstance(value.value, float) else I32
            second = self.expressions.literal(t)
            second = p.Literal(float(second.value) if t == F32 else int(second.value))
            test = self.expressions.open_test(1)
            self.know({name: t})
            return [p.Assign((name,), value), self.later(test, name, second)]
        t = self.random.choice((*INTS, *FLOATS))
        start, later = self.expressions.literal(t), self.expressions.of(t, 1)
        test = self.expressions.open_test(1)
        self.know({name: t})
        return [p.Assign((name,), start), self.later(test, name, later)]

    def later(self, test: p.Expr | None, name: str, value: p.Expr) -> p.Stmt:
        """An assignment that gives a variable its type, on one side of a branch if there is an open one."""
        assignment = p.Assign((name,), value)
        return assignment if test is None else p.If(test, (assignment,))

    def array(self) -> list[p.Stmt]:
        """An array of the thread, all of it written."""
        t, name = self.random.choice(ALL), self.fresh("a")
        shape = self.random.choice(((3,), (4,), (7,), (8,), (2, 3), (4, 4), (2, 2, 2)))
        lines: list[p.Stmt] = [p.Declare(name, "local", t.name, shape)]
        places = list(itertools.product(*map(range, shape)))
        if len(places) <= 4 and self.random.random() < 0.5:
            for place in places:
                value = self.expressions.literal(t) if t != BOOL else self.expressions.of(t, 1)
                lines.append(p.Store(name, tuple(map(p.Literal, place)), value))
        else:
            lines += self.filled(name, t, shape)
        self.expressions.arrays[name] = Access(t, shape)
        return lines

    def filled(self, name: str, t: Scalar, shape: tuple[int, ...]) -> list[p.Stmt]:
        """Loops over an array that write each element once, in some order."""
        indices = [self.fresh("j") for _ in shape]
        self.variables |= dict.fromkeys(indices, I32)
        value = self.expressions.of(t, 2)
        for index in indices:
            del self.variables[index]
        lines: list[p.Stmt] = [p.Store(name, tuple(map(p.Name, indices)), value)]
        for index, extent in reversed(list(zip(indices, shape, strict=True))):
            ways = [(extent,), (0, extent), (extent - 1, -1, -1), (0, extent, 1)]
            lines = [p.For(index, tuple(map(p.Literal, self.random.choice(ways))), tuple(lines))]
        return lines

    def element(self) -> list[p.Stmt]:
        """A store to an element."""
        name = self.random.choice([n for n in self.expressions.arrays if n not in self.locked])
        return self.store(name, self.expressions.arrays[name])

    def store(self, name: str, access: Access) -> list[p.Stmt]:
        indices = self.expressions.indices(access, 1)
        if access.type == BOOL or self.random.random() < 0.5:
            weak = access.type != BOOL and self.random.random() < 0.2
            value = self.expressions.literal(access.type) if weak else self.expressions.of(access.type, 2)
            return [p.Store(name, indices, value)]
        op, value = self.augmentation(access.type)
        return [p.Store(name, indices, value, op)]

    def target(self) -> tuple[str, Scalar] | None:
        names = [n for n in self.variables if n in self.assignable]
        if not names:
            return None
        name = self.random.choice(names)
        return name, self.variables[name]

    def assign(self) -> list[p.Stmt]:
        chosen = self.target()
        if chosen is None:
            return self.declare()
        name, t = chosen
        weak = t != BOOL and self.random.random() < 0.15
        return [p.Assign((name,), self.expressions.literal(t) if weak else self.expressions.of(t, 2))]

    def augment(self) -> list[p.Stmt]:
        chosen = self.target()
        if chosen is None or chosen[1] == BOOL:
            return self.declare()
        name, t = chosen
        op, value = self.augmentation(t)
        return [p.Augmented(name, op, value)]

    def augmentation(self, t: Scalar) -> tuple[str, p.Expr]:
        """An operator, and what to change a value of type ``t`` by."""
        if t.is_float:
            op = self.random.choice(("+", "-", "*", "/", "//", "%"))
            other = self.random.choice((t, t, *INTS))
        else:
            op = self.random.choice(("+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>"))
            other = t if op not in ("<<", ">>") else self.random.choice(INTS)
        weak = self.random.random() < 0.25 and op not in ("<<", ">>")
        make = self.expressions.varying if op in ("<<", ">>") else self.expressions.of
        return op, self.expressions.literal(t) if weak else make(other, 1)

    def several(self) -> list[p.Stmt]:
        """A swap if two variables share a type, else a tuple of new variables."""
        by_type: dict[Scalar, list[str]] = {}
        for name, t in self.variables.items():
            if name in self.assignable:
                by_type.setdefault(t, []).append(name)
        pairs = [(t, names) for t, names in by_type.items() if len(names) > 1]
        if pairs and self.random.random() < 0.7:
            t, names = self.random.choice(pairs)
            a, b = self.random.sample(names, 2)
            second: p.Expr = p.Name(a) if self.random.random() < 0.6 else self.expressions.of(t, 1)
            return [p.TupleAssign((a, b), (p.Name(b), second))]
        values = [self.expressions.any(1) for _ in range(2)]
        targets = self.fresh(), self.fresh()
        self.know({n: t for n, (_, t) in zip(targets, values, strict=True)})
        return [p.TupleAssign(targets, tuple(value for value, _ in values))]

    def divmod(self) -> list[p.Stmt]:
        t = self.random.choice((I32, I64, U32, U64, *FLOATS))
        left, right = self.expressions.pair(t, 1)
        targets = self.fresh("q"), self.fresh("r")
        self.know({n: t for n in targets})
        return [p.DivmodAssign(targets, left, right)]

    def branch(self, depth: int, loop: bool) -> list[p.Stmt]:
        test: p.Expr = self.expressions.test(2)
        if self.random.random() < 0.2:
            test = self.walrus()
        body = self.body(self.random.randint(1, 2), depth - 1, loop)
        orelse: tuple[p.Stmt, ...] = ()
        if self.random.random() < 0.6:
            orelse = self.body(1, depth - 1, loop)
        if self.random.random() < 0.4:
            return self.both_sides(test, body, orelse)
        return [p.If(test, body, orelse)]

    def walrus(self) -> p.Expr:
        t = self.random.choice((I32, I64, U32, U64, *FLOATS))
        name = self.fresh()
        test = p.Compare(
            (self.random.choice(COMPARISONS),), (p.Walrus(name, self.expressions.of(t, 1)), self.expressions.of(t, 1))
        )
        self.know({name: t})
        return test

    def both_sides(self, test: p.Expr, body: tuple[p.Stmt, ...], orelse: tuple[p.Stmt, ...]) -> list[p.Stmt]:
        """A branch after which one more variable is known, because both sides assign it."""
        name, t = self.fresh(), self.random.choice(ALL)
        first = p.Assign((name,), self.expressions.of(t, 1))
        second = p.Assign((name,), self.expressions.of(t, 1))
        self.know({name: t})
        return [p.If(test, (first, *body), (second, *orelse))]

    def guard(self, counter: str) -> list[p.Stmt]:
        stop = p.Compare((">=",), (p.Name(counter), p.Literal(LOOP_LIMIT)))
        return [p.If(stop, (p.Break(),)), p.Augmented(counter, "+", p.Literal(1))]

    def for_loop(self, depth: int) -> list[p.Stmt]:
        counter, target = self.fresh("c"), self.fresh("k")
        t, arguments = self.range_arguments()
        lines: list[p.Stmt] = [p.Assign((counter,), p.Literal(0))]
        after = self.random.random() < 0.3
        if after:
            lines.append(p.Assign((target,), p.Cast(t.name, p.Literal(77))))
        self.variables |= {counter: I32, target: t}
        if self.random.random() < 0.3:
            self.assignable.add(target)
        body = self.body(self.random.randint(1, 3), depth - 1, loop=True)
        if not after:
            del self.variables[target]
        orelse = self.body(1, 0) if self.random.random() < 0.3 else ()
        return [*lines, p.For(target, arguments, (*self.guard(counter), *body), orelse)]

    def range_arguments(self) -> tuple[Scalar, tuple[p.Expr, ...]]:
        t = self.random.choice((I32, I32, I32, I64, U32, U64))
        literals = [(5,), (0,), (2, 7), (5, 2), (9, 0, -2), (0, 9, 3), (-4, 4, 2), (3, -3, -1), (0, 5, -1)]
        edges = [(t.high - 7, t.high, 4), (t.high - 3, t.high), (t.low + 5, t.low, -3), (t.high, t.high - 9, -4)]
        if self.random.random() < 0.35 and t == I32:
            chosen = self.random.choice([*literals, *edges])
            return t, tuple(p.Literal(v) for v in chosen)
        make = self.expressions
        if self.random.random() < 0.4:
            low, high = make.of(t, 1), make.of(t, 1)
            step: p.Expr = (
                make.varying(t, 1) if self.random.random() < 0.5 else p.Literal(self.random.choice((1, 2, 7)))
            )
            return t, (low, high, step)
        if self.random.random() < 0.5:
            values = list(self.random.choice(edges))
            if t.kind == "unsigned" and len(values) == 3:
                values[2] = abs(values[2])
            return t, tuple(p.Cast(t.name, p.Literal(v)) for v in values)
        return t, (p.Binary("&", make.of(t, 1), p.Literal(7)),)

    def while_loop(self, depth: int) -> list[p.Stmt]:
        counter = self.fresh("c")
        test: p.Expr = p.Compare(("<",), (p.Name(counter), p.Literal(self.random.randint(1, LOOP_LIMIT))))
        if self.random.random() < 0.7:
            test = p.Logical("and", (test, self.expressions.test(1)))
        self.variables[counter] = I32
        body = self.body(self.random.randint(1, 3), depth - 1, loop=True)
        orelse = self.body(1, 0) if self.random.random() < 0.3 else ()
        step = p.Augmented(counter, "+", p.Literal(1))
        return [p.Assign((counter,), p.Literal(0)), p.While(test, (step, *body), orelse)]

    def leave_loop(self) -> list[p.Stmt]:
        way = self.random.choice((p.Break(), p.Continue()))
        return [p.If(self.expressions.test(1), (way,))]

    def give(self) -> list[p.Stmt]:
        return [p.If(self.expressions.test(1), (p.Return(self.expressions.of(self.result, 1)),))]


def device_function(random: Random, name: str, functions: Functions) -> tuple[p.Function, Signature]:
    kinds = tuple(random.choice(ALL) for _ in range(random.randint(1, 3)))
    names = [f"{name}_a{k}" for k in range(len(kinds))]
    result = random.choice(ALL)
    maker = Statements(random, dict(zip(names, kinds, strict=True)), functions, result)
    body = maker.body(random.randint(0, 2), 1)
    body = (*body, p.Return(maker.expressions.of(result, 2)))
    annotated = [kind.name if random.random() < 0.5 else None for kind in kinds]
    name += "v" * refuses_constants(body)
    return p.Function(name, tuple(zip(names, annotated, strict=True)), body), (kinds, result)


def statement_program(random: Random) -> p.Program:
    functions: Functions = {}
    definitions = []
    for k in range(random.choice((0, 0, 1, 2))):
        definition, signature = device_function(random, f"f{k}", functions)
        definitions.append(definition)
        functions[definition.name] = signature
    inputs = {f"x{k}": random.choice(ALL) for k in range(random.randint(2, 4))}
    result = random.choice(ALL)
    maker = Statements(random, inputs, functions, result)
    body: list[p.Stmt] = []
    for _ in range(random.randint(2, 5)):
        body += maker.one(2, loop=False)
    value = maker.expressions.of(result, 2)
    output = output_type(result, random)
    assert typing_rules.accepts(output, result)
    return p.Program(tuple((n, t.name) for n, t in inputs.items()), tuple(body), value, output.name, tuple(definitions))
