"""Plain, nested and lambda functions that a kernel calls: each is checked once for each set of argument types."""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

from kdsl.frontend.annotations import function_types, local_annotation
from kdsl.frontend.arguments import match_arguments
from kdsl.frontend.captures import host_value
from kdsl.frontend.frame import ALL, Frame, NestedFunction, describe_object, unknown
from kdsl.frontend.infer import infer
from kdsl.frontend.meet import converted
from kdsl.frontend.names import RETURN, Scope, mangle, unique
from kdsl.frontend.statements import block
from kdsl.frontend.values import (
    POISON,
    Lattice,
    Poison,
    Runtime,
    Static,
    StaticType,
    Tuple,
    Value,
    WeakChoice,
    WeakUnknown,
    describe,
    is_constant,
    is_weak,
    type_of,
    weak_type,
)
from kdsl.frontend.written import written_parameters
from kdsl.ir import nodes as ir
from kdsl.lang.types import I32, VOID, ArrayType, PointerType, ScalarType, Type
from kdsl.source import CompileError, SourceFile, find_function

Callee = FunctionType | NestedFunction


@dataclass
class Definition:
    """A function's source, and the types that its annotations say."""

    file: SourceFile
    scope: Scope
    function: FunctionType
    name: str
    outer: Frame | None
    types: dict[str, Type]
    defaults: dict[str, Value]


@dataclass
class Instance:
    """A function for one set of argument types."""

    frame: Frame
    parameters: tuple[str, ...]
    """Those that are passed at run time, in order; constants are not."""
    entry: dict[str, Value] = field(default_factory=dict)
    """Constants that the function assigns to, and so must hold in variables."""
    built: ir.Function | None = None
    captured: tuple[tuple[Frame, str], ...] = ()


def call_function(frame: Frame, node: ast.Call, callee: Callee) -> Value:
    """A call of a device function, typed by its arguments."""
    definition = _definition(frame, callee, node)
    if definition is None:
        return POISON
    given = _arguments(frame, node, definition)
    if given is None:
        return POISON
    identity = definition.scope.node
    if identity in frame.session.active:
        return frame.error(node, f"`{definition.name}` calls itself, and recursion is not supported yet", "write a loop")
    instance = _instance(frame, callee, definition, given, node)
    if instance is None:
        return POISON
    if not frame.quiet and instance.built is None:
        instance.frame.calls = (frame.span(node), *frame.calls)
        build(instance)
    return _result(frame, instance, given, node)


def _result(frame: Frame, instance: Instance, given: dict[str, tuple[Value, ast.expr]], node: ast.Call) -> Value:
    type = instance.frame.types.get(RETURN, VOID if RETURN not in instance.frame.scope.bindings else None)
    if type is None or isinstance(type, StaticType):
        return POISON
    if is_weak(type):
        return unknown(type, "result", frame, node)
    if frame.quiet:
        return Runtime(ir.Call("", (), type, frame.span(node)))  # type: ignore[arg-type]
    arguments: list[ir.Expr] = []
    for name in instance.parameters:
        expr = given[name][0]
        assert isinstance(expr, Runtime)
        arguments.append(expr.expr)
    for owner, name in instance.captured:
        value = frame.read_captured(owner, name, node)
        if not isinstance(value, Runtime):
            return POISON
        arguments.append(value.expr)
    assert instance.built is not None
    return Runtime(ir.Call(instance.built.name, tuple(arguments), type, frame.span(node)))  # type: ignore[arg-type]


