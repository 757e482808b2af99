"""Calls of device functions that other compilers made, by the ABI of PTX (PTX Writer's Guide to Interoperability, 3).

A scalar or pointer is passed as it is, a pointer as a generic address; a struct or vector by value, as bytes aligned as
in C. LLVM writes that by itself for values of the types here, which have the size and alignment of nvcc's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir as llvm

from kdsl.codegen import memory
from kdsl.codegen.context import Context
from kdsl.codegen.types import I8, I16, alignment, llvm_type, memory_type, pointer
from kdsl.ir import nodes as ir
from kdsl.lang.fixed_array import FixedArrayType
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import BF16, F16, Kind, PointerType, ScalarType, Space, Type, VectorType, VoidType

MARK = '"kdsl-extern"'
"""An attribute of these declarations, by which `nvptx` tells them from intrinsics that LLVM does not know."""


def emit_extern_call(context: Context, node: ir.ExternCall, arguments: Sequence[llvm.Value]) -> Any:
    """The call, which is convergent: what the function does is not known."""
    extern = node.extern
    parameters = [abi_type(t) for t in extern.parameters]
    is_void = isinstance(extern.result, VoidType)
    result = llvm.VoidType() if is_void else abi_type(extern.result)
    function = context.declare(extern.symbol, result, parameters, convergent=True)
    # Why set.add? llvmlite knows a fixed list of attributes.
    set.add(function.attributes, MARK)
    extensions = [_extension(t) for t in extern.parameters]
    for argument, extension in zip(function.args, extensions, strict=True):
        if extension:
            argument.attributes.add(extension)
    given = zip(arguments, node.arguments, extern.parameters, strict=True)
    passed = [_passed(context, value, argument.type, t) for value, argument, t in given]
    attributes = {index: (extension,) for index, extension in enumerate(extensions) if extension}
    value = context.builder.call(function, passed, attrs=("convergent",), arg_attrs=attributes)
    # Whatever its name is: it is not the function of C's library that LLVM knows.
    set.add(value.attributes, "nobuiltin")
    return value if is_void else _received(context, value, extern.result)


def abi_type(t: Type) -> llvm.Type:
    """The LLVM type that is passed as C passes a value."""
    match t:
        case ScalarType():
            if t in (F16, BF16) or t.is_float8:
                # CUDA's own are classes of one integer.
                return llvm.LiteralStructType([I16 if t.size == 2 else I8])
            return memory_type(t)
        case PointerType():
            return pointer(Space.GENERIC)
        case VectorType():
            if t.lanes == 3 or t.element.is_float8:
                return llvm.LiteralStructType([memory_type(t.element)] * t.lanes)
            return llvm_type(t)
        case FixedArrayType():
            return llvm.ArrayType(abi_type(t.element), len(t.fields))
        case StructType():
            return llvm.LiteralStructType([_field_type(f.type) for f in t.fields])
    raise AssertionError(t)


def _field_type(t: Type) -> llvm.Type:
    return memory_type(t) if isinstance(t, ScalarType) else abi_type(t)


def _extension(t: Type) -> str:
    """How a small integer fills its register."""
    if not isinstance(t, ScalarType) or t.is_float or t.is_float8 or t.size >= 4:
        return ""
    return "signext" if t.is_signed else "zeroext"


def _passed(context: Context, value: llvm.Value, given: Type, t: Type) -> llvm.Value:
    builder = context.builder
    match t:
        case PointerType():
            assert isinstance(given, PointerType)
            return value if given.space is Space.GENERIC else builder.addrspacecast(value, pointer(Space.GENERIC))
        case ScalarType() if t.kind is Kind.BOOL:
            return builder.zext(value, I8)
        case ScalarType() if not isinstance(abi_type(t), llvm.LiteralStructType):
            return value
        case VectorType() if isinstance(abi_type(t), llvm.VectorType):
            return value
    place = _place(context, t)
    memory.store(context, value, place, t)
    return builder.load(place, align=alignment(t), typ=abi_type(t))


def _received(context: Context, value: llvm.Value, t: Type) -> Any:
    builder = context.builder
    match t:
        case PointerType():
            return value
        case ScalarType() if t.kind is Kind.BOOL:
            return builder.icmp_unsigned("!=", value, llvm.Constant(I8, 0))
        case ScalarType() if not isinstance(abi_type(t), llvm.LiteralStructType):
            return value
        case VectorType() if isinstance(abi_type(t), llvm.VectorType):
            return value
    place = _place(context, t)
    builder.store(value, place, align=alignment(t))
    return memory.load(context, place, t)


def _place(context: Context, t: Type) -> Any:
    """Room for a value on its way between the two forms; LLVM makes registers of it."""
    place = context.alloca(abi_type(t))
    place.align = alignment(t)
    return place
