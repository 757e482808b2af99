"""Global memory that a grid works through: an array with an element for each block."""

from __future__ import annotations

import ast

from kdsl.frontend.attributes import extent
from kdsl.frontend.describing import shown
from kdsl.frontend.frame import Frame
from kdsl.frontend.values import POISON, Poison, Runtime, Value, Weak, describe
from kdsl.groups.whole_grid import UNKNOWN
from kdsl.ir import nodes as ir
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import ArrayType, PointerType, ScalarType, Space, Type, VectorType


def workspace(frame: Frame, value: Value, type: Type, place: ast.expr) -> tuple[Value, Value]:
    """A pointer to the first element, and how many there are; what is no array of ``type`` is reported."""
    if isinstance(value, Poison):
        return POISON, POISON
    if not isinstance(type, ScalarType | VectorType | StructType):
        message = f"a grid's values go through memory, and this is {describe(type)}"
        return frame.error(place, message, "make it a @struct"), POISON
    if isinstance(value, Runtime):
        match value.type:
            case PointerType(element, Space.GLOBAL) if element == type:
                return value, Weak(UNKNOWN)
            case ArrayType(element, 1, Space.GLOBAL) as array if element == type and not array.strided:
                pointer = ir.Bitcast(value.expr, PointerType(type, Space.GLOBAL), frame.span(place))
                return Runtime(pointer), extent(frame, value.expr, array, 0, place)
    what = shown(frame, value, place)
    message = f"`workspace` takes a Ptr[{type}] or contiguous Array[{type}, 1] in global memory, and this is {what}"
    return frame.error(place, message), POISON
