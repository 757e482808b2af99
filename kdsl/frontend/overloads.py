"""The signatures of intrinsics, read from their stubs when they are first called."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from functools import lru_cache
from inspect import Parameter as Python
from inspect import signature as python_signature
from types import FunctionType, GenericAlias
from typing import Any, Literal, TypeVar

from kdsl.lang.intrinsic import Intrinsic
from kdsl.lang.types import VOID, PointerType, ScalarType, TupleType, Type, as_type
from kdsl.records import dataclass


@dataclass(frozen=True, slots=True)
class AnyText:
    """A parameter that takes any constant string."""


@dataclass(frozen=True, slots=True)
class OneOf:
    """A parameter that takes one of these constants."""

    choices: tuple[bool | int | str, ...]


@dataclass(frozen=True, slots=True)
class PointerTo:
    """A pointer to what the stub's TypeVar is bound to."""

    variable: TypeVar


Form = Type | TypeVar | AnyText | OneOf | PointerTo


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    form: Form
    default: Any = Python.empty


@dataclass(frozen=True, slots=True)
class Signature:
    """``result`` may hold the TypeVar, also inside of a tuple (then a tuple of forms)."""

    parameters: tuple[Parameter, ...]
    result: Any


class _Ptr:
    """Stands for ``Ptr`` while annotations are read, so that ``Ptr[F]`` may hold a TypeVar."""

    def __class_getitem__(cls, element: Any) -> Any:
        return PointerTo(element) if isinstance(element, TypeVar) else PointerType(as_type(element))


@lru_cache(maxsize=1024)
def signatures(intrinsic: Intrinsic) -> tuple[Signature, ...]:
    """The overloads of an intrinsic, in the order of its source."""
    assert isinstance(intrinsic.stub, FunctionType)
    stubs = typing.get_overloads(intrinsic.stub) or [intrinsic.stub]
    return tuple(_signature(stub) for stub in stubs)  # type: ignore[arg-type]


def _signature(stub: FunctionType) -> Signature:
    namespace = {**stub.__globals__, "Ptr": _Ptr}
    read = python_signature(stub)
    parameters = tuple(
        Parameter(p.name, _form(_evaluated(p.annotation, namespace)), p.default) for p in read.parameters.values()
    )
    return Signature(parameters, _result(_evaluated(read.return_annotation, namespace)))


def _evaluated(annotation: Any, namespace: dict[str, Any]) -> Any:
    return eval(annotation, namespace) if isinstance(annotation, str) else annotation


def _form(annotation: Any) -> Form:
    if isinstance(annotation, TypeVar | PointerTo):
        return annotation
    if annotation is str:
        return AnyText()
    if typing.get_origin(annotation) is Literal:
        return OneOf(typing.get_args(annotation))
    return as_type(annotation)


def _result(annotation: Any) -> Any:
    if annotation is None or annotation is Python.empty:
        return VOID
    if isinstance(annotation, GenericAlias):
        return tuple(_result(a) for a in annotation.__args__)
    return annotation if isinstance(annotation, TypeVar) else as_type(annotation)


def constraints(variable: TypeVar) -> tuple[ScalarType, ...]:
    """The scalar types that a TypeVar stands for."""
    types = [as_type(c) for c in variable.__constraints__]
    return tuple(t for t in types if isinstance(t, ScalarType))


def variable_of(signature: Signature) -> TypeVar | None:
    """The one TypeVar of a signature."""
    for parameter in signature.parameters:
        form = parameter.form
        if isinstance(form, TypeVar):
            return form
        if isinstance(form, PointerTo):
            return form.variable
    return None


def bound_result(result: Any, bound: Mapping[TypeVar, Type]) -> Type:
    """The result's type where the TypeVar is bound."""
    if isinstance(result, tuple):
        return TupleType(tuple(bound_result(r, bound) for r in result))
    return bound[result] if isinstance(result, TypeVar) else typing.cast(Type, result)
