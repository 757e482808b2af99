"""Random structured programs: branches, loops, breaks, guards, calls, memory. The oracle runs each thread alone, in Python."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest

from tests.emulator.engine import LINEAR, REGISTERS, Run, element, kernel

VARIABLES = 6
MASK = 2**32 - 1
State = list[int]
Effect = Callable[[State], Iterator[str]]
"""Runs a statement on one thread's variables; yields ``break`` or ``return`` where control leaves it."""

CALLEE = f"""
.func (.param .b32 func_retval0) twist(.param .b32 twist_param_0, .param .b32 twist_param_1)
{{{REGISTERS}
    .local .align 8 .b8 depot[16]; mov.b64 %rd1, depot; ld.param.b32 %r1, [twist_param_0]; ld.param.b32 %r2, [twist_param_1];
    st.local.v2.u32 [%rd1], {{%r1, %r2}}; and.b32 %r3, %r1, 4; cvt.u64.u32 %rd2, %r3; add.s64 %rd2, %rd1, %rd2;
    setp.lt.u32 %p1, %r1, %r2; @%p1 bra $SMALL; ld.local.u32 %r4, [%rd2]; xor.b32 %r4, %r4, 0x55; bra.uni $OUT;
$SMALL: ld.local.u32 %r4, [%rd2]; add.u32 %r4, %r4, %r2;
$OUT: st.param.b32 [func_retval0], %r4; ret;
}}
"""


def twist(a: int, b: int) -> int:
    picked = (a, b)[(a & 4) // 4]
    return (picked + b) & MASK if a < b else picked ^ 0x55


OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "add.u32": lambda a, b: a + b,
    "sub.u32": lambda a, b: a - b,
    "mul.lo.u32": lambda a, b: a * b,
    "xor.b32": lambda a, b: a ^ b,
    "and.b32": lambda a, b: a & b,
    "or.b32": lambda a, b: a | b,
    "min.u32": min,
}
COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "lt": lambda a, b: a < b,
    "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
}


