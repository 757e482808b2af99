"""Print and assert: the system calls ``vprintf`` and ``__assertfail`` (PTX Writer's Guide to Interoperability, 5)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from llvmlite import ir as llvm

from kdsl.codegen.context import Context
from kdsl.codegen.types import I32, I64, VOID, alignment, pointer
from kdsl.lang.types import Kind, ScalarType, Space, Type
from kdsl.source import Span

_GENERIC = pointer(Space.GENERIC)


def emit_print(context: Context, text: str, arguments: Sequence[tuple[llvm.Value, Type]]) -> None:
    """``vprintf(format, arguments)``; the arguments lie in a buffer, each aligned to its size, as C's varargs do."""
    builder = context.builder
    promoted = [_promote(context, value, t) for value, t in arguments]
    buffer: llvm.Value = llvm.Constant(_GENERIC, None)
    if promoted:
        buffer = context.alloca(llvm.LiteralStructType([value.type for value, _ in promoted]), "printed")
        struct = buffer.allocated_type
        for i, (value, align) in enumerate(promoted):
            place = builder.gep(buffer, [llvm.Constant(I32, 0), llvm.Constant(I32, i)], source_etype=struct)
            builder.store(value, place, align=align)
    function = context.declare("vprintf", I32, [_GENERIC, _GENERIC])
    builder.call(function, [_string(context, text), buffer])


def _promote(context: Context, value: llvm.Value, t: Type) -> tuple[llvm.Value, int]:
    """The value as vprintf takes it, and its alignment: a bool is one of two strings, a pointer is generic."""
    if isinstance(t, ScalarType) and t.kind is Kind.BOOL:
        return context.builder.select(value, _string(context, "True"), _string(context, "False")), 8
    if isinstance(value.type, llvm.PointerType) and value.type != _GENERIC:
        value = context.builder.addrspacecast(value, _GENERIC)
    return value, alignment(t)


def emit_assert(context: Context, message: str, span: Span, function: str) -> None:
    """``__assertfail(message, file, line, function, 1)``, which does not return, and a trap that says so to LLVM."""
    builder = context.builder
    fail = context.declare("__assertfail", VOID, [_GENERIC, _GENERIC, I32, _GENERIC, I64])
    file = span.file if span.file.startswith("<") else Path(span.file).name
    texts = [_string(context, text) for text in (message, file, function)]
    builder.call(fail, [texts[0], texts[1], llvm.Constant(I32, span.line), texts[2], llvm.Constant(I64, 1)])
    # Why not `unreachable` alone? LLVM would take it for a promise, and drop the check.
    context.call("llvm.trap", VOID, [])
    builder.unreachable()


def _string(context: Context, text: str) -> llvm.Value:
    return context.builder.addrspacecast(context.shared.string(text), _GENERIC)
