"""Struct objects of the host as constants in a kernel: what one holds when the kernel is compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kdsl.frontend import convert
from kdsl.ir import nodes as ir
from kdsl.lang.complex_type import ComplexType
from kdsl.lang.fixed_array import FixedArrayType, items
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import Kind, MemoryType, PointerType, ScalarType, VectorType
from kdsl.source import CompileError, Span


def constant(type: MemoryType, value: Any, span: Span, what: str) -> ir.Expr:
    """A value of the host as one of this type; CompileError, naming ``what``, if it does not fit."""
    match type:
        case ComplexType():
            if not isinstance(value, complex | float | int | np.number):
                raise _wrong(value, type, span, what)
            pair = [_number(type.component, part, span, what) for part in (value.real, value.imag)]
            return ir.StructExpr(tuple(ir.Const(part, type.component, span) for part in pair), type, span)
        case FixedArrayType():
            elements = [constant(type.element, v, span, f"{what}[{i}]") for i, v in enumerate(items(type, value))]
            return ir.StructExpr(tuple(elements), type, span)
        case StructType():
            if type.python is None or not isinstance(value, type.python):
                raise _wrong(value, type, span, what)
            parts = [constant(f.type, getattr(value, f.name), span, f"{what}.{f.name}") for f in type.fields]
            return ir.StructExpr(tuple(parts), type, span)
        case VectorType():
            if not isinstance(value, Sequence | np.ndarray) or len(value) != type.lanes:
                raise _wrong(value, type, span, what)
            return ir.VectorExpr(tuple(constant(type.element, v, span, what) for v in value), type, span)
        case ScalarType():
            return ir.Const(_number(type, value, span, what), type, span)
        case PointerType():
            message = f"`{what}` is a {type}, whose address is no constant"
            raise CompileError.at(span, message, "pass the struct to the kernel as a parameter")


def _number(type: ScalarType, value: Any, span: Span, what: str) -> bool | int | float:
    if isinstance(value, np.generic):
        value = value.item()
    is_number = isinstance(value, int | float) and (type.kind is Kind.BOOL) == isinstance(value, bool)
    if not is_number:
        raise _wrong(value, type, span, what)
    if type.kind is Kind.BOOL:
        return bool(value)
    try:
        return convert.fitted(value, type)
    except convert.DoesNotFit:
        raise _wrong(value, type, span, what) from None


def _wrong(value: Any, type: MemoryType, span: Span, what: str) -> CompileError:
    return CompileError.at(span, f"`{what}` is {type}, and holds {value!r:.60}, which does not fit")
