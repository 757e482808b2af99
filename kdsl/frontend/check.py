"""From kernels to the typed tree, or a CompileError with every mistake in them."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import TypeVar

from kdsl.annotations import kernel_parameters
from kdsl.captured import Captured
from kdsl.frontend import convert
from kdsl.frontend.captures import Captures, host_value
from kdsl.frontend.contract import fit_contract
from kdsl.frontend.expressions import evaluate
from kdsl.frontend.frame import Frame
from kdsl.frontend.functions import Instance, build, call_function
from kdsl.frontend.infer import infer
from kdsl.frontend.names import RETURN, mangle, scope_of
from kdsl.frontend.parts import pass_held, pass_parts
from kdsl.frontend.reporting import Reporter
from kdsl.frontend.session import Session
from kdsl.frontend.unwritten import check_written
from kdsl.frontend.values import Passed, Runtime, Tuple, Value, type_of
from kdsl.garbage import no_collection
from kdsl.ir import nodes as ir
from kdsl.ir.request import KernelRequest
from kdsl.lang.generics import matched, variables
from kdsl.lang.parameter_types import ConstexprType, GenericType
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import (
    I32,
    VOID,
    ArrayType,
    Kind,
    PointerType,
    ScalarType,
    TupleType,
    Type,
    VectorType,
)
from kdsl.lang.variables import Variable
from kdsl.records import dataclass
from kdsl.source import CompileError, FunctionNode, SourceFile, Span, find_function


@dataclass(frozen=True)
class Checked:
    """The typed tree, and the Python objects by name that it depends on: those that a launch looks at again, and those
    that do not change while the process runs.
    """

    module: ir.Module
    captured: tuple[Captured, ...]
    fixed: tuple[Captured, ...] = ()


def check_kernel(request: KernelRequest) -> ir.Module:
    """The typed tree of one kernel; CompileError with every mistake in it."""
    return check_kernels([request]).module


def check_every(requests: list[KernelRequest]) -> None:
    """CompileError with the mistakes of one kernel in several signatures, each once."""
    reporter = Reporter()
    for request in requests:
        try:
            check_kernel(request)
        except CompileError as error:
            reporter.merge(error)
    if reporter.failed:
        raise reporter.error()


def check_kernels(requests: list[KernelRequest]) -> Checked:
    """The typed tree of kernels that share a module; CompileError with every mistake in any of them."""
    with no_collection():
        return _check_kernels(requests)


def _check_kernels(requests: list[KernelRequest]) -> Checked:
    reporter, captures = Reporter(), Captures()
    taken = {mangle(r.function.__name__) for r in requests}
    kernels: list[ir.Function] = []
    functions: list[ir.Function] = []
    variables: dict[str, Variable] = {}
    externs: dict[str, ir.Extern] = {}
    for request in requests:
        session = Session(
            evaluate,
            call_function,
            request.options,
            reporter,
            captures,
            taken=taken,
            variables=variables,
            externs=externs,
        )
        # Array uids are unique in the module: a function is never shared between kernels with arrays of their own.
        session.first_array = len(kernels) << 16
        try:
            kernels.append(_kernel(session, request))
        except CompileError as error:
            reporter.merge(error)
            continue
        if session.arrays and not reporter.failed:
            check_written(reporter, (kernels[-1], *session.functions))
        functions += session.functions
    if reporter.failed:
        raise reporter.error()
    module = ir.Module(tuple(kernels), tuple(functions), tuple(variables.items()), tuple(externs.values()))
    return Checked(module, captures.found, captures.fixed)


def _kernel(session: Session, request: KernelRequest) -> ir.Function:
    function = request.function
    _require_function(function)
    file, node = find_function(function)
    _require_plain(file, node, function.__name__)
    types = _parameter_types(request)
    scope = scope_of(node)
    annotated = dict(kernel_parameters(function))
    fit_contract(session, function, dict(zip(annotated, types, strict=True)))
    frame = Frame(session, file, scope, function, function.__name__, outermost=True)
    frame.generic = kernel_variables(annotated, types)
    entry: dict[str, Value] = {}
    passed: list[str] = []
    session.parts = Frame(session, file, scope_of(_nothing()), function, function.__name__)
    for parameter, type in zip(scope.parameters, types, strict=True):
        frame.decided[parameter.arg] = parameter
        if isinstance(type, TupleType) and _parts_may_be_passed(type):
            passed += pass_parts(frame, parameter.arg, type)
            _part_constant(frame, entry, parameter, type)
            continue
        if isinstance(type, ConstexprType) and type.is_bound:
            passed += pass_held(frame, type)
        if isinstance(type, ConstexprType) and type.is_bound:
            _constant(frame, entry, parameter, type)
            continue
        if isinstance(type, GenericType):
            _refuse_parameter(frame, parameter, type)
            continue
        if type is None or not _may_be_passed(type):
            _refuse_parameter(frame, parameter, type)
            continue
        passed.append(parameter.arg)
        frame.types[parameter.arg] = type
        if annotated.get(parameter.arg) is not None:
            frame.declared[parameter.arg] = type
    frame.types[RETURN] = VOID
    frame.declared[RETURN] = VOID
    name = mangle(function.__name__)
    try:
        infer(frame)
        return build(Instance(frame, tuple(passed), entry), name)
    except RecursionError:
        raise CompileError.at(
            file.def_line(node),
            f"`{function.__name__}` is nested too deeply to compile",
            "name parts of its expressions in variables, or put inner blocks in functions",
        ) from None


def _parameter_types(request: KernelRequest) -> tuple[Type | None, ...]:
    annotated = tuple(type for _, type in kernel_parameters(request.function))
    given = request.parameters
    if given is None:
        return annotated
    return tuple(g if g is not None else a for g, a in zip(given, annotated, strict=True))


def kernel_variables(annotated: Mapping[str, Type | None], types: Sequence[Type | None]) -> dict[TypeVar, Type]:
    """What the TypeVars of a kernel's parameters stand for, where its parameters are of these types."""
    found: dict[TypeVar, Type] = {}
    for template, type in zip(annotated.values(), types, strict=True):
        if isinstance(template, GenericType) and type is not None and not isinstance(type, GenericType):
            found.update(matched(template.template, type))
    return found


