"""What a reduction or scan does with two values: an operation by name, or a function of the user's."""

from __future__ import annotations

import ast
import math
from types import FunctionType
from typing import Any

from kdsl.frontend.callees import NestedFunction
from kdsl.frontend.definitions import is_function
from kdsl.frontend.describing import named, shown
from kdsl.frontend.frame import Frame
from kdsl.frontend.values import Poison, Runtime, Static, Value, describe, is_weak, join, type_of
from kdsl.groups import operations
from kdsl.ir import nodes as ir
from kdsl.lang import collective
from kdsl.lang.complex_type import ComplexType
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import F32, I32, U32, Kind, ScalarType, Type, VectorType
from kdsl.records import dataclass
from kdsl.source import Span

FUNCTIONS: dict[str, Any] = {
    "add": operations.add,
    "mul": operations.mul,
    "min": operations.smaller,
    "max": operations.larger,
    "and": operations.and_,
    "or": operations.or_,
    "xor": operations.xor,
}
SMALL: dict[str, Any] = {"min": operations.smaller_small, "max": operations.larger_small}
BITS = ("and", "or", "xor")
REDUCTIONS: dict[str, Any] = {
    "add": collective.reduce_add_sync,
    "min": collective.reduce_min_sync,
    "max": collective.reduce_max_sync,
    "and": collective.reduce_and_sync,
    "or": collective.reduce_or_sync,
    "xor": collective.reduce_xor_sync,
}
"""Those that the hardware has, of 32-bit ints."""


@dataclass(frozen=True, slots=True)
class Combination:
    """``function`` takes two values and gives one; ``name`` is empty if it is the user's."""

    function: Static
    name: str
    type: Type

    @property
    def reduction(self) -> Static | None:
        """The instruction that reduces a warp so, if there is one."""
        if self.type not in (I32, U32) or self.name not in REDUCTIONS:
            return None
        return Static(REDUCTIONS[self.name])

    def identity(self, span: Span) -> Runtime:
        """What leaves every value as it is."""
        assert isinstance(self.type, ScalarType | VectorType | ComplexType)
        scalar = _scalar(self.type)
        assert isinstance(scalar, ScalarType)
        const = ir.Const(_identity(self.name, scalar), scalar, span)
        if isinstance(self.type, ScalarType):
            return Runtime(const)
        if isinstance(self.type, ComplexType):
            return Runtime(ir.StructExpr((const, ir.Const(0.0, scalar, span)), self.type, span))
        return Runtime(ir.VectorExpr((const,) * self.type.lanes, self.type, span))


def _scalar(type: Type) -> Type:
    """The type of a vector's or complex number's parts; any other as it is."""
    if isinstance(type, ComplexType):
        return type.component
    return type.element if isinstance(type, VectorType) else type


def _identity(name: str, type: ScalarType) -> bool | int | float:
    if type.kind is Kind.BOOL:
        return name == "and"
    if type.is_float:
        return {"add": 0.0, "mul": 1.0, "min": math.inf, "max": -math.inf}[name]
    ones = -1 if type.is_signed else type.maximum
    return {"add": 0, "mul": 1, "min": type.maximum, "max": type.minimum, "and": ones, "or": 0, "xor": 0}[name]


def combination(frame: Frame, value: ir.Expr, op: Value, node: ast.Call, place: ast.expr) -> Combination | None:
    """What ``op`` means for values of this type; None (reported) if it means nothing."""
    if isinstance(op, Poison):
        return None
    object = op.object if isinstance(op, Static) else None
    method = f"{node.func.attr if isinstance(node.func, ast.Attribute) else ''}()"
    if isinstance(object, str):
        return _named(frame, value, object, place, method)
    if not isinstance(op, Static) or not is_function(op):
        what = shown(frame, op, place)
        frame.error(place, f"`op` of {method} takes {_either()}, or a function of two values, and this is {what}")
        return None
    if not isinstance(object, FunctionType | NestedFunction):
        hint = "write a lambda that calls it: lambda a, b: ..."
        frame.error(place, f"`op` of {method} takes a function of Python's, and this is `{frame.text(place)}`", hint)
        return None
    return _function(frame, value, op, node, place, method)


def _either() -> str:
    names = [f'"{name}"' for name in FUNCTIONS]
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _named(frame: Frame, value: ir.Expr, name: str, place: ast.expr, method: str) -> Combination | None:
    type = value.type
    if name not in FUNCTIONS:
        frame.error(place, f"`op` of {method} takes {_either()}, or a function of two values, and this is {name!r}")
        return None
    scalar = _scalar(type)
    if not isinstance(scalar, ScalarType):
        frame.error(place, f'"{name}" combines scalars and vectors, and this is {describe(type)}', _how(name, type))
        return None
    if scalar.kind is Kind.FLOAT8:
        frame.error(place, f'"{name}" does not take {type}, which is only stored', "convert the values: f32(...)")
        return None
    if isinstance(type, ComplexType) and name not in ("add", "mul"):
        frame.error(place, f'"{name}" combines real numbers, and this is {type}', _how(name, F32))
        return None
    if scalar.is_float and name in BITS:
        frame.error(place, f'"{name}" combines ints and bools, and this is {type}', "reduce its bits: bitcast(x, u32)")
        return None
    if scalar.kind is Kind.BOOL and name not in BITS:
        hint = f'count with i32(x), or use "{"and" if name in ("min", "mul") else "or"}"'
        frame.error(place, f'"{name}" combines numbers, and this is bool', hint)
        return None
    is_small = isinstance(type, ScalarType) and type.is_int and type.bits < 32
    function = SMALL.get(name, FUNCTIONS[name]) if is_small else FUNCTIONS[name]
    return Combination(Static(function), name, type)


def _how(name: str, type: Type) -> str:
    if isinstance(type, StructType) and name in ("add", "mul"):
        return f"say how, with its operator if it has one: lambda a, b: a {'+' if name == 'add' else '*'} b"
    return "say how: lambda a, b: ..."


def _function(
    frame: Frame, value: ir.Expr, op: Static, node: ast.Call, place: ast.expr, method: str
) -> Combination | None:
    """A function of the user's, which is asked what it gives for two such values."""
    type = value.type
    sample = Runtime(ir.Read(frame.local("value", type), type, frame.span(place)))
    call = ast.copy_location(ast.Call(func=place, args=[], keywords=[]), place)
    result = frame.session.call_function(frame, call, op.object, ((sample, place), (sample, place)))
    found = type_of(result)
    if found is None:
        return Combination(op, "", type) if frame.quiet else None
    if found != type and not (is_weak(found) and join(found, type) == type):
        message = f"`op` of {method} gives {named(found)} for two values of {describe(type)}"
        hint = f"cast what it gives: {type}(...)" if isinstance(type, ScalarType) else "it gives one of their type"
        frame.error(place, message, hint)
        return None
    return Combination(op, "", type)
