"""f8e4m3 and f8e5m2: stored, loaded, converted. The reference is ml_dtypes; PTX saturates where that overflows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kdsl
from kdsl import (
    Array,
    Ptr,
    Target,
    bf16x2,
    bitcast,
    constant,
    f8e4m3,
    f8e4m3x2,
    f8e4m3x4,
    f8e5m2,
    f8e5m2x2,
    f8e5m2x4,
    f16x2,
    f16x4,
    f32,
    f32x2,
    f32x4,
    grid,
    i32,
    kernel,
    load,
    local,
    shared,
    store,
    sync_threads,
    thread_idx,
    u8,
)
from kdsl.codegen.sass import assemble

FORMATS: dict[str, Any] = {"f8e4m3": ml_dtypes.float8_e4m3fn, "f8e5m2": ml_dtypes.float8_e5m2}
LARGEST = {"f8e4m3": 448.0, "f8e5m2": 57344.0}
TYPES = {"f8e4m3": f8e4m3, "f8e5m2": f8e5m2}
OLD = "sm_75"
"""Without instructions for it."""


@pytest.fixture(params=["instructions", "arithmetic"])
def way(request: pytest.FixtureRequest, device: str) -> Iterator[str]:
    """Both ways of conversion; the emulator takes PTX for any architecture, and so does the driver for an older one."""
    machine = kdsl.current_device().backend
    before = machine.target
    if request.param == "arithmetic":
        machine.target = OLD
    yield request.param
    machine.target = before


def expected(values: np.ndarray, name: str) -> np.ndarray:
    """Codes of finite numbers rounded to nearest, those too large clamped; NaN is 0x7f."""
    with np.errstate(invalid="ignore"):
        exact = values.astype(np.float64)
        codes = np.clip(exact, -LARGEST[name], LARGEST[name]).astype(FORMATS[name]).view(np.uint8)
    return np.where(np.isnan(exact), np.uint8(0x7F), codes)


def nearest(values: np.ndarray, name: str) -> np.ndarray:
    """The same by comparison with the numbers half way between; ml_dtypes rounds an f64 to f32 first."""
    numbers = np.arange(0x7F if name == "f8e4m3" else 0x7C, dtype=np.uint8).view(FORMATS[name]).astype(np.float64)
    middle = (numbers[1:] + numbers[:-1]) / 2
    size = np.abs(values)
    below, upto = np.searchsorted(middle, size, "left"), np.searchsorted(middle, size, "right")
    # At the middle itself the two differ, and the even code is the nearest.
    codes = np.where(below % 2 == 0, below, upto)
    return np.where(np.isnan(values), 0x7F, codes | np.where(np.signbit(values), 0x80, 0)).astype(np.uint8)


def converting(target: Any) -> Any:
    @kernel
    def k(x, y, n: i32):
        i = grid(1)
        if i < n:
            y[i] = target(x[i])

    return k


CONVERT = {
    (a, b): converting(TYPES.get(b, getattr(kdsl, b)))
    for a, b in [
        *((w, n) for w in ("f16", "bf16", "f32", "f64", "i32", "i64", "u64", "u8") for n in TYPES),
        *((n, w) for w in ("f16", "bf16", "f32", "f64", "i32", "u8") for n in TYPES),
        ("f8e4m3", "f8e5m2"),
        ("f8e5m2", "f8e4m3"),
    ]
}


def run(source: str, target: str, x: np.ndarray, dtype: Any) -> np.ndarray:
    y = np.zeros(x.size, dtype)
    CONVERT[source, target][(x.size + 255) // 256, 256](x, y, x.size)
    return y


def f32_values() -> np.ndarray:
    """Every code's number, those half way between two and next to it, and random bits."""
    rng = np.random.default_rng(8)
    near = []
    for dtype in FORMATS.values():
        numbers = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float32)
        numbers = np.unique(numbers[np.isfinite(numbers)])
        halves = (numbers[1:] + numbers[:-1]) / 2
        near += [v for n in (numbers, halves) for v in (n, np.nextafter(n, np.inf), np.nextafter(n, -np.inf))]
    special = np.float32([0.0, -0.0, np.inf, -np.inf, np.nan, 464, 465, -464, 480, 61440, 65536, 1e-45, 3e38])
    bits = rng.integers(0, 1 << 32, 20_000, np.uint32).view(np.float32)
    scaled = (rng.normal(size=20_000) * 2.0 ** rng.integers(-20, 20, 20_000)).astype(np.float32)
    with np.errstate(invalid="ignore"):
        return np.concatenate([*near, special, -special, bits, scaled])


