"""The expressions of launch contracts: numbers, a launch's arguments and configuration, and relations between them.

Integers are Python's, of any size. `show` writes an expression down again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import isfinite, isnan
from typing import TypeVar, cast

from kdsl.records import dataclass

Value = int | float | bool


@dataclass(frozen=True, slots=True)
class Number:
    """A constant; ``name`` is what the contract calls it, if it does."""

    value: Value
    name: str = ""


@dataclass(frozen=True, slots=True)
class Argument:
    """A scalar argument."""

    name: str


@dataclass(frozen=True, slots=True)
class OfArray:
    """What is known of an array argument: its ``size``, ``ndim``, ``nbytes``, ``ptr``, ``shape`` or ``strides``, the
    last two along an axis.
    """

    name: str
    attribute: str
    axis: int = 0


@dataclass(frozen=True, slots=True)
class Configured:
    """A part of the launch's configuration: ``grid`` or ``block`` along x, y or z or their ``size``, or ``shared``."""

    what: str
    axis: str = ""


@dataclass(frozen=True, slots=True)
class Unary:
    """``-``, ``~`` or ``abs`` of a number."""

    op: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Binary:
    """An operator between two numbers; ``ceil`` is their quotient, rounded up."""

    op: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Choice:
    """``min`` or ``max`` of two numbers or more."""

    op: str
    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison, or a chain of them: operators between operands, one more."""

    operands: tuple[Node, ...]
    ops: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Logical:
    """``and`` or ``or`` of relations, or ``not`` of one."""

    op: str
    operands: tuple[Node, ...]


Node = Number | Argument | OfArray | Configured | Unary | Binary | Choice | Compare | Logical
N = TypeVar("N")
MOST_DECIMAL = 1024
"""Bits of an int that is written in decimal digits."""

COMPARISONS: Mapping[str, Callable[[Value, Value], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
# As Python binds them, from the loosest on.
_PRECEDENCE = {"or": 1, "and": 2, "not": 3, "compare": 4, "|": 5, "^": 6, "&": 7, "<<": 8, ">>": 8, "+": 9, "-": 9,
               "*": 10, "//": 10, "%": 10, "unary": 11, "atom": 12}  # fmt: skip


def parts(node: Node) -> tuple[Node, ...]:
    """The expressions that an expression is made of."""
    match node:
        case Unary(operand=operand):
            return (operand,)
        case Binary(left=left, right=right):
            return left, right
        case Choice(operands=operands) | Compare(operands=operands) | Logical(operands=operands):
            return operands
        case _:
            return ()


def leaves(node: Node) -> Iterator[Node]:
    """Its numbers, arguments and parts of the configuration, in the order in which they are written."""
    below = parts(node)
    if not below:
        yield node
    for part in below:
        yield from leaves(part)


def conjuncts(node: Node) -> Iterator[Node]:
    """The relations that all hold where this one does."""
    if isinstance(node, Logical) and node.op == "and":
        for operand in node.operands:
            yield from conjuncts(operand)
    else:
        yield node


def pairs(node: Compare) -> Iterator[Compare]:
    """The single comparisons of a chain."""
    for i, op in enumerate(node.ops):
        yield Compare(node.operands[i : i + 2], (op,))


def substituted(node: N, values: Mapping[str, Value]) -> N:
    """The expression with constants in place of some arguments."""

    def replaced(n: Node) -> Node:
        match n:
            case Argument(name) if name in values:
                return Number(values[name], name)
            case Unary():
                return Unary(n.op, replaced(n.operand))
            case Binary():
                return Binary(n.op, replaced(n.left), replaced(n.right))
            case Choice():
                return Choice(n.op, tuple(map(replaced, n.operands)))
            case Compare():
                return Compare(tuple(map(replaced, n.operands)), n.ops)
            case Logical():
                return Logical(n.op, tuple(map(replaced, n.operands)))
            case _:
                return n

    return cast(N, replaced(cast(Node, node)))


def literal(value: Value) -> str:
    """A number as Python's source, and the contract's, has it."""
    if isinstance(value, float) and not isfinite(value):
        # Python has no literals of these, and `inf` is a name that a parameter may have.
        return "(1e999 - 1e999)" if isnan(value) else "1e999" if value > 0 else "-1e999"
    # Python writes no decimal numbers of more than 4300 digits, which a product may have.
    return hex(value) if isinstance(value, int) and value.bit_length() > MOST_DECIMAL else repr(value)


def show(node: Node) -> str:
    """The expression as it may be written."""
    return _shown(node)[0]


def _shown(node: Node) -> tuple[str, int]:
    """The text, and how tightly its outermost operator binds."""
    match node:
        case Number(value, name):
            negative = not name and value < 0
            return name or literal(value), _PRECEDENCE["unary" if negative else "atom"]
        case Argument(name):
            return name, _PRECEDENCE["atom"]
        case OfArray(name, attribute, axis):
            index = f"[{axis}]" if attribute in ("shape", "strides") else ""
            return f"{name}.{attribute}{index}", _PRECEDENCE["atom"]
        case Configured(what, axis):
            return f"{what}.{axis}" if axis else what, _PRECEDENCE["atom"]
        case Unary("abs", operand):
            return f"abs({show(operand)})", _PRECEDENCE["atom"]
        case Unary(op, operand):
            return op + _within(operand, "unary"), _PRECEDENCE["unary"]
        case Binary("ceil", left, right):
            return f"ceil({_within(left, '*')} / {_within(right, 'unary')})", _PRECEDENCE["atom"]
        case Binary(op, left, right):
            return f"{_within(left, op)} {op} {_within(right, op, tighter=True)}", _PRECEDENCE[op]
        case Choice(op, operands):
            return f"{op}({', '.join(map(show, operands))})", _PRECEDENCE["atom"]
        case Compare(operands, ops):
            texts = [_within(operand, "compare", tighter=True) for operand in operands]
            return " ".join([texts[0], *(f"{op} {text}" for op, text in zip(ops, texts[1:], strict=True))]), 4
        case Logical("not", (operand,)):
            return f"not {_within(operand, 'not')}", _PRECEDENCE["not"]
        case Logical(op, operands):
            return f" {op} ".join(_within(operand, op, tighter=True) for operand in operands), _PRECEDENCE[op]


def _within(node: Node, op: str, *, tighter: bool = False) -> str:
    """An operand, in parentheses where ``op`` would bind more tightly."""
    text, precedence = _shown(node)
    least = _PRECEDENCE[op] + (1 if tighter else 0)
    return text if precedence >= least else f"({text})"
