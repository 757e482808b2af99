"""Random vector expressions, over the vectors that a program has and scalars for all lanes."""

from __future__ import annotations

from . import program as p
from . import typing_rules
from .generate import ALL, Expressions
from .typing_rules import VECTORS, Vector

OF_FLOATS = ("+", "-", "*", "/", "min", "max")
OF_INTS = ("+", "-", "*", "&", "|", "^", "min", "max")


class VectorExpressions:
    def __init__(self, scalars: Expressions) -> None:
        self.scalars = scalars
        self.random = scalars.random

    def any_type(self) -> Vector:
        """Mostly one that the program has."""
        mine = list(self.scalars.vectors.values())
        return self.random.choice(mine if mine and self.random.random() < 0.6 else list(VECTORS.values()))

    def of(self, t: Vector, depth: int) -> p.Expr:
        if depth <= 0:
            return self.leaf(t)
        makers = [self.arithmetic] * 4 + [self.unary, self.construct, self.conditional, self.swizzle, self.element]
        if t.element.is_float:
            makers += [self.fma] * 2
        return self.random.choice(makers)(t, depth - 1)

    def leaf(self, t: Vector) -> p.Expr:
        mine = [name for name, kind in self.scalars.vectors.items() if kind == t]
        if mine and self.random.random() < 0.85:
            return p.Name(self.random.choice(mine))
        return self.construct(t, 0)

    def construct(self, t: Vector, depth: int) -> p.Expr:
        """Of any scalars and smaller vectors, or of another vector of as many lanes."""
        others = [name for name, kind in self.scalars.vectors.items() if kind.lanes == t.lanes]
        choice = self.random.random()
        if others and choice < 0.3:
            return p.Vector(t.name, (p.Name(self.random.choice(others)),))
        if choice < 0.5:
            return p.Vector(t.name, (self.scalar(t, depth),))
        parts: list[p.Expr] = []
        left = t.lanes
        while left:
            pairs = [
                name for name, kind in self.scalars.vectors.items() if kind.lanes == 2 and kind.element == t.element
            ]
            if left >= 2 and pairs and self.random.random() < 0.4:
                parts.append(p.Name(self.random.choice(pairs)))
                left -= 2
            elif left >= 2 and self.scalars.vectors and self.random.random() < 0.4:
                name, kind = self.random.choice(list(self.scalars.vectors.items()))
                parts.append(p.Components(p.Name(name), self.letters(kind.lanes, 2)))
                left -= 2
            else:
                parts.append(
                    self.scalars.any(min(depth, 1))[0] if self.random.random() < 0.3 else self.scalar(t, depth)
                )
                left -= 1
        return p.Vector(t.name, tuple(parts))

    def letters(self, lanes: int, count: int) -> str:
        return "".join(self.random.choice("xyzw"[:lanes]) for _ in range(count))

    def scalar(self, t: Vector, depth: int) -> p.Expr:
        """What converts to the element type."""
        if self.random.random() < 0.3:
            return self.scalars.literal(t.element)
        kinds = [s for s in ALL if typing_rules.accepts(t.element, s)]
        return self.scalars.of(self.random.choice((t.element, t.element, *kinds)), min(depth, 1))

    def arithmetic(self, t: Vector, depth: int) -> p.Expr:
        op = self.random.choice(OF_FLOATS if t.element.is_float else OF_INTS)
        left: p.Expr = self.of(t, depth)
        right: p.Expr = self.of(t, depth) if self.random.random() < 0.7 else self.scalar(t, depth)
        if self.random.random() < 0.3:
            left, right = right, left
        return self.scalars.operation(op, left, right)

    def unary(self, t: Vector, depth: int) -> p.Expr:
        ops = ("-", "abs", "round", "floor", "ceil") if t.element.is_float else ("-", "~", "abs")
        op = self.random.choice(ops)
        operand = self.of(t, depth)
        return p.Unary(op, operand) if op in "-~" else p.Builtin(op, (operand,))

    def fma(self, t: Vector, depth: int) -> p.Expr:
        values = [self.of(t, depth) if self.random.random() < 0.8 else self.scalar(t, depth) for _ in range(2)]
        values.insert(self.random.randrange(3), self.of(t, 0))
        return p.Intrinsic("fma", tuple(values))

    def conditional(self, t: Vector, depth: int) -> p.Expr:
        return p.Conditional(self.of(t, depth), self.scalars.of(typing_rules.BOOL, 1), self.of(t, depth))

    def swizzle(self, t: Vector, depth: int) -> p.Expr:
        sources = [s for s in VECTORS.values() if s.element == t.element]
        source = self.random.choice(sources)
        return p.Components(self.of(source, min(depth, 1)), self.letters(source.lanes, t.lanes))

    def element(self, t: Vector, depth: int) -> p.Expr:
        names = [name for name, access in self.scalars.arrays.items() if access.type == t]
        if not names:
            return self.arithmetic(t, depth)
        name = self.random.choice(names)
        return p.Index(name, self.scalars.indices(self.scalars.arrays[name], 1))
