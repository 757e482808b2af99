"""What a launch or ``compile()`` says of a kernel's parameters: their types, the values of constants, defaults."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import FunctionType, MethodType
from typing import Any, TypeVar, cast

from kdsl.lang.generics import substituted, variables
from kdsl.lang.parameter_types import ConstexprType, GenericType
from kdsl.lang.types import I64, ArrayType, TupleType, Type, as_type, boolean
from kdsl.runtime.call_names import BRACKETS, Way, check_names
from kdsl.runtime.callables import function_type
from kdsl.runtime.calls import check_tuple
from kdsl.runtime.constants import constant_type
from kdsl.runtime.dynamo import untraced
from kdsl.runtime.errors import ArgumentTypeError
from kdsl.runtime.generics import launched_variables, signed_variables
from kdsl.runtime.inference import infer_type
from kdsl.runtime.scalars import shown

Parameters = tuple[tuple[str, Type | None], ...]


def defaults_of(function: FunctionType, names: Sequence[str]) -> dict[str, tuple[int, Any]]:
    """Position and default value of each parameter that has one."""
    code = function.__code__
    given = function.__defaults__ or ()
    found = dict(zip(names[code.co_argcount - len(given) : code.co_argcount], given, strict=True))
    found.update(function.__kwdefaults__ or {})
    return {name: (names.index(name), value) for name, value in found.items()}


def filling(run: Callable[..., None], defaults: Mapping[str, tuple[int, Any]]) -> Callable[..., None]:
    """``run`` with default values for what a call leaves out; a method, as what `Launcher.bind` gives."""
    if not defaults:
        return run
    listed = [(name, index, value) for name, (index, value) in defaults.items()]

    def filled(_: Any, /, *arguments: Any, **keywords: Any) -> None:
        count = len(arguments)
        for name, index, value in listed:
            if index >= count:
                keywords.setdefault(name, value)
        run(*arguments, **keywords)

    filled.__name__ = "__call__"
    return MethodType(untraced(filled), run)


def with_defaults(count: int, keywords: Mapping[str, Any], defaults: Mapping[str, tuple[int, Any]]) -> dict[str, Any]:
    """The keywords of a call with ``count`` positional arguments, and the defaults of what it leaves out."""
    return {name: value for name, (index, value) in defaults.items() if index >= count} | dict(keywords)


def by_name(
    kernel: str,
    parameters: Parameters,
    arguments: Sequence[Any],
    keywords: Mapping[str, Any],
    way: Way = BRACKETS,
) -> dict[str, Any]:
    """The argument for each parameter; ArgumentTypeError for a call that does not fit."""
    names = [name for name, _ in parameters]
    if len(arguments) > len(names):
        raise ArgumentTypeError(
            f"{kernel}({', '.join(names)}) takes {len(names)} argument{'s' if len(names) != 1 else ''}, "
            f"got {len(arguments)}: drop {len(arguments) - len(names)}"
        )
    given = dict(zip(names, arguments, strict=False))
    check_names(kernel, names, keywords, way)
    for name, value in keywords.items():
        if name in given:
            # As Python says it on the fast way.
            raise ArgumentTypeError(f"{kernel}() got multiple values for argument {name!r}")
        given[name] = value
    missing = [f"`{name}`" for name in names if name not in given]
    if missing:
        what = "argument" if len(missing) == 1 else "arguments"
        raise ArgumentTypeError(
            f"{kernel}: {what} {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
        )
    return given


def types_of(kernel: str, parameters: Parameters, given: Mapping[str, Any], *, wide: bool) -> tuple[Type, ...]:
    """The type of each parameter in a launch, constants with their values; ``wide`` is for 64-bit extents."""
    types = []
    generic = launched_variables(kernel, parameters, given)
    for name, type in parameters:
        known = type if not isinstance(type, GenericType) else substituted(type.template, generic)
        found = argument_type(kernel, name, known, given.get(name))
        types.append(_widened(found) if wide else found)
    return tuple(types)


def _widened(type: Type) -> Type:
    """The type with 64-bit extents of all arrays in it."""
    match type:
        case ArrayType():
            return replace(type, index=I64)
        case TupleType(elements):
            return replace(type, elements=tuple(map(_widened, elements)))
        case ConstexprType(held=held):
            return replace(type, held=tuple(replace(h, type=_widened(h.type)) for h in held))
        case _:
            return type


def argument_type(kernel: str, name: str, type: Type | None, value: Any) -> Type:
    """The type that a parameter has for an argument."""
    if type is None:
        return infer_type(kernel, name, value)
    if isinstance(type, ConstexprType) and not type.is_bound:
        return _bound(kernel, name, f"{kernel}: argument `{name}`", type, value)
    if isinstance(type, TupleType):
        check_tuple(kernel, name, type, value)
    return type


def _bound(kernel: str, name: str, where: str, type: ConstexprType, value: Any) -> ConstexprType:
    """What a parameter is compiled for."""
    if not type.is_function:
        return constant_type(where, type, value)
    if not callable(value):
        raise ArgumentTypeError(f"{where} takes a function, got {shown(value)}")
    return function_type(kernel, name, value, infer_type)


def from_defaults(
    kernel: str, parameters: Parameters, defaults: Mapping[str, tuple[int, Any]]
) -> tuple[Type | None, ...]:
    """The type of each parameter without a launch; None where an argument would have to say it."""
    return tuple(
        argument_type(kernel, name, type, defaults[name][1])
        if name in defaults and _is_open(type) and not isinstance(type, GenericType)
        else type
        for name, type in parameters
    )


def _is_open(type: Type | None) -> bool:
    """Whether only an argument says what a parameter is compiled for."""
    return type is None or isinstance(type, GenericType) or (isinstance(type, ConstexprType) and not type.is_bound)


def from_signature(
    kernel: str, parameters: Parameters, defaults: Mapping[str, tuple[int, Any]], signature: Any
) -> tuple[Type, ...]:
    """The types of all parameters: of those without an annotation, and the values of constants, from ``signature``.

    TypeError for a signature that does not fit.
    """
    if not isinstance(signature, Mapping | Sequence | None) or isinstance(signature, str | bytes):
        raise TypeError(f"{kernel}: a signature is a dict by parameter, or a list, of types, got {signature!r}")
    given = dict(signature) if isinstance(signature, Mapping) else _listed(kernel, parameters, list(signature or ()))
    annotated = dict(parameters)
    generic = signed_variables(kernel, parameters, given, defaults)
    known = {
        name: _with_types(type, generic) if isinstance(type, GenericType) else type
        for (name, _), type in zip(parameters, from_defaults(kernel, parameters, defaults), strict=True)
    }
    for name, said in given.items():
        if name not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise TypeError(f"{kernel} has no parameter {name!r}, which the signature names; {has}")
        if not isinstance(annotated[name], GenericType):
            known[name] = _said(kernel, name, annotated[name], said)
    types: list[Type] = []
    for name, type in known.items():
        if type is None:
            raise TypeError(
                f"{kernel}: parameter {name!r} has no annotation; say its type, as in signature={{{name!r}: Ptr[f32]}}"
            )
        if isinstance(type, GenericType):
            called = next(variables(type.template)).__name__
            raise TypeError(
                f"{kernel}: parameter {name!r} is {type}; say what {called} is, as in signature={{{called!r}: f32}}"
            )
        if _is_open(type):
            example = f"signature={{{name!r}: {example_of(type)}}}"
            raise TypeError(f"{kernel}: parameter {name!r} is {type}; say its value, as in {example}")
        types.append(type)
    return tuple(types)


def _with_types(type: GenericType, generic: Mapping[TypeVar, Type]) -> Type:
    """The type with what its TypeVars stand for; as it was if that is not known."""
    found = substituted(type.template, generic)
    return type if any(True for _ in variables(found)) else cast(Type, found)


def example_of(type: Type) -> str:
    """A value that a constant may have, as it is written."""
    assert isinstance(type, ConstexprType)
    if type.is_function:
        return "function"
    if isinstance(type.form, tuple):
        return "(16, 16)"
    if type.form is Type:
        return "f32"
    if type.element is not None:
        return "True" if type.element == boolean else "0.5" if type.element.is_float else "16"
    return "'text'" if type.form is str else str(next(iter(type.form)))


def _listed(kernel: str, parameters: Parameters, listed: list[Any]) -> dict[str, Any]:
    """A full signature may repeat the annotated parameters; a short one names only the others."""
    names = [n for n, _ in parameters]
    if len(listed) != len(parameters):
        names = [n for n, type in parameters if _is_open(type)]
    if len(listed) not in (0, len(names)):
        raise TypeError(f"{kernel}: signature has {len(listed)} types for {len(names)} parameters ({', '.join(names)})")
    return dict(zip(names, listed, strict=False))


def _said(kernel: str, name: str, annotated: Type | None, said: Any) -> Type:
    if isinstance(annotated, ConstexprType):
        return _bound(kernel, name, f"{kernel}: parameter `{name}`", annotated, said)
    if annotated is None and isinstance(said, FunctionType | MethodType | partial):
        return function_type(kernel, name, said, infer_type)
    type = as_type(said)
    if annotated is not None and type != annotated:
        raise TypeError(f"{kernel}: parameter {name!r} is annotated {annotated}; signature says {type}")
    return type
