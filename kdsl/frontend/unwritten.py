"""Shared and local arrays that a kernel reads, and that nothing in it writes: their elements are no values.

LLVM would drop such a read of a local array, so that nobody could find it later. An array that is passed on, or that a
variable holds beside others, is not judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kdsl.frontend.reporting import Reporter
from kdsl.frontend.written import children, found_writes, read_at, root
from kdsl.ir import nodes as ir
from kdsl.lang.types import Space
from kdsl.source import Span

New = ir.LocalArray | ir.SharedArray


def check_written(reporter: Reporter, functions: Sequence[ir.Function]) -> None:
    """Report the first read of each such array of a kernel and the functions that it calls."""
    uses = Uses()
    callees = {f.name: f for f in functions}
    for function in functions:
        uses.add(function)
        if uses.holders:
            # A variable that may be written through writes whatever array it holds.
            for uid in found_writes(function.body, callees):
                uses.written |= uses.holders.get(uid, set())
        uses.leave()
    reported: set[int] = set()
    for array, local, span in sorted(uses.reads, key=lambda read: (read[2].file, read[2].line, read[2].column)):
        if array.uid not in uses.written | reported:
            reported.add(array.uid)
            where = "local" if array.type.space is Space.LOCAL else "shared"
            hint = f"a new {where}.array() holds no zeros: store to its elements first"
            reporter.add(span, f"`{local.name}` is read, and nothing writes it", hint)


class Uses:
    """What is done with the arrays of a kernel, by their uids."""

    def __init__(self) -> None:
        self.written: set[int] = set()
        """Arrays that are or may be written."""
        self.reads: list[tuple[New, ir.Local, Span]] = []
        self.holders: dict[int, set[int]] = {}
        """The arrays that each variable of the function in hand may hold."""
        self.arrays: dict[int, New] = {}
        self.aliases: list[tuple[int, int]] = []
        """Variables that are assigned the whole of another one, and that one."""
        self.others: set[int] = set()
        self.loads: list[tuple[ir.Local, Span]] = []

    def add(self, function: ir.Function) -> None:
        pending: list[Any] = list(function.body)
        self.others |= {p.uid for p in function.parameters}
        while pending:
            self.visit(pending.pop(), pending)

    def visit(self, node: Any, pending: list[Any]) -> None:
        match node:
            case ir.Assign(local, ir.LocalArray() | ir.SharedArray() as array):
                self.holders.setdefault(local.uid, set()).add(array.uid)
                self.arrays[array.uid] = array
                return
            case ir.LocalArray(uid) | ir.SharedArray(uid):
                self.written.add(uid)  # not by a name: what becomes of it is not followed
                return
            case ir.Assign(local, ir.Read(other)) | ir.AssignExpr(local, ir.Read(other)):
                self.aliases.append((local.uid, other.uid))
                return
            case ir.Assign(local) | ir.AssignExpr(local):
                self.others.add(local.uid)
            case ir.Load(address, policy=policy):
                start = root(address)
                if isinstance(start, ir.Read):
                    self.loads.append((start.local, node.span))
                pending += [*read_at(address), *([] if policy is None else [policy])]
                return
        pending += children(node)

    def leave(self) -> None:
        """The function has been seen wholly: its reads are of arrays of which its variables hold one."""
        self.follow_aliases()
        for local, span in self.loads:
            held = self.holders.get(local.uid, set())
            if len(held) == 1 and local.uid not in self.others:
                self.reads.append((self.arrays[min(held)], local, span))
        self.holders, self.aliases, self.others, self.loads = {}, [], set(), []

    def follow_aliases(self) -> None:
        """A variable may hold what each one that it is assigned may hold."""
        changed = bool(self.holders)
        while changed:
            changed = False
            for local, other in self.aliases:
                held = self.holders.setdefault(local, set())
                more = self.holders.get(other, set()) - held
                held |= more
                unknown = other in self.others and local not in self.others
                if unknown:
                    self.others.add(local)
                changed |= bool(more) or unknown
