"""Calls of the functions of Python's ``cmath``, which `kdsl.complex_functions` has for the device."""

from __future__ import annotations

import ast
import cmath
from collections.abc import Callable
from typing import Any

from kdsl import complex_functions as functions
from kdsl.frontend.arguments import positional
from kdsl.frontend.complex_numbers import as_complex, call, common, is_complex, real_part
from kdsl.frontend.describing import named
from kdsl.frontend.frame import Frame
from kdsl.frontend.hints import take_part
from kdsl.frontend.values import POISON, Poison, Runtime, Value, Weak, type_of

CMATH: dict[Any, Callable[..., Any]] = {
    cmath.exp: functions.exp,
    cmath.log: functions.log,
    cmath.log10: functions.log10,
    cmath.sqrt: functions.sqrt,
    cmath.phase: functions.phase,
    cmath.polar: functions.polar,
    cmath.rect: functions.rect,
    cmath.sin: functions.sin,
    cmath.cos: functions.cos,
    cmath.tan: functions.tan,
    cmath.sinh: functions.sinh,
    cmath.cosh: functions.cosh,
    cmath.tanh: functions.tanh,
    cmath.isnan: functions.isnan,
    cmath.isinf: functions.isinf,
    cmath.isfinite: functions.isfinite,
}
INSTEAD = {
    "isclose": "abs(a - b) <= tolerance",
    "asinh": "cmath.log(z + cmath.sqrt(z * z + 1.0))",
    "acosh": "cmath.log(z + cmath.sqrt(z + 1.0) * cmath.sqrt(z - 1.0))",
    "atanh": "0.5 * (cmath.log(1.0 + z) - cmath.log(1.0 - z))",
    "asin": "-1j * cmath.log(1j * z + cmath.sqrt(1.0 - z * z))",
    "acos": "1j * cmath.log(z - 1j * cmath.sqrt(1.0 - z * z))",
    "atan": "0.5j * (cmath.log(1.0 - 1j * z) - cmath.log(1.0 + 1j * z))",
}
"""What to write for a function of cmath that kernels do not have."""


def cmath_call(frame: Frame, callee: Any, node: ast.Call) -> Value:
    """A call of a function of Python's ``cmath``, which takes real numbers, too; literals stay literals."""
    name = frame.text(node.func)
    function = CMATH.get(callee)
    if function is None:
        hint = INSTEAD.get(callee.__name__)
        return frame.error(node.func, f"`{name}` has no counterpart on the device", hint)
    if callee is cmath.log and len(node.args) == 2:
        return frame.error(node.args[1], "cmath.log() takes no base in a kernel", "cmath.log(z) / math.log(base)")
    is_rect = callee is cmath.rect
    arguments = positional(frame, node, name, 2 if is_rect else 1, 2 if is_rect else 1)
    if arguments is None:
        return POISON
    values = [frame.value(a) for a in arguments]
    if any(isinstance(v, Poison) for v in values):
        return POISON
    if is_rect:
        for value, place in zip(values, arguments, strict=True):
            if is_complex(value):
                hint = take_part(frame, place)
                return frame.error(place, f"{name}() takes real numbers, and this is {named(type_of(value))}", hint)
    if all(isinstance(v, Weak) for v in values):
        return _by_python(frame, callee, [v.value for v in values if isinstance(v, Weak)], node)
    return _rect(frame, values, arguments, node) if is_rect else _of_one(frame, function, values[0], arguments[0], node)


def _of_one(frame: Frame, function: Any, value: Value, place: ast.expr, node: ast.Call) -> Value:
    type = common(frame, value, Weak(0), (place, place), f"{frame.text(node.func)}()")
    expr = None if type is None else as_complex(frame, value, type, place)
    return POISON if expr is None else call(frame, function, [(Runtime(expr), place)], node)


def _rect(frame: Frame, values: list[Value], places: list[ast.expr], node: ast.Call) -> Value:
    type = common(frame, values[0], values[1], (places[0], places[1]), "cmath.rect()")
    if type is None:
        return POISON
    parts = [real_part(frame, v, type.component, p, "cmath.rect()") for v, p in zip(values, places, strict=True)]
    given = [(Runtime(e), p) for e, p in zip(parts, places, strict=True) if e is not None]
    return POISON if len(given) < 2 else call(frame, functions.rect, list(given), node)


def _by_python(frame: Frame, function: Any, numbers: list[Any], node: ast.Call) -> Value:
    try:
        made = function(*numbers)
    except (ValueError, OverflowError) as error:
        return frame.error(node, f"this constant cannot be computed: {error}")
    return frame.host(made, node)
