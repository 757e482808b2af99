"""Elements: `a[i]`, `t[0]`, and where they lie in memory."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any, TypeVar

from kdsl.frontend import fixed_arrays, struct_methods, structs, vectors, views
from kdsl.frontend.describing import describe_object
from kdsl.frontend.effects import has_effects
from kdsl.frontend.frame import Frame
from kdsl.frontend.memory_index import Part, checked_index
from kdsl.frontend.values import (
    POISON,
    Poison,
    Range,
    Runtime,
    Static,
    Tuple,
    Value,
    Weak,
    describe,
    type_of,
)
from kdsl.frontend.values import constant_int as constant_int
from kdsl.ir import nodes as ir
from kdsl.lang.fixed_array import FixedArray
from kdsl.lang.index import Registers
from kdsl.lang.struct_type import StructType
from kdsl.lang.type_names import Array, Ptr
from kdsl.lang.types import ArrayType, ElementType, PointerType, ScalarType, Space, TupleType, VectorType
from kdsl.source import Span

Address = TypeVar("Address", bound=ir.Expr)
GENERIC = (Ptr, Array, FixedArray, tuple)
"""Types that take arguments in brackets."""


def subscript(frame: Frame, node: ast.Subscript) -> Value:
    """``base[index]`` as a value."""
    base = frame.value(node.value)
    match base:
        case Poison():
            index_parts(frame, node)
            return POISON
        case _ if _is_tuple(base):
            return _tuple_element(frame, base, node)
        case Runtime() if isinstance(base.type, VectorType):
            return vectors.element(frame, base, base.type, node)
        case Runtime() if isinstance(base.type, StructType):
            return struct_methods.item(frame, base, node)
        case Static(object) if any(object is generic for generic in GENERIC):
            return _generic(frame, object, node)
        case Static(object) if type(object).__name__ == "Kernel":
            message = f"`{frame.text(node.value)}` is a kernel, and a kernel cannot launch one"
            return frame.error(node, message, "put what both need in a plain function, without @kernel")
        case Static(object):
            return frame.error(
                node.value, f"{describe_object(object, frame.text(node.value))} cannot be indexed", object_hint(object)
            )
    parts = index_parts(frame, node)
    if isinstance(base, Runtime) and isinstance(base.type, ArrayType | PointerType) and views.is_view(base.type, parts):
        return views.view(frame, base, node, parts)
    address = address_at(frame, base, node, parts)
    if address is None:
        return POISON
    return Runtime(ir.Load(address, address.type.element, frame.span(node)))


def _generic(frame: Frame, generic: Any, node: ast.Subscript) -> Value:
    """A type with arguments: ``Ptr[f32]``, ``Array[f32, 2]``, ``tuple[f32, i32]``."""
    value = frame.value(node.slice)
    parts = [value] if not isinstance(value, Tuple) else list(value.elements)
    arguments: list[Any] = []
    for part in parts:
        match part:
            case Static(argument) | Weak(argument):
                arguments.append(argument)
            case Poison():
                return POISON
            case _:
                message = f"{generic.__name__}[] takes types, known while the kernel is compiled"
                return frame.error(node.slice, message)
    try:
        return Static(generic[tuple(arguments) if len(arguments) > 1 else arguments[0]])
    except (TypeError, ValueError) as error:
        return frame.error(node, str(error))


def _is_tuple(value: Value) -> bool:
    return isinstance(value, Tuple) or (isinstance(value, Runtime) and isinstance(value.type, TupleType))


def object_hint(value: object) -> str | None:
    if type(value).__name__ in ("ndarray", "DeviceArray"):
        return "pass it to the kernel as a parameter"
    if isinstance(value, ScalarType):
        return "name what NumPy knows of it outside of the kernel, such as LARGEST = np.iinfo(np.int32).max"
    if isinstance(value, list):
        return "make it a tuple, or pass an array as a parameter"
    if isinstance(value, Registers):
        return "name its components: .x, .y and .z"
    if isinstance(value, Mapping):
        return "bind the value to a name outside of the kernel"
    if isinstance(value, str):
        return 'print() takes f-strings: f"{x}", f"{x:.3f}"'
    return None


def elements(frame: Frame, value: Value, node: ast.expr) -> tuple[Value, ...] | None:
    """The elements of a tuple value, or the components of a vector; None if it is neither."""
    if isinstance(value, Tuple):
        return value.elements
    if isinstance(value, Runtime) and isinstance(value.type, VectorType):
        return vectors.components(frame, value.expr, value.type, node)
    if isinstance(value, Runtime) and isinstance(value.type, TupleType):
        if isinstance(value.expr, ir.TupleExpr):
            return tuple(Runtime(e) for e in value.expr.elements)
        span = frame.span(node)
        first, again = frame.once(value.expr, "elements")
        return tuple(
            Runtime(ir.TupleElement(again if i else first, i, t, span)) for i, t in enumerate(value.type.elements)
        )
    return None


def _tuple_element(frame: Frame, base: Value, node: ast.Subscript) -> Value:
    types = base.elements if isinstance(base, Tuple) else base.type.elements  # type: ignore[union-attr]
    if isinstance(node.slice, ast.Slice):
        return frame.error(node.slice, "a tuple has no slices in a kernel", "take each element: t[0], t[1]")
    index = constant_int(frame.value(node.slice))
    if index is None:
        return frame.error(
            node.slice, "a tuple is indexed with a constant", "local.array(n, dtype) is indexed at run time"
        )
    if not -len(types) <= index < len(types):
        return frame.error(node.slice, f"index {index} is out of range: the tuple has {_elements(len(types))}")
    return element_of(frame, base, index % len(types), node, node.value)


def element_of(frame: Frame, base: Value, index: int, node: ast.expr, place: ast.expr) -> Value:
    """The element at ``index`` of a tuple, which stands at ``place``."""
    if isinstance(base, Tuple):
        return _only(frame, base.elements, index, node, place)
    assert isinstance(base, Runtime)
    assert isinstance(base.type, TupleType)
    if isinstance(base.expr, ir.TupleExpr):
        return _only(frame, tuple(Runtime(e) for e in base.expr.elements), index, node, place)
    return Runtime(ir.TupleElement(base.expr, index, base.type.elements[index], frame.span(node)))


def _only(frame: Frame, parts: tuple[Value, ...], index: int, node: ast.expr, place: ast.expr) -> Value:
    """The element at ``index``, of a tuple that is built for it: what the others do still happens."""
    if not any(has_effects(part) for i, part in enumerate(parts) if i != index):
        return parts[index]
    whole = frame.runtime(Tuple(parts), place)
    return parts[index] if whole is None else _element(whole, index, frame.span(node))


def _element(whole: ir.Expr, index: int, span: Span) -> Runtime:
    assert isinstance(whole.type, TupleType)
    return Runtime(ir.TupleElement(whole, index, whole.type.elements[index], span))


def element_address(frame: Frame, base: Value, node: ast.Subscript) -> ir.ElementAddress | None:
    """The address of ``base[index]``, where base is a pointer or array; None (reported) if it is neither."""
    return address_at(frame, base, node, index_parts(frame, node))


def address_at(frame: Frame, base: Value, node: ast.Subscript, parts: tuple[Part, ...]) -> ir.ElementAddress | None:
    """The address of the element at these indices; None (reported) if they are not those of one."""
    wrong = [part for part in parts if part.value is None]
    if wrong and not isinstance(base, Poison):
        type = type_of(base)
        hint = "a part of the row: write a[i, lo:hi] = b[lo:hi]" if isinstance(type, ArrayType) else None
        frame.error(wrong[0].place, "only an array or a Ptr has slices", hint)
    if wrong:
        return None
    values = tuple(part.value for part in parts if part.value is not None)
    return address_of(frame, base, node.value, values, tuple(part.place for part in parts), node)


def index_parts(frame: Frame, node: ast.Subscript) -> tuple[Part, ...]:
    """The indices and slices in the brackets, in order; a tuple that is a value counts as its elements."""
    written = node.slice
    if isinstance(written, ast.Tuple):
        return tuple(_index_part(frame, place) for place in written.elts)
    one = _index_part(frame, written)
    if one.value is None or vectors.vector_type(one.value):  # a vector is no index of several axes
        return (one,)
    values = elements(frame, one.value, written)
    return (one,) if not values else tuple(Part(written, value) for value in values)


def _index_part(frame: Frame, place: ast.expr) -> Part:
    match place:
        case ast.Slice():
            return Part(place, slice=place)
        case ast.Constant(value=value) if value is ...:
            return Part(place, is_ellipsis=True)
        case _:
            return Part(place, frame.value(place))


def address_of(
    frame: Frame,
    base: Value,
    base_node: ast.expr,
    values: tuple[Value, ...],
    places: tuple[ast.expr, ...],
    node: ast.expr,
) -> ir.ElementAddress | None:
    """The address of an element; atomics come here with their index argument."""
    if isinstance(base, Poison):
        return None
    type = base.expr.type if isinstance(base, Runtime) else None
    if not isinstance(type, PointerType | ArrayType):
        what = describe_object(base.object, frame.text(base_node)) if isinstance(base, Static) else _kind(base)
        hint = object_hint(getattr(base, "object", None))
        if isinstance(base, Runtime) and isinstance(base.expr, ir.Load):
            hint = f"its address can: address_of({frame.text(base_node)})"
        frame.error(base_node, f"{what} cannot be indexed", hint)
        return None
    assert isinstance(base, Runtime)
    ndim = type.ndim if isinstance(type, ArrayType) else 1
    if len(values) != ndim:
        dimensions = "1 dimension" if ndim == 1 else f"{ndim} dimensions"
        name = frame.text(base_node)
        spelled = ", ".join("ijkl"[:ndim])
        frame.error(node, f"`{name}` has {dimensions}, and this is {_count(len(values))}", f"write {name}[{spelled}]")
        return None
    indices = [
        checked_index(frame, v, p, type, axis, base_node)
        for axis, (v, p) in enumerate(zip(values, places, strict=True))
    ]
    if None in indices:
        return None
    pointer = PointerType(type.element, type.space)
    return ir.ElementAddress(base.expr, tuple(i for i in indices if i is not None), pointer, frame.span(node))


def written_address(frame: Frame, address: Address, node: ast.expr) -> Address | None:
    """An address to be written to; None (reported) if it is in constant memory."""
    assert isinstance(address.type, PointerType)
    if address.type.space is not Space.CONSTANT:
        return address if lasts(frame, address, node) else None
    frame.error(node, "a kernel cannot write constant memory", "copy it into a shared or local array first")
    return None


def lasts(frame: Frame, address: ir.Expr, node: ast.expr) -> bool:
    """Whether what is written there can be read afterwards; reported if it is a copy's."""
    place = fixed_arrays.root(address)
    if isinstance(place, ir.ListExpr) and place.array.name == fixed_arrays.COPY:
        message = f"`{frame.text(node)}` is in a copy of a struct, which nothing can read afterwards"
        frame.error(node, message, "bind the struct to a name first: s = ...")
        return False
    return not isinstance(place, ir.LocalAddress) or structs.changeable(frame, place.local, node)


def _elements(n: int) -> str:
    return "1 element" if n == 1 else f"{n} elements"


def _count(n: int) -> str:
    return "1 index" if n == 1 else f"{n} indices"


def _kind(value: Value) -> str:
    type = type_of(value)
    return "a range" if isinstance(value, Range) else "this" if type is None else describe(type)


def array_of(
    frame: Frame, shape: tuple[int, ...], element: ElementType, space: Space, name: str, node: ast.expr
) -> Runtime:
    """A new shared or local array; one for each place in the source, function instance and element type."""
    type = ArrayType(element, len(shape), space, shape)
    arrays = frame.session.arrays
    uid = arrays.setdefault(
        (frame.scope.node, node.lineno, node.col_offset, type), frame.session.first_array + len(arrays) + 1
    )
    if space is Space.SHARED:
        return Runtime(ir.SharedArray(uid, name, type, frame.span(node)))
    return Runtime(ir.LocalArray(uid, name, type, frame.span(node)))
