"""Both halves of a product become one machine instruction; what must not move stays."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import kdsl
from kdsl import Ptr, grid, kernel, mul_hi, u32
from kdsl.codegen.sass import find_tool
from kdsl.codegen.wide_products import join_products
from kdsl.random import philox4x32

needs_tools = pytest.mark.skipif(not (find_tool("ptxas") and find_tool("nvdisasm")), reason="needs ptxas and nvdisasm")


@kernel
def rounds(out: Ptr[u32], seed: u32) -> None:
    i = grid(1)
    a, b, c, d = philox4x32((u32(i), 1, 2, 3), (seed, 4))
    out[i] = a ^ b ^ c ^ d


@needs_tools
def test_a_round_of_philox_is_two_multiplications() -> None:
    sass = kdsl.compile(rounds, target="sm_90").sass
    opcodes = Counter(word for line in sass.splitlines() for word in line.split() if word.startswith("IMAD"))
    assert opcodes["IMAD.HI.U32"] <= 2 and opcodes["IMAD.WIDE.U32"] >= 17


def test_products_of_registers(device: str) -> None:
    @kernel
    def k(x: Ptr[u32], out: Ptr[u32], n: u32) -> None:
        i = grid(1)
        a = x[i]
        b = x[i + 1]
        upper = mul_hi(a, b)
        mixed = upper ^ n
        out[2 * i] = mixed + mul_hi(mixed, b)
        out[2 * i + 1] = a * b + mixed * b

    x = np.random.default_rng(1).integers(0, 1 << 32, 33, np.uint32)
    out = np.zeros(64, np.uint32)
    k[1, 32](x, out, 99)
    a, b = x[:-1].astype(np.uint64), x[1:].astype(np.uint64)
    mixed = a * b >> np.uint64(32) ^ np.uint64(99)
    assert np.array_equal(out[::2], (mixed + (mixed * b >> np.uint64(32))).astype(np.uint32))
    assert np.array_equal(out[1::2], (a * b + mixed * b).astype(np.uint32))


def moved(*lines: str) -> list[str]:
    text = "".join(f"\t{line};\n" if line[0] not in "$}" else f"{line}\n" for line in lines)
    return [line.strip().rstrip(";") for line in join_products(text).splitlines()]


UPPER, LOWER = "mul.hi.u32 \t%r1, %r2, %r3", "mul.lo.s32 \t%r4, %r2, %r3"


def test_the_lower_half_moves_up() -> None:
    assert moved(UPPER, "xor.b32 \t%r5, %r1, %r6", LOWER) == [UPPER, LOWER, "xor.b32 \t%r5, %r1, %r6"]
    constant = "mov.b32 \t%r3, -5"
    lower = "mul.lo.s32 \t%r4, %r2, -5"
    assert moved(constant, UPPER, "neg.s32 \t%r5, %r1", lower) == [constant, UPPER, lower, "neg.s32 \t%r5, %r1"]


@pytest.mark.parametrize(
    "between",
    [
        "xor.b32 \t%r5, %r4, %r6",  # reads what the lower half will write
        "mov.b32 \t%r2, %r7",  # writes an operand
        "ld.global.v2.b32 \t{%r2, %r9}, [%rd1]",
        "$L__BB0_1:",
        "bra \t$L__BB0_2",
        "mov.b32 \t%r4, 0",
    ],
)
def test_what_must_not_move(between: str) -> None:
    assert moved(UPPER, between, LOWER) == [UPPER, between, LOWER]


def test_an_operand_that_the_upper_half_replaces() -> None:
    upper = "mul.hi.u32 \t%r2, %r2, %r3"
    assert moved(upper, "neg.s32 \t%r5, %r6", LOWER) == [upper, "neg.s32 \t%r5, %r6", LOWER]


def test_a_constant_that_is_written_twice_is_none() -> None:
    lines = ("mov.b32 \t%r3, -5", UPPER, "neg.s32 \t%r5, %r1", "mul.lo.s32 \t%r4, %r2, -5", "mov.b32 \t%r3, 6")
    assert moved(*lines) == list(lines)
