"""Random well-typed expressions, built from the type that is wanted downwards.

Left out: what is not exact (``**`` of floats, libdevice) and what the language refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from . import intrinsics, reference, typing_rules
from . import program as p
from .constants import may_be_constant
from .typing_rules import BF16, BOOL, F16, F32, F64, I32, I64, TYPES, U32, U64, Scalar, Vector
from .variables import nodes

ALL = tuple(TYPES.values())
INTS = tuple(t for t in ALL if t.is_int)
FLOATS = tuple(t for t in ALL if t.is_float)
SMALL = tuple(t for t in INTS if t.bits < 32)
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
WIDE_ARITHMETIC = ("+", "-", "*", "//", "%", "&", "|", "^", "min", "max")
FLOAT_ARITHMETIC = ("+", "-", "*", "/", "//", "%", "min", "max")


@dataclass(frozen=True)
class Access:
    """An array that a program may read now: any of its elements, or (``own``) one only."""

    type: Scalar
    shape: tuple[int, ...]
    own: tuple[p.Expr, ...] | None = None


class Expressions:
    """Expressions over ``variables`` (name to type) with calls of ``functions`` (name to parameter types, result)."""

    def __init__(
        self,
        random: Random,
        variables: dict[str, Scalar],
        functions: dict[str, tuple[tuple[Scalar, ...], Scalar]] | None = None,
    ) -> None:
        self.random = random
        self.variables = variables
        self.inputs = tuple(variables)
        self.functions = functions or {}
        self.arrays: dict[str, Access] = {}
        self.vectors: dict[str, Vector] = {}
        self.constants: list[str] = []
        """Numbers that are known while the program is compiled, of types that may vary."""
        self.places: tuple[str, ...] = ()
        """What tells threads apart: ``lane_id()`` ..."""
        self.payloads = True
        """Whether a float's bits may be looked at, though a NaN's are open."""

    def of(self, t: Scalar, depth: int) -> p.Expr:
        """An expression whose type is exactly ``t``."""
        if depth <= 0 or self.random.random() < 0.08:
            return self.leaf(t)
        makers: list[tuple[int, Callable[[Scalar, int], p.Expr]]] = [(2, self.cast), (1, self.conditional)]
        if any(result == t for _, result in self.functions.values()):
            makers.append((2, self.call))
        if t == BOOL:
            makers += [(6, self.comparison), (2, self.logical), (1, self.bits_of_bools)]
        elif t.is_float:
            makers += [(8, self.float_arithmetic), (2, self.float_unary), (1, self.bitcast)]
            if t in (F32, F64):
                makers += [(1, self.int_quotient)]
        elif t.bits >= 32:
            makers += [
                (8, self.int_arithmetic),
                (2, self.int_unary),
                (2, self.shift),
                (1, self.power),
                (1, self.bitcast),
            ]
        else:
            makers += [(2, self.cast), (2, self.bitcast), (2, self.narrow_choice)]
        if any(access.type == t for access in self.arrays.values()):
            makers.append((4, self.element))
        if any(v.element == t for v in self.vectors.values()):
            makers.append((4, self.component))
        if any(self.gives(rule, t) for rule in intrinsics.RULES.values()):
            makers.append((1, self.intrinsic))
        weights = [weight for weight, _ in makers]
        return self.random.choices([make for _, make in makers], weights)[0](t, depth - 1)

    def any(self, depth: int, types: Sequence[Scalar] = ALL) -> tuple[p.Expr, Scalar]:
        t = self.random.choice(types)
        return self.of(t, depth), t

    def leaf(self, t: Scalar) -> p.Expr:
        mine = [name for name, kind in self.variables.items() if kind == t]
        if mine and self.random.random() < 0.8:
            return p.Name(self.random.choice(mine))
        if t == BOOL:
            return self.bool_leaf()
        if self.constants and self.random.random() < 0.4:
            return p.Cast(t.name, p.Name(self.random.choice(self.constants)))
        if self.places and self.random.random() < 0.3:
            place = p.Place(self.random.choice(self.places))
            return place if t == I32 else p.Cast(t.name, place)
        if self.variables and self.random.random() < 0.7:
            return p.Cast(t.name, p.Name(self.random.choice(list(self.variables))))
        return p.Cast(t.name, self.literal(t))

    def bool_leaf(self) -> p.Expr:
        """Mostly a comparison of a variable, so that branches go both ways."""
        numbers = [(name, kind) for name, kind in self.variables.items() if kind != BOOL]
        if not numbers or self.random.random() < 0.2:
            return p.Literal(self.random.random() < 0.5)
        name, kind = self.random.choice(numbers)
        return p.Compare((self.random.choice(COMPARISONS),), (p.Name(name), self.literal(kind)))

    def literal(self, t: Scalar) -> p.Literal:
        """A weak literal that fits ``t``; for a float, of either kind."""
        choice = self.random.random()
        if t.is_float:
            if choice < 0.3:
                return p.Literal(self.random.randint(-9, 9))
            return p.Literal(self.random.choice((0.0, 0.5, 1.0, 2.0, 0.1, 3.7, 1e-3, 100.25, 6e4, 1 / 3, -1.5, -0.0)))
        if choice < 0.6:
            return p.Literal(self.random.randint(max(t.low, -10), 10))
        edge = self.random.choice((t.low, t.high, t.high - 1, t.high // 2, 1 << self.random.randrange(t.bits - 1)))
        return p.Literal(edge)

    def cast(self, t: Scalar, depth: int) -> p.Expr:
        operand, _ = self.any(depth)
        name = {"i32": "int", "f32": "float"}.get(t.name, t.name) if self.random.random() < 0.2 else t.name
        return p.Cast(name, operand)

    def conditional(self, t: Scalar, depth: int) -> p.Expr:
        then, orelse, test = self.of(t, depth), self.of(t, depth), self.of(BOOL, depth)
        if t != BOOL and self.random.random() < 0.3 and not may_be_constant(test):
            then, orelse = self.random.sample((then, self.literal(t)), 2)
        return p.Conditional(then, test, orelse)

    def call(self, t: Scalar, depth: int) -> p.Expr:
        name = self.random.choice([n for n, (_, result) in self.functions.items() if result == t])
        kinds = self.functions[name][0]
        arguments = tuple(self.of(kind, depth) for kind in kinds)
        if name.endswith("v"):
            arguments = tuple(self.unknown(argument, kind) for argument, kind in zip(arguments, kinds, strict=True))
        if name.startswith("r"):
            # How often it calls itself.
            arguments = (p.Binary("&", arguments[0], p.Literal(3)), *arguments[1:])
        return p.Call(name, arguments)

    def unknown(self, argument: p.Expr, kind: Scalar) -> p.Expr:
        """An argument that is no constant, for a function that takes none."""
        return p.Cast(kind.name, p.Name(self.inputs[0])) if may_be_constant(argument) else argument

    def bitcast(self, t: Scalar, depth: int) -> p.Expr:
        source = self.random.choice([s for s in ALL if s.bits == t.bits and s not in (t, BOOL)])
        operand = self.of(source, depth)
        if source.is_float and not self.payloads:
            # With one NaN, min gives the other.
            operand = p.Builtin("min", (operand, p.Literal(self.random.choice((100.0, 0.5, 2)))))
        return p.Bitcast(operand, t.name)

    def component(self, t: Scalar, depth: int) -> p.Expr:
        name = self.random.choice([name for name, v in self.vectors.items() if v.element == t])
        return p.Components(p.Name(name), self.random.choice("xyzw"[: self.vectors[name].lanes]))

    def element(self, t: Scalar, depth: int) -> p.Expr:
        name = self.random.choice([name for name, access in self.arrays.items() if access.type == t])
        return p.Index(name, self.indices(self.arrays[name], depth))

    def indices(self, access: Access, depth: int) -> tuple[p.Expr, ...]:
        return access.own or tuple(self.below(extent, depth) for extent in access.shape)

    def below(self, extent: int, depth: int) -> p.Expr:
        """An index that is in range whatever the values are."""
        choice = self.random.random()
        if choice < 0.15:
            return p.Literal(self.random.randrange(extent))
        t = self.random.choice((I32, I32, I32, U32, I64, U64))
        index = self.of(t, min(depth, 1))
        if extent & (extent - 1) == 0 and choice < 0.6:
            return p.Binary("&", index, p.Literal(extent - 1))
        return p.Binary("%", index, p.Literal(extent))

    @staticmethod
    def gives(rule: intrinsics.Rule, t: Scalar) -> bool:
        return t in intrinsics.CHOICES[rule.result] if isinstance(rule.result, str) else rule.result == t

    def intrinsic(self, t: Scalar, depth: int) -> p.Expr:
        name = self.random.choice([n for n, rule in intrinsics.RULES.items() if self.gives(rule, t)])
        rule = intrinsics.RULES[name]
        letter = rule.letter
        if isinstance(rule.result, str):
            stands = t
        else:
            stands = I32 if name == "mul_wide" else self.random.choice(intrinsics.CHOICES[letter or "N"])
        return p.Intrinsic(name, tuple(self.of(kind, depth) for kind in rule.types(stands)))

    def pair(self, t: Scalar, depth: int, narrow: bool = True) -> tuple[p.Expr, p.Expr]:
        """Two operands whose common type is ``t``, one of them strong at least; ``narrow``: maybe two narrower."""
        first: p.Expr = self.of(t, depth)
        choice = self.random.random()
        if choice < 0.2:
            second: p.Expr = self.literal(t)
        elif choice < 0.45:
            partners = [s for s in ALL if reference_common(t, s) == t]
            second = self.of(self.random.choice(partners), depth)
        elif choice < 0.5 and t == F32:
            first, second = self.of(self.random.choice(INTS), depth), p.Literal(self.random.choice((0.5, 1.5, -3.25)))
        elif choice < 0.55 and t == I32 and narrow:
            # Not two bools, of which & | ^ make a bool.
            first = self.of(self.random.choice(SMALL), depth)
            second = self.of(self.random.choice((*SMALL, BOOL)), depth)
        else:
            second = self.of(t, depth)
        return (first, second) if self.random.random() < 0.7 else (second, first)

    def varying(self, t: Scalar, depth: int) -> p.Expr:
        """An expression over an input: a negative constant as an amount or exponent is refused by the language.

        Why no conditional in it? Where its test is a constant, the side with the input may be dropped.
        """
        e = self.of(t, depth)
        if "Conditional(" not in repr(e) and any(f"'{name}'" in repr(e) for name in self.inputs):
            return e
        return p.Cast(t.name, p.Name(self.inputs[0]) if self.inputs else p.Place("block_dim.x"))

    def int_arithmetic(self, t: Scalar, depth: int) -> p.Expr:
        op = self.random.choice(WIDE_ARITHMETIC)
        left, right = self.pair(t, depth, narrow=op not in ("min", "max"))
        return self.operation(op, left, right)

    def operation(self, op: str, left: p.Expr, right: p.Expr) -> p.Expr:
        return p.Builtin(op, (left, right)) if op in ("min", "max") else p.Binary(op, left, right)

    def int_unary(self, t: Scalar, depth: int) -> p.Expr:
        source = self.random.choice((*SMALL, t)) if t == I32 else t
        operand = self.of(source, depth)
        op = self.random.choice(("-", "~", "+", "abs", "round") if source == t else ("-", "~", "+", "abs"))
        return p.Builtin(op, (operand,)) if op in ("abs", "round") else p.Unary(op, operand)

    def narrow_choice(self, t: Scalar, depth: int) -> p.Expr:
        """What keeps an 8- or 16-bit type."""
        op, first = self.random.choice(("min", "max", "round")), self.of(t, depth)
        if op == "round":
            return p.Builtin(op, (first,))
        second = self.literal(t) if self.random.random() < 0.3 else self.of(t, depth)
        return p.Builtin(op, (first, second))

    def shift(self, t: Scalar, depth: int) -> p.Expr:
        left = self.of(self.random.choice((*SMALL, t)) if t == I32 else t, depth)
        if self.random.random() < 0.4:
            right: p.Expr = p.Literal(self.random.choice((0, 1, 4, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 100)))
        else:
            right = self.varying(self.random.choice(INTS), depth)
        return p.Binary(self.random.choice(("<<", ">>")), left, right)

    def power(self, t: Scalar, depth: int) -> p.Expr:
        base, small = self.of(t, depth), self.random.random() < 0.6
        exponent = p.Literal(self.random.randint(0, 12)) if small else self.varying(t, depth)
        return p.Builtin("pow", (base, exponent)) if self.random.random() < 0.3 else p.Binary("**", base, exponent)

    def float_arithmetic(self, t: Scalar, depth: int) -> p.Expr:
        op = self.random.choice(FLOAT_ARITHMETIC)
        left, right = self.pair(t, depth)
        return self.operation(op, left, right)

    def float_unary(self, t: Scalar, depth: int) -> p.Expr:
        ops = ["-", "+", "abs", "round", "floor", "ceil"] + (["sqrt"] if t in (F32, F64) else [])
        op = self.random.choice(ops)
        operand = self.of(t, depth)
        return p.Unary(op, operand) if op in "-+" else p.Builtin(op, (operand,))

    def int_quotient(self, t: Scalar, depth: int) -> p.Expr:
        if t == F64:
            left, right = self.pair(self.random.choice((I64, U64)), depth)
        else:
            left, right = self.pair(self.random.choice((I32, U32)), depth)
        return p.Binary("/", left, right)

    def comparison(self, _: Scalar, depth: int) -> p.Expr:
        t = self.random.choice((I32, I64, U32, U64, F16, BF16, F32, F64))
        operands = list(self.pair(t, depth))
        if self.random.random() < 0.2:
            operands.append(self.of(t, depth))
        ops = tuple(self.random.choice(COMPARISONS) for _ in operands[1:])
        return p.Compare(ops, tuple(operands))

    def test(self, depth: int) -> p.Expr:
        return self.any(depth, INTS)[0] if self.random.random() < 0.25 else self.of(BOOL, depth)

    def open_test(self, depth: int) -> p.Expr | None:
        """A condition that the compiler cannot know, for what is typed by both of its sides; None in a device function,
        whose arguments may be constants.
        """
        for _ in range(8):
            test = self.test(depth)
            if not may_be_constant(test):
                return test
        return None

    def logical(self, _: Scalar, depth: int) -> p.Expr:
        if self.random.random() < 0.25:
            return p.Unary("not", self.test(depth))
        count = self.random.choice((2, 2, 3))
        return p.Logical(self.random.choice(("and", "or")), tuple(self.test(depth) for _ in range(count)))

    def bits_of_bools(self, _: Scalar, depth: int) -> p.Expr:
        left, right = self.of(BOOL, depth), self.of(BOOL, depth)
        op = self.random.choice(("&", "|", "^", "==", "!="))
        return p.Binary(op, left, right) if op in "&|^" else p.Compare((op,), (left, right))


def reference_common(a: Scalar, b: Scalar) -> Scalar | None:
    try:
        return typing_rules.common(a, b)
    except typing_rules.IllTyped:
        return None


def refuses_constants(body: Sequence[p.Stmt]) -> bool:
    """Whether a function may shift by, or raise to, its argument: a negative constant would be refused."""
    return any(
        (isinstance(node, p.Binary) and node.op in ("<<", ">>", "**") and not isinstance(node.right, p.Literal))
        or (isinstance(node, p.Builtin) and node.name == "pow")
        or isinstance(node, p.For | p.Match)
        or (isinstance(node, p.Augmented | p.Store | p.SetComponent) and node.op in ("<<", ">>"))
        for node in nodes(tuple(body))
    )


def output_type(t: Scalar, random: Random) -> Scalar:
    """What to store a value of type ``t`` as: mostly itself, now and then a type that takes it without a cast."""
    wider = [other for other in ALL if other != t and typing_rules.accepts(other, t)]
    return random.choice(wider) if wider and random.random() < 0.15 else t


def expression_program(random: Random) -> p.Program:
    """One expression over two to four inputs."""
    result = random.choice(ALL)
    inputs = {f"x{k}": random.choice(ALL) for k in range(random.randint(2, 4))}
    e = Expressions(random, inputs).of(result, random.choice((1, 2, 2, 3, 3, 4)))
    assert reference.type_of(e, inputs) == result
    return p.Program(tuple((n, t.name) for n, t in inputs.items()), (), e, output_type(result, random).name)
