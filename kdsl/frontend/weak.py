"""Operations on literals, evaluated by Python; the result is a literal again."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from kdsl.frontend.values import (
    WEAK_FLOAT,
    WEAK_INT,
    AnyWeak,
    Weak,
    WeakChoice,
    WeakType,
    WeakUnknown,
    weak_type,
    wider_weak,
)
from kdsl.ir.nodes import BinaryOp, CompareOp, UnaryOp

# Why a limit? 1 << 10**9 or 9**9**9 would take the machine's memory; no type holds more than 64 bits.
LARGEST_BITS = 1024
# How many literals an expression of conditional literals may choose from before it takes its default type.
LARGEST_CHOICE = 16


class WeakError(Exception):
    """Python could not evaluate it; the text says why."""


BINARY: dict[BinaryOp, Callable[[Any, Any], Any]] = {
    BinaryOp.ADD: operator.add,
    BinaryOp.SUB: operator.sub,
    BinaryOp.MUL: operator.mul,
    BinaryOp.DIV: operator.truediv,
    BinaryOp.FLOORDIV: operator.floordiv,
    BinaryOp.MOD: operator.mod,
    BinaryOp.POW: operator.pow,
    BinaryOp.AND: operator.and_,
    BinaryOp.OR: operator.or_,
    BinaryOp.XOR: operator.xor,
    BinaryOp.SHL: operator.lshift,
    BinaryOp.SHR: operator.rshift,
    BinaryOp.MIN: min,
    BinaryOp.MAX: max,
}
UNARY: dict[UnaryOp, Callable[[Any], Any]] = {
    UnaryOp.NEG: operator.neg,
    UnaryOp.INVERT: operator.invert,
    UnaryOp.ABS: abs,
    UnaryOp.ROUND: round,
    UnaryOp.FLOOR: math.floor,
    UnaryOp.CEIL: math.ceil,
}
COMPARE: dict[CompareOp, Callable[[Any, Any], bool]] = {
    CompareOp.EQ: operator.eq,
    CompareOp.NE: operator.ne,
    CompareOp.LT: operator.lt,
    CompareOp.LE: operator.le,
    CompareOp.GT: operator.gt,
    CompareOp.GE: operator.ge,
}


def evaluate(function: Callable[..., Any], *values: int | float | complex) -> int | float | complex:
    """Call a Python function on numbers; WeakError if it fails, or gives no number of sensible size, or no real one of
    real ones.
    """
    try:
        result = function(*values)
    except ZeroDivisionError:
        raise WeakError("this constant divides by zero") from None
    except OverflowError:
        raise WeakError("this constant is too large") from None
    except (ValueError, TypeError) as error:
        raise WeakError(f"this constant cannot be computed: {error}") from None
    if isinstance(result, complex) and any(isinstance(v, complex) for v in values):
        return result
    if isinstance(result, bool) or not isinstance(result, int | float):
        raise WeakError(f"this constant is {result!r}, not a real number")
    if isinstance(result, int) and result.bit_length() > LARGEST_BITS:
        raise WeakError("this constant is too large")
    return result


def binary(op: BinaryOp, left: AnyWeak, right: AnyWeak) -> AnyWeak | None:
    """The literal ``left op right``; None if there are too many cases to stay a literal."""
    match left, right:
        case Weak(a), Weak(b):
            _guard(op, a, b)
            return Weak(evaluate(BINARY[op], a, b))
        case WeakUnknown(), _:
            return WeakUnknown(_result(op, left.type, weak_type(right)))
        case _, WeakUnknown():
            return WeakUnknown(_result(op, weak_type(left), right.type))
        case _ if choices(left) * choices(right) > LARGEST_CHOICE:
            return None
        case WeakChoice(test, then, orelse), _:
            return _choice(test, binary(op, then, right), binary(op, orelse, right))
        case _, WeakChoice(test, then, orelse):
            return _choice(test, binary(op, left, then), binary(op, left, orelse))
    raise AssertionError(left, right)


def unary(op: UnaryOp, value: AnyWeak) -> AnyWeak:
    """The literal ``op value``."""
    match value:
        case Weak(number):
            result = evaluate(UNARY[op], number)
            # round, floor and ceil of a float stay float in the language.
            return Weak(float(result) if isinstance(number, float) else result)  # type: ignore[arg-type]
        case WeakUnknown():
            return value
        case WeakChoice(test, then, orelse):
            return WeakChoice(test, unary(op, then), unary(op, orelse))


def choices(value: AnyWeak) -> int:
    """How many literals a value is chosen from."""
    return choices(value.then) + choices(value.orelse) if isinstance(value, WeakChoice) else 1


def _choice(test: Any, then: AnyWeak | None, orelse: AnyWeak | None) -> AnyWeak | None:
    return None if then is None or orelse is None else WeakChoice(test, then, orelse)


def _result(op: BinaryOp, left: WeakType, right: WeakType) -> WeakType:
    if op is BinaryOp.DIV:
        return wider_weak(wider_weak(left, right), WEAK_FLOAT)
    if op in (BinaryOp.SHL, BinaryOp.SHR):
        return left
    return wider_weak(wider_weak(left, right), WEAK_INT)


def _guard(op: BinaryOp, left: int | float | complex, right: int | float | complex) -> None:
    """Refuse what would take Python very long before it can be found too large."""
    if not isinstance(left, int) or not isinstance(right, int):
        return
    if op is BinaryOp.SHL and right > LARGEST_BITS:
        raise WeakError("this constant is too large")
    if op is BinaryOp.POW:
        if right < 0:
            raise WeakError("an int has no negative power here; write a float base")
        if left.bit_length() * right > 2 * LARGEST_BITS and left not in (-1, 0, 1):
            raise WeakError("this constant is too large")
