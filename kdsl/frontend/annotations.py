"""Annotations as types: of parameters and results (PEP 563 strings and PEP 649 included), and of local variables."""

from __future__ import annotations

import ast
import inspect
from types import FunctionType
from typing import Any

from kdsl.frontend.frame import Frame
from kdsl.frontend.values import Poison, Static, Tuple, Weak
from kdsl.lang.types import VOID, Array, Ptr, Type, as_type
from kdsl.source import CompileError, Diagnostic, Span, find_function

ACCEPTED = "a scalar type such as f32 or i32, Ptr[T], Array[T, ndim], a NumPy dtype, int, float or bool"


def kernel_parameters(function: FunctionType) -> tuple[tuple[str, Type | None], ...]:
    """Name and annotated type of each parameter, None where there is no annotation.

    CompileError for an annotation that is no type, for ``*args`` and for defaults, which a launch does not fill in.
    """
    code = function.__code__
    if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        raise CompileError.at(
            _place(function, None), f"`{function.__name__}` takes *args or **kwargs", "name each parameter"
        )
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    types = function_types(function, names)
    if types.get("return", VOID) != VOID:
        hint = "store the value in an array, and leave the annotation out or write None"
        raise CompileError.at(_place(function, "return"), "a kernel returns nothing", hint)
    return tuple((name, types.get(name)) for name in names)


def function_types(function: FunctionType, names: tuple[str, ...]) -> dict[str, Type]:
    """The annotated types of parameters, and of the result under ``return``."""
    try:
        annotations = function.__annotations__
    except NameError as error:  # PEP 649: evaluated at this moment
        raise CompileError.at(_place(function, None), f"an annotation of `{function.__name__}`: {error}") from None
    types: dict[str, Type] = {}
    wrong: list[Diagnostic] = []
    for name in (*names, "return"):
        if name in annotations:
            try:
                types[name] = _resolved(function, name, annotations[name])
            except CompileError as error:
                wrong += error.diagnostics
    if wrong:
        raise CompileError(*wrong)
    return types


def _resolved(function: FunctionType, name: str, annotation: Any) -> Type:
    text = annotation
    try:
        if isinstance(annotation, str):
            closure = dict(zip(function.__code__.co_freevars, map(_contents, function.__closure__ or ()), strict=True))
            annotation = eval(annotation, function.__globals__, closure)
            if isinstance(annotation, str):
                annotation = eval(annotation, function.__globals__, closure)
        type = as_type(annotation)
    except (NameError, TypeError, AttributeError, SyntaxError, ValueError, LookupError) as error:
        shown = text if isinstance(text, str) else getattr(annotation, "__name__", repr(annotation))
        what = "the result" if name == "return" else f"`{name}`"
        reason = f" ({error})" if isinstance(error, NameError | AttributeError) else ""
        message = f"{what} is annotated `{shown}`, which is no type of the kernel language{reason}"
        raise CompileError.at(_place(function, name), message, f"write {ACCEPTED}") from None
    return type


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


def local_annotation(frame: Frame, node: ast.expr) -> Type | None:
    """The type that the annotation of a local variable means; None (reported) if it is none."""
    value = _annotation_object(frame, node)
    if value is _WRONG:
        return None
    try:
        return as_type(value)
    except (TypeError, ValueError):
        frame.error(node, f"`{frame.text(node)}` is no type of the kernel language", f"write {ACCEPTED}")
        return None


_WRONG = object()


def _annotation_object(frame: Frame, node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=str(text)):
            try:
                inner = ast.parse(text, mode="eval").body
            except SyntaxError:
                frame.error(node, f"`{text}` is no type of the kernel language", f"write {ACCEPTED}")
                return _WRONG
            for part in ast.walk(inner):
                ast.copy_location(part, node)
            return _annotation_object(frame, inner)
        case ast.Subscript():
            base = frame.value(node.value)
            arguments = _annotation_arguments(frame, node.slice)
            if isinstance(base, Poison) or arguments is _WRONG:
                return _WRONG
            if isinstance(base, Static) and base.object in (Ptr, Array):
                try:
                    return base.object[arguments]
                except (TypeError, ValueError) as error:
                    frame.error(node, str(error))
                    return _WRONG
    value = frame.value(node)
    match value:
        case Static(object):
            return object
        case Poison():
            return _WRONG
    frame.error(node, f"`{frame.text(node)}` is no type of the kernel language", f"write {ACCEPTED}")
    return _WRONG


def _annotation_arguments(frame: Frame, node: ast.expr) -> Any:
    if isinstance(node, ast.Tuple):
        parts = [_annotation_arguments(frame, e) for e in node.elts]
        return _WRONG if _WRONG in parts else tuple(parts)
    match frame.value(node):
        case Static(object):
            return object
        case Weak(number):
            return number
        case Tuple() | _:
            return _WRONG
