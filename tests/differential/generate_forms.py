"""Random statements beyond plain assignments and branches: match, unrolled loops, tuples, vectors, inner functions."""

from __future__ import annotations

import math
from random import Random

from . import program as p
from .generate import ALL, INTS, Access, refuses_constants
from .generate_statements import Functions, Signature, Statements
from .generate_vectors import VectorExpressions
from .typing_rules import BOOL, I32, VECTORS, Scalar, Vector


class Forms(Statements):
    """Makes bodies of all statements."""

    def __init__(self, random: Random, inputs: dict[str, Scalar], functions: Functions, result: Scalar) -> None:
        super().__init__(random, inputs, functions, result)
        self.vectors = VectorExpressions(self.expressions)
        self.tuples: dict[str, tuple[Scalar, ...]] = {}

    def body(self, length: int, depth: int, loop: bool = False) -> tuple[p.Stmt, ...]:
        vectors, tuples = dict(self.expressions.vectors), dict(self.tuples)
        functions = dict(self.expressions.functions)
        statements = super().body(length, depth, loop)
        self.expressions.vectors, self.tuples = vectors, tuples
        self.expressions.functions = functions
        return statements

    def one(self, depth: int, loop: bool) -> list[p.Stmt]:
        if self.random.random() < 0.6:
            return super().one(depth, loop)
        makers = [self.vector, self.vector, self.vector, self.tuple]
        if self.expressions.vectors:
            makers += [self.change_vector] * 3
        if self.tuples:
            makers += [self.unpack] * 2
        if self.viewed() or len(self.expressions.arrays) < 4:
            makers += [self.view] * 2
        if depth > 0:
            makers += [lambda: self.match(depth, loop)] * 2
            makers += [lambda: self.unrolled(depth), lambda: self.each(depth), lambda: self.hinted(depth)]
            makers += [self.inner_function] * 2
        return self.random.choice(makers)()

    def match(self, depth: int, loop: bool) -> list[p.Stmt]:
        t = self.random.choice(INTS)
        subject = self.expressions.varying(t, 1)
        if self.random.random() < 0.5 and t.bits >= 32:
            subject = p.Binary("&", subject, p.Literal(7))
        cases = []
        values = self.random.sample(range(8), self.random.randint(1, 4))
        while values:
            count = min(len(values), self.random.choice((1, 1, 2)))
            patterns, values = tuple(map(p.Literal, values[:count])), values[count:]
            guard = self.expressions.test(1) if self.random.random() < 0.3 else None
            cases.append(p.Case(patterns, None, guard, self.body(1, depth - 1, loop)))
        if self.random.random() < 0.3:
            name = self.fresh("w")
            self.variables[name] = t
            guard = p.Compare(("<",), (p.Name(name), p.Literal(100)))
            cases.append(p.Case((), name, guard, self.body(1, depth - 1, loop)))
            del self.variables[name]
        if self.random.random() < 0.6:
            cases.append(p.Case((), None, None, self.body(1, depth - 1, loop)))
        return [p.Match(subject, tuple(cases))]

    def unrolled(self, depth: int) -> list[p.Stmt]:
        """Over constants: the variable of the loop is one in each copy."""
        name = self.fresh("k")
        bounds = self.random.choice(((3,), (1, 4), (6, 0, -2), (0,), (2, 3)))
        self.expressions.constants.append(name)
        body = self.body(self.random.randint(1, 2), depth - 1, loop=True)
        self.expressions.constants.remove(name)
        return [p.For(name, tuple(map(p.Literal, bounds)), body, way="static_range")]

    def each(self, depth: int) -> list[p.Stmt]:
        name = self.fresh("e")
        items: list[p.Expr] = [self.expressions.any(1)[0] for _ in range(self.random.randint(1, 3))]
        if self.random.random() < 0.3:
            items[self.random.randrange(len(items))] = p.Literal(self.random.randint(-9, 9))
        self.expressions.constants.append(name)
        body = self.body(1, depth - 1, loop=True)
        self.expressions.constants.remove(name)
        return [p.ForEach(name, tuple(items), body)]

    def hinted(self, depth: int) -> list[p.Stmt]:
        """A loop that is to be unrolled or not, or that runs backwards."""
        *before, loop = self.for_loop(depth)
        assert isinstance(loop, p.For)
        if self.random.random() < 0.5:
            guard, *rest = loop.body
            return [*before, p.For(loop.target, loop.arguments, (guard, *rest), loop.orelse, way="reversed")]
        hint = self.random.choice(("True", "False", "2", "3", "4"))
        return [*before, p.For(loop.target, loop.arguments, loop.body, loop.orelse, unroll=hint)]

    def tuple(self) -> list[p.Stmt]:
        name = self.fresh("t")
        values = [self.expressions.any(1) for _ in range(self.random.randint(2, 3))]
        self.tuples[name] = tuple(t for _, t in values)
        return [p.Assign((name,), p.Tuple(tuple(value for value, _ in values)))]

    def unpack(self) -> list[p.Stmt]:
        name = self.random.choice(list(self.tuples))
        kinds = self.tuples[name]
        if self.random.random() < 0.5:
            targets = tuple(self.fresh() for _ in kinds)
            self.know(dict(zip(targets, kinds, strict=True)))
            return [p.Unpack(targets, p.Name(name))]
        target, k = self.fresh(), self.random.randrange(len(kinds))
        self.know({target: kinds[k]})
        return [p.Assign((target,), p.Item(name, k))]

    def viewed(self) -> list[str]:
        """The thread's own arrays of ints."""
        return [n for n, a in self.expressions.arrays.items() if n.startswith("a") and a.type.is_int]

    def view(self) -> list[p.Stmt]:
        """A part of an array's bits, as an int of another size: read into a new variable, or stored."""
        lines = self.array() if not self.viewed() else []
        if not self.viewed():
            return lines
        name = self.random.choice(self.viewed())
        access = self.expressions.arrays[name]
        # A larger type would want the array to be aligned to it.
        t = self.random.choice([s for s in INTS if s.bits <= access.type.bits])
        count = math.prod(access.shape) * access.type.bits // t.bits
        offset = self.random.randrange(min(count, 3))
        view = p.View(name, t.name, p.Literal(offset), self.expressions.below(count - offset, 1))
        if self.random.random() < 0.5:
            target = self.fresh()
            self.know({target: t})
            return [*lines, p.Assign((target,), view)]
        if self.random.random() < 0.5:
            return [*lines, p.StoreView(view, self.expressions.of(t, 2))]
        op, value = self.augmentation(t)
        return [*lines, p.StoreView(view, value, op)]

    def vector(self) -> list[p.Stmt]:
        """A new vector, or an array of them."""
        t = self.vectors.any_type()
        name = self.fresh()
        if self.random.random() < 0.15 and len(self.expressions.arrays) < 4:
            size = self.random.choice((2, 3, 4))
            stores = [p.Store(name, (p.Literal(k),), self.vectors.of(t, 1)) for k in range(size)]
            self.expressions.arrays[name] = Access(t, (size,))
            return [p.Declare(name, "local", t.name, (size,)), *stores]
        value = self.vectors.of(t, 2)
        self.expressions.vectors[name] = t
        return [p.Assign((name,), value)]

    def change_vector(self) -> list[p.Stmt]:
        name = self.random.choice(list(self.expressions.vectors))
        t = self.expressions.vectors[name]
        choice = self.random.random()
        if choice < 0.4:
            component = self.random.choice("xyzw"[: t.lanes])
            if self.random.random() < 0.5:
                return [p.SetComponent(name, component, self.expressions.of(t.element, 1))]
            op, value = self.augmentation(t.element)
            return [p.SetComponent(name, component, value, op)]
        if choice < 0.7:
            op = self.random.choice(("+", "-", "*") + (("/",) if t.element.is_float else ("&", "|", "^")))
            return [p.Augmented(name, op, self.vectors.of(t, 1))]
        return [p.Assign((name,), self.vectors.of(t, 2))]

    def store(self, name: str, access: Access) -> list[p.Stmt]:
        if not isinstance(access.type, Vector):
            return super().store(name, access)
        return [p.Store(name, self.expressions.indices(access, 1), self.vectors.of(access.type, 2))]

    def inner_function(self) -> list[p.Stmt]:
        """A lambda or a function inside of the program, over the variables around it."""
        name = self.fresh("n")
        kinds = tuple(self.random.choice(ALL) for _ in range(self.random.randint(1, 2)))
        names = [f"{name}_a{k}" for k in range(len(kinds))]
        result = self.random.choice(ALL)
        outer, inputs = dict(self.variables), self.expressions.inputs
        assignable, constants = set(self.assignable), self.expressions.constants
        # What a loop is unrolled over cannot be seen in a nested function.
        self.expressions.constants = []
        self.variables |= dict(zip(names, kinds, strict=True))
        self.assignable -= outer.keys()
        lines: tuple[p.Stmt, ...] = ()
        kept, self.result, returns, self.may_return = self.result, result, self.may_return, True
        if self.random.random() < 0.5:
            lines = self.plain(self.random.randint(1, 2))
        value = self.expressions.of(result, 2)
        self.result, self.may_return = kept, returns
        self.variables.clear()
        self.variables.update(outer)
        self.assignable, self.expressions.inputs, self.expressions.constants = assignable, inputs, constants
        annotated = [kind.name if lines and self.random.random() < 0.5 else None for kind in kinds]
        name += "v" * refuses_constants((*lines, p.Return(value)))
        function = p.Function(name, tuple(zip(names, annotated, strict=True)), (*lines, p.Return(value)))
        self.expressions.functions[name] = (kinds, result)
        return [p.Define(function)]

    def plain(self, count: int) -> tuple[p.Stmt, ...]:
        """New variables and branches."""
        lines: list[p.Stmt] = []
        for _ in range(count):
            lines += self.random.choice((self.declare, self.declare, self.give, self.divmod))()
        return tuple(lines)


