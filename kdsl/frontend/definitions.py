"""What a call of a Python function means: its source, its parameters' types, and the value of each parameter."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import field, replace
from types import FunctionType, MappingProxyType
from typing import Any, TypeVar, cast

from kdsl.annotations import function_types
from kdsl.frontend.annotations import local_annotation
from kdsl.frontend.arguments import match_arguments, plain_arguments
from kdsl.frontend.callees import NestedFunction
from kdsl.frontend.captures import host_value
from kdsl.frontend.describing import shown
from kdsl.frontend.frame import Frame
from kdsl.frontend.generics import variables_of_call
from kdsl.frontend.meet import converted
from kdsl.frontend.names import RETURN, Scope, scope_of
from kdsl.frontend.operators import known_type
from kdsl.frontend.values import (
    POISON,
    Poison,
    Range,
    Runtime,
    Static,
    Tuple,
    Value,
    Weak,
    WeakChoice,
    WeakUnknown,
    describe,
    is_constant,
    weak_type,
)
from kdsl.ir import nodes as ir
from kdsl.lang.generics import substituted, variables
from kdsl.lang.group_type import GroupType
from kdsl.lang.parameter_types import ConstexprType, GenericType
from kdsl.lang.types import I32, ArrayType, PointerType, TupleType, Type
from kdsl.records import dataclass
from kdsl.source import CompileError, SourceFile, find_function

OWN = ("kdsl.groups.", "kdsl.complex_functions")
CLASS = type
Callee = FunctionType | NestedFunction
Arguments = dict[str, tuple[Value, ast.expr]]
"""The value of each parameter, and where it stands."""


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
    constants: dict[str, ConstexprType] = field(default_factory=dict)
    """Parameters that take constants only."""
    generic: Mapping[TypeVar, Type] = field(default_factory=dict)
    """What its TypeVars stand for in one call."""

    group: GroupType | None = None
    """The class of groups that its result is annotated with: which one of them it is, only its body says."""

    @property
    def is_own(self) -> bool:
        """Whether it is a part of the language, which a user does not know."""
        return (self.function.__module__ or "").startswith(OWN)


def definition(frame: Frame, callee: Callee, node: ast.Call) -> Definition | None:
    """The source of what is called; None (reported) if a kernel cannot call it."""
    known = frame.session.definitions
    if callee in known:
        # Why a copy? A call puts types in the place of TypeVars.
        made = cast(Definition, known[callee])
        return replace(made, types=dict(made.types))
    if isinstance(callee, NestedFunction):
        outer = callee.frame
        types: dict[str, Type] | None = _nested_types(outer, callee.node)
        made = Definition(outer.file, scope_of(callee.node), outer.function, callee.__name__, outer, types or {}, {})
        ok = types is not None
    else:
        try:
            file, source = find_function(callee)
            scope = scope_of(source)
            types = function_types(callee, tuple(p.arg for p in scope.parameters))
        except CompileError as error:
            if not frame.quiet:
                frame.session.reporter.merge(error)
            return None
        constants = {name: type for name, type in types.items() if isinstance(type, ConstexprType)}
        types = {name: type for name, type in types.items() if name not in constants}
        made, ok = Definition(file, scope, callee, callee.__name__, None, types, {}, constants), True
        frame.session.captures.function(callee)
    ok = _defaults(frame, callee, made, node) and ok
    if not ok or not _callable(frame, made, node):
        return None
    if isinstance(made.types.get(RETURN), GroupType):
        made.group = cast(GroupType, made.types.pop(RETURN))
    if not frame.quiet or not isinstance(callee, NestedFunction):
        known[callee] = replace(made, types=dict(made.types))
    return made


def _nested_types(frame: Frame, node: ast.FunctionDef | ast.Lambda) -> dict[str, Type] | None:
    types: dict[str, Type] = {}
    arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    noted: list[tuple[str, ast.expr]] = [(a.arg, a.annotation) for a in arguments if a.annotation is not None]
    if isinstance(node, ast.FunctionDef) and node.returns is not None:
        noted.append((RETURN, node.returns))
    for name, annotation in noted:
        type = local_annotation(frame, annotation, is_result=name == RETURN)
        if type is None:
            return None
        types[name] = type
    return types


def _defaults(frame: Frame, callee: Callee, made: Definition, node: ast.Call) -> bool:
    """Read default values: constants, evaluated when the function was defined."""
    a = made.scope.node.args
    names = [p.arg for p in (*a.posonlyargs, *a.args)]
    if isinstance(callee, FunctionType):
        values: dict[str, Any] = dict(
            zip(names[len(names) - len(callee.__defaults__ or ()) :], callee.__defaults__ or (), strict=True)
        )
        values.update(callee.__kwdefaults__ or {})
        held = frame.session.held
        for name, value in values.items():
            passed = held.get((id(callee), f"default {name}"))
            if passed is None:
                frame.session.captures.watch(value)
            made.defaults[name] = passed or host_value(value, frame.span(node))
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
    if any(isinstance(part, ast.Yield | ast.YieldFrom) for part in ast.walk(source)):
        frame.error(node.func, f"`{made.name}` is a generator, and a kernel cannot yield", "write the loop here")
        return False
    if source.args.kwarg:
        frame.error(node.func, f"`{_called(frame, made, node)}` takes **kwargs", "name each parameter")
        return False
    return True


def arguments(
    frame: Frame,
    node: ast.Call,
    made: Definition,
    bound: tuple[tuple[Value, ast.expr], ...] = (),
    keywords: Mapping[str, tuple[Value, ast.expr]] = MappingProxyType({}),
) -> Arguments | None:
    """The value of each parameter, converted to its annotated type if it has one.

    ``bound`` are the first parameters' values, where the call does not write them: the object of a method; ``keywords``
    those that it may write by name alone.
    """
    a = made.scope.node.args
    if a.vararg is not None:
        return _with_rest(frame, node, made, bound, keywords, a.vararg)
    names = [p.arg for p in made.scope.parameters]
    if len(bound) > len(names):
        takes = "no `self`" if not names else f"{len(names)} of the {len(bound)} operands"
        frame.error(node, f"`{made.name}` takes {takes}", "a method without `self` is a @staticmethod")
        return None
    found = match_arguments(
        frame,
        node,
        _called(frame, made, node),
        names[len(bound) :],
        frozenset(made.defaults) | keywords.keys(),
        frozenset(p.arg for p in a.kwonlyargs) | _from_first(names, keywords),
        frozenset(p.arg for p in a.posonlyargs),
    )
    if found is None:
        return None
    values = {**keywords, **dict(zip(names, bound, strict=False))}
    values |= {name: (frame.value(place), place) for name, place in found.items()}
    for name in names:
        values.setdefault(name, (frame.respanned(made.defaults.get(name, POISON), node), node))
    if not bind_variables(frame, made, values, node):
        return None
    return _converted(frame, made, names, values)


def _converted(frame: Frame, made: Definition, names: list[str], values: Arguments) -> Arguments | None:
    result: Arguments = {}
    for name in names:
        value, place = values[name]
        what = f"`{name}` of `{made.name}`"
        value = passed(frame, value, place, made.types.get(name), what)
        if name in made.constants:
            value = _constant(frame, value, place, made.constants[name], what)
        result[name] = (value, place)
    return None if any(isinstance(v, Poison) for v, _ in result.values()) else result


def _with_rest(
    frame: Frame,
    node: ast.Call,
    made: Definition,
    bound: tuple[tuple[Value, ast.expr], ...],
    keywords: Mapping[str, tuple[Value, ast.expr]],
    rest: ast.arg,
) -> Arguments | None:
    """The arguments of a function with ``*rest``, which is the tuple of those that no parameter before it takes."""
    a = made.scope.node.args
    before = len(a.posonlyargs) + len(a.args)
    if not plain_arguments(frame, node):
        return None
    own = max(before - len(bound), 0)
    more = node.args[own:]
    plain = ast.copy_location(ast.Call(node.func, node.args[:own], node.keywords), node)
    parameters = [p for p in made.scope.parameters if p is not rest]
    names = [p.arg for p in parameters]
    found = match_arguments(
        frame,
        plain,
        _called(frame, made, node),
        names[len(bound) :] if len(bound) <= before else names[before:],
        frozenset(made.defaults) | keywords.keys(),
        frozenset(p.arg for p in a.kwonlyargs) | _from_first(names, keywords),
        frozenset(p.arg for p in a.posonlyargs),
    )
    if found is None:
        return None
    values = {**keywords, **dict(zip(names[:before], bound, strict=False))}
    values |= {name: (frame.value(place), place) for name, place in found.items()}
    for name in names:
        values.setdefault(name, (frame.respanned(made.defaults.get(name, POISON), node), node))
    extra = (*bound[before:], *((frame.value(place), place) for place in more))
    type = made.types.pop(rest.arg, None)
    if isinstance(type, GenericType):
        made.types[rest.arg] = GenericType(TupleType((type.template,) * len(extra)))
    elif type is not None:
        what = f"`{rest.arg}` of `{made.name}`"
        extra = tuple((passed(frame, value, place, type, what), place) for value, place in extra)
    if any(isinstance(value, Poison) for value, _ in extra):
        return None
    values[rest.arg] = (Tuple(tuple(value for value, _ in extra)), node)
    if not bind_variables(frame, made, values, node):
        return None
    return _converted(frame, made, [p.arg for p in made.scope.parameters], values)


def _from_first(names: list[str], keywords: Mapping[str, object]) -> frozenset[str]:
    """The parameters that a call can give by name alone, where others before them have been given by name."""
    first = next((i for i, name in enumerate(names) if name in keywords), len(names))
    return frozenset(names[first:])


def bind_variables(frame: Frame, made: Definition, values: Arguments, node: ast.Call) -> bool:
    """Put what the arguments say in the place of TypeVars in a function's annotations."""
    if not any(isinstance(type, GenericType) for type in made.types.values()):
        return True
    templates = {n: t.template for n, t in made.types.items() if isinstance(t, GenericType) and n != RETURN}
    generic = variables_of_call(frame, made.name, templates, values)
    if generic is None:
        return False
    made.generic = generic
    for name, type in made.types.items():
        if isinstance(type, GenericType):
            bound = substituted(type.template, generic)
            missing = next(variables(bound), None)
            if missing is not None:
                called = missing.__name__
                hint = f"annotate a parameter with it, as in x: {called} or a: Ptr[{called}]"
                frame.error(node, f"no parameter of `{made.name}` says what the TypeVar `{called}` stands for", hint)
                return False
            made.types[name] = bound
    return True


