"""Operators: arithmetic, bits, comparison; which types they take and in which type they are done."""

from __future__ import annotations

import ast
import enum
import operator
from collections.abc import Callable

import numpy as np

from kdsl.frontend import complex_numbers, convert, pointers, struct_methods, vector_operators, vectors, weak
from kdsl.frontend.describing import describe_object, named
from kdsl.frontend.frame import Frame
from kdsl.frontend.meet import cast, is_weak_value, meeting_type, mixed, scalar_as
from kdsl.frontend.operands import Operands
from kdsl.frontend.structs import struct_type
from kdsl.frontend.values import (
    POISON,
    Poison,
    Range,
    Runtime,
    Static,
    Tuple,
    Value,
    Weak,
    WeakChoice,
    WeakUnknown,
    is_bool,
    scalar_type,
    type_of,
    weak_type,
)
from kdsl.ir import nodes as ir
from kdsl.ir.nodes import BinaryOp, CompareOp, UnaryOp
from kdsl.lang.types import F32, I32, ArrayType, Kind, PointerType, ScalarType, TupleType, Type, as_type, boolean

BINARY: dict[type[ast.operator], BinaryOp] = {
    ast.Add: BinaryOp.ADD,
    ast.Sub: BinaryOp.SUB,
    ast.Mult: BinaryOp.MUL,
    ast.Div: BinaryOp.DIV,
    ast.FloorDiv: BinaryOp.FLOORDIV,
    ast.Mod: BinaryOp.MOD,
    ast.Pow: BinaryOp.POW,
    ast.BitAnd: BinaryOp.AND,
    ast.BitOr: BinaryOp.OR,
    ast.BitXor: BinaryOp.XOR,
    ast.LShift: BinaryOp.SHL,
    ast.RShift: BinaryOp.SHR,
}
COMPARE: dict[type[ast.cmpop], CompareOp] = {
    ast.Eq: CompareOp.EQ,
    ast.NotEq: CompareOp.NE,
    ast.Lt: CompareOp.LT,
    ast.LtE: CompareOp.LE,
    ast.Gt: CompareOp.GT,
    ast.GtE: CompareOp.GE,
}
BITWISE = frozenset({BinaryOp.AND, BinaryOp.OR, BinaryOp.XOR})
SHIFTS = frozenset({BinaryOp.SHL, BinaryOp.SHR})
CHOICES = frozenset({BinaryOp.MIN, BinaryOp.MAX})
# On two constants of one int type; the others are left to LLVM.
FOLDED: dict[BinaryOp, Callable[[int, int], int]] = {
    BinaryOp.ADD: operator.add,
    BinaryOp.SUB: operator.sub,
    BinaryOp.MUL: operator.mul,
    BinaryOp.AND: operator.and_,
    BinaryOp.OR: operator.or_,
    BinaryOp.XOR: operator.xor,
    BinaryOp.MIN: min,
    BinaryOp.MAX: max,
    BinaryOp.FLOORDIV: operator.floordiv,
    BinaryOp.MOD: operator.mod,
}
FLAGS = {BinaryOp.AND: operator.and_, BinaryOp.OR: operator.or_, BinaryOp.XOR: operator.xor}
DIVISIONS = frozenset({BinaryOp.FLOORDIV, BinaryOp.MOD})


