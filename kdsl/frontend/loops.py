"""`for` and `while`, and what is assigned after them."""

from __future__ import annotations

import ast
from collections.abc import Callable

from kdsl.frontend import convert
from kdsl.frontend.array_elements import array_elements, element, parts_of
from kdsl.frontend.array_loops import for_array, is_array
from kdsl.frontend.assign import conflict, kept, refuse_unpacking, store
from kdsl.frontend.describing import describe_object
from kdsl.frontend.frame import ALL, Frame, Loop
from kdsl.frontend.logic import test
from kdsl.frontend.meet import converted
from kdsl.frontend.memory import constant_int, elements
from kdsl.frontend.names import is_range, range_call
from kdsl.frontend.unpacking import spread
from kdsl.frontend.values import (
    POISON,
    Lattice,
    Poison,
    Range,
    Runtime,
    Static,
    Tuple,
    Value,
    WeakType,
    describe,
    is_weak,
    join,
    scalar_type,
    type_of,
    wider_weak,
)
from kdsl.ir import nodes as ir
from kdsl.lang.types import I32, PointerType, ScalarType

Body = Callable[[Frame, list[ast.stmt]], tuple[ir.Stmt, ...]]
# All copies of unrolled bodies in a kernel: more would take the compiler minutes.
LARGEST_COPIES = 4096


def while_(frame: Frame, node: ast.While, block: Body) -> None:
    asked = test(frame, node.test)
    loop = Loop()
    frame.loops.append(loop)
    frame.bound = asked.when_true
    body = block(frame, node.body)
    frame.loops.pop()
    frame.bound = asked.when_false
    orelse = block(frame, node.orelse)
    frame.bound &= loop.breaks
    if asked.expr is not None:
        frame.emit(ir.While(asked.expr, body, orelse, frame.span(node)))


def for_(frame: Frame, node: ast.For, block: Body) -> None:
    frame.iterated = node.iter
    value = frame.value(node.iter)
    frame.iterated = None
    if isinstance(value, Range) and is_range(node.iter):
        _for_range(frame, node, value, block)
        return
    if isinstance(value, Range):
        # What a loop's variables are is decided by how it is written, before any name is looked up.
        hint = "for i in range(n): ..., also in enumerate() and reversed()"
        value = frame.error(node.iter, "a `for` over a range names range() itself", hint)
    if is_array(value):
        for_array(frame, node, value, block, lambda part: _assign_targets(frame, node, part))
        _forget(frame, node)
        return
    is_lazy = isinstance(value, Tuple) and value.lazy
    parts = elements(frame, value if is_lazy else kept(frame, value, node.iter), node.iter)
    if parts is None:
        if not isinstance(value, Poison):
            _refuse_iterable(frame, value, node)
        # Its body is checked all the same, as far as it does not depend on what is wrong.
        parts = (POISON,)
    _for_tuple(frame, node, parts, block, is_lazy=is_lazy)


def iterated(frame: Frame, value: Value, node: ast.expr) -> tuple[Value, ...] | None:
    """What a `for` gives to its variables: the elements of a tuple, or one that stands for all of an array."""
    if is_array(value):
        assert isinstance(value, Runtime)
        return (element(frame, value.expr, ir.Const(0, I32, frame.span(node)), node),)
    return elements(frame, value, node)


def _assign_targets(frame: Frame, node: ast.For, part: Value) -> None:
    part = _opened(frame, node.target, part, node.iter)
    bind_copy(frame, node.target, part)
    _store_others(frame, node, node.target, part)


def _opened(frame: Frame, target: ast.expr, value: Value, place: ast.expr) -> Value:
    """A value with the elements of an array that is unpacked, each read now."""
    if not isinstance(target, ast.Tuple | ast.List):
        return value
    if is_array(value):
        loads = array_elements(frame, value, place)
        return value if loads is None else Tuple(tuple(kept(frame, load, place) for load in loads))
    if isinstance(value, Tuple) and len(value.elements) == len(target.elts):
        parts = zip(target.elts, value.elements, strict=True)
        return Tuple(tuple(_opened(frame, t, v, place) for t, v in parts))
    return value


def _forget(frame: Frame, node: ast.For) -> None:
    """The loop's variables end with it."""
    for name in _names(node.target) & frame.scope.copied:
        frame.copies.pop(name, None)