def _constant(frame: Frame, value: Value, place: ast.expr, type: ConstexprType, what: str) -> Value:
    """The value of a parameter that takes constants only."""
    if isinstance(value, Static) and value.object is None and type.optional:
        return value
    if type.element is not None and not type.is_literal:
        expr = converted(frame, value, type.element, place, what)
        value = POISON if expr is None else Runtime(expr)
    if type.form is not None and not isinstance(value, Poison) and is_constant(value):
        if is_such_constant(value, type):
            return value
        return frame.error(place, f"this is {shown(frame, value, place)}, but {what} takes {type}")
    if type.is_function and not isinstance(value, Poison) and not is_function(value):
        return frame.error(place, f"this is {shown(frame, value, place)}, but {what} takes a function")
    if isinstance(value, Poison) or is_constant(value):
        return value
    return frame.error(place, f"{what} is {type}, and this is known at run time only", "pass a constant")


def is_such_constant(value: Value, type: ConstexprType) -> bool:
    """Whether a constant is a tuple, type, enum member, string or None that a parameter takes."""
    if isinstance(value, Static) and value.object is None:
        return type.optional
    form = type.form
    if isinstance(form, tuple):
        if not isinstance(value, Tuple):
            return False
        parts = (form[0],) * len(value.elements) if form[1:] == (...,) else form
        return len(parts) == len(value.elements) and all(map(is_such_constant, value.elements, parts))
    if form is None:
        return not isinstance(value, Static | Tuple)
    if not isinstance(value, Static):
        return isinstance(value, Weak) and isinstance(form, CLASS) and issubclass(form, int)  # of an IntEnum
    return known_type(value.object) is not None if form is Type else isinstance(value.object, form)