def _constant(frame: Frame, entry: dict[str, Value], parameter: ast.arg, type: ConstexprType) -> None:
    """Bind a ``Constexpr`` parameter to its value; one that the kernel assigns to is a variable of that value."""
    span = frame.span(parameter)
    value = constant_value(type, span)
    if parameter.arg not in frame.scope.bindings:
        frame.constants[parameter.arg] = value
        return
    entry[parameter.arg] = value
    kind = type_of(value)
    assert kind is not None
    frame.types[parameter.arg] = kind


def constant_value(type: ConstexprType, span: Span) -> Value:
    """The value of a constant: a number of its type, a tuple of such, or a Python object."""
    if isinstance(type.form, tuple) and type.value is not None:
        return Tuple(tuple(constant_value(part, span) for part in type.value))
    if type.element is None or type.is_literal or type.value is None:
        return host_value(type.value, span)
    number = type.value if type.element.kind is Kind.BOOL else convert.fitted(type.value, type.element)
    return Runtime(ir.Const(number, type.element, span))


def _nothing() -> ast.Lambda:
    """The source of a function without variables."""
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), ast.Constant(None))


def _part_constant(frame: Frame, entry: dict[str, Value], parameter: ast.arg, type: TupleType) -> None:
    """Bind a tuple parameter to its parts; one that the kernel assigns to is a variable."""
    value = Passed(parameter.arg, type)
    if parameter.arg not in frame.scope.bindings:
        frame.constants[parameter.arg] = value
        return
    entry[parameter.arg] = value
    frame.types[parameter.arg] = type


