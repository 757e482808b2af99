"""Plain, nested and lambda functions that a kernel calls: each is checked once for each set of argument types."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import field, replace
from types import FunctionType, MappingProxyType

from kdsl.frontend.callables import held_by
from kdsl.frontend.callees import NestedFunction
from kdsl.frontend.definitions import Arguments, Callee, Definition, arguments, definition
from kdsl.frontend.effects import has_effects
from kdsl.frontend.escapes import check_object, check_returned
from kdsl.frontend.frame import ALL, Frame, unknown
from kdsl.frontend.hidden_names import check_hidden
from kdsl.frontend.infer import infer
from kdsl.frontend.made_anew import check_made_anew
from kdsl.frontend.meet import check_group, converted
from kdsl.frontend.mutating import returning_self
from kdsl.frontend.names import RETURN, mangle, scope_of, unique
from kdsl.frontend.parts import pass_on
from kdsl.frontend.statements import block
from kdsl.frontend.values import (
    POISON,
    Lattice,
    Runtime,
    Static,
    StaticType,
    Tuple,
    Value,
    is_constant,
    is_weak,
    type_of,
)
from kdsl.frontend.written import written_parameters
from kdsl.ir import nodes as ir
from kdsl.lang.group_type import GroupType
from kdsl.lang.types import VOID, ArrayType, PointerType, TupleType, Type
from kdsl.records import dataclass
from kdsl.source import Span


@dataclass
class Instance:
    """A function for one set of argument types."""

    frame: Frame
    parameters: tuple[str, ...]
    """Those that are passed at run time, in order; constants are not."""
    entry: dict[str, Value] = field(default_factory=dict)
    """Constants that the function assigns to, and so must hold in variables."""
    built: ir.Function | None = None
    failed: bool = False
    """Whether a mistake in it has been reported."""
    captured: tuple[tuple[Frame, str], ...] = ()
    key: object = None
    name: str = ""
    """In PTX, from the moment when its body begins to be built."""


DEEPEST = 16
"""How deep a function may call itself with other types or constants, each time compiled anew."""


def call_function(
    frame: Frame,
    node: ast.Call,
    callee: Callee,
    bound: tuple[tuple[Value, ast.expr], ...] = (),
    keywords: Mapping[str, tuple[Value, ast.expr]] = MappingProxyType({}),
    *,
    changes: bool = False,
) -> Value:
    """A call of a device function, typed by its arguments; ``bound`` stand before those that the call writes, and
    ``keywords`` are for what it does not.

    ``changes``: it returns its first argument, too, as it is at its end, which the type of the call does not say.
    """
    made = definition(frame, callee, node)
    if made is None:
        return POISON
    given = arguments(frame, node, made, bound, keywords)
    if given is None:
        return POISON
    # What is the language's own stands, to the user, where it was called.
    at = frame.span(node) if made.is_own else None
    key = (*_key(callee, made, given), at, changes)
    if not _may_recurse(frame, node, made, key):
        return POISON
    instance = _instance(frame, made, given, key, at)
    if not frame.quiet and not instance.name:
        instance.frame.changes_self = changes
        instance.frame.calls = frame.calls if made.is_own else (frame.span(node), *frame.calls)
        build(instance)
    result = _result(frame, instance, given, node)
    if made.group is not None and isinstance(result, Runtime):
        check_group(frame, made.group, result.type, f"the result of `{made.name}` is annotated", node)
    return result


def _may_recurse(frame: Frame, node: ast.Call, made: Definition, key: object) -> bool:
    """Whether a function that is being checked may be called; what may not is reported."""
    same = [other for source, other in frame.session.active if source is made.scope.node]
    if key in same and made.outer is not None:
        frame.error(
            node, f"`{made.name}` calls itself, which a nested function cannot", "define it outside of the kernel"
        )
        return False
    if key in same and not all(name in made.types for name in (*(p.arg for p in made.scope.parameters), RETURN)):
        message = f"`{made.name}` calls itself, and not all of its parameters and its result are annotated"
        frame.error(node, message, "say their types, as in def f(n: i32) -> i32, or write a loop")
        return False
    if key not in same and len(same) >= DEEPEST:
        message = f"`{made.name}` calls itself with other types or constants, {DEEPEST} deep"
        frame.error(node, message, "annotate its parameters and its result, or write a loop")
        return False
    return True


def _result(frame: Frame, instance: Instance, given: Arguments, node: ast.Call) -> Value:
    type = instance.frame.types.get(RETURN, VOID if RETURN not in instance.frame.scope.bindings else None)
    if type is None or isinstance(type, StaticType):
        return POISON
    if is_weak(type):
        return unknown(type, "result", frame, node)
    if frame.quiet:
        return Runtime(ir.Call("", (), type, frame.span(node)))  # type: ignore[arg-type]
    if instance.failed and type == VOID:
        # What it would have returned may be what is wrong with it.
        return POISON
    passed = _passed(frame, instance, given, node)
    for owner, name in instance.captured:
        value = frame.read_captured(owner, name, node)
        if not isinstance(value, Runtime):
            return POISON
        passed.append(value.expr)
    return Runtime(ir.Call(instance.name, tuple(passed), type, frame.span(node)))  # type: ignore[arg-type]


def _passed(frame: Frame, instance: Instance, given: Arguments, node: ast.Call) -> list[ir.Expr]:
    """What is passed at run time, in the order of the parameters, but evaluated in the order of the call."""
    values = {name: given[name][0] for name in instance.parameters}
    exprs = {name: value.expr for name, value in values.items() if isinstance(value, Runtime)}
    named = [k.arg for k in node.keywords if k.arg in exprs]
    order = [n for n in exprs if n not in named] + [n for n in named if n is not None]
    if order == list(exprs) or not any(has_effects(v) for v in values.values()):
        return list(exprs.values())
    span = frame.span(node)
    kept = {name: frame.local(name, exprs[name].type) for name in order}
    evaluated = tuple(ir.AssignExpr(kept[n], exprs[n], exprs[n].type, span) for n in order)
    whole = ir.TupleExpr(evaluated, TupleType(tuple(e.type for e in evaluated)), span)
    first, *others = exprs
    opening = ir.TupleElement(whole, order.index(first), exprs[first].type, span)
    return [opening, *(ir.Read(kept[n], exprs[n].type, span) for n in others)]


def _key(callee: Callee, made: Definition, given: Arguments) -> tuple[object, ...]:
    """What an instance of a function depends on."""
    return (
        made.scope.node,
        id(made.outer),
        tuple(_descriptor(v, made.types.get(n)) for n, (v, _) in given.items()),
        id(callee) if isinstance(callee, FunctionType) else 0,
        _captured_types(made),
    )


def _instance(frame: Frame, made: Definition, given: Arguments, key: tuple[object, ...], at: Span | None) -> Instance:
    known = frame.session.instances.get(key)
    if known is not None:
        return known
    instance = frame.session.instances[key] = _new_instance(frame, made, given)
    instance.key, instance.frame.at = key, at
    active = frame.session.active
    active.append((made.scope.node, key))
    try:
        infer(instance.frame)
    finally:
        active.pop()
    return instance


def _captured_types(made: Definition, seen: tuple[object, ...] = ()) -> tuple[object, ...]:
    """What is known of the variables that a nested function captures, while the types around it are being inferred."""
    if made.outer is None or not made.outer.quiet:
        return ()
    found: list[object] = []
    for name in sorted(made.scope.free):
        owner: Frame | None = made.outer
        while owner is not None and name not in owner.scope.bits:
            owner = owner.outer
        if owner is None:
            continue
        constant = owner.constants.get(name)
        if isinstance(constant, Static) and isinstance(constant.object, NestedFunction):
            inner = constant.object
            if inner not in seen:
                scope = scope_of(inner.node)
                further = replace(made, scope=scope, outer=inner.frame)
                found.append((name, _captured_types(further, (*seen, inner))))
        else:
            found.append((name, owner.types.get(name) if constant is None else _descriptor(constant, None)))
    return tuple(found)


def _descriptor(value: Value, declared: Type | None) -> object:
    """What an instance depends on: the type of what is passed at run time, the value of a constant."""
    if declared is not None:
        return type_of(value)
    match value:
        case Static(NestedFunction(node, frame) as object):
            scope = scope_of(node)
            made = Definition(frame.file, scope, frame.function, "", frame, {}, {})
            return ("nested", node, id(frame), _captured_types(made, (object,)))
        case Static(object):
            return ("object", id(object))
        case Tuple(parts) if is_constant(value):
            return ("tuple", tuple(_descriptor(p, None) for p in parts))
        case Runtime(ir.Const(number, type)):
            return ("constant", type, repr(number))
    if is_constant(value):
        return ("literal", repr(value))
    return ("type", type_of(value))


def _new_instance(frame: Frame, made: Definition, given: Arguments) -> Instance:
    inner = Frame(frame.session, made.file, made.scope, made.function, made.name, made.outer, generic=made.generic)
    instance = Instance(inner, ())
    passed: list[str] = []
    for name, (value, _) in given.items():
        if name in made.types:
            actual = type_of(value)
            is_memory = isinstance(actual, ArrayType | PointerType | GroupType)
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
    parameters = [_parameter(frame, name) for name in instance.parameters]
    for parameter in frame.scope.parameters:
        frame.bound |= frame.scope.bits[parameter.arg]
    check_hidden(frame)
    with frame.block() as entry:
        for name, value in instance.entry.items():
            _assign_entry(frame, name, value)
    if kernel_name is None and frame.outer is None and session.held:
        # Before the body, which may call the function itself.
        for passed in held_by(session, frame.function):
            pass_on(frame, passed)
        instance.captured = tuple((owner, name) for (_, name), (owner, _) in frame.captured.items())
    name = kernel_name or unique(mangle(frame.name.strip("<>")), session.taken)
    session.taken.add(name)
    instance.name = name
    reported = session.reporter.count
    session.active.append((frame.scope.node, instance.key))
    body = block(frame, frame.scope.body)
    session.active.pop()
    check_returned(frame, body)
    if session.reporter.count == reported:
        check_made_anew(frame, body)
    result = _result_type(frame, kernel_name is not None)
    instance.failed = session.reporter.count > reported
    instance.captured = tuple((owner, name) for (_, name), (owner, _) in frame.captured.items())
    others = (local for _, local in frame.captured.values() if local not in parameters)
    all_parameters = (*parameters, *others)
    whole = (*entry, *body)
    functions = {f.name: f for f in session.functions}
    check_object(frame, whole, functions)
    place = frame.at or frame.file.def_line(frame.scope.node)
    if frame.changes_self:
        own = frame.locals[frame.scope.parameters[0].arg]
        whole, result = returning_self(whole, own, result, place)
    instance.built = ir.Function(
        name,
        frame.name,
        tuple(all_parameters),
        result,
        whole,
        place,
        # A sum that is fused with a product in some threads would differ between them.
        replace(session.options, fmad=False) if frame.at is not None else session.options,
        kernel_name is not None,
        written_parameters(tuple(all_parameters), whole, functions),
        session.largest_tile if kernel_name is not None else 1,
    )
    if kernel_name is None:
        session.functions.append(instance.built)
    return instance.built


def _parameter(frame: Frame, name: str) -> ir.Local:
    """The variable of a parameter, or of a part of one."""
    if name in frame.locals:
        return frame.locals[name]
    _, local = frame.captured[id(frame.session.parts), name]
    return local


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
        value = frame.respanned(value, stand_in)
        expr = converted(frame, value, local.type, stand_in, f"`{name}`")
        if expr is not None:
            frame.emit(ir.Assign(local, expr, frame.span(place)))


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
