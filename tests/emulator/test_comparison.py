"""setp, set, selp and slct: every test on every type, with boolean operand, both results, .ftz and NaN."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pytest

from kdsl.emulator.instructions import UnknownInstruction, pure_operation
from tests.emulator import rational
from tests.emulator.rational import FORMATS

ORDERED: dict[str, Callable[..., bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
UNSIGNED_NAMES = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
BOOLEAN: dict[str, Callable[..., bool]] = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def array(bits: list[int], width: int) -> np.ndarray:
    return np.array(bits, {16: np.uint16, 32: np.uint32, 64: np.uint64}[width])


def integer_rows(width: int) -> list[tuple[int, int]]:
    top = 1 << width - 1
    edges = [0, 1, 2, top - 1, top, top + 1, 2 * top - 1, 2 * top - 2, 0x5A5A & (2 * top - 1)]
    return list(product(edges, repeat=2))


@pytest.mark.parametrize("width", [16, 32, 64])
@pytest.mark.parametrize("kind", ["b", "u", "s"])
def test_integers(kind: str, width: int) -> None:
    rows = integer_rows(width)
    a, b = (array(list(column), width) for column in zip(*rows, strict=True))
    names = {"b": ["eq", "ne"], "s": list(ORDERED), "u": [*ORDERED, *UNSIGNED_NAMES]}[kind]
    for name in names:
        test = ORDERED[UNSIGNED_NAMES.get(name, name)]

        def signed(x: int) -> int:
            return x - (1 << width) if kind == "s" and x >> width - 1 else x

        want = [test(signed(x), signed(y)) for x, y in rows]
        operation = pure_operation(("setp", name, f"{kind}{width}"))
        assert operation is not None
        assert operation.run(a, b).tolist() == want, name
    if kind != "u":
        with pytest.raises(UnknownInstruction):
            pure_operation(("setp", "lo", f"{kind}{width}"))


FLOAT_TESTS = [*ORDERED, *(f"{name}u" for name in ORDERED), "num", "nan"]


def holds(name: str, a: rational.Number, b: rational.Number) -> bool:
    unordered = a.nan or b.nan
    if name in ("num", "nan"):
        return unordered == (name == "nan")
    if unordered:
        return name not in ORDERED
    x, y = (float("-inf" if n.negative else "inf") if n.infinite else n.value for n in (a, b))
    return ORDERED[name.removesuffix("u")](x, y)


@pytest.mark.parametrize("type_name", ["f16", "bf16", "f32", "f64", "ftz.f32", "ftz.f16"])
def test_floats(type_name: str) -> None:
    *ftz, type_name = type_name.split(".")
    f = FORMATS[type_name]
    rows = list(product(rational.edge_patterns(f), repeat=2))
    a, b = (array(list(column), f.width) for column in zip(*rows, strict=True))
    numbers = [tuple(rational.decode(rational.flush(x, f) if ftz else x, f) for x in row) for row in rows]
    for name in FLOAT_TESTS:
        operation = pure_operation(("setp", name, *ftz, type_name))
        assert operation is not None
        assert operation.run(a, b).tolist() == [holds(name, x, y) for x, y in numbers], name


@pytest.mark.parametrize("boolean", BOOLEAN)
def test_boolean_operand_and_both_results(boolean: str) -> None:
    rows = [(x, y, c) for x, y in integer_rows(32) for c in (False, True)]
    a, b, c = (
        np.array(column, dtype) for column, dtype in zip(zip(*rows, strict=True), ("u4", "u4", "?"), strict=True)
    )
    combine = BOOLEAN[boolean]
    one = pure_operation(("setp", "lt", boolean, "u32"))
    two = pure_operation(("setp", "lt", boolean, "u32"), both=True)
    assert one is not None and two is not None
    assert one.operands == ("u32", "u32", "pred") and two.results == ("pred", "pred")
    want = [combine(x < y, z) for x, y, z in rows]
    assert one.run(a, b, c).tolist() == want
    first, second = two.run(a, b, c)
    assert first.tolist() == want
    assert second.tolist() == [combine(not x < y, z) for x, y, z in rows]


def test_both_results_without_boolean() -> None:
    operation = pure_operation(("setp", "gt", "f32"), both=True)
    assert operation is not None
    a, b = (np.array(x, np.float32).view(np.uint32) for x in ([1, 2, np.nan], [2, 1, 1]))
    first, second = operation.run(a, b)
    assert first.tolist() == [False, True, False] and second.tolist() == [True, False, True]


def test_pairs() -> None:
    """f16x2: the low halves' result first."""
    operation = pure_operation(("setp", "lt", "and", "f16x2"))
    assert operation is not None and operation.results == ("pred", "pred")
    a = np.array([1.0, 5.0, 1.0, 1.0], np.float16).view(np.uint32)
    b = np.array([2.0, 2.0, 2.0, 2.0], np.float16).view(np.uint32)
    low, high = operation.run(a, b, np.array([True, False]))
    assert low.tolist() == [True, False] and high.tolist() == [False, False]


@pytest.mark.parametrize(
    ("text", "true"),
    [
        ("set.lt.u32.s32", 0xFFFFFFFF),
        ("set.lt.s32.u32", 0xFFFFFFFF),
        ("set.ltu.f32.f32", 0x3F800000),
        ("set.lt.f16.f16", 0x3C00),
    ],
)
def test_set(text: str, true: int) -> None:
    operation = pure_operation(tuple(text.split(".")))
    assert operation is not None
    width = 16 if operation.operands[0] == "f16" else 32
    below, above = (0x3C00, 0x4000) if width == 16 else (0x3F800000, 0x40000000)
    got = operation.run(array([below, above], width), array([above, below], width))
    assert got.tolist() == [true, 0]


def test_set_with_boolean() -> None:
    operation = pure_operation(("set", "eq", "or", "u32", "f32"))
    assert operation is not None and operation.operands == ("f32", "f32", "pred")
    zero = np.array([0, 0x80000000, 1], np.uint32)
    assert operation.run(zero, np.zeros(1, np.uint32), np.array([False, False, True])).tolist() == [2**32 - 1] * 3


@pytest.mark.parametrize("type_name", ["b16", "b32", "b64", "f16", "f32", "f64", "s32", "u64"])
def test_selp(type_name: str) -> None:
    operation = pure_operation(("selp", type_name))
    assert operation is not None
    width = int(type_name.lstrip("busf"))
    got = operation.run(array([1, 2], width), array([7], width), np.array([True, False]))
    assert got.tolist() == [1, 7] and got.dtype == array([], width).dtype


def test_slct() -> None:
    by_int, by_float = pure_operation(("slct", "u64", "s32")), pure_operation(("slct", "ftz", "f32", "f32"))
    assert by_int is not None and by_float is not None
    assert by_int.run(array([1], 64), array([2], 64), array([0, 5, 0x80000000], 32)).tolist() == [1, 1, 2]
    # -0 counts as not negative, a negative subnormal is -0 after the flush, and a NaN chooses b.
    chooser = array([0x80000000, 0x80000001, 0xBF800000, 0x7FC00000], 32)
    assert by_float.run(array([1], 32), array([2], 32), chooser).tolist() == [1, 1, 2, 2]


@pytest.mark.parametrize(
    "text", ["setp.equ.s32", "setp.lt.b32", "setp.ftz.f32", "setp.lt.ftz.f64", "set.lt.f64.f32", "selp.b8"]
)
def test_forms_that_ptx_lacks(text: str) -> None:
    with pytest.raises(UnknownInstruction):
        pure_operation(tuple(text.split(".")))
