"""Logic, shifts and bit fields against Python's integers, one bit at a time where the ISA defines them so."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from kdsl.emulator.instructions import UnknownInstruction, pure_operation

DTYPES = {16: np.uint16, 32: np.uint32, 64: np.uint64}
ONES = 0xFFFFFFFF


def width_of(type_name: str) -> int:
    return int(type_name[1:])


def words(width: int, count: int = 300, seed: int = 1) -> list[int]:
    """Edges, single bits, runs of ones, and random values of every length."""
    source = random.Random(seed)
    values = [0, 1, (1 << width) - 1, 1 << width - 1, (1 << width - 1) - 1, 0x55555555 & (1 << width) - 1]
    values += [1 << k for k in range(width)] + [(1 << k) - 1 for k in range(width)]
    return values + [source.getrandbits(source.randrange(1, width + 1)) for _ in range(count)]


def check(text: str, rows: list[tuple[int, ...]], reference: Callable[..., int]) -> None:
    operation = pure_operation(tuple(text.split(".")))
    assert operation is not None
    types = operation.operands
    columns = [np.array(c, DTYPES[width_of(t)]) for c, t in zip(zip(*rows, strict=True), types, strict=True)]
    got = operation.run(*columns)
    assert got.dtype == DTYPES[width_of(operation.results[0])]
    mask = (1 << width_of(operation.results[0])) - 1
    wrong = [(r, hex(int(x))) for r, x in zip(rows, got, strict=True) if int(x) != reference(*r) & mask]
    assert not wrong, f"{text}: {wrong[:3]}, not {[hex(reference(*r) & mask) for r, _ in wrong[:3]]}"
    uniform = operation.run(columns[0], *(column[:1] for column in columns[1:]))
    assert uniform.shape == got.shape
    assert int(uniform[-1]) == reference(rows[-1][0], *rows[0][1:]) & mask


def signed(x: int, width: int) -> int:
    return x - (1 << width) if x >> width - 1 else x


@pytest.mark.parametrize("width", [16, 32, 64])
def test_bitwise(width: int) -> None:
    rows = list(zip(words(width), words(width, seed=2), strict=True))
    check(f"and.b{width}", rows, lambda a, b: a & b)
    check(f"or.b{width}", rows, lambda a, b: a | b)
    check(f"xor.b{width}", rows, lambda a, b: a ^ b)
    single = [(x,) for x in words(width)]
    check(f"not.b{width}", single, lambda a: ~a)
    check(f"cnot.b{width}", single, lambda a: a == 0)


def test_predicates() -> None:
    a, b = np.array([False, False, True, True]), np.array([False, True, False, True])
    for name, want in (("and", a & b), ("or", a | b), ("xor", a ^ b)):
        operation = pure_operation((name, "pred"))
        assert operation is not None
        assert np.array_equal(operation.run(a, b), want)
    negation = pure_operation(("not", "pred"))
    assert negation is not None
    assert np.array_equal(negation.run(a), ~a)


AMOUNTS = [0, 1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 1 << 31, ONES]


@pytest.mark.parametrize("width", [16, 32, 64])
def test_shifts(width: int) -> None:
    """Amounts at or past the width give 0, or the sign."""
    rows = list(product(words(width, 20), AMOUNTS))
    check(f"shl.b{width}", rows, lambda a, n: a << min(n, width))
    for kind in "bu":
        check(f"shr.{kind}{width}", rows, lambda a, n: a >> min(n, width))
    check(f"shr.s{width}", rows, lambda a, n: signed(a, width) >> min(n, width))


@pytest.mark.parametrize("mode", ["wrap", "clamp"])
def test_funnel_shifts(mode: str) -> None:
    rows = [(a, b, n) for a, b in zip(words(32, 20), words(32, 20, 2), strict=True) for n in AMOUNTS]
    amount = (lambda n: n & 31) if mode == "wrap" else (lambda n: min(n, 32))
    check(f"shf.l.{mode}.b32", rows, lambda a, b, n: (b << 32 | a) << amount(n) >> 32)
    check(f"shf.r.{mode}.b32", rows, lambda a, b, n: (b << 32 | a) >> amount(n))


def test_lop3() -> None:
    """Every table, on operands that show every combination of bits: 0xF0, 0xCC and 0xAA spell the table itself."""
    for table in range(256):
        check("lop3.b32", [(0xF0, 0xCC, 0xAA, table)], lambda a, b, c, t: t | (t & 1 and 0xFFFFFF00))
    rows = list(zip(words(32), words(32, seed=2), words(32, seed=3), [0x96] * len(words(32)), strict=True))
    check("lop3.b32", rows, lambda a, b, c, t: a ^ b ^ c)


@pytest.mark.parametrize("width", [32, 64])
def test_counts(width: int) -> None:
    single = [(x,) for x in words(width)]
    check(f"popc.b{width}", single, lambda a: a.bit_count())
    check(f"clz.b{width}", single, lambda a: width - a.bit_length())
    check(f"brev.b{width}", single, lambda a: int(f"{a:0{width}b}"[::-1], 2))
    check(f"bfind.u{width}", single, lambda a: a.bit_length() - 1 if a else ONES)
    check(f"bfind.shiftamt.u{width}", single, lambda a: width - a.bit_length() if a else ONES)

    def without_sign(a: int) -> int:
        return ~a & (1 << width) - 1 if a >> width - 1 else a

    check(f"bfind.s{width}", single, lambda a: without_sign(a).bit_length() - 1 if without_sign(a) else ONES)
    shift = lambda a: width - without_sign(a).bit_length() if without_sign(a) else ONES
    check(f"bfind.shiftamt.s{width}", single, shift)


def extract(a: int, position: int, length: int, width: int, is_signed: bool) -> int:
    """The ISA's loop over bits."""
    position, length = (position & 255, length & 255) if width == 32 else (position, length)
    sign = a >> min(position + length - 1, width - 1) & 1 if is_signed and length else 0
    bits = [a >> position + k & 1 if k < length and position + k < width else sign for k in range(width)]
    return sum(bit << k for k, bit in enumerate(bits))


