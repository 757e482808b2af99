"""Bit fields, funnel shifts, logic tables, wide products and dot products, against Python's integers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from kdsl import (
    CompileError,
    Ptr,
    bfe,
    bfi,
    dp2a_hi,
    dp4a,
    funnel_shift_l,
    i32,
    i64,
    kernel,
    lop3,
    mul_hi,
    mul_wide,
    popc,
    thread_idx,
    u16,
    u32,
    u64,
)
from kdsl.backend import Backend
from kdsl.lang import types as t

from .calls import FIXED, Call, calls
from .device import evaluate

CALLS = [c for c in calls() if c.intrinsic.stub.__module__ == "kdsl.lang.bits"]
ROWS = 256


def number(bits: int, type_: t.ScalarType) -> int:
    """What the low bits mean in a type."""
    bits &= (1 << type_.bits) - 1
    return bits - (1 << type_.bits) if type_.is_signed and bits >> (type_.bits - 1) else bits


def parts(x: int, width: int, count: int, signed: bool) -> list[int]:
    """The ``count`` lowest parts of ``width`` bits of ``x``."""
    found = [x >> width * i & (1 << width) - 1 for i in range(count)]
    return [f - (1 << width) if signed and f >> (width - 1) else f for f in found]


def extracted(type_: t.ScalarType, x: int, start: int, length: int) -> int:
    """Bit by bit: past the top a signed number goes on with its sign, and the last bit taken is repeated upwards."""
    bits = [(x >> i & 1) if type_.is_signed or i < type_.bits else 0 for i in range(start, start + length)]
    if not bits:
        return 0
    bits += [bits[-1] if type_.is_signed else 0] * type_.bits
    return number(sum(b << i for i, b in enumerate(bits[: type_.bits])), type_)


def inserted(type_: t.ScalarType, field: int, x: int, start: int, length: int) -> int:
    for i in range(length):
        place = start + i
        if place < type_.bits:
            x = x & ~(1 << place) | (field >> i & 1) << place
    return number(x, type_)


def funnel(lo: int, hi: int) -> int:
    return hi << 32 | lo


def dot(type_: t.ScalarType, a: int, b: int, c: int, halves: bool, upper: bool) -> int:
    left = parts(a, 16, 2, type_.is_signed) if halves else parts(a, 8, 4, type_.is_signed)
    right = parts(b, 8, 4, type_.is_signed)
    right = right[2:] if upper else right
    return number(c + sum(x * y for x, y in zip(left, right, strict=False)), type_)


def logic(a: int, b: int, c: int, table: int) -> int:
    return sum((table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) & 1) << i for i in range(32))


def halves(type_: t.ScalarType, product: int) -> tuple[int, int]:
    """The lower 64 bits, and the upper ones with the sign of the type."""
    return product & (1 << 64) - 1, number(product >> 64, type_)


EXPECTED: dict[str, Callable[..., int | tuple[int, int]]] = {
    "funnel_shift_l": lambda _, lo, hi, n: funnel(lo, hi) << n % 32 >> 32 & 0xFFFF_FFFF,
    "funnel_shift_lc": lambda _, lo, hi, n: funnel(lo, hi) << min(n, 32) >> 32 & 0xFFFF_FFFF,
    "funnel_shift_r": lambda _, lo, hi, n: funnel(lo, hi) >> n % 32 & 0xFFFF_FFFF,
    "funnel_shift_rc": lambda _, lo, hi, n: funnel(lo, hi) >> min(n, 32) & 0xFFFF_FFFF,
    "bfe": extracted,
    "bfi": inserted,
    "lop3": lambda _, a, b, c, __: logic(a, b, c, FIXED["lut"]),
    "mul_wide": lambda _, x, y: x * y,
    "mul_wide64": lambda t, x, y: halves(t, x * y),
    "mad_wide64": lambda _, x, y, low, high: halves(t.U64, x * y + (high << 64 | low)),
    "dp4a": lambda t, a, b, c: dot(t, a, b, c, halves=False, upper=False),
    "dp2a_lo": lambda t, a, b, c: dot(t, a, b, c, halves=True, upper=False),
    "dp2a_hi": lambda t, a, b, c: dot(t, a, b, c, halves=True, upper=True),
}


def argument(name: str, type_: t.ScalarType, rng: np.random.Generator) -> np.ndarray:
    if name in ("start", "length"):
        return np.array([0, 1, 31, 32, 33, 63, 64, 65, 254, 255, *rng.integers(0, 70, ROWS - 10)], type_.numpy)
    if name == "shift":
        return np.array([31, 32, 33, 63, 64, 2**32 - 1, *rng.integers(0, 70, ROWS - 6)], type_.numpy)
    edges = [0, 1, type_.maximum, type_.minimum]
    return np.array([*edges, *rng.integers(type_.minimum, type_.maximum, ROWS - 4, type_.numpy, True)], type_.numpy)


@pytest.mark.parametrize("call", CALLS, ids=lambda c: f"{c.id}-{c.result}")
def test_value(call: Call, backend: Backend) -> None:
    rng = np.random.default_rng(13)
    arguments = [rng.permutation(argument(name, type_, rng)) for name, type_ in call.parameters]
    results = evaluate(backend, call, arguments)
    for row in range(ROWS):
        inputs = [a[row].item() for a in arguments]
        expected = EXPECTED[call.intrinsic.name](call.bound, *inputs)
        assert tuple(r[row].item() for r in results) == (expected if isinstance(expected, tuple) else (expected,)), (
            inputs
        )


A, B, C = 0xF0, 0xCC, 0xAA
MAJORITY = (A & B) | (A & C) | (B & C)


@kernel
def words(x: Ptr[u32], out: Ptr[u64]) -> None:
    i = thread_idx.x
    a = x[i]
    b = x[i + 1]
    out[0] = u64(lop3(a, b, x[i + 2], MAJORITY))
    out[1] = mul_wide(a, b)
    out[2] = u64(mul_hi(a, b))
    out[3] = u64(popc(a))
    out[4] = u64(funnel_shift_l(a, b, 8))
    out[5] = u64(bfi(bfe(a, 4, 8), b, 16, 8))
    out[6] = u64(i64(mul_wide(i32(a), i32(-3))))
    out[7] = mul_wide(a, 0xFFFF_FFFF)


def test_a_kernel_written_in_python() -> None:
    a, b, c = 0xDEAD_BEEF, 0x8765_4321, 0x0F0F_1234
    out = np.zeros(8, np.uint64)
    words[1, 1](np.array([a, b, c], np.uint32), out)
    assert out.tolist() == [
        (a & b) | (a & c) | (b & c),
        a * b,
        a * b >> 32,
        a.bit_count(),
        (b << 8 | a >> 24) & 0xFFFF_FFFF,
        b & 0xFF00_FFFF | (a >> 4 & 0xFF) << 16,
        (a - 2**32) * -3 & 2**64 - 1,
        a * 0xFFFF_FFFF,
    ]


@kernel
def one_of_each(x: Ptr[i32], y: Ptr[u32]) -> None:
    x[0] = dp4a(x[1], x[2], x[3])
    x[4] = dp2a_hi(x[5], x[6], x[7])
    y[0] = lop3(y[1], y[2], y[3], 0x96)


def test_each_is_one_instruction() -> None:
    ptx = one_of_each.compile(target="sm_90").ptx
    for line in ("dp4a.s32.s32", "dp2a.hi.s32.s32", "lop3.b32"):
        assert ptx.count(line) == 1
    assert ", 0x96;" in ptx


def test_a_table_must_be_a_constant_byte() -> None:
    @kernel
    def varying(x: Ptr[u32]) -> None:
        x[0] = lop3(x[1], x[2], x[3], x[4])

    @kernel
    def large(x: Ptr[u32]) -> None:
        x[0] = lop3(x[1], x[2], x[3], 256)

    with pytest.raises(CompileError, match="must be known while the kernel is compiled"):
        varying.compile(target="sm_90")
    with pytest.raises(CompileError, match="0 to 255, not 256"):
        large.compile(target="sm_90")


@kernel
def narrow_factors(small: Ptr[u16], x: Ptr[u32], out: Ptr[u64]) -> None:
    out[0] = mul_wide(small[0], x[0])
    out[1] = u64(mul_wide(small[0], small[0]))


def test_wide_products_of_narrower_numbers() -> None:
    out = np.zeros(2, np.uint64)
    narrow_factors[1, 1](np.array([0xFFFF], np.uint16), np.array([0xFFFF_FFFF], np.uint32), out)
    assert out.tolist() == [0xFFFF * 0xFFFF_FFFF, 0xFFFF * 0xFFFF]


def test_wide_products_of_mixed_signs_need_a_cast() -> None:
    @kernel
    def mixed(x: Ptr[i32], y: Ptr[u32], out: Ptr[u64]) -> None:
        out[0] = u64(mul_wide(x[0], y[0]))

    with pytest.raises(CompileError, match=r"this is u32, but `y` takes i32"):
        mixed.check()
