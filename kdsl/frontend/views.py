"""Views: `a[i]` of fewer indices than dimensions, slices, `a[...]`. A view is an array: an address, extents, strides.

Bounds are not clamped, as C++'s `subspan` does not; a stop below the start gives an empty view.
"""

from __future__ import annotations

import ast

from kdsl.frontend.frame import Frame
from kdsl.frontend.memory_index import Part, checked_index, int_of
from kdsl.frontend.values import POISON, Poison, Runtime, Value, WeakUnknown, constant_int
from kdsl.ir import nodes as ir
from kdsl.lang.types import I64, ArrayType, PointerType, ScalarType
from kdsl.records import dataclass


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of what is sliced. ``length`` is how many elements of it the view has, if that is known."""

    start: ir.Expr | None = None
    stop: ir.Expr | None = None
    step: ir.Expr | None = None
    kept: bool = True
    length: int | None = None

    @property
    def is_whole(self) -> bool:
        return self.kept and self.start is None and self.stop is None and self.step is None

    @property
    def is_dense(self) -> bool:
        """Whether the elements it keeps lie beside each other, if one of the base does beside the next."""
        return self.step is None


def is_view(type: ArrayType | PointerType, parts: tuple[Part, ...]) -> bool:
    """Whether these indices name a part of an array, and not one element."""
    if any(part.is_slice or part.is_ellipsis for part in parts):
        return True
    return isinstance(type, ArrayType) and len(parts) < type.ndim


def view(frame: Frame, base: Runtime, node: ast.Subscript, parts: tuple[Part, ...]) -> Value:
    """``base[...]`` as an array."""
    t = base.type
    assert isinstance(t, ArrayType | PointerType)
    spread = _spread(frame, t, node, parts)
    if spread is None:
        return POISON
    axes = [_axis(frame, t, number, part, node) for number, part in enumerate(spread)]
    known = [axis for axis in axes if axis is not None]
    if len(known) < len(axes):
        return POISON
    return Runtime(_built(frame, base.expr, t, known, node))


def _spread(
    frame: Frame, t: ArrayType | PointerType, node: ast.Subscript, parts: tuple[Part, ...]
) -> tuple[Part, ...] | None:
    """A part for each axis: `...` stands for as many whole ones as are missing, and those at the end may be missing."""
    ndim = t.ndim if isinstance(t, ArrayType) else 1
    dots = [i for i, part in enumerate(parts) if part.is_ellipsis]
    if isinstance(t, PointerType) and dots:
        frame.error(node.slice, f"`{frame.text(node.value)}` is a Ptr, whose end nobody knows", "say it: p[0:n]")
        return None
    if len(dots) > 1:
        frame.error(parts[dots[1]].place, "an index has one `...` at most")
        return None
    missing = ndim - (len(parts) - len(dots))
    if missing < 0:
        dimensions = "1 dimension" if ndim == 1 else f"{ndim} dimensions"
        count = len(parts) - len(dots)
        frame.error(node, f"`{frame.text(node.value)}` has {dimensions}, and this is {count} indices")
        return None
    place = dots[0] if dots else len(parts)
    whole = Part(node.slice, slice=ast.Slice())
    return (*parts[:place], *[whole] * missing, *parts[place + len(dots) :])


def _axis(frame: Frame, t: ArrayType | PointerType, number: int, part: Part, node: ast.Subscript) -> Axis | None:
    if part.slice is None:
        assert part.value is not None
        index = checked_index(frame, part.value, part.place, t, number, node.value)
        return None if index is None else Axis(index, kept=False)
    bounds = part.slice
    size = t.shape[number] if isinstance(t, ArrayType) and t.shape is not None else None
    places = (bounds.lower, bounds.upper, bounds.step)
    found: list[Value | None] = [None if place is None else frame.value(place) for place in places]
    start, stop, step = (None if _is_none(value) else value for value in found)
    if isinstance(t, PointerType) and stop is None:
        frame.error(node.slice, f"`{frame.text(node.value)}` is a Ptr, whose end nobody knows", "say it: p[0:n]")
        return None
    stride = 1 if step is None else constant_int(step)
    if stride == 0:
        frame.error(bounds.step or node, "a slice with step 0 never ends")
        return None
    if isinstance(t, PointerType) and stride is not None and stride < 0 and start is None:
        frame.error(node.slice, f"`{frame.text(node.value)}` is a Ptr, whose end nobody knows", "say where to start")
        return None
    exprs: list[ir.Expr | None] = []
    for value, place in zip((start, stop, step), places, strict=True):
        expr = None if value is None or place is None else _bound(frame, value, place)
        if value is not None and expr is None:
            return None
        exprs.append(expr)
    if isinstance(t, ArrayType) and not _inside(frame, start, stop, stride, size, number, bounds, node):
        return None
    if isinstance(start, WeakUnknown) or isinstance(stop, WeakUnknown):
        length = None  # the number that stands for it says nothing
    else:
        length = _length(exprs[0], exprs[1], stride, size)
    return Axis(exprs[0], exprs[1], None if stride == 1 else exprs[2], True, length)


def _is_none(value: Value | None) -> bool:
    return value is None or getattr(value, "object", value) is None


def _bound(frame: Frame, value: Value, place: ast.expr) -> ir.Expr | None:
    return None if isinstance(value, Poison) else int_of(frame, value, place, "the bounds of a slice are ints")


def _inside(
    frame: Frame,
    start: Value | None,
    stop: Value | None,
    step: int | None,
    size: int | None,
    axis: int,
    bounds: ast.Slice,
    node: ast.Subscript,
) -> bool:
    """Whether constant bounds are in the array, as far as that is known; what is not is reported."""
    name = frame.text(node.value)
    end = str(size) if size is not None else f"{name}.shape[{axis}]"
    for value, place in ((start, bounds.lower), (stop, bounds.upper)):
        number = None if value is None else constant_int(value)
        if number is None or place is None:
            continue
        if number < 0:
            frame.error(place, "a negative bound does not count from the end", f"write {end} - {-number}")
            return False
        most = size if size is None or step is None or step > 0 else size - 1
        if most is not None and number > most:
            message = f"the slice leaves the array: `{name}` has extent {size} along axis {axis}"
            frame.error(place, message, "a kernel does not clamp the bounds of a slice")
            return False
    return True


def _length(start: ir.Expr | None, stop: ir.Expr | None, step: int | None, size: int | None) -> int | None:
    """How many elements a slice has, if that is known: of constants, or as in ``a[i : i + 4]``."""
    if step is None:
        return None
    distance: int | None
    if step < 0:
        first = _difference(start, None) if start is not None else None if size is None else size - 1
        last = -1 if stop is None else _difference(stop, None)
        distance = None if first is None or last is None else first - last
    elif stop is not None:
        distance = _difference(stop, start)
    else:
        first = _difference(start, None)
        distance = None if size is None or first is None else size - first
    return None if distance is None else max(0, -(-distance // abs(step)))


def _difference(a: ir.Expr | None, b: ir.Expr | None) -> int | None:
    """How much greater ``a`` is than ``b`` (None: 0), if that is known."""
    (x, m), (y, n) = _split(a), _split(b)
    return m - n if same(x, y) else None


def _split(e: ir.Expr | None) -> tuple[ir.Expr | None, int]:
    """An expression as one without the constants that are added to it, and their sum."""
    match e:
        case None:
            return None, 0
        case ir.Const(value):
            return None, int(value)
        case ir.Binary(ir.BinaryOp.ADD, left, ir.Const(value)):
            rest, constant = _split(left)
            return rest, constant + int(value)
        case ir.Binary(ir.BinaryOp.ADD, ir.Const(value), right):
            rest, constant = _split(right)
            return rest, constant + int(value)
        case ir.Binary(ir.BinaryOp.SUB, left, ir.Const(value)):
            rest, constant = _split(left)
            return rest, constant - int(value)
        case _:
            return e, 0


def same(a: ir.Expr | None, b: ir.Expr | None) -> bool:
    """Whether two expressions, wherever they stand, are the same computation on the same variables."""
    match a, b:
        case None, None:
            return True
        case ir.Read(x), ir.Read(y):
            return x == y
        case ir.Const(x), ir.Const(y):
            return a.type == b.type and x == y
        case ir.Binary(op, left, right), ir.Binary(other, left2, right2):
            return op is other and same(left, left2) and same(right, right2)
        case ir.Cast(x), ir.Cast(y):
            return a.type == b.type and same(x, y)
        case ir.IntrinsicCall(), ir.IntrinsicCall():
            return a.intrinsic is b.intrinsic and a.intrinsic.register
        case _:
            return False


def _built(frame: Frame, base: ir.Expr, t: ArrayType | PointerType, axes: list[Axis], node: ast.expr) -> ir.View:
    kept = [axis for axis in axes if axis.kept]
    index = t.index if isinstance(t, ArrayType) else None
    if isinstance(t, PointerType) and any(_is_wide(b) for a in axes for b in (a.start, a.stop, a.step)):
        index = I64
    lengths = [_axis_length(t, number, axis) for number, axis in enumerate(axes) if axis.kept]
    known = tuple(length for length in lengths if length is not None)
    shape = known if len(known) == len(kept) else None
    strided = _is_strided(t, axes)
    type = ArrayType(t.element, len(kept), t.space, shape, index, strided)  # type: ignore[arg-type]
    return ir.View(
        base,
        tuple(axis.start for axis in axes),
        tuple(axis.stop for axis in axes),
        tuple(axis.step for axis in axes),
        tuple(axis.kept for axis in axes),
        type,
        frame.span(node),
    )


def _is_wide(bound: ir.Expr | None) -> bool:
    return bound is not None and isinstance(bound.type, ScalarType) and bound.type.bits == 64


def _axis_length(t: ArrayType | PointerType, number: int, axis: Axis) -> int | None:
    if axis.is_whole:
        return t.shape[number] if isinstance(t, ArrayType) and t.shape is not None else None
    return axis.length


def _is_strided(t: ArrayType | PointerType, axes: list[Axis]) -> bool:
    """Whether the view's elements do not all lie beside each other: only what comes first may be cut."""
    if isinstance(t, ArrayType) and t.strided:
        return True
    kept = [i for i, axis in enumerate(axes) if axis.kept]
    if any(not axes[i].is_dense for i in kept):
        return True
    # After the first axis that is kept, all are kept whole.
    return any(not axis.is_whole for axis in axes[kept[0] + 1 :])
