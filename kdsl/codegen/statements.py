"""Statements: control flow as basic blocks, assignments as stores to allocas."""

from __future__ import annotations

from dataclasses import field
from typing import assert_never

from llvmlite import ir as llvm

from kdsl.codegen import memory
from kdsl.codegen.asserts import fail_assert
from kdsl.codegen.atomics import atomic_store
from kdsl.codegen.caching import cached_store, prefetch
from kdsl.codegen.expressions import Expressions
from kdsl.codegen.loops import reversed_range, trip_count, unroll_hint
from kdsl.codegen.output import emit_print
from kdsl.codegen.ranges import Interval
from kdsl.codegen.types import constant, llvm_type
from kdsl.ir import nodes as ir
from kdsl.lang.types import PointerType, ScalarType
from kdsl.records import dataclass


@dataclass(frozen=True, slots=True)
class Loop:
    """Where ``break`` and ``continue`` of the innermost loop go."""

    after: llvm.Block
    following: llvm.Block


@dataclass(slots=True)
class Statements(Expressions):
    """Lowers the statements of one function."""

    loops: list[Loop] = field(default_factory=list)

    def body(self, statements: tuple[ir.Stmt, ...]) -> None:
        """Statements in order; what follows a return, break or continue is never reached and not built."""
        for statement in statements:
            if self.builder.block.is_terminated:
                return
            self.statement(statement)

    def statement(self, s: ir.Stmt) -> None:
        match s:
            case ir.Assign():
                self.assign(s.local, self.value(s.value), s.span)
            case ir.Store():
                self._store(s)
            case ir.Prefetch():
                address = self.value(s.address)
                self.locate(s.span)
                prefetch(self.context, address, s.level, s.span)
            case ir.Evaluate():
                self.value(s.value)
            case ir.If():
                self._if(s)
            case ir.While():
                self._while(s)
            case ir.ForRange():
                self._for_range(s)
            case ir.Unrolled():
                self._unrolled(s)
            case ir.Break():
                self._jump(s, self.loops[-1].after)
            case ir.Continue():
                self._jump(s, self.loops[-1].following)
            case ir.Return():
                self._return(s)
            case ir.Print():
                arguments = [(self.value(a), a.type) for a in s.arguments]
                self.locate(s.span)
                emit_print(self.context, s.format, arguments)
            case ir.Assert():
                self._assert(s)
            case _:
                assert_never(s)

    def _jump(self, s: ir.Stmt, block: llvm.Block) -> None:
        self.locate(s.span)
        self.builder.branch(block)

    def _store(self, s: ir.Store) -> None:
        # Python evaluates the value before the target's index.
        value = self.value(s.value)
        address = self.value(s.address)
        policy = None if s.policy is None else self.value(s.policy)
        assert isinstance(s.address.type, PointerType)
        self.locate(s.span)
        t = s.address.type.element
        match s.access:
            case ir.Ordering() as ordering:
                assert isinstance(t, ScalarType)
                atomic_store(self.context, value, address, t, ordering, s.span)
            case ir.Caching() as caching:
                cached_store(self.context, value, address, t, caching, policy, s.span)
            case None:
                memory.store(self.context, value, address, t)

    def _if(self, s: ir.If) -> None:
        test = self.value(s.test)
        self.locate(s.span)
        then, end = self._block("then"), self._block("end")
        orelse = self._block("else") if s.orelse else end
        self.builder.cbranch(test, then, orelse)
        self._arm(then, s.body, end)
        if s.orelse:
            self._arm(orelse, s.orelse, end)
        self.builder.position_at_end(end)

    def _arm(self, block: llvm.Block, statements: tuple[ir.Stmt, ...], end: llvm.Block) -> None:
        """A body of its own block, which goes on at ``end`` unless it left by itself."""
        self.builder.position_at_end(block)
        self.body(statements)
        if not self.builder.block.is_terminated:
            self.builder.branch(end)

    def _while(self, s: ir.While) -> None:
        test, body, end = self._block("while"), self._block("body"), self._block("end")
        orelse = self._block("else") if s.orelse else end
        self._jump(s, test)
        self.builder.position_at_end(test)
        condition = self.value(s.test)
        self.locate(s.span)
        self.builder.cbranch(condition, body, orelse)
        self._loop_body(body, s.body, Loop(end, test))
        self._finish_loop(s.orelse, orelse, end)

    def _loop_body(self, block: llvm.Block, statements: tuple[ir.Stmt, ...], loop: Loop) -> None:
        self.loops.append(loop)
        self._arm(block, statements, loop.following)
        self.loops.pop()

    def _finish_loop(self, statements: tuple[ir.Stmt, ...], orelse: llvm.Block, end: llvm.Block) -> None:
        if statements:
            self._arm(orelse, statements, end)
        self.builder.position_at_end(end)

    def _for_range(self, s: ir.ForRange) -> None:
        """Count iterations up to the trip count, and step a hidden counter that the target is copied from."""
        t = s.target.type
        assert isinstance(t, ScalarType)
        start, stop, step = (self.value(e) for e in (s.start, s.stop, s.step))
        known = [self.ranges.interval(e) or Interval.of(t) for e in (s.start, s.stop, s.step)]
        self.locate(s.span)
        builder, integer = self.builder, llvm_type(t)
        count = trip_count(builder, t, (start, stop, step), (known[0], known[1], known[2]))
        if s.reverse:
            start, step = reversed_range(builder, t, start, step, count)
        before, test, body = builder.block, self._block("for"), self._block("body")
        following, end = self._block("next"), self._block("end")
        orelse = self._block("else") if s.orelse else end
        builder.branch(test)
        builder.position_at_end(test)
        iteration, counter = builder.phi(integer, "iteration"), builder.phi(integer, "counter")
        builder.cbranch(builder.icmp_unsigned("<", iteration, count), body, orelse)
        builder.position_at_end(body)
        self.assign(s.target, counter, s.span)
        self._loop_body(body, s.body, Loop(end, following))
        self.locate(s.span)
        builder.position_at_end(following)
        # Past the last iteration the counter may leave its type; nobody reads it then.
        # A reversed range whose step is the smallest integer passes it, too, as nothing is its negation.
        flags = ("nsw",) if t.is_signed and not (s.reverse and known[2].low == t.minimum) else ()
        incoming = (
            (iteration, constant(t, 0), builder.add(iteration, constant(t, 1), flags=("nuw",))),
            (counter, start, builder.add(counter, step, flags=flags)),
        )
        again = builder.branch(test)
        if s.unroll is not None:
            is_counted = all(isinstance(e, ir.Const) for e in (s.start, s.stop, s.step))
            again.set_metadata("llvm.loop", unroll_hint(builder.module, s.unroll, is_counted=is_counted))
        for phi, first, later in incoming:
            phi.add_incoming(first, before)
            phi.add_incoming(later, following)
        self._finish_loop(s.orelse, orelse, end)

    def _unrolled(self, s: ir.Unrolled) -> None:
        end = self._block("end")
        for statements in s.bodies:
            body, following = self._block("body"), self._block("next")
            self._jump(s, body)
            self._loop_body(body, statements, Loop(end, following))
            self.builder.position_at_end(following)
        self._arm(self.builder.block, s.orelse, end)
        self.builder.position_at_end(end)

    def _return(self, s: ir.Return) -> None:
        value = None if s.value is None else self.value(s.value)
        self.locate(s.span)
        if value is None or self.function.is_kernel:
            self.builder.ret_void()
        else:
            self.builder.ret(value)

    def _assert(self, s: ir.Assert) -> None:
        if not self.function.options.asserts:
            return
        test = self.value(s.test)
        self.locate(s.span)
        failed, holds = self._block("failed"), self._block("holds")
        self.builder.cbranch(test, holds, failed)
        self.builder.position_at_end(failed)
        values = [(self.value(v), v.type) for v in s.values]
        self.locate(s.span)
        fail_assert(self.context, s, self.function.source_name, values)
        self.builder.position_at_end(holds)
