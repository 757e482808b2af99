"""Structs: LLVM's own struct values in registers; in memory bytes, of which each field is loaded and stored by itself.

Why not as a whole? Padding is then never touched, and LLVM joins neighbours to the widest accesses that the struct's
alignment allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir as llvm

from kdsl.codegen.context import Context
from kdsl.codegen.types import I8, I32, llvm_type, memory_type
from kdsl.lang.complex_type import ComplexType
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import Kind, ScalarType, Type, VectorType


def build(context: Context, elements: Sequence[llvm.Value], t: StructType) -> Any:
    """A struct of these fields."""
    result: Any = llvm.Constant(llvm_type(t), llvm.Undefined)
    for i, element in enumerate(elements):
        result = context.builder.insert_value(result, element, i)
    return result


def field_address(context: Context, address: llvm.Value, t: StructType, index: int) -> Any:
    """The address of a field."""
    return _at(context, address, t.fields[index].offset)


def load(context: Context, address: llvm.Value, t: StructType) -> Any:
    """The struct at an address that is aligned as the type says."""
    return _load(context, address, t, 0, t.align)


def store(context: Context, value: llvm.Value, address: llvm.Value, t: StructType) -> None:
    """Write all fields of a struct."""
    _store(context, value, address, t, 0, t.align)


def _at(context: Context, address: llvm.Value, offset: int) -> Any:
    return context.builder.gep(address, [llvm.Constant(I32, offset)], source_etype=I8) if offset else address


def _align(offset: int, most: int) -> int:
    """What is known of the alignment of a place ``offset`` bytes into something aligned to ``most``."""
    return min(offset & -offset, most) if offset else most


def _load(context: Context, address: llvm.Value, t: Type, offset: int, most: int) -> Any:
    if isinstance(t, ComplexType) and _align(offset, most) >= t.size:
        # Said as a vector, which stays one access even where LLVM joins none.
        pair = context.builder.load(_at(context, address, offset), align=t.size, typ=_pair(t))
        return build(context, [context.builder.extract_element(pair, llvm.Constant(I32, i)) for i in range(2)], t)
    if isinstance(t, StructType):
        parts = [_load(context, address, f.type, offset + f.offset, most) for f in t.fields]
        return build(context, parts, t)
    place = _at(context, address, offset)
    if isinstance(t, VectorType) and t.lanes == 3:
        return load_lanes(context, place, t, _align(offset, most))
    value = context.builder.load(place, align=_align(offset, most), typ=memory_type(t))
    return context.builder.icmp_unsigned("!=", value, llvm.Constant(I8, 0)) if _is_bool(t) else value


def _store(context: Context, value: llvm.Value, address: llvm.Value, t: Type, offset: int, most: int) -> None:
    if isinstance(t, ComplexType) and _align(offset, most) >= t.size:
        pair: Any = llvm.Constant(_pair(t), llvm.Undefined)
        for i in range(2):
            pair = context.builder.insert_element(pair, context.builder.extract_value(value, i), llvm.Constant(I32, i))
        context.builder.store(pair, _at(context, address, offset), align=t.size)
        return
    if isinstance(t, StructType):
        for i, f in enumerate(t.fields):
            part = context.builder.extract_value(value, i)
            _store(context, part, address, f.type, offset + f.offset, most)
        return
    if isinstance(t, VectorType) and t.lanes == 3:
        store_lanes(context, value, _at(context, address, offset), t, _align(offset, most))
        return
    if _is_bool(t):
        value = context.builder.zext(value, I8)
    context.builder.store(value, _at(context, address, offset), align=_align(offset, most))


def load_lanes(context: Context, address: llvm.Value, t: VectorType, align: int) -> Any:
    """A vector of three, which no instruction loads: its components one by one."""
    builder, size = context.builder, t.element.size
    value: Any = llvm.Constant(llvm_type(t), llvm.Undefined)
    for lane in range(t.lanes):
        place = _at(context, address, lane * size)
        part = builder.load(place, align=_align(lane * size, align), typ=llvm_type(t.element))
        value = builder.insert_element(value, part, llvm.Constant(I32, lane))
    return value


def store_lanes(context: Context, value: llvm.Value, address: llvm.Value, t: VectorType, align: int) -> None:
    """Write a vector of three, component by component."""
    size = t.element.size
    for lane in range(t.lanes):
        part = context.builder.extract_element(value, llvm.Constant(I32, lane))
        context.builder.store(part, _at(context, address, lane * size), align=_align(lane * size, align))


def _pair(t: ComplexType) -> llvm.VectorType:
    return llvm.VectorType(llvm_type(t.component), 2)


def _is_bool(t: Type) -> bool:
    return isinstance(t, ScalarType) and t.kind is Kind.BOOL
