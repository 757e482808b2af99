"""Calls of intrinsics: which overload, and each argument as the type that it takes."""

from __future__ import annotations

import ast
import cmath
import math
from collections.abc import Callable
from inspect import Parameter as Python
from itertools import chain
from typing import Any, TypeVar

from kdsl.frontend import convert, vector_functions, vector_operators, vectors, weak
from kdsl.frontend.arguments import match_arguments
from kdsl.frontend.describing import named, shown
from kdsl.frontend.divisions import cast_hint
from kdsl.frontend.frame import Frame
from kdsl.frontend.hints import take_part
from kdsl.frontend.meet import cast, converted, is_weak_value
from kdsl.frontend.overloads import (
    AnyText,
    Form,
    OneOf,
    Parameter,
    PointerTo,
    Signature,
    bound_result,
    constraints,
    signatures,
    variable_of,
)
from kdsl.frontend.shuffles import moved_whole
from kdsl.frontend.values import POISON, Poison, Runtime, Static, Value, Weak, type_of, weak_type
from kdsl.ir import nodes as ir
from kdsl.lang.complex_type import ComplexType
from kdsl.lang.intrinsic import Intrinsic
from kdsl.lang.types import I32, U32, PointerType, ScalarType, Type

Given = dict[str, tuple[Value, ast.expr]]


def intrinsic_call(
    frame: Frame, intrinsic: Intrinsic, node: ast.Call, python: Callable[..., Any] | None = None
) -> Value:
    """A call of an intrinsic. ``python`` is the function of Python's that the source names: it evaluates literals."""
    overloads = signatures(intrinsic)
    first = overloads[0]
    optional = frozenset(p.name for p in first.parameters if p.default is not Python.empty)
    name = frame.text(node.func)
    found = match_arguments(frame, node, name, [p.name for p in first.parameters], optional)
    if found is None:
        return POISON
    given: Given = {parameter: (frame.value(place), place) for parameter, place in found.items()}
    if any(isinstance(v, Poison) for v, _ in given.values()):
        return POISON
    for value, place in given.values():
        if is_weak_value(value) and weak_type(value).is_complex:  # type: ignore[arg-type]
            return frame.error(
                place, f"{name}() takes real numbers, and this is {named(type_of(value))}", _of_cmath(intrinsic)
            )
    if intrinsic.name == "fma" and any(vectors.vector_type(v) for v, _ in given.values()):
        return vector_operators.fused(frame, list(given.values()), node)
    if vector_functions.takes_vectors(intrinsic, given):
        return vector_functions.on_lanes(frame, given, node, lambda one: _one_call(frame, intrinsic, one, node))
    values = [v for v, _ in given.values()]
    if python is not None and values and all(isinstance(v, Weak) for v in values):
        return _by_python(frame, python, values, node)
    return _one_call(frame, intrinsic, given, node)


def _one_call(frame: Frame, intrinsic: Intrinsic, given: Given, node: ast.Call) -> Value:
    signature = _matching(frame, signatures(intrinsic), given, node)
    return POISON if signature is None else _built(frame, intrinsic, signature, given, node)


def _by_python(frame: Frame, function: Callable[..., Any], values: list[Value], node: ast.Call) -> Value:
    numbers = [v.value for v in values if isinstance(v, Weak)]
    if function in (math.isnan, math.isinf, math.isfinite):
        return frame.host(function(*numbers), node)
    try:
        result = weak.evaluate(function, *numbers)
    except weak.WeakError as error:
        return frame.error(node, str(error))
    assert not isinstance(result, complex)
    # trunc of a float stays float in the language.
    return Weak(float(result))


def _matching(frame: Frame, overloads: tuple[Signature, ...], given: Given, node: ast.Call) -> Signature | None:
    """The overload whose constants are those given; of several, one whose types the arguments have or convert to."""
    fitting = [
        signature
        for signature in overloads
        if all(_constant_fits(p.form, given[p.name][0]) for p in signature.parameters if p.name in given)
    ]
    if fitting:
        exact = (s for s in fitting if _types_fit(s, given, lambda found, wanted: found == wanted))
        converting = (s for s in fitting if _types_fit(s, given, convert.converts))
        return next(chain(exact, converting), fitting[0])
    for parameter in overloads[0].parameters:
        if isinstance(parameter.form, OneOf | AnyText) and parameter.name in given:
            forms = [p.form for s in overloads for p in s.parameters if p.name == parameter.name]
            if any(_constant_fits(form, given[parameter.name][0]) for form in forms):
                continue  # another constant is wrong
            choices = [repr(c) for f in forms if isinstance(f, OneOf) for c in f.choices]
            takes = " or ".join(choices) if choices else "a constant string"
            frame.error(
                given[parameter.name][1], f"`{parameter.name}` takes {takes}, known while the kernel is compiled"
            )
            return None
    return None


def _constant_fits(form: Form, value: Value) -> bool:
    if isinstance(form, OneOf):
        return any(type(c) is type(constant_of(value)) and c == constant_of(value) for c in form.choices)
    if isinstance(form, AnyText):
        return isinstance(constant_of(value), str)
    return True


def _types_fit(signature: Signature, given: Given, fits: Callable[[ScalarType, ScalarType], bool]) -> bool:
    """Whether every argument that is no literal fits the type that the overload says."""
    pairs = [(type_of(given[p.name][0]), p.form) for p in signature.parameters if p.name in given]
    strong = [(t, f) for t, f in pairs if isinstance(t, ScalarType) and isinstance(f, ScalarType)]
    return all(fits(t, f) for t, f in strong)