def _parts_may_be_passed(type: TupleType) -> bool:
    return all(
        _parts_may_be_passed(e) if isinstance(e, TupleType) else isinstance(e, ConstexprType) or _may_be_passed(e)
        for e in type.elements
    )


def _may_be_passed(type: Type) -> bool:
    """Whether a kernel may have a parameter of a type: a scalar, vector, struct, array, a pointer but to tuples or
    arrays.
    """
    if isinstance(type, PointerType):
        return isinstance(type.element, ScalarType | VectorType) or _may_be_passed(type.element)
    if isinstance(type, ScalarType | VectorType):
        return not (type.element if isinstance(type, VectorType) else type).is_float8
    return isinstance(type, ArrayType | StructType)


def _refuse_parameter(frame: Frame, parameter: ast.arg, type: Type | None) -> None:
    frame.quiet = False
    if isinstance(type, ConstexprType):
        frame.error(
            parameter,
            f"`{parameter.arg}` is {type}, and has no value",
            f"say it in signature={{{parameter.arg!r}: value}}, or give it a default",
        )
    elif isinstance(type, GenericType):
        name = next(variables(type.template)).__name__
        frame.error(
            parameter.annotation or parameter,
            f"`{parameter.arg}` is {type}, and nothing says what {name} stands for",
            f"say it in signature={{{name!r}: f32}}",
        )
    elif type is None:
        frame.error(
            parameter,
            f"`{parameter.arg}` has no type",
            f"annotate it, as in {parameter.arg}: f32, or say it in signature={{{parameter.arg!r}: f32}}",
        )
    else:
        frame.error(
            parameter.annotation or parameter,
            f"`{parameter.arg}` is {type}, which a kernel cannot take",
            _instead(type),
        )
    frame.quiet = True


def _instead(type: Type) -> str:
    if isinstance(type, VectorType):
        return f"pass an f32x{type.lanes}, and convert it in the kernel"
    if isinstance(type, ScalarType):
        return "pass an f32, and convert it in the kernel"
    return "pass scalars, Ptr[T] or Array[T, ndim]"


def _require_function(function: object) -> None:
    """CompileError for what is no Python function."""
    if isinstance(function, FunctionType):
        return
    kind = "a class" if inspect.isclass(function) else f"a {type(function).__name__}"
    raise CompileError.at(
        Span("<unknown>", 1), f"a kernel is a function written with def, and this is {kind}: {function!r}"
    )


def _require_plain(file: SourceFile, node: FunctionNode, name: str) -> None:
    place = file.def_line(node)
    if isinstance(node, ast.Lambda):
        raise CompileError.at(
            file.span(node), "a kernel is written with def, not lambda", "def kernel(a: Ptr[f32]): ..."
        )
    if isinstance(node, ast.AsyncFunctionDef):
        raise CompileError.at(place, f"`{name}` is an async function", "write a plain def")
    if node.args.vararg or node.args.kwarg:
        raise CompileError.at(place, f"`{name}` takes *args or **kwargs", "name each parameter")


def check_syntax(function: FunctionType) -> None:
    """Check what can be checked without types: syntax, and names. CompileError with every mistake."""
    _require_function(function)
    file, node = find_function(function)
    _require_plain(file, node, function.__name__)
    from kdsl.frontend.untyped import check_untyped  # only `kdsl check` of unannotated kernels comes here

    frame = Frame(Session(evaluate, call_function), file, scope_of(node), function, function.__name__, quiet=False)
    # Any type does where only names are looked at.
    templates = (type.template for _, type in kernel_parameters(function) if isinstance(type, GenericType))
    frame.generic = {variable: I32 for template in templates for variable in variables(template)}
    check_untyped(frame)
    if frame.session.reporter.failed:
        raise frame.session.reporter.error()