def _definition(frame: Frame, callee: Callee, node: ast.Call) -> Definition | None:
    """The source of what is called; None (reported) if a kernel cannot call it."""
    known = frame.session.definitions
    if callee in known:
        return known[callee]
    if isinstance(callee, NestedFunction):
        outer = callee.frame
        types: dict[str, Type] | None = _nested_types(outer, callee.node)
        made = Definition(outer.file, Scope(callee.node), outer.function, callee.__name__, outer, types or {}, {})
        ok = types is not None
    else:
        try:
            file, source = find_function(callee)
            scope = Scope(source)
            types = function_types(callee, tuple(p.arg for p in scope.parameters))
        except CompileError as error:
            if not frame.quiet:
                frame.session.reporter.merge(error)
            return None
        made, ok = Definition(file, scope, callee, callee.__name__, None, types, {}), True
    ok = _defaults(frame, callee, made, node) and ok
    if not ok or not _callable(frame, made, node):
        return None
    if not frame.quiet or not isinstance(callee, NestedFunction):
        known[callee] = made
    return made


def _nested_types(frame: Frame, node: ast.FunctionDef | ast.Lambda) -> dict[str, Type] | None:
    types: dict[str, Type] = {}
    arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    noted: list[tuple[str, ast.expr]] = [(a.arg, a.annotation) for a in arguments if a.annotation is not None]
    if isinstance(node, ast.FunctionDef) and node.returns is not None:
        noted.append((RETURN, node.returns))
    for name, annotation in noted:
        type = local_annotation(frame, annotation)
        if type is None:
            return None
        types[name] = type
    return types


def _defaults(frame: Frame, callee: Callee, made: Definition, node: ast.Call) -> bool:
    """Read default values: constants, evaluated when the function was defined."""
    a = made.scope.node.args
    names = [p.arg for p in (*a.posonlyargs, *a.args)]
    if isinstance(callee, FunctionType):
        values: dict[str, Any] = dict(zip(names[len(names) - len(callee.__defaults__ or ()) :], callee.__defaults__ or (), strict=True))
        values.update(callee.__kwdefaults__ or {})
        made.defaults.update({name: host_value(value, frame.span(node)) for name, value in values.items()})
        return True
    pairs = [*zip(names[len(names) - len(a.defaults) :], a.defaults, strict=True)]
    pairs += [(p.arg, d) for p, d in zip(a.kwonlyargs, a.kw_defaults, strict=True) if d is not None]
    for name, default in pairs:
        value = callee.frame.value(default)
        if not is_constant(value):
            if not isinstance(value, Poison):
                callee.frame.error(default, "a default value is constant in a kernel", "pass it as an argument")
            return False
        made.defaults[name] = value
    return True


def _callable(frame: Frame, made: Definition, node: ast.Call) -> bool:
    source = made.scope.node
    if isinstance(source, ast.AsyncFunctionDef):
        frame.error(node.func, f"`{made.name}` is an async function", "write a plain def")
        return False
    if source.args.vararg or source.args.kwarg:
        frame.error(node.func, f"`{made.name}` takes *args or **kwargs", "name each parameter")
        return False
    return True


def _arguments(frame: Frame, node: ast.Call, made: Definition) -> dict[str, tuple[Value, ast.expr]] | None:
    """The value of each parameter, converted to its annotated type if it has one."""
    a = made.scope.node.args
    names = [p.arg for p in made.scope.parameters]
    found = match_arguments(
        frame,
        node,
        made.name,
        names,
        frozenset(made.defaults),
        frozenset(p.arg for p in a.kwonlyargs),
        frozenset(p.arg for p in a.posonlyargs),
    )
    if found is None:
        return None
    values = {name: (frame.value(place), place) for name, place in found.items()}
    result: dict[str, tuple[Value, ast.expr]] = {}
    for name in names:
        value, place = values.get(name, (made.defaults.get(name, POISON), node))
        value = _argument(frame, value, place, made.types.get(name), f"`{name}` of `{made.name}`")
        result[name] = (value, place)
    return None if any(isinstance(v, Poison) for v, _ in result.values()) else result


