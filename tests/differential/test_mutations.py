"""The random programs find a compiler that is wrong: each test breaks one lowering, which is found and made small."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from llvmlite import ir as llvm

from kdsl.backend import Backend
from kdsl.codegen import arithmetic, expressions, intrinsics_warp
from kdsl.codegen.statements import Statements
from kdsl.emulator.batch import Batch
from kdsl.ir import nodes as ir

from . import generate_blocks, generate_statements, harness, shrink
from . import program as p
from .schedules import warps_apart
from .variables import walk

Patch = pytest.MonkeyPatch
PROGRAMS, MODULES = 12, 20


def shift_by_the_low_bits(patch: Patch) -> None:
    """As x86 shifts, where an amount of 32 is one of 0."""

    def shift(context: Any, op: ir.BinaryOp, t: Any, left: Any, right: Any, *_: Any) -> Any:
        builder = context.builder
        amount = arithmetic._resize(builder, right, left.type)
        amount = builder.and_(amount, llvm.Constant(left.type, t.bits - 1))
        make = builder.shl if op is ir.BinaryOp.SHL else builder.ashr if t.is_signed else builder.lshr
        return make(left, amount)

    patch.setattr(arithmetic, "shift", shift)


def no_barrier(patch: Patch) -> None:
    patch.setattr(Batch, "start", warps_apart())
    real = expressions.emit_intrinsic

    def emit(context: Any, call: ir.IntrinsicCall, arguments: Sequence[Any]) -> Any:
        return None if call.intrinsic.name == "sync_threads" else real(context, call, arguments)

    patch.setattr(expressions, "emit_intrinsic", emit)


def counter_stays(patch: Patch) -> None:
    """The phi of a loop's variable takes its own value again."""
    real = llvm.PhiInstr.add_incoming

    def add_incoming(phi: Any, value: Any, block: Any) -> None:
        real(phi, phi if phi.name.startswith("counter") and phi.incomings else value, block)

    patch.setattr(llvm.PhiInstr, "add_incoming", add_incoming)


def continue_breaks(patch: Patch) -> None:
    real = Statements._jump

    def jump(self: Any, s: ir.Stmt, block: Any) -> None:
        real(self, s, self.loops[-1].after if isinstance(s, ir.Continue) else block)

    patch.setattr(Statements, "_jump", jump)


def atomic_maximum_is_minimum(patch: Patch) -> None:
    real = expressions.emit_atomic

    def emit(context: Any, node: ir.Atomic, address: Any, operands: Sequence[Any]) -> Any:
        if node.op is ir.AtomicOp.MAX:
            node = ir.Atomic(**{n: getattr(node, n) for n in node.__slots__} | {"op": ir.AtomicOp.MIN})
        return real(context, node, address, operands)

    patch.setattr(expressions, "emit_atomic", emit)


def shuffle_without_its_width(patch: Patch) -> None:
    real = intrinsics_warp._control
    whole = llvm.Constant(llvm.IntType(32), 32)
    patch.setattr(intrinsics_warp, "_control", lambda builder, mode, width: real(builder, mode, whole))


Break = Callable[[Patch], None]
MUTATIONS: list[tuple[Break, Callable[[Random], p.Program]]] = [
    (shift_by_the_low_bits, generate_statements.statement_program),
    (counter_stays, generate_statements.statement_program),
    (continue_breaks, generate_statements.statement_program),
    (no_barrier, generate_blocks.block_program),
    (atomic_maximum_is_minimum, generate_blocks.block_program),
    (shuffle_without_its_width, generate_blocks.block_program),
]


@pytest.mark.parametrize(("mutation", "make"), MUTATIONS, ids=lambda f: f.__name__)
def test_a_broken_lowering_is_found_and_made_small(
    mutation: Break, make: Callable[[Random], p.Program], emulator: Backend, tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setenv("KDSL_CACHE", "0")  # what is wrong on purpose is not kept
    mutation(monkeypatch)
    found = first_mismatch(make, emulator, tmp_path)
    small = shrink.shrink(found, harness.still_wrong(emulator, tmp_path, found)).case.program
    assert len(list(walk(small.body))) + sum(len(list(walk(f.body))) for f in small.functions) <= 8, small
    monkeypatch.undo()
    case = harness.smaller_case(found, small)
    assert not harness.mismatches(emulator, [case], tmp_path)


def first_mismatch(make: Callable[[Random], p.Program], emulator: Backend, directory: Path) -> harness.Mismatch:
    for module in range(MODULES):
        random = [Random(f"mutation {module} {k}") for k in range(PROGRAMS)]
        found = harness.mismatches(emulator, [harness.make_case(make(r), r) for r in random], directory)
        if found:
            return found[0]
    raise AssertionError("no program shows it")
