"""Calls of device functions that other compilers made."""

from __future__ import annotations

import ast
from dataclasses import replace

from kdsl.annotations import function_types
from kdsl.frontend.arguments import match_arguments
from kdsl.frontend.definitions import passed
from kdsl.frontend.frame import Frame
from kdsl.frontend.values import POISON, Runtime, Value, describe
from kdsl.ir import nodes as ir
from kdsl.lang.complex_type import ComplexType
from kdsl.lang.extern import ExternFunction
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import VOID, PointerType, ScalarType, Space, Type, VectorType
from kdsl.source import CompileError, find_function

TAKEN = "scalars, vectors, structs and Ptr[T]"


def extern_call(frame: Frame, callee: ExternFunction, node: ast.Call) -> Value:
    """A call by the ABI of PTX; what its pointers point at counts as written."""
    declared = _declared(frame, callee, node)
    if declared is None:
        return POISON
    names = _names(callee)
    found = match_arguments(frame, node, callee.__name__, names)
    if found is None:
        return POISON
    arguments: list[ir.Expr] = []
    wrong = False
    for name, type in zip(names, declared.parameters, strict=True):
        place = found[name]
        value = passed(frame, frame.value(place), place, type, f"`{name}` of `{callee.__name__}`")
        wrong |= not isinstance(value, Runtime)
        if isinstance(value, Runtime):
            arguments.append(value.expr)
    if wrong:
        return POISON
    span = frame.span(node)
    call = ir.ExternCall(declared, tuple(arguments), declared.result, span)
    return Runtime(call)


def _names(callee: ExternFunction) -> tuple[str, ...]:
    code = callee.function.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _declared(frame: Frame, callee: ExternFunction, node: ast.Call) -> ir.Extern | None:
    """The signature; None (reported) where it is none of PTX's, or differs from another one of the same symbol."""
    session = frame.session
    if callee in session.definitions:
        known: ir.Extern | None = session.definitions[callee]
        return known
    session.captures.function(callee.function)
    try:
        _check_plain(callee)
        names = _names(callee)
        types = function_types(callee.function, names)
    except CompileError as error:
        if not frame.quiet:
            session.reporter.merge(error)
        return None
    wrong = next((n for n in names if n not in types or not _may_be_passed(types[n])), None)
    result = types.get("return", VOID)
    if wrong is not None or not (result == VOID or _may_be_passed(result)):
        if wrong is None:
            what = f"the result of `{callee.__name__}` is {describe(result)}"
        elif wrong in types:
            what = f"`{wrong}` of `{callee.__name__}` is {describe(types[wrong])}"
        else:
            what = f"`{wrong}` of `{callee.__name__}` has no annotation"
        message = f"{what}; an @extern function takes and gives {TAKEN}"
        frame.error(node.func, message, _hint(types, wrong))
        return None
    if isinstance(result, PointerType):
        # Which memory it points into, only the other compiler knows.
        result = PointerType(result.element, Space.GENERIC)
    declared = ir.Extern(callee.symbol, tuple(types[name] for name in names), result, (callee,))
    other = session.externs.get(callee.symbol)
    if other is None and callee.symbol in session.taken:
        message = f"`{callee.symbol}` is declared with @extern, and the module has a function of its own of that name"
        frame.error(node.func, message, "give that function another name")
        return None
    session.taken.add(callee.symbol)
    if other is not None and (other.parameters, other.result) != (declared.parameters, declared.result):
        frame.error(node.func, f"`{callee.symbol}` is declared in two ways: {other}, and {declared}")
        return None
    # Each declaration may say what defines the function.
    functions = () if other is None else other.functions
    session.externs[callee.symbol] = replace(declared, functions=(*functions, callee))
    session.definitions[callee] = declared
    return declared


def _hint(types: dict[str, Type], wrong: str | None) -> str | None:
    if wrong is None:
        return None
    if wrong not in types:
        return f"say its type, as in {wrong}: f32"
    if isinstance(types[wrong], ComplexType):
        return "declare a vector, such as f32x2, and pass its parts"
    return "declare a Ptr[T], and pass the extents as numbers"


def _may_be_passed(type: Type) -> bool:
    if isinstance(type, ComplexType):
        return False
    if isinstance(type, StructType):
        return True
    return isinstance(type, ScalarType | VectorType | PointerType)


def _check_plain(callee: ExternFunction) -> None:
    """CompileError for a signature that no function of C has."""
    function = callee.function
    flags = function.__code__.co_flags
    if flags & 0x0C or function.__defaults__ or function.__kwdefaults__:
        file, source = find_function(function)
        what = "takes *args or **kwargs" if flags & 0x0C else "has default values"
        raise CompileError.at(
            file.def_line(source), f"`{function.__name__}` {what}, which no function of C has",
            "name each parameter, and pass each",
        )  # fmt: skip
