"""A failed assert: its values go into the record that `kdsl.checks` describes; with nobody to read it, to stderr."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from llvmlite import ir as llvm

from kdsl import checks
from kdsl.checks import Site
from kdsl.codegen.checks import claim_record, letter, tell_record, word
from kdsl.codegen.context import Context
from kdsl.codegen.output import emit_assert
from kdsl.codegen.types import I8, I32, I64, pointer
from kdsl.ir import nodes as ir
from kdsl.lang.types import BF16, F16, F32, Kind, ScalarType, Space, Type

_LETTERS = {F16: "h", BF16: "e", F32: "e"}


def fail_assert(context: Context, s: ir.Assert, function: str, values: Sequence[tuple[llvm.Value, Type]]) -> None:
    """Record the values, and stop."""
    builder, sites = context.builder, context.shared.sites
    file = s.span.file if s.span.file.startswith("<") else Path(s.span.file).name
    letters = "".join(_letter(t) for _, t in values)
    sites.append(Site(file, s.span.line, False, letters, s.template, function))
    number = llvm.Constant(I32, len(sites))
    address = builder.call(claim_record(context.shared), [])
    told, untold = builder.append_basic_block("told"), builder.append_basic_block("untold")
    builder.cbranch(builder.icmp_unsigned("!=", address, llvm.Constant(I64, 0)), told, untold)
    builder.position_at_end(told)
    record = builder.inttoptr(address, pointer(Space.GLOBAL))
    for position, (value, t) in enumerate(values):
        place = builder.gep(record, [llvm.Constant(I64, checks.VALUES_OFFSET + 8 * position)], source_etype=I8)
        builder.store(_word(context, value, t), place, align=8)
    builder.call(tell_record(context.shared), [address, number])
    builder.unreachable()
    builder.position_at_end(untold)
    emit_assert(context, s.message, s.span, function)


def _letter(t: Type) -> str:
    if not isinstance(t, ScalarType):
        return "p"
    return "b" if t.kind is Kind.BOOL else _LETTERS.get(t) or letter(t)


def _word(context: Context, value: llvm.Value, t: Type) -> llvm.Value:
    builder = context.builder
    if isinstance(t, ScalarType):
        return builder.zext(value, I64) if t.kind is Kind.BOOL else word(context, value, t)
    if value.type != pointer(Space.GENERIC):
        value = builder.addrspacecast(value, pointer(Space.GENERIC))
    return builder.ptrtoint(value, I64)
