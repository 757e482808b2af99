"""cvt between every pair of types, in every rounding and with its flags, against fractions and Python integers."""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import numpy as np
import pytest

from kdsl.emulator.instructions import UnknownInstruction, pure_operation
from tests.emulator import rational
from tests.emulator.rational import FORMATS, Format, Number

INTEGERS = [f"{sign}{width}" for width in (8, 16, 32, 64) for sign in "us"]
FLOATS = ["f16", "bf16", "f32", "f64"]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def width_of(type_name: str) -> int:
    return FORMATS[type_name].width if type_name in FORMATS else int(type_name[1:])


def array(bits: list[int], type_name: str) -> np.ndarray:
    return np.array(bits, {8: np.uint16, 16: np.uint16, 32: np.uint32, 64: np.uint64}[width_of(type_name)])


def limits(type_name: str) -> tuple[int, int]:
    width = width_of(type_name)
    return (-(1 << width - 1), (1 << width - 1) - 1) if type_name[0] == "s" else (0, (1 << width) - 1)


def integer_of(bits: int, type_name: str) -> int:
    width = width_of(type_name)
    return bits - (1 << width) if type_name[0] == "s" and bits >> width - 1 else bits


def integer_patterns(type_name: str) -> list[int]:
    """Around every power of two and the middles between f32, f16 and f64 values, and random ones."""
    width = width_of(type_name)
    near = [(1 << k) + d for k in range(width + 1) for d in range(-2, 3)]
    near += [(1 << k) + (1 << k - p) + d for p in (8, 11, 24, 53) for k in range(p, width) for d in (-1, 0, 1)]
    near += [(1 << k) + 3 * (1 << k - p) + d for p in (8, 11, 24, 53) for k in range(p, width) for d in (-1, 0, 1)]
    near += [-x for x in near]
    mask = (1 << width) - 1
    return [x & mask for x in near] + [x & mask for x in rational.random_patterns(FORMATS["f64"], 300, width)]


def float_patterns(type_name: str) -> list[int]:
    """Edges, random patterns, and values at, beside and between integers: small ones and the limits of types."""
    f = FORMATS[type_name]
    numbers = [rational.Fraction(n, 4) for n in range(-40, 41)]
    numbers += [
        rational.Fraction((1 << k) * 4 + d, 4) for k in (7, 8, 15, 16, 23, 31, 32, 52, 63, 64) for d in range(-6, 7)
    ]
    numbers += [-n for n in numbers]
    bits = {rational.encode(Number(n < 0, n), f) for n in numbers}
    beside = {b + d for b in bits for d in (-1, 1) if 0 <= b + d < 1 << f.width}
    return sorted(bits | beside) + rational.edge_patterns(f) + rational.random_patterns(f, 600, 11)


def run(text: str, patterns: list[int], source: str) -> list[int]:
    operation = pure_operation(tuple(text.split(".")))
    assert operation is not None
    assert operation.operands == (source,)
    result = operation.run(array(patterns, source))
    assert result.dtype == array([], operation.results[0]).dtype
    return [int(x) for x in result]


def agree(text: str, patterns: list[int], got: list[int], want: list[int]) -> None:
    wrong = [k for k in range(len(want)) if got[k] != want[k]]
    message = [f"{patterns[k]:#x}: {got[k]:#x}, not {want[k]:#x}" for k in wrong[:5]]
    assert not wrong, f"{text}: {len(wrong)} of {len(want)} wrong: {message}"


@pytest.mark.parametrize("source", INTEGERS)
@pytest.mark.parametrize("result", INTEGERS)
def test_integer_to_integer(source: str, result: str) -> None:
    patterns = integer_patterns(source)
    values = [integer_of(x, source) for x in patterns]
    mask, (low, high) = (1 << width_of(result)) - 1, limits(result)
    text = f"cvt.{result}.{source}"
    agree(text, patterns, run(text, patterns, source), [x & mask for x in values])
    text = f"cvt.sat.{result}.{source}"
    agree(text, patterns, run(text, patterns, source), [min(max(x, low), high) & mask for x in values])


