"""Inline PTX: each operand in the kind of register that PTX has for its type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir as llvm

from kdsl.codegen.context import Context
from kdsl.codegen.types import I1, I8, I16, I32, I64, VOID, llvm_type
from kdsl.ir import nodes as ir
from kdsl.lang.types import Kind, PointerType, ScalarType, Space, Type


def emit_inline_ptx(context: Context, node: ir.InlinePtx, operands: Sequence[llvm.Value]) -> Any:
    """A call of LLVM's inline assembly, always convergent: the instructions may be for all lanes of a warp."""
    builder = context.builder
    inputs = [_to_register(builder, v, o.type) for v, o in zip(operands, node.operands, strict=True)]
    types = [_register(t) for t in node.results]
    result = VOID if not types else types[0] if len(types) == 1 else llvm.LiteralStructType(types)
    signature = llvm.FunctionType(result, [value.type for value in inputs])
    # Without the mark LLVM may give a result the register of an operand that an instruction further down still reads.
    mark = "=&" if node.early else "="
    constraints = [f"{mark}{_constraint(t)}" for t in node.results] + [_constraint(o.type) for o in node.operands]
    constraints += ["~{memory}"] if node.memory else []
    text = "".join(f"${part}" if isinstance(part, int) else part.replace("$", "$$") for part in node.template)
    ptx = llvm.InlineAsm(signature, text, ",".join(constraints), side_effect=node.volatile)
    # What is neither volatile nor of memory may be left out where nobody wants its result.
    attributes = ("convergent",) if node.volatile or node.memory else ("convergent", "nounwind", "readnone")
    value = builder.call(ptx, inputs, attrs=attributes)
    if not types:
        return value
    parts = [value] if len(types) == 1 else [builder.extract_value(value, i) for i in range(len(types))]
    return _result(builder, node.type, parts)


def _result(builder: llvm.IRBuilder, type: Type, parts: list[llvm.Value]) -> Any:
    if isinstance(type, ScalarType):
        return _from_register(builder, parts[0], type)
    result: Any = llvm.Constant(llvm_type(type), llvm.Undefined)
    assert not isinstance(type, PointerType)
    for i, (part, t) in enumerate(zip(parts, type.elements, strict=True)):  # type: ignore[union-attr]
        result = builder.insert_value(result, _from_register(builder, part, t), i)
    return result


def _register(t: Type) -> llvm.Type:
    """Predicates hold bools, no other register has less than 16 bits, and those of 16 bits have no type."""
    if isinstance(t, PointerType):
        return I64 if t.space in (Space.GENERIC, Space.GLOBAL) else I32
    assert isinstance(t, ScalarType)
    if t.kind is Kind.BOOL:
        return I1
    return I16 if t.bits <= 16 else llvm_type(t)


def _constraint(t: Type) -> str:
    """LLVM's letter for such a register."""
    register = _register(t)
    letters = {I1: "b", I16: "h", I32: "r", I64: "l"}
    return letters.get(register) or {"f32": "f", "f64": "d"}[str(t)]


def _to_register(builder: llvm.IRBuilder, value: llvm.Value, t: Type) -> Any:
    if isinstance(t, PointerType):
        return builder.ptrtoint(value, _register(t))
    assert isinstance(t, ScalarType)
    if t.bits == 8 and t.kind is not Kind.BOOL:
        return builder.sext(value, I16) if t.is_signed else builder.zext(value, I16)
    return builder.bitcast(value, I16) if t.bits == 16 and t.is_float else value


def _from_register(builder: llvm.IRBuilder, value: llvm.Value, t: Type) -> Any:
    assert isinstance(t, ScalarType)
    if t.bits == 8 and t.kind is not Kind.BOOL:
        return builder.trunc(value, I8)
    return builder.bitcast(value, llvm_type(t)) if t.bits == 16 and t.is_float else value