def constant_of(value: Value) -> Any:
    """What a value is known to be while the kernel is compiled; None if it is not."""
    match value:
        case Weak(number) | Runtime(ir.Const(number)):
            return number
        case Static(object):
            return object
        case _:
            return None


def _built(frame: Frame, intrinsic: Intrinsic, signature: Signature, given: Given, node: ast.Call) -> Value:
    variable = variable_of(signature)
    bound: dict[TypeVar, Type] = {}
    if variable is not None:
        chosen = _moved_whole(intrinsic, given) or _bind(frame, intrinsic, variable, signature, given, node)
        if chosen is None:
            return POISON
        bound[variable] = chosen
    arguments: list[ir.Expr] = []
    names: list[str] = []
    constants: list[tuple[str, bool | int | str]] = []
    for parameter in signature.parameters:
        if isinstance(parameter.form, OneOf | AnyText):
            value = constant_of(given[parameter.name][0]) if parameter.name in given else parameter.default
            constants.append((parameter.name, value))
            continue
        argument = _argument(frame, parameter, bound, given, node)
        if argument is None:
            return POISON
        arguments.append(argument)
        names.append(parameter.name)
    result = bound_result(signature.result, bound)
    type = bound.get(variable) if variable is not None else None
    scalar = type if isinstance(type, ScalarType) else None
    return Runtime(
        ir.IntrinsicCall(intrinsic, tuple(arguments), tuple(names), scalar, result, frame.span(node), tuple(constants))
    )


def _moved_whole(intrinsic: Intrinsic, given: Given) -> Type | None:
    return moved_whole(intrinsic, given["value"][0]) if "value" in given else None


def _argument(
    frame: Frame, parameter: Parameter, bound: dict[TypeVar, Type], given: Given, node: ast.Call
) -> ir.Expr | None:
    type: Type
    match parameter.form:
        case TypeVar() as variable:
            type = bound[variable]
        case PointerTo(variable):
            type = PointerType(bound[variable])
        case form:
            type = form  # type: ignore[assignment]
    if parameter.name not in given:
        assert isinstance(type, ScalarType)
        return ir.Const(convert.fitted(parameter.default, type), type, frame.span(node))
    value, place = given[parameter.name]
    # CUDA's lane, delta and mask are unsigned, and indices are i32 here.
    if type == U32 and type_of(value) == I32 and isinstance(value, Runtime):
        return cast(value.expr, U32, frame.span(place))
    return converted(frame, value, type, place, f"`{parameter.name}`")


def _bind(
    frame: Frame, intrinsic: Intrinsic, variable: TypeVar, signature: Signature, given: Given, node: ast.Call
) -> ScalarType | None:
    """The type that the TypeVar stands for: the arguments' common one, or the first that they convert to."""
    allowed = constraints(variable)
    wanted: ScalarType | None = None
    weak_values: list[Value] = []
    for parameter in signature.parameters:
        if parameter.name not in given or parameter.form not in (variable, PointerTo(variable)):
            continue
        value, place = given[parameter.name]
        if is_weak_value(value):
            weak_values.append(value)
            continue
        type = type_of(value)
        element = type.element if isinstance(type, PointerType) and isinstance(parameter.form, PointerTo) else type
        if not isinstance(element, ScalarType):
            what = shown(frame, value, place)
            hint = vectors.hint(vectors.vector_type(value), frame.text(place))
            if isinstance(element, ComplexType):
                hint = _of_cmath(intrinsic) or take_part(frame, place)
            frame.error(place, f"{frame.text(node.func)}() takes {_either(allowed)}, and this is {what}", hint)
            return None
        joined = element if wanted is None or wanted == element else convert.common(wanted, element)
        if joined is None:
            frame.error(
                place, f"{wanted} and {element} have no common type", f"cast one: {wanted}(...) or {element}(...)"
            )
            return None
        wanted = joined
    if wanted is None:
        wanted = _weak_default(weak_values, allowed)
    chosen = _constraint(wanted, allowed)
    if chosen is None:
        value, place = next(
            pair for n, pair in given.items() if any(q.name == n and q.form == variable for q in signature.parameters)
        )
        hint = f"cast it: {allowed[0]}({frame.text(place)})"
        if isinstance(value, Runtime):
            hint = cast_hint(frame, place, value.expr, allowed[0])
        frame.error(place, f"{frame.text(node.func)}() takes {_either(allowed)}, and this is {wanted}", hint)
    return chosen


def _of_cmath(intrinsic: Intrinsic) -> str | None:
    """The function of Python's that takes complex numbers, if there is one."""
    name = {"hypot": "abs(z)", "atan2": "cmath.phase(z)"}.get(intrinsic.name)
    return f"cmath.{intrinsic.name}(z)" if hasattr(cmath, intrinsic.name) else name


def _weak_default(values: list[Value], allowed: tuple[ScalarType, ...]) -> ScalarType:
    types = [weak_type(v) for v in values]  # type: ignore[arg-type]
    default = max(types, key=lambda t: (t.is_float, t.default.size)).default
    assert isinstance(default, ScalarType)
    return default if default in allowed else allowed[0]


def _constraint(type: ScalarType, allowed: tuple[ScalarType, ...]) -> ScalarType | None:
    if type in allowed:
        return type
    fitting = [a for a in allowed if convert.converts(type, a)]
    if type.is_int and type.bits == 64:
        # As `/` does: a 64-bit int becomes f64.
        fitting = [a for a in fitting if a.bits == 64] or fitting
    return fitting[0] if fitting else None


def _either(types: tuple[ScalarType, ...]) -> str:
    names = [str(t) for t in types]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