def _argument(frame: Frame, value: Value, place: ast.expr, type: Type | None, what: str) -> Value:
    if type is not None:
        if isinstance(value, Runtime) and _is_such_array(value.type, type):
            return value
        if isinstance(type, PointerType) and isinstance(value, Runtime) and isinstance(value.type, ArrayType):
            return _first_element(frame, value, value.type, type, place, what)
        expr = converted(frame, value, type, place, what)
        return POISON if expr is None else Runtime(expr)
    match value:
        case Static(object) if (callable(object) or isinstance(object, NestedFunction)) and not isinstance(object, ScalarType | builtins.type):
            return frame.error(place, f"{describe_object(object, frame.text(place))} cannot be passed yet", "call it directly")
        case WeakChoice():
            expr = frame.literal(value, weak_type(value).default, place)
            return POISON if expr is None else Runtime(expr)
        case Tuple() if not is_constant(value) and not _is_weak_tuple(value):
            expr = frame.runtime(value, place)
            return POISON if expr is None else Runtime(expr)
    return value


def _is_such_array(type: Type, declared: Type) -> bool:
    """Whether an array is one that ``Array[T, n]`` or ``Ptr[T]`` declares: a shared or local one is, too."""
    match type, declared:
        case ArrayType(), ArrayType():
            return (type.element, type.ndim) == (declared.element, declared.ndim)
        case PointerType(), PointerType():
            return type.element == declared.element
        case _:
            return False


def _first_element(
    frame: Frame, value: Runtime, type: ArrayType, declared: PointerType, place: ast.expr, what: str
) -> Value:
    """An array passed as a pointer: the address of its first element."""
    if type.element != declared.element or type.strided:
        return frame.error(place, f"this is {describe(type)}, but {what} takes {declared}")
    span = frame.span(place)
    zeros = tuple(ir.Const(0, I32, span) for _ in range(type.ndim))
    return Runtime(ir.ElementAddress(value.expr, zeros, PointerType(type.element, type.space), span))


def _is_weak_tuple(value: Tuple) -> bool:
    """Whether a tuple holds literals whose type is not known yet, which only inference meets."""
    return any(isinstance(e, WeakUnknown) or (isinstance(e, Tuple) and _is_weak_tuple(e)) for e in value.elements)


def _instance(
    frame: Frame, callee: Callee, made: Definition, given: dict[str, tuple[Value, ast.expr]], node: ast.Call
) -> Instance | None:
    key = (made.scope.node, id(made.outer), tuple(_descriptor(v, made.types.get(n)) for n, (v, _) in given.items()), id(callee) if isinstance(callee, FunctionType) else 0)
    # While its types are still being inferred, what a nested function captures may change from call to call.
    is_open = made.outer is not None and made.outer.quiet
    known = None if is_open else frame.session.instances.get(key)
    if known is not None:
        return known
    instance = _new_instance(frame, made, given)
    active = frame.session.active
    active.append(made.scope.node)
    try:
        infer(instance.frame)
    finally:
        active.pop()
    if not is_open:
        frame.session.instances[key] = instance
    return instance


def _descriptor(value: Value, declared: Type | None) -> object:
    """What an instance depends on: the type of what is passed at run time, the value of a constant."""
    if declared is not None:
        return type_of(value)
    match value:
        case Static(object):
            return ("object", id(object))
        case Tuple(parts) if is_constant(value):
            return ("tuple", tuple(_descriptor(p, None) for p in parts))
        case Runtime(ir.Const(number, type)):
            return ("constant", type, repr(number))
    if is_constant(value):
        return ("literal", repr(value))
    return ("type", type_of(value))