def _refuse_iterable(frame: Frame, value: Value, node: ast.For) -> None:
    name = frame.text(node.iter)
    type = type_of(value)
    if isinstance(type, PointerType):
        frame.error(
            node.iter,
            "a `for` runs over range(), static_range(), a tuple or an array, not over a pointer",
            f"for value in {name}[0:n]",
        )
    elif isinstance(type, ScalarType | WeakType):
        frame.error(
            node.iter,
            f"a `for` runs over range(), static_range(), a tuple or an array, and this is {describe(type)}",
            f"range({name})",
        )
    else:
        what = f", not over {describe_object(value.object, name)}" if isinstance(value, Static) else ""
        hint = f"make it a tuple: {name} = (...)" if isinstance(getattr(value, "object", None), list) else None
        frame.error(node.iter, f"a `for` runs over range(), static_range(), a tuple or an array{what}", hint)


def range_type(value: Range) -> Lattice | None:
    """The type of a range's variable: that in which start, stop and step meet; None if they do not."""
    parts = (value.start, value.stop, value.step)
    strong = [convert.widened(t) for t in map(scalar_type, parts) if t is not None]
    if not strong:
        weak = [t for t in map(type_of, parts) if isinstance(t, WeakType)]
        result = weak[0]
        for type in weak[1:]:
            result = wider_weak(result, type)
        return result
    met: ScalarType | None = strong[0]
    for one in strong[1:]:
        met = convert.common(met, one) if met is not None else None
    return met


def _for_range(frame: Frame, node: ast.For, value: Range, block: Body) -> None:
    before = frame.bound
    number, variable = _numbered(frame, node, value)
    target = _range_variable(frame, node, variable, value)
    loop = Loop()
    frame.loops.append(loop)
    parts = _range_parts(frame, node, value, target.type) if target is not None else None
    with frame.block() as built:
        if number is not None:
            _count(frame, node, number)
        built += block(frame, node.body)
    body = tuple(built)
    frame.loops.pop()
    runs = _runs_at_least_once(value)
    frame.bound = (frame.bound & loop.continues) if runs else before
    orelse = block(frame, node.orelse)
    frame.bound &= loop.breaks
    if target is not None and parts is not None:
        frame.emit(ir.ForRange(target, *parts, body, orelse, frame.span(node), value.unroll, value.reverse))


def _numbered(frame: Frame, node: ast.For, value: Range) -> tuple[tuple[ast.expr, ir.Local] | None, ast.expr]:
    """The variable that ``enumerate(range(...))`` numbers the iterations with, its hidden counter; and the other."""
    if value.numbered is None:
        return None, node.target
    if not isinstance(node.target, ast.Tuple | ast.List) or len(node.target.elts) != 2:
        frame.error(node.target, "enumerate() gives pairs", "for i, x in enumerate(...): ...")
        for name in _names(node.target):
            frame.bound |= frame.scope.bits.get(name, 0)
        return None, ast.copy_location(ast.Name("", ast.Store()), node.target)
    first, second = node.target.elts
    start = value.numbered
    own = frame.locals.get(first.id) if isinstance(first, ast.Name) else None
    type = scalar_type(start)
    if type is None:
        type = own.type if own is not None and isinstance(own.type, ScalarType) else I32
    expr = converted(frame, start, type, node.iter, "enumerate()")
    if expr is None:
        return None, second
    counter = frame.local("number", type)
    frame.emit(ir.Assign(counter, expr, frame.span(node)))
    return (first, counter), second


def _count(frame: Frame, node: ast.For, number: tuple[ast.expr, ir.Local]) -> None:
    """Assign an iteration's number, and count it."""
    target, counter = number
    span = frame.span(node)
    read = ir.Read(counter, counter.type, span)
    store(frame, target, Runtime(read), node.iter, node)
    assert isinstance(counter.type, ScalarType)
    one = ir.Const(1, counter.type, span)
    frame.emit(ir.Assign(counter, ir.Binary(ir.BinaryOp.ADD, read, one, counter.type, span), span))


