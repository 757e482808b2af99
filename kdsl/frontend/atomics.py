"""``atomic.add(a, i, v)`` and the other atomics: on an element of a Ptr, Array, shared or local array.

Their ``order`` and ``scope`` are constants.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from kdsl.frontend.access import address_argument, choice, element_type, store_in_order, written_argument
from kdsl.frontend.arguments import match_arguments
from kdsl.frontend.frame import Frame
from kdsl.frontend.meet import converted
from kdsl.frontend.values import POISON, Poison, Runtime, Static, Value
from kdsl.ir import nodes as ir
from kdsl.ir.nodes import AtomicOp, Order, Ordering, Scope
from kdsl.ir.verify import LOAD_ORDERS, STORE_ORDERS
from kdsl.lang.types import BF16, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, ScalarType, VectorType

INTS = (I16, U16, I32, U32, I64, U64)
NUMBERS = (*INTS, F16, BF16, F32, F64)
VECTORS = {
    op: tuple(VectorType(t, lanes) for t in (F16, BF16, F32) for lanes in (2, 4)) for op in (AtomicOp.ADD, AtomicOp.SUB)
}
"""Sums of several elements at once, each by itself."""
TYPES: dict[AtomicOp, tuple[ScalarType, ...]] = {
    AtomicOp.ADD: NUMBERS,
    AtomicOp.SUB: NUMBERS,
    AtomicOp.MIN: NUMBERS,
    AtomicOp.MAX: NUMBERS,
    AtomicOp.EXCH: NUMBERS,
    AtomicOp.CAS: NUMBERS,
    AtomicOp.AND: INTS,
    AtomicOp.OR: INTS,
    AtomicOp.XOR: INTS,
    AtomicOp.INC: (U32,),
    AtomicOp.DEC: (U32,),
}

VALUES = (I8, U8, *NUMBERS)
"""What may be loaded and stored atomically."""
OPTIONS = ("order", "scope")


def atomic(op: AtomicOp) -> Callable[[Frame, ast.Call], Value]:
    """The handler of one atomic."""
    values = ("expected", "new") if op is AtomicOp.CAS else ("value",)

    def call(frame: Frame, node: ast.Call) -> Value:
        name = frame.text(node.func)
        found = _arguments(frame, node, values)
        if found is None:
            return POISON
        address, given = written_argument(frame, node, found), [frame.value(found[v]) for v in values]
        ordering = _ordering(frame, found, tuple(Order), name)
        if address is None or ordering is None or any(isinstance(v, Poison) for v in given):
            return POISON
        type = _element(frame, address, op, found, name)
        if type is None:
            return POISON
        operands = [converted(frame, v, type, found[n], f"{name}()") for n, v in zip(values, given, strict=True)]
        if None in operands:
            return POISON
        taken = tuple(o for o in operands if o is not None)
        return Runtime(ir.Atomic(op, address, taken, type, frame.span(node), ordering))

    return call


def _element(
    frame: Frame, address: ir.ElementAddress, op: AtomicOp, found: dict[str, ast.expr], name: str
) -> ScalarType | VectorType | None:
    """The element's type; None (reported) if the operation is not of it."""
    element = address.type.element
    if isinstance(element, VectorType) and element in VECTORS.get(op, ()):
        return element
    if isinstance(element, ScalarType) and element.bits == 8:
        takes = ", ".join(str(t) for t in TYPES[op])
        message = f"{name}() takes elements of {takes}, and these are {element}"
        frame.error(found["array"], message, "no GPU has atomics of 8 bits: make the elements u16 or u32")
        return None
    return element_type(frame, address, TYPES[op], found, name)


def load(frame: Frame, node: ast.Call) -> Value:
    """``atomic.load(array, index)``."""
    name = frame.text(node.func)
    found = _arguments(frame, node, ())
    if found is None:
        return POISON
    address, ordering = address_argument(frame, node, found), _ordering(frame, found, LOAD_ORDERS, name)
    if address is None or ordering is None:
        return POISON
    type = element_type(frame, address, VALUES, found, name)
    return POISON if type is None else Runtime(ir.Load(address, type, frame.span(node), ordering))


def store(frame: Frame, node: ast.Call) -> Value:
    """``atomic.store(array, index, value)``, as a statement."""
    name = frame.text(node.func)
    if frame.printed is not node:
        return frame.error(node, f"{name}() returns no value", "call it in a statement of its own")
    found = _arguments(frame, node, ("value",))
    if found is None:
        return POISON
    address, value = written_argument(frame, node, found), frame.value(found["value"])
    ordering = _ordering(frame, found, STORE_ORDERS, name)
    if address is None or ordering is None or isinstance(value, Poison):
        return POISON
    type = element_type(frame, address, VALUES, found, name)
    if type is None:
        return POISON
    expr = converted(frame, value, type, found["value"], f"{name}()")
    if expr is None:
        return POISON
    if not frame.quiet:
        store_in_order(frame, address, expr, node, ordering)
    return Static(None)


def _arguments(frame: Frame, node: ast.Call, values: tuple[str, ...]) -> dict[str, ast.expr] | None:
    parameters = ("array", "index", *values, *OPTIONS)
    only = frozenset(OPTIONS)
    return match_arguments(frame, node, frame.text(node.func), parameters, only, only)


def _ordering(frame: Frame, found: dict[str, ast.expr], orders: tuple[Order, ...], name: str) -> Ordering | None:
    """What ``order`` and ``scope`` say; None (reported) if they are wrong."""
    order = choice(frame, found, "order", {o.name.lower(): o for o in orders}, Order.RELAXED, name)
    scope = choice(frame, found, "scope", {s.name.lower(): s for s in Scope}, Scope.GPU, name)
    return None if order is None or scope is None else Ordering(order, scope)
