"""f16, bf16, f16x2 and bf16x2 arithmetic against exact fractions: one rounding, .ftz, .sat, .relu, canonical NaN."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from kdsl.emulator.instructions import UnknownInstruction, pure_operation
from tests.emulator import rational
from tests.emulator.rational import FORMATS, Format

COUNT = {"add": 2, "sub": 2, "mul": 2, "fma": 3}


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def rows_for(f: Format, count: int) -> list[tuple[int, ...]]:
    edges = rational.edge_patterns(f) if count == 2 else rational.edge_patterns(f)[::3]
    columns = [rational.random_patterns(f, 3000, 7 + k) for k in range(count)]
    return list(product(edges, repeat=count)) + list(zip(*columns, strict=True))


def expected(name: str, row: tuple[int, ...], f: Format, flags: tuple[str, ...]) -> int:
    if "ftz" in flags:
        row = tuple(rational.flush(bits, f) for bits in row)
    a, b, *c = (rational.decode(bits, f) for bits in row)
    match name:
        case "add":
            number = rational.add(a, b)
        case "sub":
            number = rational.add(a, rational.negate(b))
        case "mul":
            number = rational.multiply(a, b)
        case _:
            number = rational.fma(a, b, c[0])
    bits = rational.encode(number, f)
    if "ftz" in flags and rational.is_tiny(number, f, "rn"):
        bits &= f.sign
    if "sat" in flags:
        bits = rational.saturate(bits, f)
    if "relu" in flags and bits & f.sign:
        bits = 0
    return bits


CASES = [
    *(f"{name}.rn.{t}" for name in COUNT for t in ("f16", "bf16")),
    *(f"{name}.{t}" for name in ("add", "sub", "mul") for t in ("f16", "bf16")),
    *(f"{name}.rn.{flags}.f16" for name in COUNT for flags in ("ftz", "sat", "ftz.sat")),
    "fma.rn.relu.f16",
    "fma.rn.ftz.relu.f16",
    "fma.rn.relu.bf16",
]


@pytest.mark.parametrize("text", CASES)
def test_scalar_and_packed(text: str) -> None:
    """The packed form has the same values in its low halves, and in its high halves those of the row before."""
    words = tuple(text.split("."))
    name, type_name, f = words[0], words[-1], FORMATS[words[-1]]
    rows = rows_for(f, COUNT[name])
    want = np.array([expected(name, row, f, words[1:-1]) for row in rows], np.uint16)
    operation, packed = pure_operation(words), pure_operation((*words[:-1], type_name + "x2"))
    assert operation is not None and packed is not None
    columns = [np.array(column, np.uint16) for column in zip(*rows, strict=True)]
    got = operation.run(*columns)
    wrong = np.flatnonzero(got != want)
    assert not len(wrong), f"{[hex(x) for x in rows[wrong[0]]]}: {got[wrong[0]]:#x}, not {want[wrong[0]]:#x}"
    both = packed.run(*(np.roll(c, 1).astype(np.uint32) << 16 | c for c in columns))
    assert np.array_equal(both, np.roll(want, 1).astype(np.uint32) << 16 | want)


@pytest.mark.parametrize(
    ("type_name", "a", "b", "c", "want"),
    [
        # a * b is the middle of two values, and c so small that an f32 sum (in bf16 an f64 one) is still that middle.
        ("f16", 3.0, 683.0, 2.0**-24, 2050.0),
        ("f16", 3.0, 685.0, -(2.0**-24), 2054.0),
        ("bf16", 9.0, 29.0, 2.0**-120, 262.0),
        ("bf16", 9.0, 29.0, 0.0, 260.0),
        ("bf16", 9.0, 31.0, -(2.0**-120), 278.0),
        ("bf16", 9.0, 31.0, 0.0, 280.0),
    ],
)
def test_fma_rounds_once(type_name: str, a: float, b: float, c: float, want: float) -> None:
    f = FORMATS[type_name]
    bits = [rational.encode(rational.Number(x < 0, rational.Fraction(x)), f) for x in (a, b, c)]
    operation = pure_operation(("fma", "rn", type_name))
    assert operation is not None
    assert rational.decode(int(operation.run(*(np.array([x], np.uint16) for x in bits))[0]), f).value == want


@pytest.mark.parametrize("type_name", ["f16", "bf16"])
def test_sign_operations(type_name: str) -> None:
    """abs and neg of every pattern; NaN comes out canonical, as from the sum with zero that hardware makes."""
    f, every = FORMATS[type_name], np.arange(65536, dtype=np.uint16)
    nan = (every & 0x7FFF) > f.infinity
    for name, want in (("neg", every ^ 0x8000), ("abs", every & 0x7FFF)):
        operation = pure_operation((name, type_name))
        assert operation is not None
        assert np.array_equal(operation.run(every), np.where(nan, 0x7FFF, want))


@pytest.mark.parametrize(
    "text", ["add.rz.f16", "add.ftz.bf16", "fma.f16", "fma.rn.sat.relu.f16", "neg.ftz.bf16", "ex2.approx.bf16"]
)
def test_forms_that_ptx_lacks(text: str) -> None:
    with pytest.raises(UnknownInstruction):
        pure_operation(tuple(text.split(".")))


@pytest.mark.parametrize("type_name", ["f16", "bf16"])
@pytest.mark.parametrize("name", ["ex2", "tanh"])
def test_approximations_are_within_an_ulp(name: str, type_name: str) -> None:
    """Against NumPy's longdouble, on every finite operand; the ISA allows 2**-9.9 to 2**-7 of the result."""
    every = np.arange(65536, dtype=np.uint16)
    words = (name, "approx", *(("ftz",) if (name, type_name) == ("ex2", "bf16") else ()), type_name)
    operation = pure_operation(words)
    packed = pure_operation((*words[:-1], type_name + "x2"))
    assert operation is not None and packed is not None
    got = operation.run(every)
    x = np.array(
        [float(n.value) if not (n := rational.decode(int(b), FORMATS[type_name])).infinite else np.nan for b in every]
    )
    exact = (np.exp2 if name == "ex2" else np.tanh)(x.astype(np.longdouble))
    finite = np.isfinite(x) & ((every & 0x7FFF) <= FORMATS[type_name].infinity)
    usual = finite & (np.abs(exact) > 2.0**-14) & (exact < 60000.0)
    value = np.array([float(rational.decode(int(b), FORMATS[type_name]).value) for b in got[usual]])
    ulp = 2.0 ** (-10 if type_name == "f16" else -7)
    assert np.all(np.abs(value - exact[usual]) <= ulp * np.abs(exact[usual]))
    words32 = every.astype(np.uint32) << 16 | every
    assert np.array_equal(packed.run(words32), got.astype(np.uint32) << 16 | got)


