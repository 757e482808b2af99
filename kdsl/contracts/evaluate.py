"""What an expression of a launch contract is: its value, and the Python source that computes it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

from kdsl.contracts.expressions import (
    COMPARISONS,
    Argument,
    Binary,
    Choice,
    Compare,
    Configured,
    Logical,
    Node,
    Number,
    OfArray,
    Unary,
    Value,
    literal,
)

FURTHEST_SHIFT = 128
"""Bits. No argument has more than 64, and an amount of 2^31 would fill memory."""


class NoValue(ArithmeticError):
    """An expression has no value: a division by zero, a shift by a negative or very large amount, or a float and an
    int larger than all floats in one operation.
    """


def ceil_divide(a: int, b: int) -> int:
    """The quotient, rounded up; exact."""
    return -(-a // b)


def shift_left(a: int, b: int) -> int:
    """``a << b`` for amounts that make sense of arguments."""
    if not 0 <= b <= FURTHEST_SHIFT:
        raise NoValue(f"a shift by {literal(b)}")
    return a << b


def shift_right(a: int, b: int) -> int:
    """``a >> b``; any amount that is not negative."""
    if b < 0:
        raise NoValue(f"a shift by {literal(b)}")
    return a >> b


OPERATORS: Mapping[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": shift_left,
    ">>": shift_right,
    "ceil": ceil_divide,
}


def evaluate(node: Node, values: Callable[[Node], Value]) -> Value:
    """The value, where ``values`` says what arguments and the configuration are; NoValue where there is none."""
    match node:
        case Number(value):
            return value
        case Argument() | OfArray() | Configured():
            return values(node)
        case Unary("-", operand):
            return -evaluate(operand, values)
        case Unary("~", operand):
            return ~int(evaluate(operand, values))
        case Unary(operand=operand):
            return abs(evaluate(operand, values))
        case Binary(op, left, right):
            return _binary(op, evaluate(left, values), evaluate(right, values))
        case Choice(op, operands):
            found = [evaluate(operand, values) for operand in operands]
            return min(found) if op == "min" else max(found)
        case Compare(operands, ops):
            return _compare(operands, ops, values)
        case Logical("not", (operand,)):
            return not evaluate(operand, values)
        case Logical("and", operands):
            return all(evaluate(operand, values) for operand in operands)
        case Logical(operands=operands):
            return any(evaluate(operand, values) for operand in operands)


def _compare(operands: tuple[Node, ...], ops: tuple[str, ...], values: Callable[[Node], Value]) -> bool:
    """A chain; what is behind a comparison that fails is not looked at."""
    left = evaluate(operands[0], values)
    for op, operand in zip(ops, operands[1:], strict=True):
        right = evaluate(operand, values)
        if not COMPARISONS[op](left, right):
            return False
        left = right
    return True


def _binary(op: str, left: Value, right: Value) -> Value:
    try:
        return OPERATORS[op](left, right)  # type: ignore[arg-type]  # floats only where Python takes them
    except ZeroDivisionError:
        raise NoValue(f"a division of {literal(left)} by zero") from None
    except OverflowError:
        raise NoValue("an int that is too large for a float") from None


def python_source(node: Node, names: Callable[[Node], str], prefix: str = "") -> str:
    """The same as Python source. ``names`` gives that of arguments and the configuration; ``prefix`` begins the names
    of the functions it calls: ``min``, ``max``, ``abs``, ``shift_left`` and ``shift_right``.
    """

    def source(n: Node) -> str:
        match n:
            case Number(value):
                return f"({literal(value)})" if value < 0 else literal(value)
            case Argument() | OfArray() | Configured():
                return names(n)
            case Unary("abs", operand):
                return f"{prefix}abs({source(operand)})"
            case Unary(op, operand):
                return f"({op}{source(operand)})"
            case Binary("ceil", left, right):
                return f"(-(-{source(left)} // {source(right)}))"
            case Binary("<<", left, right):
                return f"{prefix}shift_left({source(left)}, {source(right)})"
            case Binary(">>", left, right):
                return f"{prefix}shift_right({source(left)}, {source(right)})"
            case Binary(op, left, right):
                return f"({source(left)} {op} {source(right)})"
            case Choice(op, operands):
                return f"{prefix}{op}({', '.join(map(source, operands))})"
            case Compare(operands, ops):
                rest = (f" {op} {source(operand)}" for op, operand in zip(ops, operands[1:], strict=True))
                return f"({source(operands[0])}{''.join(rest)})"
            case Logical("not", (operand,)):
                return f"(not {source(operand)})"
            case Logical(op, operands):
                return f"({f' {op} '.join(map(source, operands))})"

    return source(node)


FUNCTIONS = {"min": min, "max": max, "abs": abs, "shift_left": shift_left, "shift_right": shift_right}
"""What `python_source` calls."""
