"""Random programs of many threads: what each does for itself, and between that exchanges that all come to.

No program races, waits for ever or depends on an order, by construction: a thread writes its own element of a shared
array, and between two barriers everybody reads it or changes it by one operation whose order does not matter.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from . import program as p
from .generate import ALL, INTS, Access, Expressions, output_type
from .generate_forms import Forms
from .generate_statements import Functions, device_function
from .typing_rules import BOOL, F32, F64, I32, I64, TYPES, U32, U64, Scalar, Vector

PLACES = ("tid", "lane", "thread_idx.x", "lane_id()", "warp_id()", "block_idx.x", "block_dim.x")
SAME_IN_A_BLOCK = ("block_idx.x", "block_dim.x", "grid_dim.x", "block_dim.y")
SHAPES = ((32, 1), (64, 1), (32, 2), (16, 4), (96, 1), (8, 12), (128, 1))
FULL = p.Literal(0xFFFF_FFFF)
ATOMIC_INTS = (I32, U32, I64, U64)
REDUCED = (I32, U32)
SUMMED = ("add", "sub", "cas_add")


class Threads(Forms):
    """Makes the statements of a block of threads. ``convergent`` ones are those that all its threads come to."""

    def __init__(
        self,
        random: Random,
        inputs: dict[str, Scalar],
        uniforms: dict[str, Scalar],
        functions: Functions,
        result: Scalar,
        grid: p.Grid,
    ) -> None:
        super().__init__(random, inputs, functions, result)
        self.grid = grid
        self.expressions.places = PLACES
        self.expressions.payloads = False
        self.may_return = False
        self.uniform = Expressions(random, dict(uniforms))
        self.uniform.places = SAME_IN_A_BLOCK
        self.uniform.payloads = False
        self.variables |= uniforms
        self.expressions.inputs = tuple(inputs)
        self.collective_functions: dict[str, tuple[Scalar, Scalar]] = {}
        """Functions to which all threads of a warp come: their parameter's type and their result's."""

    def segments(self, count: int, depth: int, mask: int = 32, barriers: bool = True) -> tuple[p.Stmt, ...]:
        """Statements of whole groups of ``mask`` lanes; ``barriers``: of whole blocks."""
        before, arrays = dict(self.variables), dict(self.expressions.arrays)
        vectors, tuples = dict(self.expressions.vectors), dict(self.tuples)
        functions = dict(self.expressions.functions)
        lines = [s for _ in range(count) for s in self.segment(depth, mask, barriers)]
        for name in self.variables.keys() - before.keys():
            del self.variables[name]
        self.expressions.arrays, self.expressions.vectors, self.tuples = arrays, vectors, tuples
        self.expressions.functions = functions
        return tuple(lines)

    def segment(self, depth: int, mask: int, barriers: bool) -> list[p.Stmt]:
        makers: list[Callable[[], list[p.Stmt]]] = [lambda: self.one(1, loop=False)] * 3
        makers += [lambda: self.shuffle(mask), lambda: self.vote(mask), lambda: self.reduction(mask)] * 2
        makers += [lambda: [p.Collective("sync_warp", (self.mask(mask),))]]
        if mask == 32 and depth:
            makers += [lambda: self.some_lanes(depth), lambda: self.some_warps(depth)]
        if mask == 32 and self.collective_functions:
            makers += [self.call_together] * 2
        if barriers:
            makers += [self.exchange, self.exchange, self.counting, self.together]
        if depth:
            makers += [lambda: self.same_branch(depth, mask, barriers), lambda: self.same_loop(depth, mask, barriers)]
        return self.random.choice(makers)()

    # Warps

    def mask(self, size: int) -> p.Expr:
        """Of the caller's group of ``size`` lanes."""
        if size == 32:
            return FULL
        ones = p.Cast("u32", p.Literal((1 << size) - 1))
        return p.Binary("<<", ones, p.Binary("&", p.Place("lane_id()"), p.Literal(32 - size)))

    def group(self, size: int) -> int:
        return self.random.choice([size, size, *(s for s in (4, 8, 16) if s < size)])

    def shuffle(self, size: int) -> list[p.Stmt]:
        size = self.group(size)
        t, name = self.random.choice(ALL), self.fresh("s")
        which = self.random.choice(("shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync"))
        value = self.expressions.of(t, 2)
        by: p.Expr = p.Literal(self.random.randrange(size))
        if self.random.random() < 0.5:
            by = self.uniform.below(size, 1) if which != "shfl_sync" else self.expressions.below(size, 1)
            by = p.Cast(self.random.choice(("i32", "u32")), by)
        width = (p.Literal(size),) if size < 32 or self.random.random() < 0.2 else ()
        self.know({name: t})
        return [p.Collective(which, (self.mask(size), value, by, *width), (name,))]

    def vote(self, size: int) -> list[p.Stmt]:
        size = self.group(size)
        which = self.random.choice(("all_sync", "any_sync", "ballot_sync", "match_any_sync", "match_all_sync"))
        name, mask = self.fresh("s"), self.mask(size)
        if which == "match_all_sync":
            value = self.same_value() if self.random.random() < 0.5 else self.expressions.any(1, INTS)[0]
            names = name, self.fresh("s")
            self.know({names[0]: U32, names[1]: BOOL})
            return [p.Collective(which, (mask, value), names)]
        value = self.expressions.any(1, (*INTS, BOOL))[0] if which == "match_any_sync" else self.expressions.of(BOOL, 2)
        self.know({name: BOOL if which in ("all_sync", "any_sync") else U32})
        return [p.Collective(which, (mask, value), (name,))]

    def same_value(self) -> p.Expr:
        return self.uniform.any(1, INTS)[0]

    def reduction(self, size: int) -> list[p.Stmt]:
        t, name = self.random.choice(REDUCED), self.fresh("s")
        which = self.random.choice(("add", "min", "max", "and", "or", "xor"))
        value, mask = self.expressions.of(t, 2), self.mask(self.group(size))
        self.know({name: t})
        return [p.Collective(f"reduce_{which}_sync", (mask, value), (name,))]

    def some_lanes(self, depth: int) -> list[p.Stmt]:
        """Groups of lanes that go on without the others."""
        size = self.random.choice((4, 8, 16))
        which = p.Binary("&", p.Place("lane_id()"), p.Literal(size))
        test = p.Compare((self.random.choice(("==", "!=")),), (which, p.Literal(0)))
        body = self.segments(self.random.randint(1, 2), depth - 1, size, barriers=False)
        orelse = self.segments(1, depth - 1, size, barriers=False) if self.random.random() < 0.5 else ()
        return [p.If(test, body, orelse)]

    def some_warps(self, depth: int) -> list[p.Stmt]:
        warps = (self.grid.threads + 31) // 32
        test = p.Compare((self.random.choice(("==", "<", "!=")),), (p.Place("warp_id()"), p.Literal(warps // 2)))
        body = self.segments(self.random.randint(1, 2), depth - 1, 32, barriers=False)
        orelse = self.segments(1, depth - 1, 32, barriers=False) if self.random.random() < 0.5 else ()
        return [p.If(test, body, orelse)]

    def call_together(self) -> list[p.Stmt]:
        name = self.random.choice(list(self.collective_functions))
        kind, result = self.collective_functions[name]
        target, argument = self.fresh("s"), self.expressions.unknown(self.expressions.of(kind, 1), kind)
        self.know({target: result})
        return [p.Assign((target,), p.Call(name, (argument,)))]

    # Blocks

    def same_test(self) -> p.Expr:
        """A condition that is the same for all threads of a block."""
        return self.uniform.of(BOOL, 2)

    def same_branch(self, depth: int, mask: int, barriers: bool) -> list[p.Stmt]:
        body = self.segments(self.random.randint(1, 2), depth - 1, mask, barriers)
        orelse = self.segments(1, depth - 1, mask, barriers) if self.random.random() < 0.5 else ()
        return [p.If(self.same_test(), body, orelse)]

    def same_loop(self, depth: int, mask: int, barriers: bool) -> list[p.Stmt]:
        name = self.fresh("k")
        bound: p.Expr = p.Literal(self.random.randint(1, 3))
        if self.random.random() < 0.6:
            bound = p.Binary("&", self.uniform.of(I32, 1), p.Literal(3))
        self.variables[name] = self.uniform.variables[name] = I32
        body = self.segments(self.random.randint(1, 2), depth - 1, mask, barriers)
        if self.random.random() < 0.4:
            # Not inside of an exchange, of whose barriers none may be left out.
            leave = p.If(self.same_test(), (self.random.choice((p.Break(), p.Continue())),))
            body = (*body, leave, *self.segments(1, depth - 1, mask, barriers))
        del self.variables[name], self.uniform.variables[name]
        orelse = self.segments(1, 0, mask, barriers) if self.random.random() < 0.2 else ()
        if self.random.random() < 0.3:
            return self.as_while(name, bound, body, orelse)
        return [p.For(name, (bound,), body, orelse)]

    def as_while(self, name: str, bound: p.Expr, body: tuple[p.Stmt, ...], orelse: tuple[p.Stmt, ...]) -> list[p.Stmt]:
        start = p.Assign((name,), p.Cast("i32", p.Literal(-1)))
        more = p.Compare(("<",), (p.Name(name), p.Binary("-", bound, p.Literal(1))))
        return [start, p.While(more, (p.Augmented(name, "+", p.Literal(1)), *body), orelse)]

    def together(self) -> list[p.Stmt]:
        """A barrier that asks all threads."""
        which, t = self.random.choice(
            (("sync_threads_count", I32), ("sync_threads_and", BOOL), ("sync_threads_or", BOOL))
        )
        name, test = self.fresh("s"), self.expressions.of(BOOL, 2)
        self.know({name: t})
        return [p.Collective(which, (test,), (name,))]

    def shared(self, t: Scalar) -> tuple[p.Declare, Access, Access]:
        """An array with an element a thread: its declaration, what a thread may touch alone, and all of it."""
        name, threads, tid = self.fresh("m"), self.grid.threads, p.Place("tid")
        choice = self.random.random()
        if choice < 0.5:
            own: tuple[p.Expr, ...] = (self.random.choice((tid, p.Binary("-", p.Literal(threads - 1), tid))),)
            return p.Declare(name, "shared", t.name, (threads,)), Access(t, (threads,), own), Access(t, (threads,))
        width = self.random.choice((4, 8, 16))
        padded = width + self.random.choice((0, 0, 1))
        own = (p.Binary("//", tid, p.Literal(width)), p.Binary("%", tid, p.Literal(width)))
        shape = (threads // width, width)
        return p.Declare(name, "shared", t.name, (shape[0], padded)), Access(t, shape, own), Access(t, shape)

    def exchange(self) -> list[p.Stmt]:
        """Each writes its own element, all read, and before the next write all have read."""
        vector = self.random.random() < 0.2
        declaration, own, everything = self.shared(self.vectors.any_type() if vector else self.random.choice(ALL))
        name, t = declaration.name, own.type
        assert own.own is not None
        lines: list[p.Stmt] = [declaration, p.Store(name, own.own, self.value(t, 2))]
        self.expressions.arrays[name] = own
        if self.random.random() < 0.4:
            lines += self.one(1, loop=False)
        if self.random.random() < 0.3 and t in ATOMIC_INTS:
            lines += self.alone(name, own)
        lines.append(p.Collective("sync_threads"))
        self.expressions.arrays[name] = everything
        self.locked.add(name)
        for _ in range(self.random.randint(1, 2)):
            read, kind = self.fresh(), self.random.choice((t, t, self.random.choice(ALL)))
            if isinstance(kind, Vector):
                value = p.Index(name, self.expressions.indices(everything, 1))
                self.expressions.vectors[read] = kind
                lines.append(p.Assign((read,), value))
                continue
            value = self.expressions.element(t, 2) if kind == t else self.expressions.of(kind, 2)
            self.know({read: kind})
            lines.append(p.Assign((read,), value))
        if self.random.random() < 0.4:
            lines += self.one(1, loop=False)
        self.locked.remove(name)
        del self.expressions.arrays[name]
        return [*lines, p.Collective("sync_threads")]

    def value(self, t: Scalar, depth: int) -> p.Expr:
        return self.vectors.of(t, depth) if isinstance(t, Vector) else self.expressions.of(t, depth)

    def alone(self, name: str, own: Access) -> list[p.Stmt]:
        """An atomic on the thread's own element, of which the old value is known."""
        which = self.random.choice(("add", "sub", "min", "max", "and_", "or_", "xor", "exch", "cas"))
        if own.type == U32:
            which = self.random.choice((which, "inc", "dec"))
        old = self.fresh()
        given = tuple(self.expressions.of(own.type, 1) for _ in range(2 if which == "cas" else 1))
        assert own.own is not None
        self.know({old: own.type})
        return [p.Atomic(which, name, own.own, given, old)]

    def counting(self) -> list[p.Stmt]:
        """All change any element by one operation."""
        t = self.random.choice((*ATOMIC_INTS, *ATOMIC_INTS, F32, F64))
        declaration, own, everything = self.shared(t)
        assert own.own is not None
        start: p.Expr = (
            self.expressions.of(t, 1) if t.is_int else p.Cast(t.name, p.Binary("&", p.Place("tid"), p.Literal(7)))
        )
        lines: list[p.Stmt] = [declaration, p.Store(declaration.name, own.own, start), p.Collective("sync_threads")]
        which = self.operation(t)
        for _ in range(self.random.randint(1, 3)):
            lines += self.change(declaration.name, everything, which)
        name = self.fresh()
        value = p.Index(declaration.name, self.expressions.indices(everything, 1))
        self.know({name: t})
        return [*lines, p.Collective("sync_threads"), p.Assign((name,), value), p.Collective("sync_threads")]

    def operation(self, t: Scalar) -> str:
        """The operations of one phase: sums may be mixed."""
        if t.is_float:
            return "add"
        return self.random.choice(
            ("add", "add", "min", "max", "and_", "or_", "xor", *(("inc", "dec") if t == U32 else ()))
        )

    def change(self, name: str, access: Access, which: str) -> list[p.Stmt]:
        t = access.type
        if t.is_float:
            # Sums of small whole numbers are exact in any order.
            value: p.Expr = p.Cast(t.name, p.Binary("&", self.expressions.of(I32, 1), p.Literal(15)))
        elif which in ("inc", "dec"):
            value = p.Literal(5)
        else:
            value = self.expressions.of(t, 1)
        if which == "add" and t.is_int:
            which = self.random.choice(SUMMED)
        atomic = p.Atomic(which, name, self.expressions.indices(access, 1), (value,))
        if self.random.random() < 0.4:
            return [p.If(self.expressions.test(1), (atomic,))]
        if self.random.random() < 0.3:
            return [p.For(self.fresh("k"), (p.Binary("&", self.expressions.of(I32, 1), p.Literal(3)),), (atomic,))]
        return [atomic]


def collective_function(random: Random, name: str, grid: p.Grid) -> tuple[p.Function, Scalar, Scalar]:
    """A device function with shuffles, votes and reductions in it."""
    kind, result = random.choice(ALL), random.choice(ALL)
    maker = Threads(random, {f"{name}_a": kind}, {}, {}, result, grid)
    # Where its threads are is known in the kernel only.
    maker.expressions.places = PLACES[2:]
    lines: list[p.Stmt] = []
    for _ in range(random.randint(1, 3)):
        make = random.choice((maker.shuffle, maker.vote, maker.reduction))
        lines += make(32) if random.random() < 0.7 else maker.one(1, loop=False)
    lines.append(p.Return(maker.expressions.of(result, 2)))
    return p.Function(name, ((f"{name}_a", None),), tuple(lines)), kind, result


def block_program(random: Random) -> p.Program:
    width, height = random.choice(SHAPES)
    grid = p.Grid(random.choice((1, 1, 2)), (width, height))
    functions: Functions = {}
    definitions = []
    if random.random() < 0.3:
        definition, signature = device_function(random, "f0", functions)
        definitions.append(definition)
        functions[definition.name] = signature
    inputs = {f"x{k}": random.choice(ALL) for k in range(random.randint(1, 3))}
    uniforms = {f"u{k}": random.choice(ALL) for k in range(random.randint(1, 2))}
    result = random.choice(ALL)
    maker = Threads(random, inputs, uniforms, functions, result, grid)
    if random.random() < 0.4:
        together, kind, given = collective_function(random, "c0", grid)
        definitions.append(together)
        maker.collective_functions["c0"] = (kind, given)
    buffers = []
    body: list[p.Stmt] = []
    for k in range(random.choice((0, 0, 1, 2))):
        t = random.choice((*ATOMIC_INTS, F32, F64))
        buffers.append((p.Buffer(f"g{k}", t.name, random.choice((1, 3, 8))), maker.operation(t)))
    for _ in range(random.randint(2, 5)):
        body += maker.segment(2, 32, barriers=True)
        for buffer, which in buffers:
            if random.random() < 0.4:
                body += maker.change(buffer.name, Access(TYPES[buffer.type], (buffer.size,)), which)
    if random.random() < 0.3:
        maker.may_return = True
        body += maker.one(1, loop=False)
    value = maker.expressions.of(result, 2)
    return p.Program(
        tuple((n, t.name) for n, t in inputs.items()),
        tuple(body),
        value,
        output_type(result, random).name,
        tuple(definitions),
        grid,
        tuple((n, t.name) for n, t in uniforms.items()),
        tuple(buffer for buffer, _ in buffers),
    )