def recursive_function(random: Random, name: str) -> tuple[p.Function, Signature]:
    """Calls itself as often as its first parameter says."""
    t = random.choice(ALL)
    n, x = f"{name}_n", f"{name}_x"
    maker = Forms(random, {n: I32, x: t}, {}, t)
    maker.assignable.remove(n)
    end = p.If(p.Compare(("<=",), (p.Name(n), p.Literal(0))), (p.Return(maker.expressions.of(t, 1)),))
    again = p.Call(name, (p.Binary("-", p.Name(n), p.Literal(1)), maker.expressions.of(t, 1)))
    lines: tuple[p.Stmt, ...] = (end,)
    if random.random() < 0.3:
        lines = (end, p.Return(again))
    else:
        before = maker.body(1, 1)
        maker.know({f"{name}_v": t})
        lines = (end, *before, p.Assign((f"{name}_v",), again), p.Return(maker.expressions.of(t, 1)))
    return p.Function(name, ((n, "i32"), (x, t.name)), lines, t.name), ((I32, t), t)


def pair_function(random: Random, name: str) -> tuple[p.Function, tuple[Scalar, ...], tuple[Scalar, ...]]:
    """Returns a tuple."""
    kinds, results = (tuple(random.choice(ALL) for _ in range(random.randint(2, 3))) for _ in range(2))
    names = [f"{name}_a{k}" for k in range(len(kinds))]
    maker = Forms(random, dict(zip(names, kinds, strict=True)), {}, BOOL)
    maker.may_return = False
    lines = maker.body(random.randint(0, 2), 1)
    value = p.Tuple(tuple(maker.expressions.of(t, 1) for t in results))
    return p.Function(name, tuple((n, None) for n in names), (*lines, p.Return(value))), kinds, results