@pytest.mark.parametrize("name", FORMATS)
def test_every_code_to_wider_floats(way: str, name: str) -> None:
    codes = np.arange(256, dtype=np.uint8).view(FORMATS[name])
    for wide, dtype in (("f16", np.float16), ("bf16", ml_dtypes.bfloat16), ("f32", np.float32), ("f64", np.float64)):
        got = run(name, wide, codes, dtype)
        assert np.array_equal(got.astype(np.float64), codes.astype(np.float64), equal_nan=True)
        assert np.array_equal(np.signbit(got)[:127], np.zeros(127, bool)) and np.signbit(got)[128]
    nan = run(name, "f16", codes, np.float16).view(np.uint16)[np.isnan(codes.astype(np.float32))]
    assert (nan == 0x7FFF).all()


@pytest.mark.parametrize("name", FORMATS)
def test_every_f16(way: str, name: str) -> None:
    x = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16).view(np.float16)
    assert np.array_equal(run("f16", name, x, FORMATS[name]).view(np.uint8), expected(x, name))


@pytest.mark.parametrize("name", FORMATS)
def test_every_bf16(way: str, name: str) -> None:
    x = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16).view(ml_dtypes.bfloat16)
    assert np.array_equal(run("bf16", name, x, FORMATS[name]).view(np.uint8), expected(x, name))


@pytest.mark.parametrize("name", FORMATS)
def test_f32(way: str, name: str) -> None:
    x = f32_values()
    assert np.array_equal(run("f32", name, x, FORMATS[name]).view(np.uint8), expected(x, name))


@pytest.mark.parametrize("name", FORMATS)
def test_f64_is_rounded_once(way: str, name: str) -> None:
    with np.errstate(invalid="ignore"):
        x = f32_values().astype(np.float64)
    finite = x[np.isfinite(x)]
    # Beside a tie by less than an f32 shows.
    x = np.concatenate([x, finite * (1 + 1e-12), finite * (1 - 1e-12), [1e300, -1e300, 1e-300]])
    assert np.array_equal(run("f64", name, x, FORMATS[name]).view(np.uint8), nearest(x, name))


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    ("kind", "dtype"), [("i32", np.int32), ("i64", np.int64), ("u64", np.uint64), ("u8", np.uint8)]
)
def test_ints(way: str, name: str, kind: str, dtype: Any) -> None:
    info = np.iinfo(dtype)
    shifts = [1 << k for k in range(info.bits - 1)]
    numbers = [v + d for v in shifts for d in (-1, 0, 1)] + list(range(0, 256)) + [info.max, info.min, 17, 19]
    x = np.array([n for n in numbers if info.min <= n <= info.max], dtype)
    assert np.array_equal(run(kind, name, x, FORMATS[name]).view(np.uint8), expected(x, name))


@pytest.mark.parametrize("name", FORMATS)
def test_to_ints(way: str, name: str) -> None:
    codes = np.arange(256, dtype=np.uint8).view(FORMATS[name])
    exact = codes.astype(np.float64)
    whole = np.where(np.isnan(exact), 0, np.trunc(np.clip(exact, -(2.0**31), 2.0**31 - 1)))
    assert run(name, "i32", codes, np.int32).tolist() == whole.astype(np.int64).tolist()
    assert run(name, "u8", codes, np.uint8).tolist() == np.clip(whole, 0, 255).astype(np.int64).tolist()


