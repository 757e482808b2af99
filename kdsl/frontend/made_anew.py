"""Lists, and copies of the arrays of structs, that are made anew in their one place while the one before is still used.

Each has one place of memory for each place in the source. What is evaluated again, in a loop say, takes the place of
the one before: a variable that still holds that would see the new elements. So would one that holds the array in a
struct when that struct's variable is assigned anew. A function is gone through with what each variable may hold, and
reading one that holds what is gone is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kdsl.frontend.frame import Frame
from kdsl.frontend.written import children
from kdsl.ir import nodes as ir
from kdsl.lang.fixed_array import has_fixed_array
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import ArrayType, PointerType, Space, TupleType, Type
from kdsl.source import Span

Arrays = frozenset[int]
"""The arrays that a value may point into: twice the uid of a list or copy, one more than twice that of a variable in
which there is an array. ``~n`` for one whose place another has taken.
"""

State = dict[int, Arrays]
"""What each variable may hold, by uid; none where the program does not come to."""

NONE: Arrays = frozenset()
MEMORY = -1
"""In a `State`: what may be held by memory, where structs with pointers lie."""


def check_made_anew(frame: Frame, body: tuple[ir.Stmt, ...]) -> None:
    """Report each list or copy that takes the place of one which is still used."""
    if frame.session.arrays or any(has_fixed_array(local.type) for local in frame.locals.values()):
        _Flow(frame).block(body)


class _Flow:
    """The way through a function; loops are gone through until nothing new comes to be held."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.state: State | None = {}
        self.operands_so_far: list[Arrays] = []
        self.breaks: list[State] = []
        self.continues: list[State] = []
        self.made: dict[int, tuple[Span, str]] = {}
        """Where each was made last, and what to call it."""
        self.assigned: dict[tuple[int, int], tuple[ir.Expr, Span]] = {}
        """How a variable came to hold an array."""
        self.reported: set[Span] = set()

    def block(self, body: tuple[ir.Stmt, ...]) -> None:
        for statement in body:
            if self.state is not None:
                self.statement(statement)

    def statement(self, s: ir.Stmt) -> None:
        match s:
            case ir.Assign(local, value, span):
                self.assign(local, value, span)
            case ir.Store(_, value):
                *_, held = self.operands((s.address, value))
                self.keep_in_memory(held)
            case ir.If(test, body, orelse):
                self.value(test)
                self.either(lambda: self.block(body), lambda: self.block(orelse))
            case ir.While(test, body, orelse):
                self.loop(test, body, orelse)
            case ir.ForRange(_, start, stop, step, body, orelse):
                self.operands((start, stop, step))
                self.loop(None, body, orelse)
            case ir.Unrolled():
                self.unrolled(s)
            case ir.Break():
                self.breaks.append(self.reached)
                self.state = None
            case ir.Continue():
                self.continues.append(self.reached)
                self.state = None
            case ir.Return(value):
                if value is not None:
                    self.value(value)
                self.state = None
            case _:
                self.operands(children(s))

    @property
    def reached(self) -> State:
        assert self.state is not None
        return self.state

    def either(self, one: Callable[[], object], other: Callable[[], object]) -> None:
        """Two ways, of which one is gone."""
        before = dict(self.reached)
        one()
        after, self.state = self.state, before
        other()
        self.state = _joined(after, self.state)

    def loop(self, test: ir.Expr | None, body: tuple[ir.Stmt, ...], orelse: tuple[ir.Stmt, ...]) -> None:
        outer, self.breaks, self.continues = (self.breaks, self.continues), [], []
        entry = self.reached
        while True:
            self.state = dict(entry)
            if test is not None:
                self.value(test)
            end = dict(self.state)
            self.block(body)
            for state in self.continues:
                self.state = _joined(self.state, state)
            again = _joined(entry, self.state)
            assert again is not None
            if again == entry:
                break
            entry = again
        self.state = end
        breaks = self.breaks
        self.breaks, self.continues = outer
        self.block(orelse)
        for state in breaks:
            self.state = _joined(self.state, state)

    def unrolled(self, s: ir.Unrolled) -> None:
        outer, self.breaks, self.continues = (self.breaks, self.continues), [], []
        for body in s.bodies:
            self.block(body)
            for state in self.continues:
                self.state = _joined(self.state, state)
            self.continues = []
        breaks = self.breaks
        self.breaks, self.continues = outer
        self.block(s.orelse)
        for state in breaks:
            self.state = _joined(self.state, state)

    def assign(self, local: ir.Local, value: ir.Expr, span: Span) -> Arrays:
        held = self.value(value)
        if not _is_change(local, value, span):
            self.make(2 * local.uid + 1, value.span, local.name)
        self.reached[local.uid] = held
        for array in held:
            self.assigned[local.uid, array] = (value, span)
        return held

    def operands(self, exprs: Iterable[ir.Expr]) -> list[Arrays]:
        """What each of these may hold, when all of them are evaluated."""
        first = len(self.operands_so_far)
        for e in exprs:
            held = self.value(e)
            self.operands_so_far.append(held)
        found = self.operands_so_far[first:]
        del self.operands_so_far[first:]
        for held in found:
            self.check(held, None)
        return found

    def value(self, e: ir.Expr) -> Arrays:
        """What an expression may hold, which is evaluated now."""
        match e:
            case ir.Read(local) | ir.LocalAddress(local):
                held = self.reached.get(local.uid, NONE)
                self.check(held, local)
                return held | {2 * local.uid + 1} if isinstance(e, ir.LocalAddress) else held
            case ir.AssignExpr(local, value, _, span):
                return self.assign(local, value, span)
            case ir.Conditional(test, then, orelse):
                self.value(test)
                found: list[Arrays] = []
                self.either(lambda: found.append(self.value(then)), lambda: found.append(self.value(orelse)))
                return found[0] | found[1]
            case ir.Logical(_, left, right):
                self.value(left)
                self.either(lambda: self.value(right), lambda: None)
                return NONE
            case ir.ListExpr(array, elements):
                for held in self.operands(elements):
                    self.keep_in_memory(held)
                self.make(2 * array.uid, e.span, "")
                return frozenset({2 * array.uid})
            case ir.TupleElement(ir.TupleExpr(elements), index):
                return self.operands(elements)[index]
            case _:
                return self.other(e)

    def other(self, e: ir.Expr) -> Arrays:
        """What is made of its operands, and may point where they do."""
        exprs = list(children(e))
        held = NONE.union(*self.operands(exprs))
        if isinstance(e, ir.Call | ir.ExternCall) and any(_points_at_pointers(a.type) for a in exprs):
            self.keep_in_memory(held)
        if not _may_hold(e.type):
            return NONE
        return held | self.reached.get(MEMORY, NONE) if isinstance(e, ir.Load | ir.Call | ir.ExternCall) else held

    def keep_in_memory(self, held: Arrays) -> None:
        if held:
            self.reached[MEMORY] = self.reached.get(MEMORY, NONE) | held

    def make(self, array: int, span: Span, name: str) -> None:
        """Whatever holds the array of this place holds one that is gone."""
        self.made[array] = span, name
        for uid, held in self.reached.items():
            if array in held:
                self.reached[uid] = (held - {array}) | {~array}
        for i, held in enumerate(self.operands_so_far):
            if array in held:
                self.operands_so_far[i] = (held - {array}) | {~array}

    def check(self, held: Arrays, local: ir.Local | None) -> None:
        for array in sorted(~a for a in held if a < 0):
            if self.made[array][0] not in self.reported:
                self.reported.add(self.made[array][0])
                self.report(array, local)

    def report(self, array: int, local: ir.Local | None) -> None:
        span, name = self.made[array]
        what = f"what is assigned to `{name}` anew" if name else "a list made anew"
        holder, hint = "is used later", "copy the elements, into an array that is made before: a[:] = ..."
        if local is not None and self.is_named(local):
            value, place = self.assigned[local.uid, array]
            holder = f"`{local.name}` holds (line {place.line})"
            if isinstance(local.type, ArrayType):
                # The name of what is copied, if it has one.
                source = value.local.name if isinstance(value, ir.Read) and self.is_named(value.local) else "..."
                made = "" if source != "..." else f"make `{local.name}` before the loop, and "
                hint = f"{made}copy the elements: {local.name}[:] = {source}"
        self.frame.error(span, f"{what} takes the place of the one before, which {holder}", hint)

    def is_named(self, local: ir.Local) -> bool:
        return self.frame.locals.get(local.name) is local


def _is_change(local: ir.Local, value: ir.Expr, span: Span) -> bool:
    """Whether an assignment changes a part of a variable: a field, or as a method does that changes its object."""
    return isinstance(value, ir.WithField) or value.span == span or not isinstance(local.type, StructType)


def _joined(a: State | None, b: State | None) -> State | None:
    if a is None or b is None:
        return b if a is None else a
    return {uid: a.get(uid, NONE) | b.get(uid, NONE) for uid in a.keys() | b.keys()}


def _may_hold(type: Type) -> bool:
    """Whether a value of this type may point to local memory."""
    match type:
        case TupleType(elements):
            return any(map(_may_hold, elements))
        case StructType():
            return any(_may_hold(f.type) for f in type.fields)
        case ArrayType() | PointerType():
            return type.space in (Space.LOCAL, Space.GENERIC)
        case _:
            return False


def _points_at_pointers(type: Type) -> bool:
    return isinstance(type, ArrayType | PointerType) and _may_hold(type.element)