def form_program(random: Random) -> p.Program:
    """Statements of all kinds, with functions that recurse or return tuples, over scalars and vectors."""
    functions: Functions = {}
    definitions, pairs = [], []
    if random.random() < 0.3:
        definition, functions["r0"] = recursive_function(random, "r0")
        definitions.append(definition)
    if random.random() < 0.4:
        made = pair_function(random, "f1")
        definitions.append(made[0])
        pairs.append(made)
    inputs = {f"x{k}": random.choice(ALL) for k in range(random.randint(2, 3))}
    vectors = {f"y{k}": random.choice(list(VECTORS.values())) for k in range(random.randint(0, 2))}
    result = random.choice(ALL)
    maker = Forms(random, inputs, functions, result)
    maker.expressions.vectors |= vectors
    gives_vector = bool(vectors) and random.random() < 0.4
    maker.may_return = not gives_vector
    body: list[p.Stmt] = []
    for _ in range(random.randint(3, 6)):
        body += maker.one(2, loop=False)
        for definition, kinds, results in pairs:
            if random.random() < 0.4:
                targets = tuple(maker.fresh() for _ in results)
                body.append(
                    p.Unpack(
                        targets,
                        p.Call(
                            definition.name,
                            tuple(maker.expressions.unknown(maker.expressions.of(k, 1), k) for k in kinds),
                        ),
                    )
                )
                maker.know(dict(zip(targets, results, strict=True)))
    if gives_vector:
        t = random.choice(list(maker.expressions.vectors.values()))
        return program(inputs | vectors, body, maker.vectors.of(t, 2), t.name, definitions)
    return program(inputs | vectors, body, maker.expressions.of(result, 2), result.name, definitions)


def program(
    inputs: dict[str, Scalar], body: list[p.Stmt], result: p.Expr, output: str, definitions: list[p.Function]
) -> p.Program:
    kinds = tuple((n, t.name) for n, t in inputs.items())
    return p.Program(kinds, tuple(body), result, output, tuple(definitions))
