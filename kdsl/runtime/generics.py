"""What the TypeVars of a kernel's parameters stand for: in a launch what its arguments say, without one a signature.

Arrays say it first, then NumPy scalars; Python numbers take the type that others say, as literals do, and say one
where nothing else does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from kdsl.lang.generics import constraints, matched, may_be, restriction, variables
from kdsl.lang.parameter_types import ConstexprType, GenericType
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import (
    F32,
    I32,
    I64,
    U64,
    ArrayType,
    PointerType,
    ScalarType,
    TupleType,
    Type,
    as_type,
)
from kdsl.runtime.errors import ArgumentTypeError, ArgumentValueError
from kdsl.runtime.inference import element_type, infer_type
from kdsl.runtime.scalars import shown

Parameters = Sequence[tuple[str, Type | None]]
# In the order of a join of literals: each takes the values of those before it.
LITERALS = (I32, I64, U64, F32)
# Which arrays a kernel writes is known only when it is compiled.
KEPT = "and keep it if the kernel writes it"


def launched_variables(kernel: str, parameters: Parameters, given: Mapping[str, Any]) -> dict[TypeVar, Type]:
    """What each TypeVar stands for in a launch; ArgumentError where it cannot be one type, or one that it may be."""
    found: dict[TypeVar, Type] = {}
    said_by: dict[TypeVar, str] = {}
    literal: dict[TypeVar, tuple[ScalarType, str]] = {}
    for name, type in parameters:
        if not isinstance(type, GenericType):
            continue
        for variable, said, is_literal in _said(kernel, name, type.template, given[name]):
            if is_literal:
                known = literal.get(variable)
                literal[variable] = (said if known is None else max(known[0], said, key=LITERALS.index), name)
            elif variable not in found:
                _check(f"{kernel}: argument `{name}`", variable, said, _fix(name, variable))
                found[variable], said_by[variable] = said, name
            elif (one := _one_type(found[variable], said)) is not None:
                found[variable] = one
            else:
                raise ArgumentTypeError(
                    f"{kernel}: argument `{name}` makes {variable.__name__} {said}, and `{said_by[variable]}` makes it "
                    f"{found[variable]}; {_conversion(name, given[name], found[variable])}"
                )
    for variable, (default, name) in literal.items():
        if variable not in found:
            found[variable] = _of_literal(f"{kernel}: argument `{name}`", variable, default)
    return found


def _one_type(known: Type, said: Type) -> Type | None:
    """The type that two arguments mean; None for two types. An array's dtype does not name the class of a struct."""
    if known == said:
        return known
    if isinstance(known, StructType) and isinstance(said, StructType) and None in (known.python, said.python):
        return (known if said.python is None else said) if known.numpy == said.numpy else None
    return None


def _check(where: str, variable: TypeVar, type: Type, fix: str) -> None:
    if not may_be(variable, type):
        called = variable.__name__
        raise ArgumentTypeError(f"{where} makes {called} {type}, and {called} may be {restriction(variable)}; {fix}")


def _fix(name: str, variable: TypeVar) -> str:
    scalars = [t for t in constraints(variable) if isinstance(t, ScalarType)]
    made = f"pass {name}.astype(np.{scalars[0].numpy.name}), {KEPT}" if scalars else ""
    return made or "pass such an array or number"


def _conversion(name: str, value: Any, type: Type) -> str:
    if isinstance(type, ScalarType) and isinstance(value, np.ndarray):
        return f"pass {name}.astype(np.{type.numpy.name}), {KEPT}"
    if isinstance(type, ScalarType) and isinstance(value, np.generic):
        return f"pass np.{type.numpy.name}({name})"
    return "convert one, or give each parameter a TypeVar of its own"


def _of_literal(where: str, variable: TypeVar, default: ScalarType) -> Type:
    """What a Python number alone makes of a TypeVar: its own type, or the first of the constraints that takes it."""
    if may_be(variable, default):
        return default
    takes = (t for t in constraints(variable) if isinstance(t, ScalarType) and (t.is_float or _takes_int(t, default)))
    first = next(takes, None)
    if first is None:
        _check(where, variable, default, "pass a number of such a type")
    assert first is not None
    return first


def _takes_int(type: ScalarType, default: ScalarType) -> bool:
    return type.is_int and not default.is_float


def _said(kernel: str, name: str, template: Any, value: Any) -> Iterator[tuple[TypeVar, Any, bool]]:
    """What an argument says of a template's TypeVars: a type; and whether that is a Python number's."""
    match template:
        case TypeVar():
            type = infer_type(kernel, name, value)
            if isinstance(type, ConstexprType):
                raise ArgumentTypeError(f"{kernel}: argument `{name}` is {shown(value)}, which gives no type")
            yield template, type, isinstance(type, ScalarType) and type in LITERALS and _is_literal(value)
        case PointerType(element=TypeVar() as variable) | ArrayType(element=TypeVar() as variable):
            wanted = f"{kernel}: argument `{name}` takes {GenericType(template)}"
            yield variable, element_type(wanted, value), False
        case TupleType(elements=parts):
            if not isinstance(value, tuple) or len(value) != len(parts):
                raise ArgumentTypeError(
                    f"{kernel}: argument `{name}` takes a tuple of {len(parts)} elements, got {shown(value)}"
                )
            for index, (part, element) in enumerate(zip(parts, value, strict=True)):
                yield from _said(kernel, f"{name}[{index}]", part, element)
        case _:
            for variable in variables(template):
                called = variable.__name__
                raise ArgumentValueError(
                    f"{kernel}: no argument for `{name}`, which is {GenericType(template)}, says what {called} stands "
                    f"for: launch a kernel without TypeVars"
                )


def _is_literal(value: Any) -> bool:
    return (not isinstance(value, np.generic) and isinstance(value, (int, float))) or hasattr(value, "__index__")


def signed_variables(
    kernel: str, parameters: Parameters, given: dict[str, Any], defaults: Mapping[str, tuple[int, Any]]
) -> dict[TypeVar, Type]:
    """What a signature says of each TypeVar, by its name or in a parameter's type; the names are taken out of
    ``given``. TypeError for what does not fit.
    """
    templates = {name: type.template for name, type in parameters if isinstance(type, GenericType)}
    named = {v.__name__: v for template in templates.values() for v in variables(template)}
    names = [name for name, _ in parameters]
    found: dict[TypeVar, Type] = {}
    said_by: dict[TypeVar, str] = {}
    for name, said in list(given.items()):
        if name in named and name not in names:
            pairs: list[tuple[TypeVar, Any]] = [(named[name], as_type(said))]
            del given[name]
        elif name in templates:
            pairs = list(matched(templates[name], as_type(said)))
            if not pairs:
                raise TypeError(
                    f"{kernel}: parameter {name!r} is {GenericType(templates[name])}; signature says {said}"
                )
        else:
            continue
        for variable, type in pairs:
            called = variable.__name__
            if found.setdefault(variable, type) != type:
                raise TypeError(
                    f"{kernel}: {name!r} makes {called} {type} in the signature, and {said_by[variable]!r} makes it "
                    f"{found[variable]}"
                )
            said_by.setdefault(variable, name)
            if not may_be(variable, type):
                what = f"{called} is {type}" if name == called else f"{name!r} makes {called} {type}"
                raise TypeError(f"{kernel}: {what} in the signature, and it may be {restriction(variable)}")
    for name, template in templates.items():
        if name in defaults and isinstance(template, TypeVar) and template not in found:
            found.update(launched_variables(kernel, [(name, GenericType(template))], {name: defaults[name][1]}))
    return found
