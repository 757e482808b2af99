"""Complex numbers: construction, operators and comparison. The functions of Python's ``cmath`` are in cmath_calls.

Sums and products are built here, so that a product may be fused as the kernel says; what is longer is in
`kdsl.complex_functions`. A real operand stays real: it has no imaginary part that a product could make NaN of.
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from kdsl import complex_functions as functions
from kdsl.frontend import convert
from kdsl.frontend.arguments import match_arguments, positional
from kdsl.frontend.callees import BoundMethod
from kdsl.frontend.describing import named, shown
from kdsl.frontend.effects import has_effects
from kdsl.frontend.frame import Frame
from kdsl.frontend.hints import take_part
from kdsl.frontend.meet import cast, is_weak_value
from kdsl.frontend.operands import Operands
from kdsl.frontend.structs import zero
from kdsl.frontend.values import POISON, Poison, Runtime, Static, Value, Weak, constant_int, type_of, weak_type
from kdsl.ir import nodes as ir
from kdsl.ir.nodes import BinaryOp, CompareOp, UnaryOp
from kdsl.lang.complex_type import ComplexType
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import COMPLEX64, COMPLEX128, F32, F64, ScalarType, TupleType, boolean
from kdsl.source import Span

Pair = tuple[ir.Expr, ir.Expr | None]
"""The real and the imaginary part; None for that of a real number."""

LARGEST_EXPONENT = 64
"""Up to here a constant exponent is a chain of products."""
ORDER = "compare abs(z), or z.real"


def is_complex(value: Value) -> bool:
    """Whether a value is a complex number or literal."""
    return complex_type(value) is not None or (is_weak_value(value) and weak_type(value).is_complex)  # type: ignore[arg-type]


def complex_type(value: Value) -> ComplexType | None:
    """The type of a complex number that is no literal."""
    return value.expr.type if isinstance(value, Runtime) and isinstance(value.expr.type, ComplexType) else None


def class_type(value: object) -> ComplexType | None:
    """The type that a call of this object makes: complex64, np.complex64, complex; None for other objects."""
    if isinstance(value, ComplexType):
        return value
    names: tuple[tuple[type, ComplexType], ...] = (
        (complex, COMPLEX64),
        (np.complex64, COMPLEX64),
        (np.complex128, COMPLEX128),
    )
    return next((made for python, made in names if value is python), None)


def meets(left: Value, right: Value) -> bool:
    """Whether two values meet as complex numbers: one is complex, none a struct of the user's, not both literals."""
    if not (is_complex(left) or is_complex(right)) or (is_weak_value(left) and is_weak_value(right)):
        return False
    types = [type_of(v) for v in (left, right)]
    return not any(isinstance(t, StructType) and not isinstance(t, ComplexType) for t in types)


def common(frame: Frame, left: Value, right: Value, places: tuple[ast.expr, ast.expr], what: str) -> ComplexType | None:
    """The type in which both meet: complex128 if either is of f64; None (reported) if one is no number."""
    component = F32
    for value, place in zip((left, right), places, strict=True):
        type = type_of(value)
        if isinstance(type, ComplexType):
            component = F64 if F64 in (component, type.component) else F32
        elif isinstance(type, ScalarType) and not type.is_float8:
            component = F64 if F64 in (component, type) else F32
        elif not is_weak_value(value):
            if not isinstance(value, Poison):
                frame.error(place, f"{what} takes numbers, and this is {shown(frame, value, place)}", _hint(type))
            return None
    return COMPLEX64 if component == F32 else COMPLEX128


def _hint(type: object) -> str | None:
    return "convert it: f32(...)" if isinstance(type, ScalarType) and type.is_float8 else None


def as_complex(frame: Frame, value: Value, type: ComplexType, place: ast.expr) -> ir.Expr | None:
    """A number as a complex one, converted as arithmetic and casts do; None (reported) for a literal that does not
    fit.
    """
    if is_weak_value(value):
        return frame.literal(value, type, place)  # type: ignore[arg-type]
    assert isinstance(value, Runtime)
    span = frame.span(place)
    if isinstance(value.type, ScalarType):
        return ir.StructExpr((cast(value.expr, type.component, span), _zero(type, span)), type, span)
    return _cast(frame, value.expr, type, span)


