"""The reference's expressions: each becomes a `Typed`, its type and a closure over the lane's variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import intrinsics, semantics
from . import program as p
from .semantics import Value
from .typing_rules import (
    BOOL,
    I32,
    WEAK_FLOAT,
    WEAK_INT,
    IllTyped,
    Scalar,
    TupleType,
    Vector,
    accepts,
    common,
    named,
    quotient,
    tuple_of,
    widened,
)

if TYPE_CHECKING:
    from .reference import Scope

Frame = dict[str, Any]
"""A thread's variables, and its arrays; names that begin with a blank are the reference's own."""


THREAD = " thread"


@dataclass(frozen=True)
class Typed:
    type: Scalar
    run: Callable[[Frame], Any]

    def to(self, target: Scalar) -> Callable[[Frame], Any]:
        """The value as ``target``, whatever it takes (operands of a common type; casts)."""
        source, run = self.type, self.run
        if source == target:
            return run
        if source.is_weak and target.kind != "bool":
            return lambda frame: semantics.literal(run(frame), target)
        return lambda frame: semantics.cast(run(frame), source, target)

    def implicitly(self, target: Scalar) -> Callable[[Frame], Any]:
        if not accepts(target, self.type):
            raise IllTyped(f"{self.type.name} where {target.name} is wanted")
        return self.to(target)

    def test(self) -> Callable[[Frame], bool]:
        """As a condition: a bool, or an int that is not 0."""
        if not (self.type.is_int or self.type.kind in ("bool", "weak-int")):
            raise IllTyped(f"{self.type.name} as a test")
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
            operand = expression(e.operand, scope)
            return scope.vectors.unary(e.op, operand) if is_vector(operand) else unary(e.op, operand)
        case p.Binary():
            return operation(e.op, expression(e.left, scope), expression(e.right, scope), scope)
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
            if is_vector(operand) or isinstance(source, TupleType) or isinstance(target, Vector):
                raise IllTyped(f"{target.name} of {source.name}")
            return Typed(target, lambda frame: semantics.cast(run(frame), source, target))
        case p.Bitcast():
            return bitcast(expression(e.operand, scope), named(e.type))
        case p.Builtin():
            return builtin(e.name, [expression(argument, scope) for argument in e.arguments], scope)
        case p.Call():
            return scope.call(e.function, [expression(argument, scope) for argument in e.arguments])
        case p.Walrus():
            return scope.walrus(e.name, expression(e.value, scope))
        case p.Index():
            return scope.element(e)
        case p.View():
            return scope.view(e)
        case p.Tuple():
            return tuple_value([expression(item, scope) for item in e.items])
        case p.Item():
            return item(scope.read(e.name), e.index)
        case p.Vector():
            t = named(e.type)
            assert isinstance(t, Vector)
            return scope.vectors.construct(t, [expression(part, scope) for part in e.parts])
        case p.Components():
            return scope.vectors.components(expression(e.vector, scope), e.names)
        case p.Place():
            return Typed(I32, lambda frame: frame[THREAD].place(e.text))
        case p.Intrinsic():
            arguments = [expression(argument, scope) for argument in e.arguments]
            if e.name == "fma" and any(map(is_vector, arguments)):
                return scope.vectors.fma(arguments)
            return intrinsics.call(e.name, arguments)


def is_vector(value: Typed) -> bool:
    return isinstance(value.type, Vector)


def operation(op: str, left: Typed, right: Typed, scope: Scope) -> Typed:
    either = is_vector(left) or is_vector(right)
    return scope.vectors.binary(op, left, right) if either else binary(op, left, right)


def tuple_value(items: Sequence[Typed]) -> Typed:
    if any(i.type.is_weak for i in items):
        raise IllTyped("a literal in a tuple")
    runs = [i.run for i in items]
    return Typed(tuple_of([i.type for i in items]), lambda frame: tuple(run(frame) for run in runs))


def item(value: Typed, index: int) -> Typed:
    if not isinstance(value.type, TupleType):
        raise IllTyped(f"an item of {value.type.name}")
    return Typed(value.type.parts[index], lambda frame: value.run(frame)[index])


def unary(op: str, operand: Typed) -> Typed:
    if op == "not":
        test = operand.test()
        return Typed(BOOL, lambda frame: not test(frame))
    t, run = operand.type, operand.run
    if isinstance(t, TupleType):
        raise IllTyped(f"{op} of a tuple")
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
        if t.kind in ("vector", "tuple"):
            raise IllTyped(f"{op} of {t.name}")
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
    if operand.type.bits != target.bits or is_vector(operand):
        raise IllTyped(f"bitcast of {operand.type.name} to {target.name}")
    source, run = operand.type, operand.run
    return Typed(target, lambda frame: semantics.bitcast(run(frame), source, target))


def builtin(name: str, arguments: Sequence[Typed], scope: Scope) -> Typed:
    if name in ("min", "max"):
        result = arguments[0]
        for argument in arguments[1:]:
            either = is_vector(result) or is_vector(argument)
            result = scope.vectors.binary(name, result, argument) if either else choice(name, result, argument)
        return result
    if is_vector(arguments[0]):
        return scope.vectors.unary(name, arguments[0])
    if name == "pow":
        return binary("**", *arguments)
    (operand,) = arguments
    t = operand.type if name in semantics.ROUNDINGS else widened(operand.type)
    if t.is_weak or t.kind == "tuple" or (name == "sqrt" and not t.is_float):
        raise IllTyped(f"{name} of {t.name}")
    value = operand.to(t)
    return Typed(t, lambda frame: semantics.unary(name, value(frame), t))