def _range_variable(frame: Frame, node: ast.For, target: ast.expr, value: Range) -> ir.Local | None:
    if not isinstance(target, ast.Name):
        frame.error(target, "the variable of a range() loop is a plain name", "for i in range(n): ...")
        return None
    name = target.id
    if not name:
        return None
    frame.bound |= frame.scope.bits[name]
    local = frame.locals.get(name)
    got = range_type(value)
    if got is None:
        types = [str(t) for t in map(scalar_type, (value.start, value.stop, value.step)) if t is not None]
        frame.error(node.iter, f"{' and '.join(dict.fromkeys(types))} have no common type", "cast one of them")
        return None
    if local is None:
        return None
    if isinstance(local.type, ScalarType) and local.type.is_int:
        if got == local.type or (is_weak(got) and join(got, local.type) == local.type):
            return local
        if name in frame.declared and isinstance(got, ScalarType) and convert.converts(got, local.type):
            return local
    conflict(frame, target, got, local.type, node.iter, "give the loop's variable its own name")
    return None


def _range_parts(frame: Frame, node: ast.For, value: Range, type: object) -> tuple[ir.Expr, ir.Expr, ir.Expr] | None:
    assert isinstance(type, ScalarType)
    counted = range_call(node.iter)
    arguments = counted.args if counted is not None else []
    places = [node.iter, *arguments, node.iter] if len(arguments) == 1 else [*arguments, *[node.iter] * 3][:3]
    parts: list[ir.Expr | None] = []
    for part, place in zip((value.start, value.stop, value.step), places, strict=True):
        own = scalar_type(part)
        if own is not None and not convert.converts(own, type):
            # Only a bool or a narrower int comes here, and both widen.
            parts.append(ir.Cast(part.expr, type, frame.span(place)))  # type: ignore[union-attr]
        else:
            parts.append(converted(frame, part, type, place, "range()"))
    a, b, c = parts
    return None if a is None or b is None or c is None else (a, b, c)


def _runs_at_least_once(value: Range) -> bool:
    numbers = [constant_int(p) for p in (value.start, value.stop, value.step)]
    start, stop, step = numbers
    # Why not len()? It holds 64 bits only.
    return start is not None and stop is not None and bool(step) and bool(range(start, stop, step or 1))


def _for_tuple(frame: Frame, node: ast.For, parts: tuple[Value, ...], block: Body, *, is_lazy: bool = False) -> None:
    frame.session.copies += len(parts)
    if frame.session.copies > LARGEST_COPIES:
        frame.error(
            node.iter, f"unrolled loops would make more than {LARGEST_COPIES} copies of their bodies", "write range()"
        )
        return
    loop = Loop()
    frame.loops.append(loop)
    bodies = []
    for part in parts:
        with frame.block() as built:
            _assign_targets(frame, node, kept(frame, part, node.iter) if is_lazy else part)
            built += block(frame, node.body)
        bodies.append(tuple(built))
        frame.bound &= loop.continues
        loop.continues = ALL
    frame.loops.pop()
    _forget(frame, node)
    orelse = block(frame, node.orelse)
    frame.bound &= loop.breaks
    frame.emit(ir.Unrolled(tuple(bodies), orelse, frame.span(node)))


def _names(target: ast.expr) -> set[str]:
    return {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}


def bind_copy(frame: Frame, target: ast.expr, value: Value) -> None:
    """Set the variables of a loop over a tuple for one copy of its body."""
    match target:
        case ast.Name(id=name) if name in frame.scope.copied:
            frame.copies[name] = value
        case ast.Starred(value=inner):
            bind_copy(frame, inner, value)
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            for one, part in zip(targets, _unpacked(frame, target, targets, value), strict=True):
                bind_copy(frame, one, part)


def _unpacked(frame: Frame, target: ast.expr, targets: list[ast.expr], value: Value) -> tuple[Value, ...]:
    """A value for each target; nothing is reported here."""
    parts = parts_of(frame, value, target)
    quiet, frame.quiet = frame.quiet, True
    found = None if parts is None else spread(frame, parts, target, targets)
    frame.quiet = quiet
    return (POISON,) * len(targets) if found is None else found


def _store_others(frame: Frame, node: ast.For, target: ast.expr, value: Value) -> None:
    """Assign those of the loop's variables that are ordinary ones."""
    match target:
        case ast.Name(id=name):
            if name not in frame.scope.copied:
                store(frame, target, value, node.iter, node)
        case ast.Starred(value=inner):
            _store_others(frame, node, inner, value)
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            parts = elements(frame, value, node.iter)
            if parts is None and not isinstance(value, Poison):
                refuse_unpacking(frame, value, target)
            found = None if parts is None else spread(frame, parts, target, targets)
            for one, part in zip(targets, found or (POISON,) * len(targets), strict=True):
                _store_others(frame, node, one, part)
        case _:
            frame.error(target, "the variable of a `for` is a name")
