"""What works on signs or picks an operand: abs, neg, copysign, testp, min and max with their NaN and zero rules."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from kdsl.emulator.instructions import UnknownInstruction, pure_operation
from tests.emulator import rational
from tests.emulator.rational import FORMATS, Format

DTYPES = {"f16": np.uint16, "bf16": np.uint16, "f32": np.uint32, "f64": np.uint64}


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def is_nan(bits: int, f: Format) -> bool:
    return bits & ~f.sign > f.infinity


def order(bits: int, f: Format) -> int:
    """A number that orders as the values do, with -0 below +0."""
    return -(bits & ~f.sign) - 1 if bits & f.sign else bits


def pick(name: str, row: tuple[int, int], type_name: str, flags: tuple[str, ...]) -> int:
    f = FORMATS[type_name]
    if "ftz" in flags:
        row = (rational.flush(row[0], f), rational.flush(row[1], f))
    a, b = (bits & ~f.sign for bits in row) if "abs" in flags else row
    nans = [bits for bits in (a, b) if is_nan(bits, f)]
    if nans and ("NaN" in flags or len(nans) == 2):
        return nans[-1] | 1 << 51 if type_name == "f64" else f.nan
    result = (b if is_nan(a, f) else a) if nans else (min if name == "min" else max)(a, b, key=lambda x: order(x, f))
    return result | (row[0] ^ row[1]) & f.sign if "xorsign" in flags else result


CASES = [
    *("f32", "f64", "f16", "bf16"),
    *("NaN.f32", "NaN.f16", "NaN.bf16"),
    *("ftz.f32", "ftz.f16", "ftz.NaN.f32", "ftz.NaN.f16"),
    *("xorsign.abs.f32", "NaN.xorsign.abs.f16", "xorsign.abs.bf16", "ftz.NaN.xorsign.abs.f32"),
]


@pytest.mark.parametrize("name", ["min", "max"])
@pytest.mark.parametrize("text", CASES)
def test_min_max(name: str, text: str) -> None:
    words = tuple(text.split("."))
    type_name, f = words[-1], FORMATS[words[-1]]
    edges = rational.edge_patterns(f)
    rows = list(product(edges, repeat=2))
    rows += list(zip(rational.random_patterns(f, 2000, 1), rational.random_patterns(f, 2000, 2), strict=True))
    a, b = (np.array(column, DTYPES[type_name]) for column in zip(*rows, strict=True))
    operation = pure_operation((name, *words))
    assert operation is not None
    got = operation.run(a, b)
    want = [pick(name, row, type_name, words[:-1]) for row in rows]
    wrong = np.flatnonzero(got != np.array(want, DTYPES[type_name]))
    assert not len(wrong), f"{[hex(x) for x in rows[wrong[0]]]}: {got[wrong[0]]:#x}, not {want[wrong[0]]:#x}"
    if type_name in ("f16", "bf16"):
        packed = pure_operation((name, *words[:-1], type_name + "x2"))
        assert packed is not None
        halves = packed.run(a.astype(np.uint32) << 16 | a[::-1], b.astype(np.uint32) << 16 | b[::-1])
        assert np.array_equal(halves, got.astype(np.uint32) << 16 | got[::-1])


def test_of_three() -> None:
    operation = pure_operation(("max", "f32"), count=3)
    assert operation is not None and len(operation.operands) == 3
    values = [np.array(x, np.float32).view(np.uint32) for x in ([1, 5, np.nan], [3, 2, 4], [2, np.nan, np.nan])]
    assert operation.run(*values).view(np.float32).tolist() == [3.0, 5.0, 4.0]


@pytest.mark.parametrize("type_name", ["f32", "f64"])
def test_signs(type_name: str) -> None:
    """neg and abs of a NaN are what hardware's sum with zero gives: canonical, or in f64 quieted and of its own sign."""
    f, dtype = FORMATS[type_name], DTYPES[type_name]
    patterns = rational.edge_patterns(f) + rational.random_patterns(f, 1000, 3)
    a = np.array(patterns, dtype)
    for name, change in (("neg", lambda x: x ^ f.sign), ("abs", lambda x: x & ~f.sign)):
        want = [(x | 1 << 51 if type_name == "f64" else f.nan) if is_nan(x, f) else change(x) for x in patterns]
        operation = pure_operation((name, type_name))
        assert operation is not None
        assert operation.run(a).tolist() == want
    copysign = pure_operation(("copysign", type_name))
    assert copysign is not None
    assert copysign.run(a, a[::-1]).tolist() == [
        x & f.sign | y & ~f.sign for x, y in zip(patterns, reversed(patterns), strict=True)
    ]


@pytest.mark.parametrize("type_name", ["f32", "f64"])
def test_testp(type_name: str) -> None:
    f = FORMATS[type_name]
    patterns = rational.edge_patterns(f) + rational.random_patterns(f, 500, 4)

    def kinds(bits: int) -> set[str]:
        number, magnitude = rational.decode(bits, f), bits & ~f.sign
        if number.nan:
            return {"notanumber"}
        if number.infinite:
            return {"number", "infinite"}
        if magnitude == 0:
            return {"number", "finite", "normal"}
        return {"number", "finite", "normal" if magnitude >> f.fraction_bits else "subnormal"}

    for kind in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
        operation = pure_operation(("testp", kind, type_name))
        assert operation is not None
        assert operation.run(np.array(patterns, DTYPES[type_name])).tolist() == [kind in kinds(x) for x in patterns]


@pytest.mark.parametrize(
    "text", ["min.NaN.f64", "min.ftz.bf16", "abs.ftz.f64", "neg.b32", "testp.odd.f32", "copysign.f16"]
)
def test_forms_that_ptx_lacks(text: str) -> None:
    with pytest.raises(UnknownInstruction):
        pure_operation(tuple(text.split(".")))
