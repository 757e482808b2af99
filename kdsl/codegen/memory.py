"""Addresses, loads and stores, arrays and their extents. Atomics are in `atomics`."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from llvmlite import ir as llvm

from kdsl.codegen import structs
from kdsl.codegen.context import Context
from kdsl.codegen.types import I32, I64, alignment, constant, memory_type
from kdsl.lang import types
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import ArrayType, Kind, PointerType, ScalarType, Space, Type, VectorType

_SHORT = (Space.SHARED, Space.CONSTANT, Space.CLUSTER)
"""Spaces whose addresses have 32 bits."""


def load(context: Context, address: llvm.Value, t: Type) -> llvm.Value:
    """The value of type ``t`` at an address."""
    if isinstance(t, StructType):
        return structs.load(context, address, t)
    if isinstance(t, VectorType) and t.lanes == 3:
        return structs.load_lanes(context, address, t, t.align)
    value = context.builder.load(address, align=alignment(t), typ=memory_type(t))
    if isinstance(t, ScalarType) and t.kind is Kind.BOOL:
        return context.builder.icmp_unsigned("!=", value, llvm.Constant(value.type, 0))
    return value


def store(context: Context, value: llvm.Value, address: llvm.Value, t: Type) -> None:
    """Write a value of type ``t``; a bool is a byte, 0 or 1."""
    if isinstance(t, StructType):
        structs.store(context, value, address, t)
        return
    if isinstance(t, VectorType) and t.lanes == 3:
        structs.store_lanes(context, value, address, t, t.align)
        return
    if isinstance(t, ScalarType) and t.kind is Kind.BOOL:
        value = context.builder.zext(value, memory_type(t))
    context.builder.store(value, address, align=alignment(t))


def data_pointer(context: Context, base: llvm.Value, t: PointerType | ArrayType) -> llvm.Value:
    """The address of the first element of a pointer or an array."""
    if isinstance(t, ArrayType) and (t.shape is None or t.strided):
        return context.builder.extract_value(base, 0)
    return base


def extent(context: Context, array: llvm.Value, t: ArrayType, axis: int) -> llvm.Value:
    """``array.shape[axis]``."""
    if t.shape is not None:
        return constant(t.index or types.I32, t.shape[axis])
    return context.builder.extract_value(array, 1 + axis)


def stride(context: Context, array: llvm.Value, t: ArrayType, axis: int) -> Any:
    """How many elements apart neighbours along an axis are, in the array's index type."""
    if t.strided:
        return context.builder.extract_value(array, 1 + (t.ndim if t.shape is None else 0) + axis)
    index = t.index or types.I32
    if t.shape is not None:
        return constant(index, prod(t.shape[axis + 1 :]))
    result: Any = constant(index, 1)
    for later in range(axis + 1, t.ndim):
        size = extent(context, array, t, later)
        result = size if later == axis + 1 else context.builder.mul(result, size, flags=("nsw",))
    return result


def element_address(
    context: Context,
    base: llvm.Value,
    t: PointerType | ArrayType,
    indices: Sequence[tuple[llvm.Value, ScalarType]],
) -> Any:
    """The address of ``base[indices]``; every index comes with its type, which says how it is extended."""
    builder = context.builder
    if isinstance(t, PointerType) or (t.ndim == 1 and not t.strided):
        (offset, index_type) = indices[0]
        wide = extended(builder, offset, index_type, 32 if t.space in _SHORT else 64)
    else:
        wide = _array_offset(context, base, t, indices)
    return builder.gep(data_pointer(context, base, t), [wide], source_etype=memory_type(t.element))


def difference(context: Context, left: llvm.Value, right: llvm.Value, element: Type) -> Any:
    """How many elements ``left`` is past ``right``."""
    builder = context.builder
    apart = builder.sub(builder.ptrtoint(left, I64), builder.ptrtoint(right, I64))
    size = element.size if isinstance(element, ScalarType | VectorType | StructType) else 8
    return builder.sdiv(apart, llvm.Constant(I64, size), flags=("exact",))


def _array_offset(
    context: Context, base: llvm.Value, t: ArrayType, indices: Sequence[tuple[llvm.Value, ScalarType]]
) -> llvm.Value:
    """The offset in elements, in 32 bits where the extents are and no index is wider, extended to the address."""
    builder = context.builder
    bits = max(t.index.bits if t.index is not None else 32, *(i.bits for _, i in indices))
    numbers = [extended(builder, value, index_type, bits) for value, index_type in indices]
    integer = I64 if bits == 64 else I32

    def word(position: int) -> llvm.Value:
        value = builder.extract_value(base, position)
        return builder.sext(value, integer) if value.type != integer else value

    if t.strided:
        first = 1 + (t.ndim if t.shape is None else 0)
        terms = [builder.mul(n, word(first + axis), flags=("nsw",)) for axis, n in enumerate(numbers)]
        offset = terms[0]
        for term in terms[1:]:
            offset = builder.add(offset, term, flags=("nsw",))
    else:
        offset = numbers[0]
        for axis, number in enumerate(numbers[1:], 1):
            size = llvm.Constant(integer, t.shape[axis]) if t.shape is not None else word(1 + axis)
            offset = builder.add(builder.mul(offset, size, flags=("nsw",)), number, flags=("nsw",))
    return builder.sext(offset, I64) if bits < 64 and t.space not in _SHORT else offset


def extended(builder: llvm.IRBuilder, value: llvm.Value, t: ScalarType, bits: int) -> llvm.Value:
    """An index in at least ``bits`` bits; wider ones stay, so that nothing out of bounds wraps into bounds."""
    if t.bits >= bits:
        return value
    return (builder.sext if t.is_signed else builder.zext)(value, llvm.IntType(bits))
