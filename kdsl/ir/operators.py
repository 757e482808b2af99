"""The operators of the typed tree's expressions."""

from __future__ import annotations

from enum import Enum


class BinaryOp(Enum):
    """Operands have the result's type, but a shift's right one may be any int. DIV is true division of floats."""

    ADD, SUB, MUL, DIV, FLOORDIV, MOD, POW = "+", "-", "*", "/", "//", "%", "**"
    AND, OR, XOR, SHL, SHR = "&", "|", "^", "<<", ">>"
    MIN, MAX = "min", "max"


class UnaryOp(Enum):
    """NOT is of a bool, INVERT of an int or bool; ROUND (half to even), FLOOR and CEIL of a float give that float."""

    NEG, INVERT, NOT, ABS = "-", "~", "not", "abs"
    ROUND, FLOOR, CEIL = "round", "floor", "ceil"


class CompareOp(Enum):
    """Operands of one type; the result is bool."""

    EQ, NE, LT, LE, GT, GE = "==", "!=", "<", "<=", ">", ">="


class LogicalOp(Enum):
    """Short-circuit, on bools."""

    AND, OR = "and", "or"


class AtomicOp(Enum):
    """CAS takes (expected, new), the others (value,)."""

    ADD, SUB, MIN, MAX, EXCH, CAS = "add", "sub", "min", "max", "exch", "cas"
    AND, OR, XOR, INC, DEC = "and", "or", "xor", "inc", "dec"
