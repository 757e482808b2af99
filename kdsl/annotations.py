"""Annotations of parameters and results as types, PEP 563 strings and PEP 649 included.

Those of local variables are the frontend's. Without its import, so that a warm start needs no more than this.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import typing
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar, get_args, get_origin

from kdsl.lang.enums import enum_type
from kdsl.lang.fixed_array import FixedArrayType
from kdsl.lang.generics import restriction, variables
from kdsl.lang.group_type import GroupType
from kdsl.lang.groups import Group
from kdsl.lang.parameter_types import ConstexprType, GenericType
from kdsl.lang.struct import OWNER, SCOPE
from kdsl.lang.types import VOID, TupleType, Type, as_type
from kdsl.source import CompileError, Diagnostic, Span, find_function

ACCEPTED = "a scalar type such as f32 or i32, Ptr[T], Array[T, ndim], a NumPy dtype, int, float or bool"


def kernel_parameters(function: FunctionType) -> tuple[tuple[str, Type | None], ...]:
    """Name and annotated type of each parameter, None where there is no annotation.

    CompileError for an annotation that is no type, for ``*args``, and for a method.
    """
    code = function.__code__
    if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        raise CompileError.at(
            _place(function, None), f"`{function.__name__}` takes *args or **kwargs", "name each parameter"
        )
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    types = function_types(function, names)
    if names[:1] == ("self",) and "self" not in types:
        hint = "move it out of the class, or make it a @staticmethod"
        message = "a kernel cannot be a method: `self` is an object of the host"
        raise CompileError.at(_place(function, "self"), message, hint)
    if types.get("return", VOID) != VOID:
        hint = "store the value in an array, and leave the annotation out or write None"
        raise CompileError.at(_place(function, "return"), "a kernel returns nothing", hint)
    return tuple((name, types.get(name)) for name in names)


def function_types(function: FunctionType, names: tuple[str, ...]) -> dict[str, Type]:
    """The annotated types of parameters, and of the result under ``return``."""
    try:
        annotations = function.__annotations__
    # PEP 649: annotations are evaluated at this moment.
    except (NameError, TypeError, AttributeError, ValueError, LookupError) as error:
        raise CompileError.at(_place(function, None), f"an annotation of `{function.__name__}`: {error}") from None
    types: dict[str, Type] = {}
    wrong: list[Diagnostic] = []
    for name in (*names, "return"):
        if name in annotations:
            try:
                type = _resolved(function, name, annotations[name])
            except CompileError as error:
                wrong += error.diagnostics
            else:
                types[name] = type
    if wrong:
        raise CompileError(*wrong)
    return types


def _resolved(function: FunctionType, name: str, annotation: Any) -> Type:
    text = annotation
    try:
        if isinstance(annotation, str):
            closure = {**getattr(function, SCOPE, {})}
            closure |= dict(zip(function.__code__.co_freevars, map(_contents, function.__closure__ or ()), strict=True))
            if hasattr(function, OWNER):
                owner = getattr(function, OWNER)
                closure[owner.__name__] = owner
            # Those of `def k[T](...)`, from Python 3.12 on.
            closure |= {v.__name__: v for v in getattr(function, "__type_params__", ())}
            annotation = eval(annotation, function.__globals__, closure)
            if isinstance(annotation, str):
                annotation = eval(annotation, function.__globals__, closure)
        type = annotated_type(annotation)
        if (type == VOID and name != "return") or (isinstance(type, ConstexprType) and name == "return"):
            raise TypeError(str(type))
    except (NameError, TypeError, AttributeError, SyntaxError, ValueError, LookupError, ArithmeticError) as error:
        place = _place(function, name)
        shown = text.strip("'\"") if isinstance(text, str) else _source(place) or repr(annotation)
        what = "the result" if name == "return" else f"`{name}`"
        reason = f" ({error})" if isinstance(error, NameError | AttributeError) else ""
        message = f"{what} is annotated `{shown}`, which is no type of the kernel language{reason}"
        raise CompileError.at(place, message, f"write {ACCEPTED}") from None
    return type


def _source(place: Span) -> str | None:
    """What is written there, if that is part of one line."""
    if place.line != place.end_line:
        return None
    return linecache.getline(place.file, place.line)[place.column - 1 : place.end_column - 1].strip("'\"")


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _place(function: FunctionType, name: str | None) -> Span:
    """Where an annotation stands; the function's first line if there is no source."""
    code = function.__code__
    try:
        file, node = find_function(function)
    except CompileError:
        return Span(code.co_filename, code.co_firstlineno)
    if name == "return" and isinstance(node, ast.FunctionDef) and node.returns is not None:
        return file.span(node.returns)
    for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
        if argument.arg == name:
            return file.span(argument.annotation or argument)
    for rest in (node.args.vararg, node.args.kwarg):
        if rest is not None:
            return file.span(rest)
    return file.def_line(node)


def annotated_type(annotation: Any) -> Type:
    """The type that an annotation means. TypeError for what is no type."""
    template = _template(annotation)
    found = tuple(variables(template))
    for variable in found:
        restriction(variable)
    if not found:
        return typing.cast(Type, template)
    return GenericType(template)


def _template(annotation: Any) -> Any:
    """The type that an annotation means, which may hold TypeVars."""
    if isinstance(annotation, TypeVar):
        return annotation
    if annotation is typing.Callable or Callable in (annotation, get_origin(annotation)):
        return ConstexprType(None)
    if get_origin(annotation) is tuple:
        elements = tuple(_template(a) for a in get_args(annotation))
        if any(isinstance(e, ConstexprType) for e in elements):
            raise TypeError(f"{annotation} holds a Constexpr")
        return TupleType(elements)
    if isinstance(annotation, type) and issubclass(annotation, Group):
        return GroupType(annotation.__name__)
    found = enum_type(annotation) or as_type(annotation)
    if isinstance(found, FixedArrayType):
        raise TypeError(f"{found} is a field of a struct")
    return found