def binary(frame: Frame, op: BinaryOp, operands: Operands) -> Value:
    """``left op right``."""
    left, right = operands.values
    if isinstance(left, Poison) or isinstance(right, Poison):
        return POISON
    if complex_numbers.meets(left, right):
        return complex_numbers.binary(frame, op, operands)
    if struct_type(left) or struct_type(right):
        return struct_methods.binary(frame, op, operands)
    if _is_flag(left) and _is_flag(right) and op in FLAGS:
        return Static(FLAGS[op](left.object, right.object))  # type: ignore[union-attr]
    if pointers.is_pointer(left) or pointers.is_pointer(right):
        moved = pointers.arithmetic(frame, op, operands)
        if moved is not None:
            return moved
    if vectors.vector_type(left) or vectors.vector_type(right):
        return vector_operators.binary(frame, op, operands, binary)
    left, right = _bool_number(left, right), _bool_number(right, left)
    operands = operands.of(left, right)
    if is_weak_value(left) and is_weak_value(right):
        return _weak_binary(frame, op, operands)
    for value, place in operands.sides:
        if not is_operand(frame, value, place, f"`{op.value}`"):
            return POISON
    if op in SHIFTS:
        return _shift(frame, op, operands)
    if op in BITWISE and is_bool(left) and is_bool(right):
        return _built(frame, op, operands, boolean)
    # The smaller of two bools is an int, as all arithmetic on bools is.
    type = meeting_type(left, right, widen=op not in CHOICES or is_bool(left))
    if type is None:
        return frame.error(operands.whole, *mixed(frame, left, right, *operands.places))
    if op in BITWISE and type.is_float:
        return _refuse_float(frame, op, operands)
    if op is BinaryOp.DIV:
        type = convert.true_division(type)
    if op is BinaryOp.POW and type.is_int and isinstance(_number(right), int) and _number(right) < 0:  # type: ignore[operator]
        base, exponent = operands.places
        return frame.error(exponent, "an int has no negative power", f"write f32({frame.text(base)}) ** ...")
    return _built(frame, op, operands, type)


def _is_flag(value: Value) -> bool:
    """Whether this is a member of an enum.Flag, which is known; those of an IntFlag are numbers."""
    return isinstance(value, Static) and isinstance(value.object, enum.Flag)


def _bool_number(value: Value, other: Value) -> Value:
    """True and False among literals are numbers, as in Python."""
    if is_weak_value(other) and isinstance(value, Runtime) and isinstance(value.expr, ir.Const) and is_bool(value):
        return Weak(int(value.expr.value))
    return value


def _weak_binary(frame: Frame, op: BinaryOp, operands: Operands) -> Value:
    left, right = operands.values
    assert isinstance(left, Weak | WeakUnknown | WeakChoice)
    assert isinstance(right, Weak | WeakUnknown | WeakChoice)
    try:
        result = weak.binary(op, left, right)
    except weak.WeakError as error:
        return frame.error(operands.whole, str(error))
    if result is not None:
        return result
    first = frame.literal(left, weak_type(left).default, operands.places[0])
    return POISON if first is None else binary(frame, op, operands.of(Runtime(first), right))


def is_operand(frame: Frame, value: Value, node: ast.expr, what: str, *, stored: bool = False) -> bool:
    """Whether a value is a scalar; what is not is reported. ``stored``: 8-bit floats are taken, too."""
    scalar = scalar_type(value)
    if scalar is not None and scalar.is_float8 and not stored:
        frame.error(
            node, f"{what} does not take {scalar}, which is only stored", f"convert it: f32({frame.text(node)})"
        )
        return False
    if is_weak_value(value) and complex_numbers.is_complex(value):
        frame.error(
            node, f"{what} takes real numbers, and this is {named(type_of(value))}", "take a part: .real or .imag"
        )
        return False
    if is_weak_value(value) or scalar is not None:
        return True
    if isinstance(value, Static):
        hint = 'print() takes f-strings: f"{x}", f"{x:.3f}"' if isinstance(value.object, str) else None
        if value.object is None:
            hint = "write a number that stands for it, such as -1"
        message = f"{describe_object(value.object, frame.text(node))} is not a number: {what} takes numbers"
        frame.error(node, message, hint)
    elif isinstance(value, Range):
        frame.error(node, "a range is only for a `for` loop", "for i in range(n)")
    elif isinstance(value, Runtime) and isinstance(value.type, PointerType):
        frame.error(node, f"{what} does not take a pointer", "index it instead: p[i]; atomics take (p, i, value)")
    elif (vector := vectors.vector_type(value)) is not None:
        frame.error(node, f"{what} takes numbers, and this is {vector}", vectors.hint(vector, frame.text(node)))
    elif (struct := struct_type(value)) is not None:
        frame.error(node, f"{what} takes numbers, and this is {struct}", struct_methods.hint(struct, frame.text(node)))
    elif not isinstance(value, Poison):
        hint = _operand_hint(value, frame.text(node), what)
        frame.error(node, f"{what} takes numbers, and this is {named(type_of(value))}", hint)
    return False