@pytest.mark.parametrize("source", INTEGERS)
@pytest.mark.parametrize("result", FLOATS)
def test_integer_to_float(source: str, result: str) -> None:
    patterns = integer_patterns(source)
    for mode in ("rn", "rz", "rm", "rp"):
        text = f"cvt.{mode}.{result}.{source}"
        values = [integer_of(x, source) for x in patterns]
        want = [rational.encode(Number(x < 0, rational.Fraction(x)), FORMATS[result], mode) for x in values]
        agree(text, patterns, run(text, patterns, source), want)


def to_whole(value: rational.Fraction, mode: str) -> int:
    if mode == "rni":
        return round(value)  # Python's round of a fraction is half to even
    floor = value.numerator // value.denominator
    if mode == "rmi" or value == floor:
        return floor
    return floor + 1 if mode == "rpi" or value < 0 else floor


@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("result", INTEGERS)
@pytest.mark.parametrize("mode", ["rni", "rzi", "rmi", "rpi"])
def test_float_to_integer(source: str, result: str, mode: str) -> None:
    f, width, (low, high) = FORMATS[source], width_of(result), limits(result)

    def want(bits: int) -> int:
        number = rational.decode(bits, f)
        if number.nan:  # PTX ISA, cvt: 0, but with f64 or 64 bits the sign bit alone
            return 1 << width - 1 if source == "f64" or width == 64 else 0
        if number.infinite:
            return (low if number.negative else high) & (1 << width) - 1
        return min(max(to_whole(number.value, mode), low), high) & (1 << width) - 1

    patterns = float_patterns(source)
    text = f"cvt.{mode}.{result}.{source}"
    agree(text, patterns, run(text, patterns, source), [want(x) for x in patterns])
    if source == "f32":
        text = f"cvt.{mode}.ftz.{result}.f32"
        agree(text, patterns, run(text, patterns, source), [want(rational.flush(x, f)) for x in patterns])


NARROWING = [("f64", "f32"), ("f64", "f16"), ("f64", "bf16"), ("f32", "f16"), ("f32", "bf16")]


def narrow_patterns(source: str, result: str) -> list[int]:
    """Also each result value's neighbourhood: the value, the middle above it, and one bit to either side of both."""
    f, r = FORMATS[source], FORMATS[result]
    patterns = float_patterns(source)
    for bits in rational.edge_patterns(r) + rational.random_patterns(r, 300, 5):
        number = rational.decode(bits, r)
        if number.nan or number.infinite:
            continue
        ulp = rational.Fraction(2) ** (max((bits & ~r.sign) >> r.fraction_bits, 1) - r.bias - r.fraction_bits)
        for value in (number.value, number.value + ulp / 2):
            near = rational.encode(Number(value < 0, value), f)
            patterns += [x for x in (near - 1, near, near + 1) if 0 <= x < 1 << f.width]
    return patterns


def narrowed(bits: int, f: Format, r: Format, mode: str) -> int:
    """A NaN is canonical from f32, and from f64 keeps its sign and the upper bits of its payload, quieted."""
    number = rational.decode(bits, f)
    if not number.nan or f.width < 64:
        return rational.encode(number, r, mode)
    payload = bits >> f.fraction_bits - r.fraction_bits & (1 << r.fraction_bits) - 1 | 1 << r.fraction_bits - 1
    return (r.sign if bits & f.sign else 0) | r.infinity | payload


