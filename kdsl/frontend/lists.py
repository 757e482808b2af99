"""List literals: `[a, b]`, `[0.0] * 8` and list comprehensions make local arrays of a fixed length.

A list is made anew each time it is evaluated, in the same place: what still names the one before would see the new one.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from kdsl.frontend.comprehensions import after, iterate
from kdsl.frontend.frame import Frame
from kdsl.frontend.meet import converted
from kdsl.frontend.memory import array_of, constant_int, elements
from kdsl.frontend.values import (
    POISON,
    Lattice,
    Poison,
    Runtime,
    Value,
    WeakUnknown,
    defaulted,
    describe,
    is_weak,
    join,
    type_of,
)
from kdsl.ir import nodes as ir
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import ScalarType, Space, VectorType
from kdsl.records import dataclass

LARGEST = 4096
FIXED = "its length is fixed: write all elements in one list"


@dataclass(frozen=True)
class Items:
    """What a list holds, row by row; ``repeat`` times over."""

    shape: tuple[int, ...]
    values: tuple[tuple[Value, ast.expr], ...]
    before: tuple[ir.Expr, ...] = ()
    repeat: int = 1


def is_list(node: ast.expr) -> bool:
    """Whether an expression makes a list by its spelling."""
    match node:
        case ast.List() | ast.ListComp():
            return True
        case ast.BinOp(left=left, op=ast.Mult() | ast.Add(), right=right):
            return is_list(left) or is_list(right)
        case _:
            return False


def list_(frame: Frame, node: ast.expr) -> Value:
    """A list as a local array."""
    items = _items(frame, node)
    if items is None:
        return POISON
    if not items.values:
        return frame.error(node, "a list has at least one element", FIXED)
    if frame.quiet and any(isinstance(value, WeakUnknown) for value, _ in items.values):
        return POISON
    element = _element_type(frame, items)
    if element is None:
        return POISON
    name = "the list"
    exprs = [converted(frame, value, element, place, name) for value, place in items.values]
    if None in exprs:
        return POISON
    shape = (items.shape[0] * items.repeat, *items.shape[1:])
    array = array_of(frame, shape, element, Space.LOCAL, "list", node)
    assert isinstance(array.expr, ir.LocalArray)
    values = tuple(e for e in exprs if e is not None)
    made = ir.ListExpr(array.expr, values, items.repeat, array.expr.type, frame.span(node))
    return Runtime(after(frame, list(items.before), made))


def _element_type(frame: Frame, items: Items) -> ScalarType | VectorType | StructType | None:
    """The type in which all elements meet, as the values of a variable do; None (reported) if there is none."""
    joined: Lattice | None = None
    first = items.values[0][1]
    for value, place in items.values:
        type = type_of(value)
        if type is None or not (is_weak(type) or isinstance(type, ScalarType | VectorType | StructType)):
            what = describe(type) if type is not None else "this"
            frame.error(place, f"a list holds scalars, vectors, structs or lists, and this is {what}")
            return None
        met = type if joined is None else join(joined, type)
        if met is None:
            assert joined is not None
            hint = "cast them to one type"
            frame.error(place, f"this is {describe(type)}, and the elements before are {describe(joined)}", hint)
            return None
        joined = met
    assert joined is not None
    element = defaulted(joined)
    if isinstance(element, ScalarType | VectorType | StructType):
        return element
    frame.error(first, f"a list holds scalars, vectors, structs or lists, and this is {describe(joined)}")
    return None


def _items(frame: Frame, node: ast.expr) -> Items | None:
    match node:
        case ast.List(elts=places):
            return _joined(frame, node, [item for place in places for item in _entries(frame, place)])
        case ast.ListComp():
            return _comprehension(frame, node)
        case ast.BinOp(op=ast.Mult()):
            return _repeated(frame, node)
        case _:
            frame.error(node, "a kernel joins no lists", FIXED)
            return None


def _entries(frame: Frame, place: ast.expr) -> list[Items | None]:
    """What one element of a literal adds: itself, or those of a tuple with a star."""
    if is_list(place):
        return [_items(frame, place)]
    if isinstance(place, ast.Starred):
        value = frame.value(place.value)
        parts = elements(frame, value, place.value)
        if parts is None:
            if not isinstance(value, Poison):
                frame.error(place, "only a tuple is taken apart in a list", "name each value")
            return [None]
        return [Items((), ((part, place.value),)) for part in parts]
    value = frame.value(place)
    return [None if isinstance(value, Poison) else Items((), ((value, place),))]


def _joined(frame: Frame, node: ast.expr, rows: list[Items | None]) -> Items | None:
    """Elements, or lists of one shape, as one list."""
    known = [row for row in rows if row is not None]
    if len(known) < len(rows):
        return None
    if not known:
        return Items((0,), ())
    shapes = {_shape(row) for row in known}
    if len(shapes) > 1:
        lengths = " and ".join("x".join(map(str, shape)) or "1 value" for shape in sorted(shapes))
        frame.error(node, f"the lists in a list are of one length, and these are {lengths}")
        return None
    if len(_shape(known[0])) > 3:
        frame.error(node, "a list has 4 dimensions at most")
        return None
    if sum(len(row.values) * row.repeat for row in known) > LARGEST:
        _too_large(frame, node)
        return None
    values = tuple(v for row in known for v in _expanded(frame, row))
    before = tuple(b for row in known for b in row.before)
    return Items((len(known), *_shape(known[0])), values, before)


def _shape(items: Items) -> tuple[int, ...]:
    return items.shape if not items.shape else (items.shape[0] * items.repeat, *items.shape[1:])


def _expanded(frame: Frame, items: Items) -> list[tuple[Value, ast.expr]]:
    """The values as often as they stand in the list: each is evaluated once."""
    if items.repeat == 1:
        return list(items.values)
    again: list[tuple[Value, ast.expr]] = []
    first: list[tuple[Value, ast.expr]] = []
    for value, place in items.values:
        if isinstance(value, Runtime):
            one, other = frame.once(value.expr, "element")
            first.append((Runtime(one), place))
            again.append((Runtime(other), place))
        else:
            first.append((value, place))
            again.append((value, place))
    return first + again * (items.repeat - 1)


def _comprehension(frame: Frame, node: ast.ListComp) -> Items | None:
    rows: list[Items | None] = []

    def each(element: ast.expr) -> bool:
        rows.extend(_entries(frame, element))
        return None not in rows[-1:]

    before = iterate(frame, node, each)
    made = None if before is None else _joined(frame, node, rows)
    if made is None or before is None:
        return None
    return replace(made, before=(*before, *made.before))


def _row(node: ast.expr) -> ast.expr:
    """What a literal of one row holds."""
    return node.elts[0] if isinstance(node, ast.List) and len(node.elts) == 1 else node


def _repeated(frame: Frame, node: ast.BinOp) -> Items | None:
    """``[x] * 8`` or ``8 * [x]``."""
    inner, times = (node.left, node.right) if is_list(node.left) else (node.right, node.left)
    items = _items(frame, inner)
    value = frame.value(times)
    if items is None or isinstance(value, Poison):
        return None
    count = constant_int(value)
    if count is None or not 0 < count <= LARGEST:
        message = f"a list is repeated a constant number of times, from 1 to {LARGEST}"
        frame.error(times, message, "local.array(n, dtype) has elements without a value")
        return None
    if len(items.shape) > 1:
        message = "this repeats one list, whose elements Python would share between the rows"
        frame.error(node, message, f"[{frame.text(_row(inner))} for _ in range({count})]")
        return None
    if len(items.values) * items.repeat * count > LARGEST:
        _too_large(frame, node)
        return None
    return Items(items.shape, items.values, items.before, items.repeat * count)


def _too_large(frame: Frame, node: ast.expr) -> None:
    frame.error(node, f"a list has {LARGEST} elements at most", "fill a local.array((n, m), dtype) in a loop")
