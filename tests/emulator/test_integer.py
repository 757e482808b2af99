"""Integer arithmetic against Python's integers: every operation, width and sign, at edges and random values."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdsl.emulator.instructions import UnknownInstruction, pure_operation

DTYPES = {16: np.uint16, 32: np.uint32, 64: np.uint64}


def value(bits: int, type_name: str) -> int:
    width = int(type_name[1:])
    return bits - (1 << width) if type_name[0] == "s" and bits >> width - 1 else bits


def operands(width: int, count: int) -> list[tuple[int, ...]]:
    top, source = 1 << width - 1, random.Random(width)
    edges = [0, 1, 2, 3, 7, top - 1, top, top + 1, 2 * top - 1, 2 * top - 2, (1 << width // 2) - 1, 1 << width // 2]
    rows = list(product(edges, repeat=count))
    for _ in range(1000):
        rows.append(tuple(source.getrandbits(source.randrange(1, width + 1)) for _ in range(count)))
    return rows


def truncating(a: int, b: int) -> tuple[int, int]:
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return quotient, a - quotient * b


def low24(bits: int, type_name: str) -> int:
    low = bits & 0xFFFFFF
    return low - (1 << 24) if type_name[0] == "s" and low >> 23 else low


def clamp32(x: int) -> int:
    return min(max(x, -(2**31)), 2**31 - 1)


Reference = Callable[..., int]
SIGNS, WIDTHS = "us", (16, 32, 64)
REFERENCES: dict[str, tuple[int, Reference]] = {
    "add": (2, lambda a, b, w: a + b),
    "sub": (2, lambda a, b, w: a - b),
    "mul.lo": (2, lambda a, b, w: a * b),
    "mul.hi": (2, lambda a, b, w: a * b >> w),
    "mad.lo": (3, lambda a, b, c, w: a * b + c),
    "mad.hi": (3, lambda a, b, c, w: (a * b >> w) + c),
    "div": (2, lambda a, b, w: truncating(a, b)[0] if b else -1),
    "rem": (2, lambda a, b, w: truncating(a, b)[1] if b else -1),
    "sad": (3, lambda a, b, c, w: c + abs(a - b)),
    "min": (2, lambda a, b, w: min(a, b)),
    "max": (2, lambda a, b, w: max(a, b)),
}


def check(text: str, count: int, reference: Reference, third: str | None = None, result: str | None = None) -> None:
    words = tuple(text.split("."))
    type_name = words[-1]
    width = int(type_name[1:])
    types = (type_name,) * min(count, 2) + ((third or type_name,) if count == 3 else ())
    operation = pure_operation(words)
    assert operation is not None and operation.operands == types and operation.results == (result or type_name,)
    rows = operands(width, count)
    if third and third != type_name:
        rows = [(a, b, c * 0x10001 & (1 << int(third[1:])) - 1) for a, b, c in rows]
    columns = [np.array(c, DTYPES[int(t[1:])]) for c, t in zip(zip(*rows, strict=True), types, strict=True)]
    got = operation.run(*columns)
    mask = (1 << int((result or type_name)[1:])) - 1
    want = [reference(*(value(x, t) for x, t in zip(row, types, strict=True)), width) & mask for row in rows]
    wrong = [(row, hex(x), hex(y)) for row, x, y in zip(rows, got.tolist(), want, strict=True) if x != y]
    assert not wrong, f"{text}: {wrong[:3]}"
    assert got.dtype == DTYPES[int((result or type_name)[1:])]


@pytest.mark.parametrize("type_name", [f"{s}{w}" for s in SIGNS for w in WIDTHS])
@pytest.mark.parametrize("name", REFERENCES)
def test_arithmetic(name: str, type_name: str) -> None:
    """Wraps; division by zero gives all ones, quotient and remainder alike (what ptxas's sequence selects)."""
    check(f"{name}.{type_name}", *REFERENCES[name])


@pytest.mark.parametrize("type_name", [f"{s}{w}" for s in SIGNS for w in (16, 32)])
def test_wide(type_name: str) -> None:
    double = f"{type_name[0]}{2 * int(type_name[1:])}"
    check(f"mul.wide.{type_name}", 2, lambda a, b, w: a * b, result=double)
    check(f"mad.wide.{type_name}", 3, lambda a, b, c, w: a * b + c, third=double, result=double)


@pytest.mark.parametrize("type_name", ["u32", "s32"])
def test_24_bits(type_name: str) -> None:
    for half, shift in (("lo", 0), ("hi", 16)):

        def product24(a: int, b: int, shift: int = shift) -> int:
            return low24(a & 0xFFFFFFFF, type_name) * low24(b & 0xFFFFFFFF, type_name) >> shift

        check(f"mul24.{half}.{type_name}", 2, lambda a, b, w: product24(a, b))
        check(f"mad24.{half}.{type_name}", 3, lambda a, b, c, w: product24(a, b) + c)
    signed24 = lambda a, b: low24(a & 0xFFFFFFFF, "s") * low24(b & 0xFFFFFFFF, "s") >> 16
    check("mad24.hi.sat.s32", 3, lambda a, b, c, w: clamp32(value(signed24(a, b) & 0xFFFFFFFF, "s32") + c))


def test_saturating() -> None:
    check("add.sat.s32", 2, lambda a, b, w: clamp32(a + b))
    check("sub.sat.s32", 2, lambda a, b, w: clamp32(a - b))
    check("mad.hi.sat.s32", 3, lambda a, b, c, w: clamp32((a * b >> 32) + c))
    check("min.relu.s32", 2, lambda a, b, w: max(0, min(a, b)))
    check("max.relu.s32", 2, lambda a, b, w: max(0, a, b))


@pytest.mark.parametrize("type_name", ["s16", "s32", "s64"])
def test_one_operand(type_name: str) -> None:
    check(f"neg.{type_name}", 1, lambda a, w: -a)
    check(f"abs.{type_name}", 1, lambda a, w: abs(a))


def split(word: int, width: int, signed: bool) -> list[int]:
    parts = [word >> k & (1 << width) - 1 for k in range(0, 32, width)]
    return [p - (1 << width) if signed and p >> width - 1 else p for p in parts]


@pytest.mark.parametrize("a_type", ["u32", "s32"])
@pytest.mark.parametrize("b_type", ["u32", "s32"])
def test_dot_products(a_type: str, b_type: str) -> None:
    rows = operands(32, 3)
    a, b, c = (np.array(column, np.uint32) for column in zip(*rows, strict=True))
    for text, width, part in (("dp4a", 8, slice(0, 4)), ("dp2a.lo", 16, slice(0, 2)), ("dp2a.hi", 16, slice(2, 4))):
        operation = pure_operation((*text.split("."), a_type, b_type))
        assert operation is not None
        want = []
        for x, y, z in rows:
            pairs = zip(split(x, width, a_type == "s32"), split(y, 8, b_type == "s32")[part], strict=True)
            want.append(sum(p * q for p, q in pairs) + z & 0xFFFFFFFF)
        assert operation.run(a, b, c).tolist() == want, text
        assert operation.run(a, b[:1], c[:1]).shape == a.shape


@pytest.mark.parametrize("name", ["add", "min", "max"])
@pytest.mark.parametrize("type_name", ["u16x2", "s16x2"])
def test_pairs(name: str, type_name: str) -> None:
    rows = operands(32, 2)
    reference = {"add": lambda a, b: a + b, "min": min, "max": max}[name]
    operation = pure_operation((name, type_name))
    assert operation is not None
    want = []
    for a, b in rows:
        low, high = (
            reference(x, y) & 0xFFFF
            for x, y in zip(split(a, 16, type_name[0] == "s"), split(b, 16, type_name[0] == "s"), strict=True)
        )
        want.append(high << 16 | low)
    assert operation.run(*(np.array(column, np.uint32) for column in zip(*rows, strict=True))).tolist() == want


def run_one(text: str, *values: int | bool, width: int = 32) -> tuple[int, ...]:
    operation = pure_operation(tuple(text.split(".")))
    assert operation is not None
    arrays = [
        np.array([v], np.bool_ if t == "cc" else DTYPES[width]) for v, t in zip(values, operation.operands, strict=True)
    ]
    result = operation.run(*arrays)
    return tuple(int(x[0]) for x in result) if isinstance(result, tuple) else (int(result[0]),)


words = st.one_of(st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 2**31, 2**32 - 1, 2**32 - 2]))