@pytest.mark.parametrize(("source", "result"), NARROWING)
@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_narrowing(source: str, result: str, mode: str) -> None:
    patterns = narrow_patterns(source, result)
    f, r = FORMATS[source], FORMATS[result]
    want = [narrowed(x, f, r, mode) for x in patterns]
    text = f"cvt.{mode}.{result}.{source}"
    agree(text, patterns, run(text, patterns, source), want)
    if result == "f32":
        text = f"cvt.{mode}.ftz.f32.f64"
        tiny = [rational.is_tiny(rational.decode(x, f), r, mode) for x in patterns]
        agree(
            text,
            patterns,
            run(text, patterns, source),
            [y & r.sign if t else y for y, t in zip(want, tiny, strict=True)],
        )
    if source == "f32":
        text = f"cvt.{mode}.relu.{result}.f32"
        agree(text, patterns, run(text, patterns, source), [0 if x & r.sign else x for x in want])


@pytest.mark.parametrize(("source", "result"), [(b, a) for a, b in NARROWING])
def test_widening(source: str, result: str) -> None:
    """Exact. A NaN is canonical from f16; from bf16 to f32 it keeps its bits, and in f64 its payload."""
    f, r = FORMATS[source], FORMATS[result]
    patterns = float_patterns(source)
    text = f"cvt.{result}.{source}"
    got = run(text, patterns, source)
    for bits, out in zip(patterns, got, strict=True):
        number = rational.decode(bits, f)
        if not number.nan:
            assert out == rational.encode(number, r)
        elif (source, result) == ("bf16", "f32"):
            assert out == bits << 16
        elif result == "f64":
            assert rational.decode(out, r).nan
        else:
            assert out == r.nan
    if result == "f32":
        text = f"cvt.ftz.{result}.{source}"
        agree(text, patterns, run(text, patterns, source), [rational.flush(x, r) for x in got])


@pytest.mark.parametrize("type_name", FLOATS)
@pytest.mark.parametrize("mode", ["rni", "rzi", "rmi", "rpi"])
def test_to_whole_numbers(type_name: str, mode: str) -> None:
    f = FORMATS[type_name]

    def want(bits: int) -> int:
        number = rational.decode(bits, f)
        if number.nan:
            return bits | 1 << 51 if type_name == "f64" else f.nan
        if number.infinite:
            return bits
        return rational.encode(Number(number.negative, rational.Fraction(to_whole(number.value, mode))), f)

    patterns = float_patterns(type_name)
    text = f"cvt.{mode}.{type_name}.{type_name}"
    agree(text, patterns, run(text, patterns, type_name), [want(x) for x in patterns])
    text = f"cvt.{mode}.sat.{type_name}.{type_name}"
    agree(text, patterns, run(text, patterns, type_name), [rational.saturate(want(x), f) for x in patterns])


def test_saturating_float_to_itself() -> None:
    patterns, f = float_patterns("f32"), FORMATS["f32"]
    agree("cvt.sat", patterns, run("cvt.sat.f32.f32", patterns, "f32"), [rational.saturate(x, f) for x in patterns])
    flushed = [rational.saturate(rational.flush(x, f), f) for x in patterns]
    agree("cvt.ftz.sat", patterns, run("cvt.ftz.sat.f32.f32", patterns, "f32"), flushed)


@pytest.mark.parametrize("element", ["f16", "bf16"])
@pytest.mark.parametrize("mode", ["rn", "rz"])
def test_two_floats_to_a_pair(element: str, mode: str) -> None:
    """The first operand goes above."""
    f, r = FORMATS["f32"], FORMATS[element]
    patterns = narrow_patterns("f32", element)
    for flags in ("", ".relu", ".satfinite", ".relu.satfinite"):
        want = [rational.encode(rational.decode(x, f), r, mode) for x in patterns]
        if "satfinite" in flags:
            want = [x - 1 if x & ~r.sign == r.infinity else x for x in want]
        if "relu" in flags:
            want = [0 if x & r.sign else x for x in want]
        operation = pure_operation(tuple(f"cvt.{mode}{flags}.{element}x2.f32".split(".")))
        assert operation is not None
        got = operation.run(array(patterns, "f32"), array(patterns[::-1], "f32"))
        assert got.tolist() == [high << 16 | low for high, low in zip(want, reversed(want), strict=True)]