def test_one_to_the_other(way: str) -> None:
    for a, b in (("f8e4m3", "f8e5m2"), ("f8e5m2", "f8e4m3")):
        codes = np.arange(256, dtype=np.uint8).view(FORMATS[a])
        got = run(a, b, codes, FORMATS[b]).view(np.uint8)
        assert np.array_equal(got, expected(codes.astype(np.float32), b))


@kernel
def vectors(x: Ptr[f32x4], h: Ptr[f16x2], a: Ptr[f8e4m3x4], b: Ptr[f8e5m2x4], c: Ptr[f8e4m3x2], out: Ptr[f32x4]):
    i = grid(1)
    v = x[i]
    a[i] = f8e4m3x4(v)
    b[i] = f8e5m2x4(v.x, v.y, v.z, v.w)
    c[i] = f8e4m3x2(h[i])
    low, high = f32x2(c[i]), f32x4(f16x4(b[i]))
    out[i] = f32x4(a[i]) + high.wzyx + f32x4(low, bf16x2(c[i]).y, f8e5m2x2(v.xy).x)


def test_vectors(way: str) -> None:
    rng = np.random.default_rng(3)
    x = (rng.normal(size=(64, 4)) * 100).astype(np.float32)
    h = (rng.normal(size=(64, 2)) * 100).astype(np.float16)
    e4m3, e5m2 = FORMATS.values()
    a, b, c = np.zeros((64, 4), e4m3), np.zeros((64, 4), e5m2), np.zeros((64, 2), e4m3)
    out = np.zeros((64, 4), np.float32)
    vectors[2, 32](x, h, a, b, c, out)
    assert np.array_equal(a.view(np.uint8), expected(x, "f8e4m3"))
    assert np.array_equal(b.view(np.uint8), expected(x, "f8e5m2"))
    assert np.array_equal(c.view(np.uint8), expected(h, "f8e4m3"))
    wide = [v.astype(np.float32) for v in (a, b, c)]
    last = np.stack([wide[2][:, 0], wide[2][:, 1], wide[2][:, 1], wide[1][:, 0]], 1)
    assert np.array_equal(out, wide[0] + wide[1][:, ::-1] + last)


WEIGHTS = np.array([0.5, -3, 448, np.nan], ml_dtypes.float8_e4m3fn)
HALF = np.array([0.1], ml_dtypes.float8_e5m2)[0]
table = kdsl.device.array(4, f8e4m3, init=WEIGHTS)