def is_function(value: Value) -> bool:
    """Whether a value may be called: a function of the kernel's, or any of the host's, whatever a call then says."""
    return isinstance(value, Static) and (isinstance(value.object, NestedFunction) or callable(value.object))


def _called(frame: Frame, made: Definition, node: ast.Call) -> str:
    """What a message calls the function: a lambda has the name that it is called by."""
    if not isinstance(made.scope.node, ast.Lambda):
        return made.name
    return node.func.id if isinstance(node.func, ast.Name) else "lambda"


def passed(frame: Frame, value: Value, place: ast.expr, type: Type | None, what: str) -> Value:
    """A value as a parameter takes it; POISON (reported) for what it does not take."""
    if type is not None:
        if isinstance(value, Runtime) and _is_such_array(value.type, type):
            return value
        if isinstance(type, PointerType) and isinstance(value, Runtime) and isinstance(value.type, ArrayType):
            return _first_element(frame, value, value.type, type, place, what)
        expr = converted(frame, value, type, place, what)
        return POISON if expr is None else Runtime(expr)
    match value:
        case Range():
            return frame.error(place, "a range is only for a `for` loop", "for i in range(n)")
        case WeakChoice():
            expr = frame.literal(value, weak_type(value).default, place)
            return POISON if expr is None else Runtime(expr)
        case Tuple() if not is_constant(value) and not _is_weak_tuple(value):
            expr = frame.runtime(value, place)
            return POISON if expr is None else Runtime(expr)
    return value


def _is_such_array(type: Type, declared: Type) -> bool:
    """Whether an array is one that ``Array[T, n]`` or ``Ptr[T]`` declares: a shared or local one is, too.

    And whether a group is of a class of groups.
    """
    match type, declared:
        case ArrayType(), ArrayType():
            return (type.element, type.ndim) == (declared.element, declared.ndim)
        case PointerType(), PointerType():
            return type.element == declared.element
        case GroupType(), GroupType():
            return declared.takes(type)
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
