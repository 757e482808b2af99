"""Attributes: `a.shape`, `p.mass`, `v.x`, `module.name`, and what arrays know of themselves."""

from __future__ import annotations

import ast
import enum
from types import ModuleType

from kdsl.frontend import instead, struct_methods, vectors
from kdsl.frontend.captures import has_attributes
from kdsl.frontend.describing import describe_object
from kdsl.frontend.frame import Frame
from kdsl.frontend.memory import object_hint
from kdsl.frontend.values import (
    POISON,
    Poison,
    Runtime,
    Static,
    Tuple,
    Value,
    Weak,
    describe,
    type_of,
)
from kdsl.ir import nodes as ir
from kdsl.lang.group_type import GroupType
from kdsl.lang.index import Registers
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import (
    I32,
    ArrayType,
    PointerType,
    TupleType,
    VectorType,
)


def attribute(frame: Frame, node: ast.Attribute) -> Value:
    """``owner.name``: of an array its shape, size, ndim and dtype; of a Python object what it holds."""
    owner = frame.value(node.value)
    if isinstance(owner, Poison):
        return POISON
    if isinstance(owner, Static):
        return _static_attribute(frame, owner.object, node)
    if node.attr == "value" and isinstance(owner, Weak) and is_enum_member(frame, node.value):
        return owner
    if isinstance(owner, Weak) and isinstance(owner.value, complex):
        if node.attr in ("real", "imag"):
            return Weak(owner.value.real if node.attr == "real" else owner.value.imag)
        expr = frame.runtime(owner, node.value)
        owner = POISON if expr is None else Runtime(expr)
    type = type_of(owner)
    if isinstance(type, ArrayType) and isinstance(owner, Runtime):
        found = array_attribute(frame, owner.expr, type, node.attr, node)
        if found is not None:
            return found
        return frame.error(node, f"an array has no attribute `{node.attr}` in a kernel", _array_hint(node.attr))
    if isinstance(type, VectorType) and isinstance(owner, Runtime):
        return vectors.attribute(frame, owner, type, node)
    if isinstance(type, StructType) and isinstance(owner, Runtime):
        return struct_methods.attribute(frame, owner, type, node)
    if isinstance(type, GroupType) and isinstance(owner, Runtime):
        from kdsl.frontend import groups  # start-up cost: only kernels with groups need it

        return groups.attribute(frame, owner, type, node)
    name = frame.text(node.value)
    if isinstance(type, TupleType) and type.python is not None:
        from kdsl.frontend.named import attribute as field  # it stands above tuples, and only their fields need it

        return field(frame, owner, type, node)
    if isinstance(type, PointerType) and node.attr == "dtype":
        return Static(type.element)
    if isinstance(type, PointerType):
        hint = (
            "pass the length as a parameter, or declare it as Array[T, ndim]"
            if node.attr in ("shape", "size", "ndim")
            else "it has elements, p[i], and dtype; arrays, Array[T, ndim], have more"
        )
        if isinstance(type.element, StructType) and type.element.index(node.attr) is not None:
            hint = f"index it: {name}[0].{node.attr}"
        return frame.error(node, f"`{name}` is a Ptr, which has no attribute `{node.attr}`", hint)
    hint = "take its elements: t[0], t[1]" if isinstance(type, TupleType) else instead.of_number(node.attr)
    return frame.error(
        node, f"`{name}` is {describe(type) if type else 'no object'}, which has no attribute `{node.attr}`", hint
    )


def _array_hint(name: str) -> str:
    if name in ("append", "extend", "insert", "pop", "remove", "sort", "copy", "fill"):
        return "its length is fixed; its elements can be assigned: a[i] = x, a[:] = b"
    return "it has shape, size, ndim, dtype, T, reshape() and view()"


def is_enum_member(frame: Frame, node: ast.expr) -> bool:
    """Whether this names a member of an IntEnum, which is a number already."""
    owner = frame.value(node.value) if isinstance(node, ast.Attribute) else None
    return isinstance(owner, Static) and isinstance(owner.object, enum.EnumMeta)


def _static_attribute(frame: Frame, owner: object, node: ast.Attribute) -> Value:
    name = frame.text(node.value)
    if isinstance(owner, enum.Enum) and node.attr == "value":
        return frame.host(owner.value, node)
    if not has_attributes(owner):
        return frame.error(node, f"{describe_object(owner, name)} has no attributes in a kernel", object_hint(owner))
    try:
        value = frame.session.captures.attribute(owner, node.attr)
    except (AttributeError, ImportError):
        kind = "the module " if isinstance(owner, ModuleType) else ""
        return frame.error(node, f"{kind}`{name}` has no attribute `{node.attr}`", _similar(owner, node.attr))
    return frame.host(value, node)


def _similar(owner: object, name: str) -> str | None:
    if isinstance(owner, Registers):
        return "it has x, y and z"
    if isinstance(owner, ModuleType) and owner.__name__ == "kdsl":
        from kdsl.frontend.other_names import instead_in_kernel  # start-up cost: only for an error

        return instead_in_kernel(name, [*owner.__all__, "math", "random"])
    import difflib  # start-up cost: only for an error

    close = difflib.get_close_matches(name, dir(owner), n=1)
    return f"did you mean `{close[0]}`?" if close else None


def array_attribute(frame: Frame, array: ir.Expr, type: ArrayType, name: str, node: ast.expr) -> Value | None:
    """An array's attribute; None if it has none of that name."""
    match name:
        case "shape":
            return Tuple(tuple(extent(frame, array, type, axis, node) for axis in range(type.ndim)))
        case "ndim":
            return Weak(type.ndim)
        case "dtype":
            return Static(type.element)
        case "itemsize":
            return Weak(type.element.size)
        case "size":
            return _size(frame, array, type, node)
        case "T":
            from kdsl.frontend.reshape import transposed  # it stands above this, and few kernels need it

            return transposed(frame, array, type, node)
    return None


def extent(frame: Frame, array: ir.Expr, type: ArrayType, axis: int, node: ast.expr) -> Value:
    """``array.shape[axis]``: a constant where the shape is known."""
    if type.shape is not None:
        return Weak(type.shape[axis])
    return Runtime(ir.Extent(array, axis, type.index or I32, frame.span(node)))


def _size(frame: Frame, array: ir.Expr, type: ArrayType, node: ast.expr) -> Value:
    extents = [extent(frame, array, type, axis, node) for axis in range(type.ndim)]
    if type.shape is not None:
        total = 1
        for n in type.shape:
            total *= n
        return Weak(total)
    index = type.index or I32
    product = extents[0].expr  # type: ignore[union-attr]
    for e in extents[1:]:
        product = ir.Binary(ir.BinaryOp.MUL, product, e.expr, index, frame.span(node))  # type: ignore[union-attr]
    return Runtime(product)