def _new_instance(frame: Frame, made: Definition, given: dict[str, tuple[Value, ast.expr]]) -> Instance:
    inner = Frame(frame.session, made.file, made.scope, made.function, made.name, made.outer)
    instance = Instance(inner, ())
    passed: list[str] = []
    for name, (value, _) in given.items():
        if name in made.types:
            actual = type_of(value)
            is_memory = isinstance(actual, ArrayType | PointerType)
            inner.types[name] = inner.declared[name] = actual if is_memory else made.types[name]  # type: ignore[assignment]
            passed.append(name)
        elif is_constant(value):
            if name in made.scope.bindings:
                instance.entry[name] = value
                inner.types[name] = type_of(value)  # type: ignore[assignment]
            else:
                inner.constants[name] = value
        else:
            type = type_of(value)
            assert type is not None
            inner.types[name] = type
            inner.keep_weak |= is_weak(type)
            passed.append(name)
    for parameter in made.scope.parameters:
        inner.decided[parameter.arg] = parameter
    if RETURN in made.types:
        inner.types[RETURN] = inner.declared[RETURN] = made.types[RETURN]
    instance.parameters = tuple(passed)
    return instance


def build(instance: Instance, kernel_name: str | None = None) -> ir.Function:
    """Build the body of an inferred function, reporting its mistakes; a device function joins the module."""
    frame = instance.frame
    session = frame.session
    frame.quiet = False
    _make_locals(frame)
    parameters = [frame.locals[name] for name in instance.parameters]
    for parameter in frame.scope.parameters:
        frame.bound |= frame.scope.bits[parameter.arg]
    with frame.block() as entry:
        for name, value in instance.entry.items():
            _assign_entry(frame, name, value)
    session.active.append(frame.scope.node)
    body = block(frame, frame.scope.body)
    session.active.pop()
    result = _result_type(frame, kernel_name is not None)
    owners = {name: _owner(frame, name) for name in frame.captured}
    instance.captured = tuple((owner, name) for name, owner in owners.items())
    all_parameters = (*parameters, *frame.captured.values())
    whole = (*entry, *body)
    name = kernel_name or unique(mangle(frame.name.strip("<>")), session.taken)
    session.taken.add(name)
    functions = {f.name: f for f in session.functions}
    instance.built = ir.Function(
        name,
        frame.name,
        tuple(all_parameters),
        result,
        whole,
        frame.file.def_line(frame.scope.node),
        session.options,
        kernel_name is not None,
        written_parameters(tuple(all_parameters), whole, functions),
    )
    if kernel_name is None:
        session.functions.append(instance.built)
    return instance.built


def _make_locals(frame: Frame) -> None:
    """A variable for each name that holds values of one type."""
    for name, type in frame.types.items():
        if name == RETURN or name in frame.constants or name in frame.scope.copied or type == VOID:
            continue
        if not isinstance(type, StaticType) and not is_weak(type):
            frame.locals[name] = frame.local(name, type)  # type: ignore[arg-type]


def _assign_entry(frame: Frame, name: str, value: Value) -> None:
    local = frame.locals.get(name)
    place = next(p for p in frame.scope.parameters if p.arg == name)
    stand_in = ast.copy_location(ast.Name(name, ast.Load()), place)
    if local is not None:
        expr = converted(frame, value, local.type, stand_in, f"`{name}`")
        if expr is not None:
            frame.emit(ir.Assign(local, expr, frame.span(place)))


def _owner(frame: Frame, name: str) -> Frame:
    owner = frame.outer
    while owner is not None and name not in owner.scope.bits:
        owner = owner.outer
    assert owner is not None
    return owner


def _result_type(frame: Frame, is_kernel: bool) -> Type:
    """The result's type; a path that ends without a value is reported."""
    type: Lattice | None = frame.types.get(RETURN, VOID)
    if is_kernel or type is None or isinstance(type, StaticType) or is_weak(type):
        return VOID
    if type != VOID and frame.bound != ALL:
        first = frame.scope.bindings.get(RETURN, [])
        where = f" at line {first[0].statement.lineno}" if first else ""
        frame.error(
            frame.file.def_line(frame.scope.node),
            f"`{frame.name}` returns {type}{where}, but may end without a return",
            "return a value at its end, too",
        )
    return type  # type: ignore[return-value]
