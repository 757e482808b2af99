"""The types of a function's variables: each is the join of all values assigned to it.

Variables that depend on each other in a circle are solved together, after all that they depend on; so the work is
linear. Mistakes are not reported here: the same expressions are evaluated again when the body is built.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator

from kdsl.frontend.annotations import local_annotation
from kdsl.frontend.array_elements import parts_of
from kdsl.frontend.assign import augmented
from kdsl.frontend.bindings import Binding, How
from kdsl.frontend.callees import NestedFunction
from kdsl.frontend.frame import Frame
from kdsl.frontend.logic import test
from kdsl.frontend.loops import bind_copy, iterated, range_type
from kdsl.frontend.meet import converted
from kdsl.frontend.names import RETURN
from kdsl.frontend.values import (
    STATIC,
    Lattice,
    Poison,
    Range,
    Runtime,
    Static,
    StaticType,
    Tuple,
    Value,
    defaulted,
    is_constant,
    is_weak,
    join,
    type_of,
)
from kdsl.ir import nodes as ir
from kdsl.lang.group_type import GroupType
from kdsl.lang.types import VOID, TupleType
from kdsl.source import Span

# What a `return` without a value gives: only its type is looked at.
NOTHING = Runtime(ir.TupleExpr((), VOID, Span("", 0)))


def infer(frame: Frame) -> None:
    """Find the type (or constant) of every variable; parameters and declared results are there already."""
    parameters = {p.arg for p in frame.scope.parameters}
    for name, statement in frame.scope.declared.items():
        type = local_annotation(frame, statement.annotation)
        # Which group of a class it is, only its value says.
        if type is not None and not isinstance(type, GroupType) and name not in parameters:
            frame.declared[name] = frame.types[name] = type
    for names in frame.scope.components:
        _functions(frame, names)
        open_names = [n for n in names if n not in frame.declared and n not in frame.constants]
        if len(open_names) == 1:
            _solve_one(frame, open_names[0])
        elif open_names:
            _solve(frame, open_names)
        for name in names:
            if name in frame.declared and name != RETURN:
                _declared_constant(frame, name)
    returns = frame.scope.bindings.get(RETURN, [])
    if RETURN not in frame.types and returns and all(not b.loops and is_dead(frame, b) for b in returns):
        frame.types[RETURN] = VOID


def is_dead(frame: Frame, binding: Binding) -> bool:
    """Whether a constant test drops the branch in which a binding stands."""
    branch = binding.branch
    bound = frame.bound
    while branch is not None:
        # A variable of the function is no constant, and need not be looked at, unless its type is.
        unknown = [n for n in branch.reads if _is_variable(frame, n)]
        if not unknown or (branch.asks_for_types and all(_has_type(frame, n) for n in unknown)):
            known = test(frame, branch.test).constant
            frame.bound = bound
            if known is not None and known is not branch.is_true:
                return True
        branch = branch.outer
    return False


def _is_variable(frame: Frame, name: str) -> bool:
    return name in frame.scope.bits and name not in frame.constants and name not in frame.copies


def _has_type(frame: Frame, name: str) -> bool:
    type = frame.types.get(name)
    return type is not None and not isinstance(type, StaticType) and not is_weak(type)


def _functions(frame: Frame, names: list[str]) -> None:
    """Nested functions and lambdas that are bound once are known before their bodies are: those may name themselves."""
    for name in names:
        bindings = frame.scope.bindings[name]
        if len(bindings) != 1 or name in frame.types:
            continue
        binding = bindings[0]
        is_lambda = binding.how is How.ASSIGN and isinstance(binding.value, ast.Lambda) and not binding.path
        if binding.how is How.FUNCTION or is_lambda:
            frame.constants[name] = _value(frame, binding)


def _solve_one(frame: Frame, name: str) -> None:
    """A variable that depends on no other unsolved one."""
    bindings = frame.scope.bindings[name]
    if _is_copied(frame, name):
        frame.types[name] = STATIC
        return
    if len(bindings) == 1 and name not in frame.types and name not in bindings[0].reads:
        binding = bindings[0]
        if not binding.loops and is_dead(frame, binding):
            return
        if not binding.loops and binding.how in (How.ASSIGN, How.WALRUS, How.FUNCTION):
            value = _value(frame, binding)
            if is_constant(value):
                frame.constants[name] = value
                return
            _joined(frame, name, type_of(value), binding)
            _default(frame, [name])
            return
    _solve(frame, [name])


def _declared_constant(frame: Frame, name: str) -> None:
    """``N: i32 = 16``, bound once, is a constant with a type."""
    bindings = frame.scope.bindings.get(name, [])
    if name not in frame.scope.declared or any(p.arg == name for p in frame.scope.parameters):
        return
    if len(bindings) != 1 or bindings[0].how is not How.ASSIGN or bindings[0].loops or is_dead(frame, bindings[0]):
        return
    value, type = _value(frame, bindings[0]), frame.declared[name]
    if is_constant(value) and not isinstance(value, Static) and bindings[0].value is not None:
        expr = converted(frame, value, type, bindings[0].value, name)
        if expr is not None and is_constant(Runtime(expr)):
            frame.constants[name] = Runtime(expr)


def _is_copied(frame: Frame, name: str) -> bool:
    return name in frame.scope.copied


def _solve(frame: Frame, names: list[str]) -> None:
    """Variables that depend on each other: iterate to the fixpoint, then literals that met no type get theirs."""
    given = {n: frame.types[n] for n in names if n in frame.types}
    fixed: set[str] = set()
    while True:
        _fixpoint(frame, [n for n in names if n not in fixed])
        if frame.keep_weak:
            return
        weak = [n for n in names if n not in fixed and n in frame.types and is_weak(frame.types[n])]
        if not weak:
            return
        _default(frame, weak)
        fixed.update(weak)
        if len(fixed) == len(names):
            return
        # What depends on them was found with literals: find it again.
        for name in names:
            if name not in fixed:
                frame.types.pop(name, None)
                if name in given:
                    frame.types[name] = given[name]


def _default(frame: Frame, names: list[str]) -> None:
    if frame.keep_weak:
        return
    for name in names:
        if name in frame.types:
            frame.types[name] = defaulted(frame.types[name])


def _fixpoint(frame: Frame, names: list[str]) -> None:
    bindings = [b for name in names for b in frame.scope.bindings[name]]
    readers: dict[str, list[int]] = {name: [] for name in names}
    for i, binding in enumerate(bindings):
        for name in binding.reads:
            if name in readers:
                readers[name].append(i)
    queue = deque(range(len(bindings)))
    queued = [True] * len(bindings)
    while queue:
        i = queue.popleft()
        queued[i] = False
        binding = bindings[i]
        changed = False
        for type in _types(frame, binding):
            changed |= _joined(frame, binding.name, type, binding)
        for reader in readers[binding.name] if changed else ():
            if not queued[reader]:
                queued[reader] = True
                queue.append(reader)


def _joined(frame: Frame, name: str, type: Lattice | None, binding: Binding) -> bool:
    """Add a value's type to a variable's; whether that changed it."""
    if type is None:
        return False
    old = frame.types.get(name)
    if _is_copied(frame, name):
        # Each copy of the loop's body has its own type; a reader wants to know of any change.
        frame.types[name] = type
        return old != type
    new = type if old is None else join(old, type)
    if new is None or new == old:
        return False
    frame.types[name] = new
    if old is None or not is_weak(new):
        frame.decided[name] = binding.target
    return True


def _types(frame: Frame, binding: Binding) -> Iterator[Lattice | None]:
    """The types that one binding gives to its variable: several in an unrolled loop."""
    for _ in unrolled(frame, binding, 0):
        if is_dead(frame, binding):
            continue
        if binding.how is How.FOR:
            yield from _loop_types(frame, binding)
        else:
            yield type_of(_value(frame, binding))


def _loop_types(frame: Frame, binding: Binding) -> Iterator[Lattice | None]:
    assert binding.value is not None
    value = frame.value(binding.value)
    if isinstance(value, Range):
        is_number = value.numbered is not None and binding.path[:1] == (0,)
        yield type_of(value.numbered) if is_number and value.numbered is not None else range_type(value)
        return
    parts = iterated(frame, value, binding.value) or ()
    types = [type_of(_projected(frame, part, binding)) for part in parts]
    if _is_copied(frame, binding.name):
        yield None if None in types else TupleType(tuple(types))  # type: ignore[arg-type]
    else:
        yield from types


def unrolled(frame: Frame, binding: Binding, depth: int) -> Iterator[None]:
    """Once for each copy of the binding that an enclosing loop over a tuple makes, with the loop's variables set."""
    if depth == len(binding.loops):
        yield
        return
    loop = binding.loops[depth]
    names = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)} & frame.scope.copied
    if not names & binding.reads:
        yield from unrolled(frame, binding, depth + 1)
        return
    for part in iterated(frame, frame.value(loop.iter), loop.iter) or ():
        bind_copy(frame, loop.target, part)
        yield from unrolled(frame, binding, depth + 1)
    for name in names:
        frame.copies.pop(name, None)


def _value(frame: Frame, binding: Binding) -> Value:
    match binding.how:
        case How.FUNCTION:
            assert isinstance(binding.statement, ast.FunctionDef)
            return Static(NestedFunction(binding.statement, frame))
        case How.AUGMENTED:
            assert isinstance(binding.statement, ast.AugAssign)
            assert isinstance(binding.target, ast.Name)
            statement = binding.statement
            return augmented(frame, statement, frame.read(binding.name, binding.target), frame.value(statement.value))
        case How.RETURN if binding.value is None:
            return NOTHING
        case How.RETURN:
            # What a call that returns nothing returns may be returned.
            frame.printed = binding.value
    assert binding.value is not None
    return _projected(frame, frame.value(binding.value), binding)


def _projected(frame: Frame, value: Value, binding: Binding) -> Value:
    """The part of a tuple that a binding unpacks."""
    for index in binding.path:
        parts = parts_of(frame, value, binding.value) if binding.value is not None else None
        if parts is None:
            return Poison()
        if isinstance(index, slice):
            value = Tuple(parts[index])
        elif -len(parts) <= index < len(parts):
            value = parts[index]
        else:
            return Poison()
    return value