def insert(a: int, b: int, position: int, length: int, width: int) -> int:
    position, length = (position & 255, length & 255) if width == 32 else (position, length)
    for k in range(min(length, width)):
        if position + k < width:
            b = b & ~(1 << position + k) | (a >> k & 1) << position + k
    return b


PLACES = [0, 1, 5, 8, 16, 31, 32, 33, 63, 64, 255, 256, 261]


@pytest.mark.parametrize("width", [32, 64])
def test_bit_fields(width: int) -> None:
    rows = list(product(words(width, 20), PLACES, PLACES))
    check(f"bfe.u{width}", rows, lambda a, p, n: extract(a, p, n, width, False))
    check(f"bfe.s{width}", rows, lambda a, p, n: extract(a, p, n, width, True))
    pairs = zip(words(width, 20), words(width, 20, 2), strict=True)
    check(
        f"bfi.b{width}", [(a, b, p, n) for a, b in pairs for p in PLACES for n in PLACES], lambda *r: insert(*r, width)
    )


@pytest.mark.parametrize("mode", ["wrap", "clamp"])
def test_masks_and_extension(mode: str) -> None:
    fit = (lambda n: n & 31) if mode == "wrap" else (lambda n: min(n, 32))
    check(f"bmsk.{mode}.b32", list(product(PLACES, PLACES)), lambda p, n: ((1 << fit(n)) - 1) << fit(p))

    def extend(a: int, n: int, is_signed: bool) -> int:
        field = a & (1 << fit(n)) - 1
        return field - (1 << fit(n)) if is_signed and fit(n) and field >> fit(n) - 1 else field

    rows = list(product(words(32, 30), PLACES))
    check(f"szext.{mode}.u32", rows, lambda a, n: extend(a, n, False))
    check(f"szext.{mode}.s32", rows, lambda a, n: extend(a, n, True))


def nth_set(mask: int, base: int, offset: int) -> int:
    if offset == 0:
        return base if mask >> base & 1 else ONES
    places = range(base, 32) if offset > 0 else range(base, -1, -1)
    found = [p for p in places if mask >> p & 1]
    return found[abs(offset) - 1] if abs(offset) <= len(found) else ONES


def test_fns() -> None:
    operation = pure_operation(("fns", "b32"))
    assert operation is not None
    rows = list(product(words(32, 20), [0, 1, 7, 30, 31], [-32, -3, -2, -1, 0, 1, 2, 3, 32]))
    columns = [np.array([x & ONES for x in column], np.uint32) for column in zip(*rows, strict=True)]
    assert operation.run(*columns).tolist() == [nth_set(*row) for row in rows]


def permute(a: int, b: int, selectors: list[int]) -> int:
    source = (b << 32 | a).to_bytes(8, "little")
    picked = [source[s & 7] if s < 8 else (0xFF if source[s & 7] >> 7 else 0) for s in selectors]
    return int.from_bytes(bytes(picked), "little")


def test_prmt() -> None:
    rows = list(zip(words(32), words(32, seed=2), words(32, seed=3), strict=True))
    rows += [
        (
            0x83828180,
            0x07060504,
            c,
        )[:3]
        for c in (0x0123, 0x7654, 0xFEDC, 0x89AB, 0x3210)
    ]
    check("prmt.b32", rows, lambda a, b, c: permute(a, b, [c >> k & 15 for k in (0, 4, 8, 12)]))


@pytest.mark.parametrize(
    ("mode", "selectors"),
    [
        ("f4e", lambda n: [n, n + 1, n + 2, n + 3]),
        ("b4e", lambda n: [n, (n - 1) % 8, (n - 2) % 8, (n - 3) % 8]),
        ("rc8", lambda n: [n] * 4),
        ("ecl", lambda n: [max(k, n) for k in range(4)]),
        ("ecr", lambda n: [min(k, n) for k in range(4)]),
        ("rc16", lambda n: [2 * (n & 1), 2 * (n & 1) + 1] * 2),
    ],
)
def test_prmt_modes(mode: str, selectors: Callable[[int], list[int]]) -> None:
    rows = [(0x83828180, 0x07060504, c) for c in range(8)]
    check(f"prmt.b32.{mode}", rows, lambda a, b, c: permute(a, b, selectors(c & 3)))


@pytest.mark.parametrize(
    "text", ["and.u32", "shl.u32", "shr.b8", "shf.l.b32", "popc.b16", "bfe.b32", "prmt.b32.xyz", "lop3.b64"]
)
def test_forms_that_ptx_lacks(text: str) -> None:
    with pytest.raises(UnknownInstruction):
        pure_operation(tuple(text.split(".")))


def test_another_mnemonic_is_none() -> None:
    assert pure_operation(("ld", "global", "b32")) is None