def _cast(frame: Frame, expr: ir.Expr, type: ComplexType, span: Span) -> ir.Expr:
    if expr.type == type:
        return expr
    real, imag = _parts(frame, expr, type, span)
    return ir.StructExpr((real, imag), type, span)


def _zero(type: ComplexType, span: Span) -> ir.Expr:
    return ir.Const(0.0, type.component, span)


def _parts(
    frame: Frame, expr: ir.Expr, type: ComplexType, span: Span, *, others: bool = False
) -> tuple[ir.Expr, ir.Expr]:
    """Both parts of a complex number, the real one to be evaluated first; ``others``: others may be in between."""
    own = expr.type
    assert isinstance(own, ComplexType)
    if isinstance(expr, ir.StructExpr) and all(isinstance(e, ir.Const) for e in expr.elements):
        real, imag = expr.elements
    else:
        first, again = frame.once(expr, "number", others_between=others)
        real = ir.FieldValue(first, 0, own.component, span)
        imag = ir.FieldValue(again, 1, own.component, span)
    return cast(real, type.component, span), cast(imag, type.component, span)


def _operand(
    frame: Frame, value: Value, type: ComplexType, place: ast.expr, *, others: bool
) -> tuple[Pair, Pair] | None:
    """The parts of an operand to be evaluated first, and for a second use; None (reported) for what does not fit."""
    span = frame.span(place)
    if not is_complex(value):
        if is_weak_value(value):
            real = frame.literal(value, type.component, place)  # type: ignore[arg-type]
            if real is None:
                return None
        else:
            assert isinstance(value, Runtime)
            real = cast(value.expr, type.component, span)
        first, again = frame.once(real, "number", others_between=others)
        return (first, None), (again, None)
    expr = as_complex(frame, value, type, place)
    if expr is None:
        return None
    if isinstance(expr, ir.StructExpr) and all(isinstance(e, ir.Const) for e in expr.elements):
        pair = (expr.elements[0], expr.elements[1])
        return pair, pair
    first, again = frame.once(expr, "number", others_between=others)
    later = (
        ir.FieldValue(again, 0, type.component, span),
        ir.FieldValue(again, 1, type.component, span),
    )
    return (ir.FieldValue(first, 0, type.component, span), later[1]), later


def binary(frame: Frame, op: BinaryOp, operands: Operands) -> Value:
    """``left op right``, one of them complex."""
    left, right = operands.values
    if op not in (BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL, BinaryOp.DIV, BinaryOp.POW):
        value, place = (left, operands.places[0]) if is_complex(left) else (right, operands.places[1])
        is_call = op in (BinaryOp.MIN, BinaryOp.MAX)
        name = f"{op.value}()" if is_call else f"`{op.value}`"
        hint = ORDER if is_call else take_part(frame, place)
        return frame.error(place, f"{name} takes real numbers, and this is {named(type_of(value))}", hint)
    type = common(frame, left, right, operands.places, f"`{op.value}`")
    if type is None:
        return POISON
    if frame.quiet:
        return Runtime(zero(type, frame.span(operands.node)))
    if op is BinaryOp.POW:
        return _power(frame, operands, type)
    if op is BinaryOp.DIV and is_complex(right):
        return _call_two(frame, functions.divide, operands, type)
    first = _operand(frame, left, type, operands.places[0], others=has_effects(right))
    second = _operand(frame, right, type, operands.places[1], others=False)
    if first is None or second is None:
        return POISON
    span = frame.span(operands.node)
    return Runtime(ir.StructExpr(_elements(op, first, second, type, span), type, span))


def _elements(
    op: BinaryOp, left: tuple[Pair, Pair], right: tuple[Pair, Pair], type: ComplexType, span: Span
) -> tuple[ir.Expr, ir.Expr]:
    """The parts of a sum, difference, product, or quotient by a real number."""

    def of(operation: BinaryOp, x: ir.Expr, y: ir.Expr) -> ir.Expr:
        return ir.Binary(operation, x, y, type.component, span)

    (a, _), (a_again, b) = left
    (c, _), (c_again, d) = right
    if op in (BinaryOp.MUL, BinaryOp.DIV):
        if b is None or d is None:
            other = of(op, b, c_again) if b is not None else of(op, a_again, d)  # type: ignore[arg-type]
            return of(op, a, c), other
        real = of(BinaryOp.SUB, of(op, a, c), of(op, b, d))
        return real, of(BinaryOp.ADD, of(op, a_again, d), of(op, b, c_again))
    if b is None:
        assert d is not None
        return of(op, a, c), d if op is BinaryOp.ADD else ir.Unary(UnaryOp.NEG, d, type.component, span)
    return of(op, a, c), b if d is None else of(op, b, d)


