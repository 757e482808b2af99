"""Functions whose every bit is defined: directed rounding, conversions, integers. References are fractions and ints."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from kdsl.backend import Backend
from kdsl.lang import types as t

from .calls import Call, calls
from .device import evaluate

BY_MODULE: dict[str, list[Call]] = {}
for _call in calls():
    BY_MODULE.setdefault(_call.intrinsic.stub.__module__.rpartition(".")[2], []).append(_call)


def floats(type_: t.ScalarType, rng: np.random.Generator) -> np.ndarray:
    """Numbers of every size whose sums and products are inexact; no specials, which have no fraction."""
    exponents = rng.integers(-8, 9, 64).astype(np.float64)
    return (rng.uniform(-2, 2, 64) * 2.0**exponents).astype(type_.numpy)


def directed(exact: Fraction, mode: str, type_: t.ScalarType) -> float:
    """``exact`` rounded to a float type in CUDA's mode rn, rz, ru or rd; normal numbers only."""
    if exact == 0:
        return 0.0
    digits = 24 if type_.bits == 32 else 53
    # The exponent e with 2**(e-1) <= |exact| < 2**e, give or take one, corrected below.
    exponent = abs(exact.numerator).bit_length() - exact.denominator.bit_length() + 1
    while abs(exact) >= Fraction(2) ** exponent:
        exponent += 1
    while abs(exact) < Fraction(2) ** (exponent - 1):
        exponent -= 1
    unit = Fraction(2) ** (exponent - digits)
    return float(integral(exact / unit, mode) * unit)


def integral(exact: Fraction, mode: str) -> int:
    """``exact`` rounded to an integer in CUDA's mode."""
    return {"rn": round, "rz": math.trunc, "ru": math.ceil, "rd": math.floor}[mode](exact)


