"""Arrays of a block or a thread: a constant shape, a scalar type, the block's 48 KB; views of dynamic shared memory."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from kdsl.frontend import complex_numbers
from kdsl.frontend.arguments import match_arguments
from kdsl.frontend.casts import cast_type
from kdsl.frontend.frame import Frame
from kdsl.frontend.instead import of_arguments
from kdsl.frontend.memory import array_of, constant_int, elements
from kdsl.frontend.memory_index import int_of
from kdsl.frontend.structs import class_type
from kdsl.frontend.values import POISON, Poison, Runtime, Static, Value, Weak, is_constant
from kdsl.ir import nodes as ir
from kdsl.lang.struct_dtype import difference, dtype_name, struct_of_dtype
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import VOID, ArrayType, ElementType, PointerType, ScalarType, Space, Type, VectorType, as_type
from kdsl.lang.variables import CONSTANT_BYTES

# PTX: static shared memory of a block, on every architecture.
SHARED_BYTES = 48 * 1024
LOCAL_BYTES = 512 * 1024


def shared_array(frame: Frame, node: ast.Call) -> Value:
    """``shared.array(shape, dtype)``."""
    value = _array(frame, node, "shared.array", Space.SHARED)
    expr = value.expr if isinstance(value, Runtime) else None
    if frame.quiet or not isinstance(expr, ir.SharedArray):
        return value
    return value if charge_shared(frame, expr, node) else POISON


def charge_shared(frame: Frame, array: ir.SharedArray, node: ast.Call) -> bool:
    """Count an array's bytes; False (reported) if the block has no room for it."""
    sizes = frame.session.shared_bytes
    sizes[array.uid] = _bytes(array.type.shape or (), array.type.element)
    total = sum(sizes.values())
    if total <= SHARED_BYTES:
        return True
    # The arrays after it are not to blame for it.
    del sizes[array.uid]
    frame.error(
        node,
        f"the kernel's shared arrays take {total} bytes with this one, and a block has {SHARED_BYTES}",
        "use a smaller shape, or shared.dynamic(dtype), which may be as large as the device allows",
    )
    return False


def shared_dynamic(frame: Frame, node: ast.Call) -> Value:
    """``shared.dynamic(dtype, offset=0)``."""
    name = "shared.dynamic"
    found = match_arguments(frame, node, name, ("dtype", "offset"), frozenset({"offset"}))
    if found is None:
        return POISON
    type = _element_type(frame, found["dtype"], f"{name}()", f"{name}(f32)")
    place = found.get("offset", node)
    value = frame.value(found["offset"]) if "offset" in found else Weak(0)
    if type is None or isinstance(value, Poison):
        return POISON
    number = constant_int(value)
    if number is not None and number < 0:
        return frame.error(place, f"the offset of {name}() is not negative")
    if number is not None and number % type.align:
        aligned = f"{-(-number // type.align) * type.align} is the next that is"
        return frame.error(place, f"{number} is no offset in bytes for {type}: no multiple of {type.align}", aligned)
    offset = int_of(frame, value, place, f"the offset of {name}() is an int")
    if offset is None:
        return POISON
    return Runtime(ir.DynamicShared(offset, PointerType(type, Space.SHARED), frame.span(node)))


def constant_array(frame: Frame, node: ast.Call) -> Value:
    """``constant.array(array)``, ``constant.array(array, Particle)``."""
    name = "constant.array"
    found = match_arguments(frame, node, name, ("array", "dtype"), frozenset({"dtype"}))
    if found is None:
        return POISON
    place = found["array"]
    value = frame.value(place)
    wanted = _element_type(frame, found["dtype"], f"{name}()", "a @struct class") if "dtype" in found else None
    if isinstance(value, Poison) or ("dtype" in found and wanted is None):
        return POISON
    array = value.object if isinstance(value, Static) else None
    if not isinstance(array, np.ndarray):
        hint = "make it on the host, outside of the kernel, and name it here"
        return frame.error(place, f"{name}() takes a NumPy array of the host", hint)
    type = _constant_element(frame, array.dtype, wanted, place)
    if type is None:
        return POISON
    if not 1 <= array.ndim <= 4 or not array.size:
        return frame.error(place, f"{name}() takes 1 to 4 dimensions with elements, and this has shape {array.shape}")
    captures = frame.session.captures
    data = captures.contents(array)
    total = frame.session.constant_bytes()
    if total > CONSTANT_BYTES and not frame.quiet:
        message = f"constant memory has {CONSTANT_BYTES} bytes, and with this array {total} are needed"
        return frame.error(node, message, "pass it to the kernel as a parameter")
    text = frame.text(place)
    array_type = ArrayType(type, array.ndim, Space.CONSTANT, array.shape)
    return Runtime(ir.ConstantArray(text if text.isidentifier() else "array", data, array_type, frame.span(node)))


