"""Loads and stores with a cache operator, volatile ones, prefetches. LLVM knows few of them: they are inline PTX."""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm

from kdsl.codegen.atomics_ptx import SPACES, address_register, register_of
from kdsl.codegen.context import Context
from kdsl.codegen.types import I8, I16, I32, VOID, llvm_type, memory_type
from kdsl.ir import nodes as ir
from kdsl.lang.types import Kind, ScalarType, Space


def cached_load(context: Context, address: llvm.Value, t: ScalarType, caching: ir.Caching) -> Any:
    """``ld.space.cache.type``, or ``ld.volatile.space.type``."""
    builder = context.builder
    where, register = address_register(builder, address), _register(t)
    # Who asks for .nc says that nobody writes there meanwhile, so that LLVM may move it and leave it out.
    memory = "" if caching.cache == "nc" else ",~{memory}"
    constraint = f"={register_of(t)},{'r' if where.type == I32 else 'l'}{memory}"
    line = f"ld{_qualifiers(caching, address)}.b{t.bits} $0, [$1];"
    value = builder.asm(llvm.FunctionType(register, [where.type]), line, constraint, [where], side_effect=bool(memory))
    return _from_register(builder, value, t)


def cached_store(context: Context, value: llvm.Value, address: llvm.Value, t: ScalarType, caching: ir.Caching) -> None:
    """``st.space.cache.type``, or ``st.volatile.space.type``."""
    builder = context.builder
    where, register = address_register(builder, address), _register(t)
    constraint = f"{'r' if where.type == I32 else 'l'},{register_of(t)},~{{memory}}"
    line = f"st{_qualifiers(caching, address)}.b{t.bits} [$0], $1;"
    signature = llvm.FunctionType(VOID, [where.type, register])
    builder.asm(signature, line, constraint, [where, _to_register(builder, value, t)], side_effect=True)


def prefetch(context: Context, address: llvm.Value, level: str) -> None:
    """``prefetch.global.level``."""
    # Why not LLVM's intrinsic? Its code generator of version 22 dies of that one.
    where = address_register(context.builder, address)
    signature = llvm.FunctionType(VOID, [where.type])
    context.builder.asm(signature, f"prefetch.global.{level} [$0];", "l", [where], side_effect=True)


def _qualifiers(caching: ir.Caching, address: llvm.Value) -> str:
    space = SPACES[Space(address.type.addrspace)]
    return f".volatile{space}" if caching.volatile else f"{space}.{caching.cache}"


def _register(t: ScalarType) -> llvm.Type:
    """What inline PTX takes: no register has less than 16 bits, and those of 16 bits have no type."""
    return I16 if t.bits <= 16 else llvm_type(t)


def _from_register(builder: llvm.IRBuilder, value: llvm.Value, t: ScalarType) -> Any:
    if t.bits == 8:
        value = builder.trunc(value, I8)
    if t.kind is Kind.BOOL:
        return builder.icmp_unsigned("!=", value, llvm.Constant(I8, 0))
    return builder.bitcast(value, llvm_type(t)) if value.type != llvm_type(t) else value


def _to_register(builder: llvm.IRBuilder, value: llvm.Value, t: ScalarType) -> Any:
    if t.kind is Kind.BOOL:
        value = builder.zext(value, memory_type(t))
    if t.bits == 8:
        return builder.zext(value, I16)
    return builder.bitcast(value, I16) if t.bits == 16 and t.is_float else value