@given(st.lists(st.tuples(words, words), min_size=1, max_size=5), st.booleans())
def test_carry_chains(parts: list[tuple[int, int]], subtract: bool) -> None:
    """A sum or difference of long numbers, word by word, through the carry."""
    name, flag, total = "sub" if subtract else "add", (), []
    for index, (a, b) in enumerate(parts):
        word, *carry = run_one(f"{name}.cc.u32" if index == 0 else f"{name}c.cc.u32", a, b, *flag)
        total.append(word)
        flag = tuple(bool(c) for c in carry)
    (last,) = run_one(f"{name}c.u32", 0, 0, *flag)
    x, y = (sum(p[k] << 32 * i for i, p in enumerate(parts)) for k in (0, 1))
    want = (x - y if subtract else x + y) & (1 << 32 * (len(parts) + 1)) - 1
    assert sum(w << 32 * i for i, w in enumerate([*total, last])) == want


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.integers(0, 2**128 - 1))
def test_multiply_add_chains(a: int, b: int, c: int) -> None:
    """64 x 64 + 128 bits by 32-bit words, as code for long products is written, and in one step by 64-bit words."""
    low, carry = run_one("mad.lo.cc.u64", a, b, c & 2**64 - 1, width=64)
    (high,) = run_one("madc.hi.u64", a, b, c >> 64, bool(carry), width=64)
    assert (high << 64 | low) == a * b + c & 2**128 - 1
    a0, b0, c0 = a & 2**32 - 1, b & 2**32 - 1, c & 2**64 - 1
    low, carry = run_one("mad.lo.cc.u32", a0, b0, c0 & 2**32 - 1)
    high, carry = run_one("madc.hi.cc.u32", a0, b0, c0 >> 32, bool(carry))
    assert (carry << 64 | high << 32 | low) == a0 * b0 + c0


@pytest.mark.parametrize(
    "text",
    ["add.u8", "mul.u32", "mad.wide.s64", "div.b32", "neg.u32", "dp4a.u8.u8", "addc.u16", "sub.u16x2", "add.sat.u32"],
)
def test_forms_that_ptx_lacks(text: str) -> None:
    with pytest.raises(UnknownInstruction):
        pure_operation(tuple(text.split(".")))