def _operand_hint(value: Value, text: str, what: str) -> str | None:
    type = type_of(value)
    if isinstance(type, TupleType) and what == "a test":
        return f"all({text}), any({text})"
    if isinstance(value, Tuple):
        return "take its elements: x, y = ..."
    return f"index it instead: {text}[{', '.join('ijkl'[: type.ndim])}]" if isinstance(type, ArrayType) else None


def _built(frame: Frame, op: BinaryOp, operands: Operands, type: ScalarType) -> Value:
    a, b = (scalar_as(frame, value, type, place) for value, place in operands.sides)
    if a is None or b is None:
        return POISON
    span = frame.span(operands.node)
    is_folded = type.is_int and op in FOLDED
    if is_folded and isinstance(a, ir.Const) and isinstance(b, ir.Const) and (b.value or op not in DIVISIONS):
        return Runtime(ir.Const(convert.wrapped(FOLDED[op](int(a.value), int(b.value)), type), type, span))
    return Runtime(ir.Binary(op, a, b, type, span))


def _shift(frame: Frame, op: BinaryOp, operands: Operands) -> Value:
    """A shift has its left operand's type (widened, as in C); the amount may be any int."""
    left, right = operands.values
    if _is_float(left) or _is_float(right):
        return _refuse_float(frame, op, operands)
    amount = _number(right)
    if isinstance(amount, int) and amount < 0:
        return frame.error(operands.places[1], "a shift by a negative amount", "shift the other way")
    own = scalar_type(left)
    type = convert.widened(own) if own else weak_type(left).default  # type: ignore[arg-type]
    count = scalar_type(right)
    by = (I32 if count.kind is Kind.BOOL else count) if count else weak_type(right).default  # type: ignore[arg-type]
    assert isinstance(type, ScalarType)
    assert isinstance(by, ScalarType)
    a, b = scalar_as(frame, left, type, operands.places[0]), scalar_as(frame, right, by, operands.places[1])
    return POISON if a is None or b is None else Runtime(ir.Binary(op, a, b, type, frame.span(operands.node)))


def _is_float(value: Value) -> bool:
    type = scalar_type(value)
    return type.is_float if type is not None else weak_type(value).is_float  # type: ignore[arg-type]


def _refuse_float(frame: Frame, op: BinaryOp, operands: Operands) -> Value:
    """Report the operand of ``&`` or ``<<`` that is a float."""
    first, second = operands.sides
    value, place = first if _is_float(operands.left) else second
    return _no_bits(frame, op.value, scalar_type(value), place)


def _no_bits(frame: Frame, op: str, type: ScalarType | None, operand: ast.expr) -> Value:
    hint = "write an int" if type is None else f"for its bits: bitcast({frame.text(operand)}, u{type.bits})"
    return frame.error(operand, f"`{op}` takes ints or bools, and this is {type or 'a float literal'}", hint)


def _number(value: Value) -> int | float | complex | None:
    """The number that a value is known to be."""
    match value:
        case Weak(number):
            return number
        case Runtime(ir.Const(number)):
            return number
        case _:
            return None


