"""f32 and f64 add, sub, mul, fma, div, rcp and sqrt in every rounding mode, .ftz and .sat, against exact fractions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdsl.emulator.instructions import UnknownInstruction, pure_operation
from tests.emulator import rational
from tests.emulator.rational import FORMATS, Format, Number

Reference = Callable[..., Number]
REFERENCES: dict[str, tuple[int, Reference]] = {
    "add": (2, rational.add),
    "sub": (2, lambda a, b, mode: rational.add(a, rational.negate(b), mode)),
    "mul": (2, lambda a, b, mode: rational.multiply(a, b)),
    "fma": (3, rational.fma),
    "div": (2, lambda a, b, mode: rational.divide(a, b)),
    "rcp": (1, lambda a, mode: rational.divide(Number(False, rational.Fraction(1)), a)),
    "sqrt": (1, lambda a, mode: rational.square_root(a)),
}
DTYPES = {"f16": np.uint16, "bf16": np.uint16, "f32": np.uint32, "f64": np.uint64}


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def operands(f: Format, count: int, seed: int) -> list[tuple[int, ...]]:
    """Every combination of the edges (of a part of them for three operands), then random ones."""
    edges = rational.edge_patterns(f)
    if count == 3:
        edges = edges[::3] + [f.sign, f.infinity, f.nan & ~f.sign]
    rows = list(product(edges, repeat=count))
    columns = [rational.random_patterns(f, 1500, seed + k) for k in range(count)]
    rows += list(zip(*columns, strict=True))
    if count == 3:  # c close to -(a * b), so that most of the sum cancels
        for a, b, c in zip(*columns, strict=True):
            near = rational.encode(rational.multiply(rational.decode(a, f), rational.decode(b, f)), f)
            rows.append((a, b, (near ^ f.sign) + (c % 5 - 2) & ((1 << f.width) - 1)))
    return rows


def quiet_payload(name: str, row: tuple[int, ...], f: Format) -> int:
    """An f64 NaN result: an operand, quieted, or the invalid operation's own.

    Of several NaN the second operand goes first, then the third; for div the first.
    """
    order = row if name == "div" else row[1:] + row[:1]
    for bits in order:
        if bits & ~f.sign > f.infinity:
            return bits | 1 << 51
    return f.nan


def expected(name: str, row: tuple[int, ...], type_name: str, mode: str, ftz: bool, sat: bool) -> int:
    f = FORMATS[type_name]
    if ftz:
        row = tuple(rational.flush(bits, f) for bits in row)
    number = REFERENCES[name][1](*(rational.decode(bits, f) for bits in row), mode)
    bits = rational.encode(number, f, mode)
    if number.nan and type_name == "f64":
        bits = quiet_payload(name, row, f)
    if ftz and rational.is_tiny(number, f, mode):
        bits &= f.sign
    return rational.saturate(bits, f) if sat else bits


def check(name: str, type_name: str, mode: str, ftz: bool = False, sat: bool = False) -> None:
    count, f = REFERENCES[name][0], FORMATS[type_name]
    rows = operands(f, count, seed=len(name) * 100 + ord(mode[1]))
    words = (name, mode, *(["ftz"] if ftz else []), *(["sat"] if sat else []), type_name)
    operation = pure_operation(words)
    assert operation is not None
    columns = [np.array(column, DTYPES[type_name]) for column in zip(*rows, strict=True)]
    before = [column.copy() for column in columns]
    got = operation.run(*columns)
    want = np.array([expected(name, row, type_name, mode, ftz, sat) for row in rows], DTYPES[type_name])
    wrong = np.flatnonzero(got != want)
    message = [f"{[hex(x) for x in rows[i]]}: {int(got[i]):#x}, not {int(want[i]):#x}" for i in wrong[:5]]
    assert not len(wrong), f"{'.'.join(words)}: {len(wrong)} of {len(rows)} wrong: " + "; ".join(message)
    assert all(np.array_equal(x, y) for x, y in zip(columns, before, strict=True)), "an operand was changed"


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("name", sorted(REFERENCES))
@pytest.mark.parametrize("type_name", ["f32", "f64"])
def test_rounding(name: str, type_name: str, mode: str) -> None:
    check(name, type_name, mode)


@pytest.mark.parametrize("name", sorted(REFERENCES))
def test_flush_to_zero(name: str) -> None:
    check(name, "f32", "rn", ftz=True)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "fma"])
@pytest.mark.parametrize(("mode", "ftz"), [("rn", False), ("rz", True)])
def test_saturate(name: str, mode: str, ftz: bool) -> None:
    check(name, "f32", mode, ftz, sat=True)


def test_fma_rounds_once() -> None:
    """49858 * 673 + 2**-40 lies above the middle of two f32; rounded to f64 first, it lies at the middle."""
    values = [np.array([x], np.float32).view(np.uint32) for x in (49858, 673, 2.0**-40)]
    operation = pure_operation(("fma", "rn", "f32"))
    assert operation is not None
    assert operation.run(*values).view(np.float32)[0] == 33554436


@pytest.mark.parametrize("text", ["add.rn", "sub.rz", "mul.rn.ftz", "fma.rn", "fma.rm.ftz"])
def test_pairs_of_f32(text: str) -> None:
    """f32x2, on 64-bit words: what the scalar form gives, in both halves."""
    words = tuple(text.split("."))
    rows = operands(FORMATS["f32"], REFERENCES[words[0]][0], seed=3)
    columns = [np.array(column, np.uint32) for column in zip(*rows, strict=True)]
    scalar, pair = pure_operation((*words, "f32")), pure_operation((*words, "f32x2"))
    assert scalar is not None and pair is not None
    high, low = scalar.run(*columns).astype(np.uint64), scalar.run(*(c[::-1].copy() for c in columns))
    got = pair.run(*(c.astype(np.uint64) << np.uint64(32) | c[::-1] for c in columns))
    assert got.dtype == np.uint64
    assert np.array_equal(got, high << np.uint64(32) | low)


@given(st.lists(st.tuples(*[st.integers(0, 2**64 - 1)] * 3), min_size=1, max_size=20))
def test_fma_of_any_bits(rows: list[tuple[int, int, int]]) -> None:
    """Of arbitrary f64 patterns, and of their upper 32 bits as f32."""
    for type_name, shift in (("f64", 0), ("f32", 32)):
        f = FORMATS[type_name]
        short = [tuple(bits >> shift for bits in row) for row in rows]
        operation = pure_operation(("fma", "rn", type_name))
        assert operation is not None
        got = operation.run(*(np.array(column, DTYPES[type_name]) for column in zip(*short, strict=True)))
        assert got.tolist() == [expected("fma", row, type_name, "rn", False, False) for row in short]


def test_a_uniform_operand_meets_lanes() -> None:
    """Shape (1,) beside (n,), in the paths that repair single lanes too."""
    for type_name, dtype in (("f32", np.float32), ("f64", np.float64)):
        operation = pure_operation(("fma", "rn", type_name))
        assert operation is not None
        tiny = np.finfo(dtype).smallest_subnormal
        lanes = np.array([1, 3, tiny, np.inf], dtype)
        half = np.array([0.5], dtype)
        got = operation.run(lanes.view(DTYPES[type_name]), half.view(DTYPES[type_name]), half.view(DTYPES[type_name]))
        assert got.view(dtype).tolist() == [1.0, 2.0, 0.5, np.inf]


@pytest.mark.parametrize(
    "words", ["add.rx.f32", "div.f32", "fma.f32", "sqrt.rn.sat.f32", "add.rn.ftz.f64", "fma.rn.relu.f32"]
)
def test_forms_that_ptx_lacks(words: str) -> None:
    with pytest.raises(UnknownInstruction, match=words):
        pure_operation(tuple(words.split(".")))
