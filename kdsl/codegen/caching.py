"""Loads and stores with a cache operator, volatile ones, prefetches. LLVM knows few of them: they are inline PTX."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llvmlite import ir as llvm

from kdsl.codegen import structs
from kdsl.codegen.atomics_ptx import SPACES, address_register, register_of
from kdsl.codegen.context import Context
from kdsl.codegen.types import I8, I16, I32, I64, VOID, llvm_type, memory_type
from kdsl.ir import nodes as ir
from kdsl.lang import types
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import Kind, PointerType, ScalarType, Space, Type, VectorType
from kdsl.records import dataclass
from kdsl.source import Span

# PTX ISA 9.0, 9.7.9.8 and .11: the first architectures, all from PTX 7.4.
_FIRST_WITH_POLICY = 80
_FIRST_WITH_256 = 80
_PTX_WITH_HINTS = 74


def cached_load(
    context: Context, address: llvm.Value, t: Type, caching: ir.Caching, policy: llvm.Value | None, span: Span
) -> Any:
    """``ld.space.cache.type``, ``ld.volatile.space.type``, or with hints ``ld.space.L1::evict_first.L2::128B.type``.

    Of a struct each field is an access, of a vector of three each component.
    """
    if isinstance(t, PointerType):
        bits = cached_load(context, address, types.U64, caching, policy, span)
        return context.builder.inttoptr(bits, llvm_type(t))
    if _is_apart(t):
        value: Any = llvm.Constant(llvm_type(t), llvm.Undefined)
        for i, (place, part) in enumerate(_parts(context, address, t)):
            loaded = cached_load(context, place, part, caching, policy, span)
            value = _with_part(context.builder, value, i, loaded, t)
        return value
    builder, form = context.builder, _Form.of(t)
    where, results = address_register(builder, address), ", ".join(f"${i}" for i in range(form.count))
    # Who asks for .nc says that nobody writes there meanwhile, so that LLVM may move it and leave it out.
    memory = "" if caching.cache == "nc" else ",~{memory}"
    constraint = ",".join([f"={form.letter}"] * form.count + ["r" if where.type == I32 else "l"])
    line = (
        f"ld{_qualifiers(context, caching, address, policy, span)}{form.suffix} {form.braced(results)}, [${form.count}]"
    )
    given = [where]
    if policy is not None:
        line, constraint, given = f"{line}, ${form.count + 1}", f"{constraint},l", [where, policy]
    made = form.register if form.count == 1 else llvm.LiteralStructType([form.register] * form.count)
    signature = llvm.FunctionType(made, [g.type for g in given])
    value = builder.asm(signature, f"{line};", constraint + memory, given, side_effect=bool(memory))
    return _from_registers(context, value, t, form)


def cached_store(
    context: Context,
    value: llvm.Value,
    address: llvm.Value,
    t: Type,
    caching: ir.Caching,
    policy: llvm.Value | None,
    span: Span,
) -> None:
    """``st.space.cache.type``, ``st.volatile.space.type``, or with hints ``st.space.L1::evict_last.type``; of a struct
    or a vector of three as `cached_load`.
    """
    if isinstance(t, PointerType):
        bits = context.builder.ptrtoint(value, I64)
        cached_store(context, bits, address, types.U64, caching, policy, span)
        return
    if _is_apart(t):
        for i, (place, part) in enumerate(_parts(context, address, t)):
            cached_store(context, _part(context.builder, value, i, t), place, part, caching, policy, span)
        return
    builder, form = context.builder, _Form.of(t)
    where, parts = address_register(builder, address), _to_registers(context, value, t, form)
    operands = ", ".join(f"${i + 1}" for i in range(form.count))
    constraint = ",".join(["r" if where.type == I32 else "l"] + [form.letter] * form.count)
    line = f"st{_qualifiers(context, caching, address, policy, span)}{form.suffix} [$0], {form.braced(operands)}"
    given = [where, *parts]
    if policy is not None:
        line, constraint, given = f"{line}, ${form.count + 1}", f"{constraint},l", [*given, policy]
    signature = llvm.FunctionType(VOID, [g.type for g in given])
    builder.asm(signature, f"{line};", f"{constraint},~{{memory}}", given, side_effect=True)


def prefetch(context: Context, address: llvm.Value, level: str, span: Span) -> None:
    """``prefetch.global.level``."""
    if "evict" in level:
        context.require_sm(_FIRST_WITH_POLICY, f"level={level!r}", span)
        context.require_ptx(_PTX_WITH_HINTS)
    # Why not LLVM's intrinsic? Its code generator of version 22 dies of that one.
    where = address_register(context.builder, address)
    signature = llvm.FunctionType(VOID, [where.type])
    context.builder.asm(signature, f"prefetch.global.{level} [$0];", "l", [where], side_effect=True)


def _qualifiers(
    context: Context, caching: ir.Caching, address: llvm.Value, policy: llvm.Value | None, span: Span
) -> str:
    space = SPACES[Space(address.type.addrspace)]
    if caching.volatile:
        return f".volatile{space}"
    if caching.evict or caching.l2_prefetch or policy is not None:
        context.require_ptx(_PTX_WITH_HINTS)
    if policy is not None:
        context.require_sm(_FIRST_WITH_POLICY, "`policy`", span)
    if caching.l2_prefetch == 256:
        context.require_sm(_FIRST_WITH_256, "l2_prefetch=256", span)
    words = [caching.cache] if caching.cache else []
    words += [f"L1::{'' if caching.evict == 'no_allocate' else 'evict_'}{caching.evict}"] if caching.evict else []
    words += ["L2::cache_hint"] if policy is not None else []
    words += [f"L2::{caching.l2_prefetch}B"] if caching.l2_prefetch else []
    return space + "".join(f".{word}" for word in words)


def _is_apart(t: Type) -> bool:
    """Whether no one instruction moves a value."""
    return isinstance(t, StructType) or (isinstance(t, VectorType) and t.lanes == 3)


def _parts(context: Context, address: llvm.Value, t: Type) -> Iterator[tuple[llvm.Value, Type]]:
    """Where each field or component lies, and its type."""
    if isinstance(t, StructType):
        for i, field in enumerate(t.fields):
            yield structs.field_address(context, address, t, i), field.type
        return
    assert isinstance(t, VectorType)
    for lane in range(t.lanes):
        place = context.builder.gep(address, [llvm.Constant(I32, lane)], source_etype=memory_type(t.element))
        yield place, t.element


def _part(builder: llvm.IRBuilder, value: llvm.Value, index: int, t: Type) -> Any:
    if isinstance(t, StructType):
        return builder.extract_value(value, index)
    return builder.extract_element(value, llvm.Constant(I32, index))


def _with_part(builder: llvm.IRBuilder, value: llvm.Value, index: int, part: llvm.Value, t: Type) -> Any:
    if isinstance(t, StructType):
        return builder.insert_value(value, part, index)
    return builder.insert_element(value, part, llvm.Constant(I32, index))


@dataclass(frozen=True, slots=True)
class _Form:
    """How a value lies in registers of inline PTX: how many, of what LLVM type and constraint, and bits of each."""

    count: int
    register: llvm.Type
    letter: str
    bits: int

    @classmethod
    def of(cls, t: Type) -> _Form:
        if isinstance(t, ScalarType):
            return cls(1, _register(t), register_of(t), t.bits)
        assert isinstance(t, VectorType)
        # A vector is moved as its bits: one register of 16 or 32, or 2 or 4 of 32.
        return cls(1, I16, "h", 16) if t.size == 2 else cls(t.size // 4, I32, "r", 32)

    @property
    def suffix(self) -> str:
        return f".v{self.count}.b{self.bits}" if self.count > 1 else f".b{self.bits}"

    def braced(self, registers: str) -> str:
        return f"{{{registers}}}" if self.count > 1 else registers


def _from_registers(context: Context, value: llvm.Value, t: Type, form: _Form) -> Any:
    builder = context.builder
    if isinstance(t, ScalarType):
        return _from_register(builder, value, t)
    if form.count == 1:
        return builder.bitcast(value, llvm_type(t))
    words: Any = llvm.Constant(llvm.VectorType(form.register, form.count), llvm.Undefined)
    for i in range(form.count):
        words = builder.insert_element(words, builder.extract_value(value, i), llvm.Constant(I32, i))
    return builder.bitcast(words, llvm_type(t))


def _to_registers(context: Context, value: llvm.Value, t: Type, form: _Form) -> list[Any]:
    builder = context.builder
    if isinstance(t, ScalarType):
        return [_to_register(builder, value, t)]
    if form.count == 1:
        return [builder.bitcast(value, form.register)]
    words = builder.bitcast(value, llvm.VectorType(form.register, form.count))
    return [builder.extract_element(words, llvm.Constant(I32, i)) for i in range(form.count)]


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