def unary(frame: Frame, op: UnaryOp, value: Value, node: ast.expr, operand: ast.expr) -> Value:
    """``op value``, and abs, round, floor and ceil."""
    if isinstance(value, Poison):
        return POISON
    if (complex := complex_numbers.complex_type(value)) is not None:
        assert isinstance(value, Runtime)
        return complex_numbers.unary(frame, op, value, complex, node, operand)
    if struct_type(value):
        return struct_methods.unary(frame, op, value, node, operand)
    if isinstance(value, Runtime) and isinstance(value.expr, ir.Const) and is_bool(value):
        value = Weak(int(value.expr.value))
    if isinstance(value, Weak | WeakUnknown | WeakChoice):
        try:
            return weak.unary(op, value)
        except weak.WeakError as error:
            return frame.error(node, str(error))
    vector = vectors.vector_type(value)
    if vector is not None:
        assert isinstance(value, Runtime)
        return vector_operators.unary(frame, op, value, vector, node)
    name = f"`{op.value}`" if op in (UnaryOp.NEG, UnaryOp.INVERT) else f"{op.value}()"
    if not is_operand(frame, value, operand, name):
        return POISON
    assert isinstance(value, Runtime)
    own = scalar_type(value)
    assert own is not None
    if op is UnaryOp.INVERT and own.is_float:
        return _no_bits(frame, "~", own, operand)
    if op in (UnaryOp.ROUND, UnaryOp.FLOOR, UnaryOp.CEIL) and not own.is_float:
        return value  # an int is round already
    type = convert.widened(own)
    expr = cast(value.expr, type, frame.span(operand))
    if isinstance(expr, ir.Const) and op is UnaryOp.NEG:
        number = -expr.value if type.is_float else convert.wrapped(-int(expr.value), type)
        return Runtime(ir.Const(number, type, frame.span(node)))
    if op is UnaryOp.ABS and type.is_int and not type.is_signed:
        return Runtime(expr)
    return Runtime(ir.Unary(op, expr, type, frame.span(node)))


def known_type(value: object) -> Type | None:
    """The type of the kernel language that an object names, such as f32, np.float32 or float; None if it names none."""
    if isinstance(value, type | np.dtype | Type):
        try:
            return as_type(value)
        except (TypeError, ValueError):
            return None
    return None


def compare(frame: Frame, op: CompareOp, operands: Operands) -> Value:
    """One comparison; the result is a bool."""
    left, right = operands.values
    if isinstance(left, Poison) or isinstance(right, Poison):
        return POISON
    if isinstance(left, Static) and isinstance(right, Static) and op in (CompareOp.EQ, CompareOp.NE):
        first, second = known_type(left.object), known_type(right.object)
        same = left.object == right.object or (first is not None and first == second)
        return frame.const(bool(same) is (op is CompareOp.EQ), boolean, operands.node)
    if complex_numbers.meets(left, right) or (
        is_weak_value(left) and is_weak_value(right) and any(map(complex_numbers.is_complex, (left, right)))
    ):
        return complex_numbers.compare(frame, op, operands)
    if struct_type(left) or struct_type(right):
        return struct_methods.compare(frame, op, operands)
    if vectors.vector_type(left) or vectors.vector_type(right):
        return vector_operators.compare(frame, op, operands, compare)
    if isinstance(left, Weak) and isinstance(right, Weak):
        return frame.const(weak.COMPARE[op](left.value, right.value), boolean, operands.node)
    if pointers.is_pointer(left) and pointers.is_pointer(right):
        return pointers.compare(frame, op, operands)
    for value, place in operands.sides:
        if not is_operand(frame, value, place, f"`{op.value}`"):
            return POISON
    if is_bool(left) and is_bool(right) and op in (CompareOp.EQ, CompareOp.NE):
        type: ScalarType | None = boolean
    elif is_weak_value(left) and is_weak_value(right):
        a, b = type_of(left), type_of(right)
        type = F32 if a.is_float or b.is_float else I32  # type: ignore[union-attr]
    else:
        type = meeting_type(left, right)
    if type is None:
        return frame.error(operands.node, *mixed(frame, left, right, *operands.places))
    x, y = (scalar_as(frame, value, type, place) for value, place in operands.sides)
    if x is None or y is None:
        return POISON
    if isinstance(x, ir.Const) and isinstance(y, ir.Const):
        return frame.const(weak.COMPARE[op](x.value, y.value), boolean, operands.node)
    return Runtime(ir.Compare(op, x, y, boolean, frame.span(operands.node)))