@kernel
def everywhere(x: Array[f8e4m3, 2], out: Ptr[f32], flags: Ptr[i32]):
    i = thread_idx.x
    s = shared.array(32, f8e4m3)
    own = local.array(2, f8e5m2)
    own[i % 2] = 2.5
    own[(i + 1) % 2] = f8e5m2(1e9)
    s[31 - i] = x[i // 8, i % 8] if i % 3 else f8e4m3(0.3)
    sync_threads()
    first = load(x, (0, 0), cache="cg")
    if i == 0:
        store(x, (3, 7), first, cache="cs")
    w = constant.array(WEIGHTS)
    out[i] = f32(s[i]) + f32(own[0]) + f32(w[i % 3]) + f32(table[1]) + f32(HALF)
    flags[i] = i32(bitcast(s[i], u8)) + (1000 if bool(s[i]) else 0)


def test_memory_of_every_kind(way: str) -> None:
    x = np.arange(32, dtype=np.float32).reshape(4, 8).astype(ml_dtypes.float8_e4m3fn)
    out, flags = np.zeros(32, np.float32), np.zeros(32, np.int32)
    given = x.copy()
    everywhere[1, 32](x, out, flags)
    assert x[3, 7] == x[0, 0] and np.array_equal(x.ravel()[:-1], given.ravel()[:-1])
    s = np.array([given.ravel()[i] if i % 3 else np.array(0.3, x.dtype) for i in range(32)][::-1])
    own = np.where(np.arange(32) % 2 == 0, 2.5, 57344).astype(np.float32)
    half = np.float32(HALF)
    terms = [s.astype(np.float32), own, WEIGHTS[np.arange(32) % 3].astype(np.float32), np.float32(-3), half]
    total = terms[0]
    for term in terms[1:]:
        total = (total + term).astype(np.float32)
    assert out.tolist() == total.tolist()
    assert flags.tolist() == [
        int(c) + (1000 if v else 0) for c, v in zip(s.view(np.uint8), s.astype(float), strict=True)
    ]


def test_an_unannotated_parameter(device: str) -> None:
    @kernel
    def k(x, y):
        y[thread_idx.x] = x[thread_idx.x]

    for dtype in FORMATS.values():
        x, y = np.array([1.5, -2, 3], dtype), np.zeros(3, dtype)
        k[1, 3](x, y)
        assert y.tolist() == x.tolist()
    with pytest.raises(kdsl.ArgumentError, match="float32"):
        vectors[1, 1](*[np.zeros((1, n), np.float32) for n in (4, 2, 4, 4, 2, 4)])


def test_literals() -> None:
    """As constants: rounded to nearest; a cast saturates, as it does at run time."""
    values = np.float32([0.3, 447, 448, -0.0, 2.0**-10, 2.0**-9 * 1.5, 20, 464])

    @kernel
    def k(x: Ptr[f8e4m3], y: Ptr[f8e5m2]):
        x[0] = 0.3
        x[1] = 447
        x[2] = 448.0
        x[3] = -0.0
        x[4] = 0.0009765625
        x[5] = 0.0029296875
        x[6] = 20
        x[7] = 464
        y[0] = f8e5m2(1e6)
        y[1] = f8e5m2(-1e6)
        y[2] = 61439.0

    x, y = np.zeros(8, ml_dtypes.float8_e4m3fn), np.zeros(3, ml_dtypes.float8_e5m2)
    k[1, 1](x, y)
    assert np.array_equal(x.view(np.uint8), expected(values, "f8e4m3"))
    assert y.tolist() == [57344, -57344, 57344]


MNEMONIC = re.compile(r"^\t(cvt\.[\w.]*e[45]m[23][\w.]*)", re.MULTILINE)


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_89", "sm_90", "sm_100", "sm_120"])
def test_ptx(arch: str) -> None:
    target = Target.parse(arch)
    to = kdsl.compile(CONVERT["f32", "f8e4m3"], target=target, signature={"x": Ptr[f32], "y": Ptr[f8e4m3]})
    back = kdsl.compile(CONVERT["f8e5m2", "f32"], target=target, signature={"x": Ptr[f8e5m2], "y": Ptr[f32]})
    several = kdsl.compile(vectors, target=Target.parse(arch))
    assert all(assemble(c.ptx, Target.parse(arch)).cubin for c in (to, back, several))
    if int(arch[3:]) < 89:
        assert not any(MNEMONIC.findall(c.ptx) for c in (to, back, several))
        return
    assert MNEMONIC.findall(to.ptx) == ["cvt.rn.satfinite.e4m3x2.f32"]
    assert MNEMONIC.findall(back.ptx) == ["cvt.rn.f16x2.e5m2x2"]
    # Four at a time are two instructions.
    assert sorted(MNEMONIC.findall(several.ptx)) == [
        *["cvt.rn.f16x2.e4m3x2"] * 3,
        *["cvt.rn.f16x2.e5m2x2"] * 3,
        "cvt.rn.satfinite.e4m3x2.f16x2",
        *["cvt.rn.satfinite.e4m3x2.f32"] * 2,
        *["cvt.rn.satfinite.e5m2x2.f32"] * 2,
    ]