@dataclass
class Generator:
    """Writes a program as PTX and, beside it, as what one thread does. Variables are ``%r10`` and up."""

    source: random.Random
    labels: int = 0
    fuel: int = 60
    loops: list[str] = field(default_factory=list)

    def label(self) -> str:
        self.labels += 1
        return f"$L{self.labels}"

    def variable(self) -> int:
        return self.source.randrange(VARIABLES)

    def block(self, depth: int) -> tuple[str, Effect]:
        parts = [self.statement(depth) for _ in range(self.source.randint(1, 4))]

        def run(state: State) -> Iterator[str]:
            for _, effect in parts:
                for leaving in effect(state):
                    yield leaving
                    return

        return "\n".join(text for text, _ in parts), run

    def statement(self, depth: int) -> tuple[str, Effect]:
        self.fuel -= 1
        kinds = ["assign"] * 4 + ["guarded", "call", "memory"]
        if depth and self.fuel > 0:
            kinds += ["if", "if", "loop", "loop", "switch"]
        if self.loops:
            kinds += ["break"]
        if self.source.random() < 0.03:
            kinds = ["return"]
        return getattr(self, "make_" + self.source.choice(kinds))(depth)  # type: ignore[no-any-return]

    def make_assign(self, depth: int) -> tuple[str, Effect]:
        name = self.source.choice(sorted(OPERATIONS))
        to, a, b = self.variable(), self.variable(), self.source.choice([self.variable(), -1])
        number = self.source.randrange(1, 9)
        operand = str(number) if b < 0 else f"%r{10 + b}"

        def run(state: State) -> Iterator[str]:
            state[to] = OPERATIONS[name](state[a], number if b < 0 else state[b]) & MASK
            yield from ()

        return f"{name} %r{10 + to}, %r{10 + a}, {operand};", run

    def condition(self) -> tuple[str, Callable[[State], bool]]:
        name = self.source.choice(sorted(COMPARISONS))
        a, bits, number = self.variable(), self.source.choice([1, 3, 7, 31]), self.source.randrange(6)
        text = f"and.b32 %r30, %r{10 + a}, {bits}; setp.{name}.u32 %p1, %r30, {number};"
        return text, lambda state: COMPARISONS[name](state[a] & bits, number)

    def make_guarded(self, depth: int) -> tuple[str, Effect]:
        text, holds = self.condition()
        assignment, effect = self.make_assign(depth)

        def run(state: State) -> Iterator[str]:
            if holds(state):
                yield from effect(state)

        return f"{text} @%p1 {assignment}", run

    def make_call(self, depth: int) -> tuple[str, Effect]:
        to, a, b = self.variable(), self.variable(), self.variable()

        def run(state: State) -> Iterator[str]:
            state[to] = twist(state[a], state[b])
            yield from ()

        return (
            f"{{ .param .b32 p0; st.param.b32 [p0], %r{10 + a}; .param .b32 p1; st.param.b32 [p1], %r{10 + b};"
            f" .param .b32 r0; call.uni (r0), twist, (p0, p1); ld.param.b32 %r{10 + to}, [r0]; }}"
        ), run

    def make_memory(self, depth: int) -> tuple[str, Effect]:
        """The thread's own 4 words of global memory are the last variables of its state."""
        a, to, offset = self.variable(), self.variable(), self.source.randrange(4)

        def run(state: State) -> Iterator[str]:
            state[VARIABLES + offset], state[to] = state[a], state[VARIABLES + 3 - offset]
            yield from ()

        load = f"ld.global.u32 %r31, [%rd20+{4 * (3 - offset)}];"
        return f"{load} st.global.u32 [%rd20+{4 * offset}], %r{10 + a}; mov.u32 %r{10 + to}, %r31;", run

    def make_if(self, depth: int) -> tuple[str, Effect]:
        text, holds = self.condition()
        yes, no = self.block(depth - 1), self.block(depth - 1)
        other, end = self.label(), self.label()

        def run(state: State) -> Iterator[str]:
            yield from (yes if holds(state) else no)[1](state)

        return f"{text} @!%p1 bra {other};\n{yes[0]}\nbra.uni {end};\n{other}:\n{no[0]}\n{end}:", run

    def make_switch(self, depth: int) -> tuple[str, Effect]:
        a, arms = self.variable(), [self.block(depth - 1) for _ in range(3)]
        labels, end, table = [self.label() for _ in arms], self.label(), self.label()
        text = (
            f"and.b32 %r30, %r{10 + a}, 3; {table}: .branchtargets {labels[0]}, {labels[1]}, {labels[2]}, {labels[1]};"
        )
        text += f" brx.idx %r30, {table};"
        for label, arm in zip(labels, arms, strict=True):
            text += f"\n{label}:\n{arm[0]}\nbra.uni {end};"

        def run(state: State) -> Iterator[str]:
            yield from arms[(0, 1, 2, 1)[state[a] & 3]][1](state)

        return f"{text}\n{end}:", run

    def make_loop(self, depth: int) -> tuple[str, Effect]:
        """Runs as often as three bits of a variable say, by a counter of its own."""
        a, level = self.variable(), len(self.loops)
        head, end = self.label(), self.label()
        self.loops.append(end)
        body = self.block(depth - 1)
        self.loops.pop()
        counter = f"%r{40 + level}"
        text = f"and.b32 {counter}, %r{10 + a}, 7;\n{head}: setp.eq.u32 %p1, {counter}, 0; @%p1 bra {end};"
        text += f"\n{body[0]}\nsub.u32 {counter}, {counter}, 1; bra.uni {head};\n{end}:"

        def run(state: State) -> Iterator[str]:
            for _ in range(state[a] & 7):
                for leaving in body[1](state):
                    if leaving == "return":
                        yield leaving
                    return

        return text, run

    def make_break(self, depth: int) -> tuple[str, Effect]:
        text, holds = self.condition()

        def run(state: State) -> Iterator[str]:
            if holds(state):
                yield "break"

        return f"{text} @%p1 bra {self.loops[-1]};", run

    def make_return(self, depth: int) -> tuple[str, Effect]:
        text, holds = self.condition()

        def run(state: State) -> Iterator[str]:
            if holds(state):
                yield "return"

        return f"{text} @%p1 bra $STORE;", run


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(run: Run, seed: int) -> None:
    generator = Generator(random.Random(seed))
    text, effect = generator.block(4)
    body = LINEAR + element("%rd20", "memory", size=16)
    for v in range(VARIABLES):
        body += f"mad.lo.u32 %r{10 + v}, %r4, {2 * v + 1}, {v * v};"
    body += "\n" + text + "\n$STORE:\n" + element("%rd21", "out", size=4 * VARIABLES)
    for v in range(VARIABLES):
        body += f"st.global.u32 [%rd21+{4 * v}], %r{10 + v};"
    n, block = 96, 48
    initial = np.arange(4 * n, dtype=np.uint32).reshape(n, 4)
    memory, out = run(
        kernel("u64 memory, u64 out", body + "ret;", module=CALLEE),
        n // block, block, initial, np.zeros((n, VARIABLES), np.uint32),
    )  # fmt: skip
    for i in range(n):
        state = [(i * (2 * v + 1) + v * v) & MASK for v in range(VARIABLES)] + initial[i].tolist()
        list(effect(state))
        assert (out[i].tolist(), memory[i].tolist()) == (state[:VARIABLES], state[VARIABLES:])