def call(frame: Frame, function: Any, given: list[tuple[Value, ast.expr]], node: ast.expr | ast.stmt) -> Value:
    """A call of one of `kdsl.complex_functions`."""
    made = ast.copy_location(ast.Call(func=given[0][1], args=[], keywords=[]), node)
    return frame.session.call_function(frame, made, function, tuple(given))


def _call_two(frame: Frame, function: Any, operands: Operands, type: ComplexType) -> Value:
    exprs = [as_complex(frame, v, type, p) for v, p in operands.sides]
    given = [(Runtime(e), p) for e, p in zip(exprs, operands.places, strict=True) if e is not None]
    return POISON if len(given) < 2 else call(frame, function, list(given), operands.node)


def _power(frame: Frame, operands: Operands, type: ComplexType) -> Value:
    """``left ** right``: by a small constant int a chain of products."""
    exponent = constant_int(operands.right)
    if exponent is None or abs(exponent) > LARGEST_EXPONENT:
        return _call_two(frame, functions.power, operands, type)
    base = as_complex(frame, operands.left, type, operands.places[0])
    if base is None:
        return POISON
    span = frame.span(operands.node)
    first, again = frame.once(base, "base", others_between=False)
    one = ir.StructExpr((ir.Const(1.0, type.component, span), _zero(type, span)), type, span)
    if exponent == 0:
        # Whatever the base is; but its effects stay.
        both = ir.TupleExpr((first, one), TupleType((type, type)), span)
        return Runtime(ir.TupleElement(both, 1, type, span) if has_effects(Runtime(base)) else one)
    result: Value = Runtime(first)
    for bit in f"{abs(exponent):b}"[1:]:
        assert isinstance(result, Runtime)
        once, twice = frame.once(result.expr, "power")
        result = _times(frame, operands.of(Runtime(once), Runtime(twice)))
        if bit == "1":
            result = _times(frame, operands.of(result, Runtime(again)))
    return result if exponent > 0 else _call_two(frame, functions.divide, operands.of(Runtime(one), result), type)


def _times(frame: Frame, operands: Operands) -> Value:
    return binary(frame, BinaryOp.MUL, operands)


def unary(frame: Frame, op: UnaryOp, value: Runtime, type: ComplexType, node: ast.expr, operand: ast.expr) -> Value:
    """``-z`` and ``abs(z)``."""
    span = frame.span(node)
    match op:
        case UnaryOp.NEG:
            real, imag = _parts(frame, value.expr, type, span)
            parts = (ir.Unary(UnaryOp.NEG, part, type.component, span) for part in (real, imag))
            return Runtime(ir.StructExpr(tuple(parts), type, span))
        case UnaryOp.ABS:
            return call(frame, functions.magnitude, [(value, operand)], node)
    name = f"`{op.value}`" if op is UnaryOp.INVERT else f"{op.value}()"
    return frame.error(operand, f"{name} takes real numbers, and this is {type}", take_part(frame, operand))


def compare(frame: Frame, op: CompareOp, operands: Operands) -> Value:
    """``left == right`` and ``!=``: a real number is one whose imaginary part is 0. There is no order."""
    left, right = operands.values
    if op not in (CompareOp.EQ, CompareOp.NE):
        place = operands.places[0] if is_complex(left) else operands.places[1]
        return frame.error(place, f"`{op.value}` of complex numbers, which have no order", ORDER)
    if isinstance(left, Weak) and isinstance(right, Weak):
        return frame.const((left.value == right.value) is (op is CompareOp.EQ), boolean, operands.node)
    type = common(frame, left, right, operands.places, f"`{op.value}`")
    if type is None:
        return POISON
    a, b = (as_complex(frame, v, type, p) for v, p in operands.sides)
    if a is None or b is None:
        return POISON
    span = frame.span(operands.node)
    real, imag = _parts(frame, a, type, span, others=has_effects(Runtime(b)))
    other, other_imag = _parts(frame, b, type, span)
    first = ir.Compare(CompareOp.EQ, real, other, boolean, span)
    second = ir.Compare(CompareOp.EQ, imag, other_imag, boolean, span)
    # Why not `and`? Both parts are in registers, and a branch costs more than a comparison.
    same = ir.Binary(BinaryOp.AND, first, second, boolean, span)
    return Runtime(same if op is CompareOp.EQ else ir.Unary(UnaryOp.NOT, same, boolean, span))