@pytest.mark.parametrize("name", ["e4m3x2", "e5m2x2"])
def test_float8_back_and_forth(name: str) -> None:
    """Every pair of bytes becomes a pair of f16, by ml_dtypes; each f16 goes to the nearest finite 8-bit value."""
    dtype = {"e4m3x2": ml_dtypes.float8_e4m3fn, "e5m2x2": ml_dtypes.float8_e5m2}[name]
    every = np.arange(65536, dtype=np.uint16)
    unpack = pure_operation(("cvt", "rn", "f16x2", name))
    pack = pure_operation(("cvt", "rn", "satfinite", name, "f16x2"))
    pack_f32 = pure_operation(("cvt", "rn", "satfinite", name, "f32"))
    assert unpack is not None and pack is not None and pack_f32 is not None
    table = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float16)
    table_bits = np.where(np.isnan(table), 0x7FFF, table.view(np.uint16)).astype(np.uint32)
    assert np.array_equal(unpack.run(every), table_bits[every >> 8] << 16 | table_bits[every & 255])

    every = every[::7]
    wide = every.view(np.float16).astype(np.float64)
    # In units of f16's smallest, all are integers. Nearest; of two as near the one with an even last bit.
    places = np.flatnonzero(np.isfinite(table[:128]))
    values = (table[places].astype(np.float64) * 2**24).astype(np.int64)
    size = np.minimum(np.nan_to_num(np.abs(wide), nan=0) * 2**24, float(values.max())).astype(np.int64)
    best = places[np.argmin(np.abs(size[:, None] - values) * 2 + (places & 1), axis=1)]
    want = np.where(np.isnan(wide), 0x7F, every >> 8 & 0x80 | best).astype(np.uint16)
    words = every.astype(np.uint32) << 16 | every[::-1]
    assert np.array_equal(pack.run(words), want << 8 | want[::-1])
    single = wide.astype(np.float32).view(np.uint32)
    assert np.array_equal(pack_f32.run(single, single[::-1]), want << 8 | want[::-1])


@pytest.mark.parametrize("mode", ["rna", "rn", "rz"])
def test_tf32(mode: str) -> None:
    patterns, f = float_patterns("f32") + narrow_patterns("f32", "f16"), FORMATS["f32"]
    tf32 = Format(8, 10, 0x7FFFFFFF >> 13)

    def want(bits: int) -> int:
        number = rational.decode(bits, f)
        return bits & ~0x1FFF if number.nan else rational.encode(number, tf32, mode) << 13

    text = f"cvt.{mode}.tf32.f32"
    agree(text, patterns, run(text, patterns, "f32"), [want(x) for x in patterns])


@pytest.mark.parametrize("kind", ["u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2"])
def test_pack(kind: str) -> None:
    width, patterns = int(kind[1:]), integer_patterns("s32")
    low, high = limits(kind)
    third = () if width == 16 else ("b32",)
    operation = pure_operation(("cvt", "pack", "sat", kind, "s32", *third))
    assert operation is not None
    a, b, c = array(patterns, "s32"), array(patterns[::-1], "s32"), array(patterns[3:] + patterns[:3], "s32")
    got = operation.run(a, b, *([c] if third else []))
    for x, y, z, out in zip(a.tolist(), b.tolist(), c.tolist(), got.tolist(), strict=True):
        x, y = (min(max(integer_of(v, "s32"), low), high) & (1 << width) - 1 for v in (x, y))
        assert out == ((z << 2 * width if third else 0) | x << width | y) & 0xFFFFFFFF


@pytest.mark.parametrize(
    "text",
    [
        "cvt.f32.s32",
        "cvt.rn.s32.s64",
        "cvt.s32.f32",
        "cvt.rn.f64.f32",
        "cvt.f32.f64",
        "cvt.rzi.relu.s32.f32",
        "cvt.u32.b32",
    ],
)
def test_forms_that_ptx_lacks(text: str) -> None:
    with pytest.raises(UnknownInstruction):
        pure_operation(tuple(text.split(".")))