def _constant_element(
    frame: Frame, dtype: np.dtype[Any], wanted: ElementType | None, place: ast.expr
) -> ScalarType | StructType | None:
    """The type of a host array's elements; None (reported) if kernels have none, or it is not ``wanted``."""
    try:
        type: Type = struct_of_dtype(dtype) if dtype.names is not None else as_type(dtype)
    except TypeError:
        type = VOID
    if isinstance(type, StructType) and isinstance(wanted, StructType) and dtype == wanted.numpy:
        return wanted
    if isinstance(wanted, StructType):
        message = f"the array's elements are no {wanted}: {difference(wanted, dtype)}"
        frame.error(place, message, f"such as a.astype({dtype_name(wanted)})")
    elif not isinstance(type, ScalarType | StructType):
        frame.error(place, f"a kernel has no type for elements of {dtype}", "such as a.astype(np.float32)")
    elif wanted is not None and wanted != type:
        frame.error(place, f"the array's elements are {type}, not {wanted}", "leave the dtype out")
    else:
        return type
    return None


def _element_type(frame: Frame, node: ast.expr, name: str, example: str) -> ElementType | None:
    """The scalar, vector or struct type that an argument names; None (reported) if it is none."""
    dtype = frame.value(node)
    if isinstance(dtype, Static) and isinstance(dtype.object, VectorType):
        return dtype.object
    if isinstance(dtype, Static) and (struct := class_type(dtype.object)) is not None:
        return struct
    if isinstance(dtype, Static) and (number := complex_numbers.class_type(dtype.object)) is not None:
        return number
    type = cast_type(dtype.object) if isinstance(dtype, Static) else None
    if type is None and not isinstance(dtype, Poison):
        frame.error(node, f"{name} takes a scalar, vector or struct type here", f"such as {example}")
    return type


def local_array(frame: Frame, node: ast.Call) -> Value:
    """``local.array(shape, dtype)``."""
    value = _array(frame, node, "local.array", Space.LOCAL)
    if isinstance(value, Runtime) and isinstance(value.expr, ir.LocalArray):
        size = _bytes(value.expr.type.shape or (), value.expr.type.element)
        if size > LOCAL_BYTES:
            return frame.error(node, f"this array takes {size} bytes of each thread, which has {LOCAL_BYTES}")
    return value


def _bytes(shape: tuple[int, ...], element: ElementType) -> int:
    size = element.size
    for n in shape:
        size *= n
    return size


def _array(frame: Frame, node: ast.Call, name: str, space: Space) -> Value:
    found = match_arguments(frame, node, name, ("shape", "dtype"))
    if found is None:
        return POISON
    shape = _shape(frame, found["shape"], name)
    type = _element_type(frame, found["dtype"], f"{name}()", f"{name}(64, f32)")
    if type is None or shape is None:
        return POISON
    return array_of(frame, shape, type, space, space.name.lower(), node)


def _shape(frame: Frame, node: ast.expr, name: str) -> tuple[int, ...] | None:
    value = frame.value(node)
    if isinstance(value, Poison):
        return None
    parts = elements(frame, value, node)
    if parts is None:
        parts = (value,)
    places = node.elts if isinstance(node, ast.Tuple) else [node] * len(parts)
    if not 1 <= len(parts) <= 4:
        frame.error(node, f"{name}() takes 1 to 4 dimensions, and this has {len(parts)}")
        return None
    shape: list[int] = []
    for part, place in zip(parts, places, strict=True):
        number = constant_int(part)
        if number is None:
            if not isinstance(part, Poison):
                _refuse_extent(frame, part, place, name)
            return None
        if number < 1:
            frame.error(place, f"an extent of {name}() is at least 1, and this is {number}")
            return None
        shape.append(number)
    return tuple(shape)


def _refuse_extent(frame: Frame, value: Value, place: ast.expr, name: str) -> None:
    if is_constant(value):
        turned = of_arguments(name) if isinstance(value, Static) and cast_type(value.object) is not None else None
        frame.error(place, f"an extent of {name}() is an int, and this is `{frame.text(place)}`", turned)
    else:
        frame.error(place, f"the shape of {name}() is constant", "a number, or a name that is bound once to one")