@pytest.mark.parametrize("type_name", ["f16", "bf16"])
@pytest.mark.parametrize("text", ["add.f32", "sub.f32", "add.rz.f32", "add.rn.sat.f32", "fma.rn.f32", "fma.rp.f32"])
def test_f32_arithmetic_with_short_operands(text: str, type_name: str) -> None:
    """``fma.rn.f32.f16 d, a, b, c``: a and b are short, c and d f32, and nothing is rounded in between."""
    name, *flags, _ = text.split(".")
    mode = next((x for x in flags if x != "sat"), "rn")
    short, f = FORMATS[type_name], FORMATS["f32"]
    count = 2 if name == "fma" else 1
    rows = list(zip(*(rational.random_patterns(short, 1000, k) for k in range(count)), strict=True))
    last = rational.random_patterns(f, 1000, 9)
    operation = pure_operation((*text.split("."), type_name))
    assert operation is not None and operation.operands == (type_name,) * count + ("f32",)
    columns = [np.array(column, np.uint16) for column in zip(*rows, strict=True)]
    got = operation.run(*columns, np.array(last, np.uint32))
    for row, c, out in zip(rows, last, got.tolist(), strict=True):
        a, z = rational.decode(row[0], short), rational.decode(c, f)
        b = rational.decode(row[1], short) if name == "fma" else rational.Number(False, rational.Fraction(1))
        z = rational.negate(z) if name == "sub" else z
        want = rational.encode(rational.fma(a, b, z, mode), f, mode)
        assert out == (rational.saturate(want, f) if "sat" in flags else want), (row, hex(c))
