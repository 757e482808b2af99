"""The reference's arrays and atomics: declarations, elements read and stored, read-modify-writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from . import program as p
from . import semantics
from .memory import Memory
from .reference_expressions import THREAD, Frame, Typed, expression, operation
from .typing_rules import I32, IllTyped, Scalar, named

if TYPE_CHECKING:
    from .reference import Scope

SHARED = " shared"
COMMUTE = {"add", "sub", "min", "max", "and_", "or_", "xor", "inc", "dec", "cas_add"}


def declare(s: p.Declare, scope: Scope) -> Callable[[Frame], None]:
    t = named(s.type)
    scope.arrays[s.name] = t

    def run(frame: Frame) -> None:
        if s.space == "shared":
            frame[s.name] = frame[SHARED][s.name]
        else:
            # One allocation for each place: what was written in an earlier iteration is still there.
            frame.setdefault(s.name, Memory(t, s.shape))

    return run


def positions(indices: Sequence[p.Expr], scope: Scope) -> Callable[[Frame], list[int]]:
    typed = [expression(index, scope) for index in indices]
    if any(not (i.type.is_int or i.type.kind == "weak-int") for i in typed):
        raise IllTyped("an index that is no int")
    runs = [i.run for i in typed]
    return lambda frame: [int(run(frame)) for run in runs]


def element(e: p.Index, scope: Scope) -> Typed:
    t, where, array = scope.array(e.array), positions(e.indices, scope), e.array
    return Typed(t, lambda frame: frame[array].read(where(frame), frame[THREAD]))


def narrowed(op: str, old: Typed, value: Typed, scope: Scope) -> Typed:
    """``old op= value``: computed as arithmetic, then narrowed to the old value's type if that is a narrow int."""
    new = operation(op, old, value, scope)
    if not old.type.is_weak and new.type != old.type:
        if new.type != I32 or not old.type.is_int:
            raise IllTyped(f"{op}= gives {new.type.name}, the variable is {old.type.name}")
        target, run = old.type, new.run
        new = Typed(target, lambda frame: semantics.wrap(int(run(frame)), target))
    return new


def bit_place(e: p.View, t: Scalar, scope: Scope) -> Callable[[Frame], int]:
    """Where a view's element begins, in bits."""
    if not (scope.array(e.array).is_int and t.is_int):
        raise IllTyped("a view of what is no int")
    where = positions((e.offset, e.index), scope)
    return lambda frame: sum(where(frame)) * t.bits


def view(e: p.View, scope: Scope) -> Typed:
    t = named(e.type)
    place = bit_place(e, t, scope)
    return Typed(t, lambda frame: semantics.from_bits(frame[e.array].bits(place(frame), t.bits), t))


def store_view(s: p.StoreView, scope: Scope) -> Callable[[Frame], None]:
    t, value = named(s.view.type), expression(s.value, scope)
    place = bit_place(s.view, t, scope)
    if s.op is not None:
        value = narrowed(s.op, view(s.view, scope), value, scope)
    give = value.implicitly(t)

    def run(frame: Frame) -> None:
        result = int(give(frame)) % (1 << t.bits)
        frame[s.view.array].set_bits(place(frame), t.bits, result)

    return run


def store(s: p.Store, scope: Scope) -> Callable[[Frame], None]:
    t, where = scope.array(s.array), positions(s.indices, scope)
    value = expression(s.value, scope)
    if s.op is not None:
        value = narrowed(s.op, element(p.Index(s.array, s.indices), scope), value, scope)
    give = value.implicitly(t)

    def run(frame: Frame) -> None:
        result = give(frame)
        frame[s.array].write(where(frame), result, frame[THREAD])

    return run


def wrapped_increment(old: int, bound: int) -> int:
    return 0 if old >= bound else old + 1


def wrapped_decrement(old: int, bound: int) -> int:
    return bound if old == 0 or old > bound else old - 1


OPERATORS = {"add": "+", "sub": "-", "min": "min", "max": "max", "and_": "&", "or_": "|", "xor": "^", "cas_add": "+"}


def changed(name: str, old: Any, given: Sequence[Any], t: Scalar) -> Any:
    """What an atomic leaves in place of ``old``."""
    match name:
        case "exch":
            return given[0]
        case "cas":
            return given[1] if old == given[0] else old
        case "inc":
            return wrapped_increment(old, given[0])
        case "dec":
            return wrapped_decrement(old, given[0])
    return semantics.binary(OPERATORS[name], old, given[0], t)


def atomic(s: p.Atomic, scope: Scope) -> Callable[[Frame], None]:
    t, where = scope.array(s.array), positions(s.indices, scope)
    given = [expression(argument, scope).implicitly(t) for argument in s.arguments]
    old = f" old {s.target}"
    keep = None if s.target is None else scope.store([(s.target, Typed(t, lambda frame: frame[old]))])
    if s.name == "cas_add":
        for name in ("seen", "before"):
            scope.bind(f"{s.array}_{name}", t)

    def run(frame: Frame) -> None:
        memory, place, thread = frame[s.array], where(frame), frame[THREAD]
        values = [value(frame) for value in given]
        how = s.name if s.name in COMMUTE and s.target is None else "write"
        if s.name in ("inc", "dec"):
            how += f" {values[0]}" if how == s.name else ""
        elif how in ("add", "sub", "cas_add"):
            how = "add"
        frame[old] = memory.read(place, thread, how)
        memory.write(place, changed(s.name, frame[old], values, t), thread, how)
        if keep is not None:
            keep(frame)

    return run
