"""Random integer expressions over operands of which much is known: registers, constants, narrow types, and what follows.

The random programs of tests/differential read all their operands from memory, where nothing is known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import numpy as np
import pytest

from kdsl.backend import Backend
from kdsl.ir import nodes as ir
from kdsl.lang.index import block_dim, thread_idx
from kdsl.lang.types import I8, I16, I32, I64, U8, U16, U32, U64, ScalarType

from . import reference
from . import trees as t
from .compile import ptx_of
from .emulate import Array, Device

INTS = [I8, I16, I32, I64, U8, U16, U32, U64]
WIDE = [I32, I32, I64, U32, U64]
CONSTANTS = [0, 1, 2, 3, 5, 7, 8, 31, 32, 63, 100, -1, -3]
OPERATORS = "+ - * // % // % & | ^ << >> min max neg abs cast choose".split()
PROGRAMS, LANES = 60, 64


@dataclass(frozen=True)
class Lane:
    """What a program reads: the thread's index, and the values in memory."""

    index: int
    values: tuple[int, ...]


Typed = tuple[ir.Expr, Callable[[Lane], int]]
"""An expression, and what Python says it is."""


@dataclass
class Generator:
    random: Random
    memory: list[tuple[ir.Read, ScalarType]]

    def expression(self, s: ScalarType, depth: int) -> Typed:
        if depth == 0 or self.random.random() < 0.15:
            return self.leaf(s)
        op = self.random.choice(OPERATORS)
        if op == "cast":
            return self.cast(self.expression(source := self.random.choice(INTS), depth - 1), source, s)
        left, python_left = self.expression(s, depth - 1)
        if op in ("neg", "abs"):
            sign = "-" if op == "neg" else op
            return t.unary(sign, left), lambda lane: int(reference.unary(sign, python_left(lane), s))
        if op == "choose":
            return self.choose(left, python_left, s, depth - 1)
        other = self.random.choice([*WIDE, s]) if op in ("<<", ">>") else s
        right, python_right = self.expression(other, depth - 1)
        result = lambda lane: reference.int_binary(op, python_left(lane), python_right(lane), s)
        return t.binary(op, left, right), result

    def choose(self, left: ir.Expr, python_left: Callable[[Lane], int], s: ScalarType, depth: int) -> Typed:
        right, python_right = self.expression(s, depth)
        op = self.random.choice(["<", "==", ">="])
        choice = ir.Conditional(t.compare(op, left, right), right, left, s, t.AT)

        def python(lane: Lane) -> int:
            a, b = python_left(lane), python_right(lane)
            return b if reference.compare(op, a, b) else a

        return choice, python

    def leaf(self, s: ScalarType) -> Typed:
        kind = self.random.randrange(4)
        if kind == 0:
            value = max(s.minimum, min(s.maximum, self.random.choice([*CONSTANTS, s.minimum, s.maximum])))
            return t.const(value, s), lambda lane: value
        if kind == 1:
            return self.cast((t.intrinsic(thread_idx.x), lambda lane: lane.index), I32, s)
        if kind == 2:
            return self.cast((t.intrinsic(block_dim.x), lambda lane: LANES), I32, s)
        k = self.random.randrange(len(self.memory))
        array, element = self.memory[k]
        return self.cast((t.load(array, t.intrinsic(thread_idx.x)), lambda lane: lane.values[k]), element, s)

    def cast(self, typed: Typed, source: ScalarType, s: ScalarType) -> Typed:
        value, python = typed
        return (value if source == s else t.cast(value, s)), lambda lane: reference.wrap(python(lane), s)


def edge_values(random: Random, s: ScalarType) -> Array:
    edges = [v for v in [*CONSTANTS, s.minimum, s.minimum + 1, s.maximum - 1, s.maximum] if s.minimum <= v <= s.maximum]
    some = lambda: random.choice(edges) if random.random() < 0.6 else random.randint(s.minimum, s.maximum)
    return np.array([some() for _ in range(LANES)], s.numpy)


@pytest.mark.parametrize("seed", range(4))
def test_random_integer_programs(seed: int, backend: Backend) -> None:
    random = Random(seed)
    kernels, programs = [], []
    for k in range(PROGRAMS):
        kernel, s = t.Kernel(f"k{k}"), random.choice(WIDE)
        out = kernel.pointer("out", s)
        memory = [(kernel.pointer(f"x{i}", element), element) for i, element in enumerate(random.choices(INTS, k=3))]
        value, python = Generator(random, memory).expression(s, 4)
        kernel.add(t.store(out, t.intrinsic(thread_idx.x), value))
        kernels.append(kernel.function())
        programs.append((s, [element for _, element in memory], python))
    device = Device(ptx_of(*kernels), backend)
    for k, (s, elements, python) in enumerate(programs):
        inputs = [edge_values(random, element) for element in elements]
        out_values = np.zeros(LANES, s.numpy)
        device.run(f"k{k}", [out_values, *inputs], LANES)
        lanes = [Lane(i, tuple(int(x[i]) for x in inputs)) for i in range(LANES)]
        assert out_values.tolist() == [python(lane) for lane in lanes], (seed, k)