def _square_root(x: Fraction, mode: str, type_: t.ScalarType) -> float:
    # 200 bits of the root and a sticky bit below them decide every rounding.
    scaled = x * Fraction(4) ** 200
    root = math.isqrt(scaled.numerator // scaled.denominator)
    exact = Fraction(root * root) == scaled
    return directed((Fraction(root) + (0 if exact else Fraction(1, 2))) / Fraction(2) ** 200, mode, type_)


OPERATIONS: dict[str, Callable[..., Fraction]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "fma": lambda x, y, z: x * y + z,
    "fma_ieee": lambda x, y, z: x * y + z,
    "rcp": lambda x: 1 / x,
}


@pytest.mark.parametrize("call", BY_MODULE["rounded"], ids=lambda c: c.id)
def test_rounding_is_the_one_said(call: Call, backend: Backend) -> None:
    operation, _, mode = call.intrinsic.name.rpartition("_")
    type_ = call.bound or t.F32
    rng = np.random.default_rng(7)
    arguments = [floats(type_, rng) for _ in call.parameters]
    if operation in ("sqrt", "rsqrt"):
        arguments = [np.abs(arguments[0])]
    (results,) = evaluate(backend, call, arguments)
    for row in range(64):
        inputs = [Fraction(a[row].item()) for a in arguments]
        if operation == "sqrt":
            expected = _square_root(inputs[0], mode, type_)
        elif operation == "rsqrt":
            expected = directed(1 / Fraction(math.sqrt(inputs[0])), mode, type_)
        else:
            expected = directed(OPERATIONS[operation](*inputs), mode, type_)
        assert results[row].item() == expected, (inputs, results[row], expected)


TYPES = {"float": t.F32, "double": t.F64, "int": t.I32, "uint": t.U32, "ll": t.I64, "ull": t.U64}
CONVERSIONS = [c for c in BY_MODULE["conversion"] if re.fullmatch(r"[a-z]+2[a-z]+_r[nzud]", c.intrinsic.name)]
CONVERSIONS = [c for c in CONVERSIONS if "half" not in c.intrinsic.name]


@pytest.mark.parametrize("call", CONVERSIONS, ids=lambda c: c.id)
def test_conversion_rounds_and_saturates(call: Call, backend: Backend) -> None:
    source, target, mode = re.fullmatch(r"([a-z]+)2([a-z]+)_(r[nzud])", call.intrinsic.name).groups()
    source, target = TYPES[source], TYPES[target]
    rng = np.random.default_rng(11)
    if source.is_float:
        numbers = [
            0.0,
            -0.0,
            0.5,
            1.5,
            2.5,
            -0.5,
            -1.5,
            -2.5,
            1e30,
            -1e30,
            *(rng.uniform(-1, 1, 54) * 2.0 ** rng.integers(0, 70, 54)),
        ]
    else:
        numbers = [
            source.minimum,
            source.maximum,
            *rng.integers(source.minimum, source.maximum, 62, source.numpy, endpoint=True),
        ]
    values = np.array(numbers, dtype=source.numpy)
    (results,) = evaluate(backend, call, [values])
    for value, got in zip(values.tolist(), results.tolist(), strict=True):
        if target.is_float:
            expected = directed(Fraction(value), mode, target)
        else:
            expected = min(max(integral(Fraction(value), mode), target.minimum), target.maximum)
        assert got == expected, (value, got, expected)


@pytest.mark.parametrize("call", [c for c in CONVERSIONS if c.parameters[0][1].is_float], ids=lambda c: c.id)
def test_nan_and_infinity_convert_as_ptx_says(call: Call, backend: Backend) -> None:
    source, target = call.parameters[0][1], call.result
    (results,) = evaluate(backend, call, [np.array([math.nan, math.inf, -math.inf], source.numpy)])
    if target.is_float:
        assert np.array_equal(results, [math.nan, math.inf, -math.inf], equal_nan=True)
    else:
        # PTX ISA 9.0, 9.7.9.22: zero from f32 to 32 bits, otherwise the highest bit alone.
        nan = 0 if source.bits == target.bits == 32 else 1 << (target.bits - 1)
        mask = (1 << target.bits) - 1
        assert [r & mask for r in results.tolist()] == [nan, target.maximum & mask, target.minimum & mask]


@pytest.mark.parametrize(
    "call", [c for c in BY_MODULE["conversion"] if "_as_" in c.intrinsic.name], ids=lambda c: c.intrinsic.name
)
def test_reinterpretation_keeps_the_bits(call: Call, backend: Backend) -> None:
    values = np.random.default_rng(3).bytes(64 * call.result.size)
    arguments = np.frombuffer(values, call.parameters[0][1].numpy)
    (results,) = evaluate(backend, call, [arguments])
    assert results.tobytes() == values


def test_halves_of_a_double(backend: Backend) -> None:
    by_name = {c.intrinsic.name: c for c in BY_MODULE["conversion"]}
    numbers = floats(t.F64, np.random.default_rng(5))
    (high,) = evaluate(backend, by_name["double2hiint"], [numbers])
    (low,) = evaluate(backend, by_name["double2loint"], [numbers])
    assert np.array_equal(high, (numbers.view(np.int64) >> 32).astype(np.int32))
    assert np.array_equal(low, numbers.view(np.int64).astype(np.int32))
    (again,) = evaluate(backend, by_name["hiloint2double"], [high, low])
    assert np.array_equal(again, numbers)


def test_halves_by_their_cuda_names(backend: Backend) -> None:
    by_name = {c.intrinsic.name: c for c in BY_MODULE["conversion"]}
    numbers = floats(t.F32, np.random.default_rng(5))
    (half,) = evaluate(backend, by_name["float2half_rn"], [numbers])
    assert np.array_equal(half, numbers.astype(np.float16))
    (single,) = evaluate(backend, by_name["half2float"], [half])
    assert np.array_equal(single, half.astype(np.float32))


def _signed24(x: int, signed: bool) -> int:
    x &= 0xFFFFFF
    return x - (1 << 24) if signed and x >> 23 else x


def _bytes(x: int, y: int, selector: int) -> int:
    pool = x.to_bytes(4, "little") + y.to_bytes(4, "little")
    return int.from_bytes(bytes(pool[selector >> 4 * i & 7] for i in range(4)), "little")


INTEGERS: dict[str, Callable[..., int]] = {
    "clz": lambda t, x: t.bits - (x & 2**t.bits - 1).bit_length(),
    "ffs": lambda t, x: (x & -x & 2**t.bits - 1).bit_length(),
    "popc": lambda t, x: (x & 2**t.bits - 1).bit_count(),
    "brev": lambda t, x: int(f"{x & 2**t.bits - 1:0{t.bits}b}"[::-1], 2),
    "mul_hi": lambda t, x, y: x * y >> t.bits,
    "mul24": lambda t, x, y: _signed24(x, t.is_signed) * _signed24(y, t.is_signed),
    "hadd": lambda t, x, y: x + y >> 1,
    "rhadd": lambda t, x, y: x + y + 1 >> 1,
    "sad": lambda t, x, y, z: abs(x - y) + z,
    "byte_perm": lambda t, x, y, s: _bytes(x, y, s),
}


@pytest.mark.parametrize("call", BY_MODULE["integer"], ids=lambda c: c.id)
def test_integer_function(call: Call, backend: Backend) -> None:
    rng = np.random.default_rng(2)
    arguments = []
    for _, type_ in call.parameters:
        edges = [0, 1, type_.maximum, type_.minimum, type_.maximum - 1]
        arguments.append(np.array([*edges, *rng.integers(type_.minimum, type_.maximum, 59, type_.numpy)], type_.numpy))
    (results,) = evaluate(backend, call, arguments)
    type_ = call.bound or t.U32
    mask = (1 << call.result.bits) - 1
    for row in range(64):
        inputs = [a[row].item() for a in arguments]
        expected = INTEGERS[call.intrinsic.name](type_, *inputs)
        assert results[row].item() & mask == expected & mask, (inputs, results[row])


@pytest.mark.parametrize("call", [c for c in calls() if c.intrinsic.name == "nextafter"], ids=lambda c: c.id)
def test_nextafter(call: Call, backend: Backend) -> None:
    x = np.array([0.0, -0.0, 1.0, -1.0, math.inf, 5.0, math.nan, 1e-44], call.bound.numpy)
    y = np.array([1.0, -1.0, 2.0, 0.0, 0.0, 5.0, 1.0, 0.0], call.bound.numpy)
    (results,) = evaluate(backend, call, [x, y])
    assert np.array_equal(results, np.nextafter(x, y), equal_nan=True)


@pytest.mark.parametrize("call", [c for c in calls() if c.intrinsic.name == "remquo"], ids=lambda c: c.id)
def test_remquo(call: Call, backend: Backend) -> None:
    x, y = (floats(call.bound, np.random.default_rng(seed)) for seed in (1, 2))
    remainders, quotients = evaluate(backend, call, [x, y])
    for row in range(64):
        a, b = x[row].item(), y[row].item()
        assert remainders[row] == math.remainder(a, b)
        exact = round(Fraction(a) / Fraction(b))
        assert abs(int(quotients[row])) % 8 == abs(exact) % 8
        assert quotients[row] == 0 or (quotients[row] < 0) == (exact < 0)