def construct(frame: Frame, type: ComplexType, node: ast.Call) -> Value:
    """``complex64(re, im)``, ``complex64(x)``: also what would be a cast, as with `f32(x)`."""
    name = frame.text(node.func)
    found = match_arguments(frame, node, name, ("real", "imag"), frozenset({"real", "imag"}))
    if found is None:
        return POISON
    values = {part: frame.value(place) for part, place in found.items()}
    span = frame.span(node)
    if frame.quiet:
        return Runtime(zero(type, span))
    if set(values) == {"real"} and is_complex(values["real"]):
        expr = as_complex(frame, values["real"], type, found["real"])
        return POISON if expr is None else Runtime(expr)
    parts: dict[str, ir.Expr] = {}
    for part, value in values.items():
        expr = real_part(frame, value, type.component, found[part], f"{name}()", is_only=len(values) == 1)
        if expr is None:
            return POISON
        parts[part] = expr
    if list(parts) == ["imag", "real"] and has_effects(Runtime(parts["imag"])):
        # Evaluated as they are written.
        first, again = frame.once(parts["imag"], "imag", others_between=True)
        pair = ir.StructExpr((first, parts["real"]), type, span)
        swapped, _ = frame.once(pair, "parts")
        return Runtime(ir.StructExpr((ir.FieldValue(swapped, 1, type.component, span), again), type, span))
    real, imag = (parts.get(part) or _zero(type, span) for part in ("real", "imag"))
    return Runtime(ir.StructExpr((real, imag), type, span))


def real_part(
    frame: Frame, value: Value, type: ScalarType, place: ast.expr, what: str, *, is_only: bool = False
) -> ir.Expr | None:
    """A real number as a part, cast; None (reported) if it is none."""
    if is_weak_value(value) and not is_complex(value):
        return frame.literal(value, type, place)  # type: ignore[arg-type]
    if isinstance(value, Runtime) and isinstance(value.type, ScalarType):
        return cast(value.expr, type, frame.span(place))
    if not isinstance(value, Poison):
        takes = "a number" if is_only else "two real numbers"
        hint = take_part(frame, place) if is_complex(value) else None
        if isinstance(value, Static) and isinstance(value.object, str):
            hint = "write the number"
        frame.error(place, f"{what} takes {takes}, and this is {shown(frame, value, place)}", hint)
    return None


def joined(frame: Frame, node: ast.Call) -> Value:
    """``joined(real, imag)`` in `kdsl.complex_functions`: of the type that both parts have."""
    arguments = positional(frame, node, "joined", 2, 2)
    assert arguments is not None
    values = [frame.value(a) for a in arguments]
    types = [type_of(v) for v in values]
    known = next((t for t in types if t in (F32, F64)), None)
    if known is None:
        return POISON
    type = COMPLEX64 if known == F32 else COMPLEX128
    parts = [real_part(frame, v, type.component, a, "joined()") for v, a in zip(values, arguments, strict=True)]
    exprs = tuple(p for p in parts if p is not None)
    return Runtime(ir.StructExpr(exprs, type, frame.span(node))) if len(exprs) == 2 else POISON


def method(value: Runtime, place: ast.expr) -> Static:
    """``z.conjugate``, to be called."""
    function: Any = functions.conjugate  # to a type checker any callable
    return Static(BoundMethod(function, value, place))


def converted(frame: Frame, value: Runtime, type: ComplexType, node: ast.expr) -> ir.Expr | None:
    """A number as a complex one where that needs no cast; None, unreported, where it does."""
    source = value.type
    if isinstance(source, ComplexType):
        return _cast(frame, value.expr, type, frame.span(node)) if source.size < type.size else None
    if isinstance(source, ScalarType) and (convert.converts(source, type.component) or source == boolean):
        return as_complex(frame, value, type, node)
    return None
