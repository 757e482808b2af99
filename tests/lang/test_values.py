"""What the mathematical functions compute, libdevice's code included, against references that share nothing with it."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from kdsl.backend import Backend, Launch
from kdsl.lang import types as t

from .calls import Call, calls, kernel
from .device import compile_one, evaluate
from .reference import EXPECTED

Bound = Callable[[np.ndarray, np.ndarray], Any]
"""From arguments and exact results to the absolute error that is allowed."""
CALLS = [c for c in calls() if c.intrinsic.name in EXPECTED and ".math.f" not in c.intrinsic.stub.__module__]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, math.inf, -math.inf, math.nan]


def sample(domain: str, dtype: np.dtype, rng: np.random.Generator) -> np.ndarray:
    """64 numbers of a domain, special ones first."""
    tiny, huge = (1e-40, 1e30) if dtype.itemsize == 4 else (1e-310, 1e200)
    match domain:
        case "real":
            magnitudes = np.exp(rng.uniform(math.log(tiny), math.log(huge), 26))
            numbers = [*SPECIAL, *magnitudes, *-magnitudes]
        case "moderate":
            numbers = [0.5, -0.5, 1.5, 2.5, *rng.uniform(-100, 100, 60)]
        case "exponent":
            numbers = [*SPECIAL, 1e-30, 1000.0, -1000.0, *rng.uniform(-80, 80, 49)]
        case "positive":
            numbers = np.exp(rng.uniform(math.log(tiny), math.log(huge), 64))
        case "unit":
            numbers = [0.0, -0.0, 1.0, -1.0, 1.5, -1.5, *rng.uniform(-1, 1, 58)]
        case "inside":
            numbers = rng.uniform(-0.99, 0.99, 64)
        case "probability":
            numbers = rng.uniform(0.001, 0.999, 64)
        case "small":
            numbers = rng.uniform(-5, 5, 64)
        case "gamma":
            numbers = [1.0, 2.0, 0.5, 10.0, math.inf, *rng.uniform(0.01, 30, 59)]
        case "bessel":
            numbers = rng.uniform(0.5, 20, 64)
    return np.array(numbers).astype(dtype)


def integers(type_: t.ScalarType, rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, 6, 64).astype(type_.numpy)


def ulps(got: float, expected: object, dtype: np.dtype) -> float:
    """The distance in units in the last place of the expected value; 0 for equal, NaN with NaN included."""
    if isinstance(expected, Fraction):
        nearest = dtype.type(float(expected)) if dtype.itemsize == 8 else np.float32(_nearest(expected))
        if nearest == got:
            return 0.0
        return float(abs(Fraction(float(got)) - expected) / Fraction(float(np.spacing(nearest))))
    with np.errstate(over="ignore", under="ignore"):
        nearest = dtype.type(expected)
    if np.isnan(nearest) or np.isnan(got):
        return 0.0 if np.isnan(nearest) and np.isnan(got) else math.inf
    if got == nearest:
        # The sign of zero counts, but not where the reference only underflowed to it.
        return 0.0 if expected != 0 or np.signbit(got) == np.signbit(nearest) else math.inf
    if np.isinf(got) or np.isinf(nearest):
        return math.inf
    return float(abs(np.longdouble(got) - np.longdouble(expected)) / np.spacing(abs(nearest)))


def _nearest(exact: Fraction) -> float:
    """The f32 nearest to a fraction, rounded once: a double in between would round twice."""
    low = np.float32(float(exact))
    candidates = [low, np.nextafter(low, np.float32(np.inf)), np.nextafter(low, np.float32(-np.inf))]
    return min(candidates, key=lambda c: (abs(Fraction(float(c)) - exact), int(c.view(np.uint32)) & 1))


@pytest.mark.parametrize("call", CALLS, ids=lambda c: c.id)
def test_function_is_near_its_reference(call: Call, backend: Backend) -> None:
    expected = EXPECTED[call.intrinsic.name]
    rng = np.random.default_rng(len(call.id))
    arguments = [
        sample(expected.domain, type_.numpy, rng) if type_.is_float else integers(type_, rng)
        for _, type_ in call.parameters
    ]
    results = evaluate(backend, call, arguments)
    wide = call.bound == t.F64
    allowed, absolute = expected.ulps[wide], expected.absolute[wide]
    for row in range(64):
        inputs = [a[row].item() for a in arguments]
        reference = expected.function(*inputs)
        references = reference if isinstance(call.result, t.TupleType) else (reference,)
        for result, exact in zip(results, references, strict=True):
            got = result[row]
            if result.dtype.kind in "biu":
                assert got == exact, (inputs, got, exact)
            elif not abs(float(got) - float(exact)) <= absolute:
                assert ulps(got, exact, result.dtype) <= allowed, (inputs, got, exact)


@pytest.mark.parametrize("call", [c for c in calls() if c.intrinsic.name in ("norm", "rnorm")], ids=lambda c: c.id)
def test_length_of_a_vector_in_memory(call: Call, backend: Backend) -> None:
    vector = np.array([3.0, -4.0, 12.0, 84.0], call.bound.numpy)
    out = np.zeros(1, call.bound.numpy)
    function = compile_one(backend, kernel(call))
    addresses = [backend.alloc(array.nbytes) for array in (out, vector)]
    backend.write(addresses[1], memoryview(vector.view(np.uint8)))
    backend.launch(function, Launch((1, 1, 1), (1, 1, 1)), struct.pack("<Qi4xQ", addresses[0], 4, addresses[1]))
    backend.synchronize()
    backend.read(addresses[0], memoryview(out.view(np.uint8)))
    expected = 85.0 if call.intrinsic.name == "norm" else 1 / 85.0
    assert ulps(out[0], expected, out.dtype) <= 4


def _ulp(expected: np.ndarray) -> np.ndarray:
    return np.spacing(np.abs(expected).astype(np.float32)).astype(np.float64)


def _near_one(bound: float, ulp: float) -> Bound:
    """Absolute for ``x`` in 0.5 to 2, else in ulp."""
    return lambda x, expected: np.where((x >= 0.5) & (x <= 2), bound, ulp * _ulp(expected))


def _tangent(x: np.ndarray, expected: np.ndarray) -> np.ndarray:
    # Of sine and cosine, each within its bound, and of the division.
    return (2**-21.41 + np.abs(expected) * 2**-21.19) / np.abs(np.cos(x)) + 2 * _ulp(expected)


# The bounds of the CUDA C++ Programming Guide, "Intrinsic Functions"; of tanh.approx, PTX ISA 9.0, 9.7.3.
FAST: dict[str, tuple[Callable[[np.ndarray], np.ndarray], Bound]] = {
    "sin": (np.sin, lambda x, expected: 2**-21.41),
    "cos": (np.cos, lambda x, expected: 2**-21.19),
    "tan": (np.tan, _tangent),
    "tanh": (np.tanh, lambda x, expected: 2**-11 * np.abs(expected)),
    "exp": (np.exp, lambda x, expected: (2 + np.floor(np.abs(1.173 * x))) * _ulp(expected)),
    "exp10": (lambda x: 10**x, lambda x, expected: (2 + np.floor(np.abs(2.97 * x))) * _ulp(expected)),
    "log": (np.log, _near_one(2**-21.41, 3)),
    "log2": (np.log2, _near_one(2**-22, 2)),
    "log10": (np.log10, _near_one(2**-24, 3)),
    "ex2": (np.exp2, lambda x, expected: 2 * _ulp(expected)),
    "rcp": (lambda x: 1 / x, lambda x, expected: _ulp(expected)),
    "sqrt": (np.sqrt, lambda x, expected: 2**-23 * expected),
    "rsqrt": (lambda x: 1 / np.sqrt(x), lambda x, expected: 2**-22.9 * expected),
    "saturate": (lambda x: np.clip(x, 0, 1), lambda x, expected: 0),
}


@pytest.mark.parametrize("call", [c for c in calls() if c.id.startswith("fast-")], ids=lambda c: c.id)
def test_approximation_is_near(call: Call, backend: Backend) -> None:
    x = np.random.default_rng(1).uniform(-1.5, 1.5, 64).astype(call.parameters[0][1].numpy)
    if call.intrinsic.name in ("log", "log2", "log10", "pow", "sqrt", "rsqrt"):
        x = np.abs(x)
    y = np.random.default_rng(2).uniform(1, 3, 64).astype(np.float32)
    results = evaluate(backend, call, [x, y][: len(call.parameters)])
    wide = x.astype(np.float64)
    match call.intrinsic.name:
        case "sincos":
            assert np.abs(results[0] - np.sin(wide)).max() <= 2**-21.41
            assert np.abs(results[1] - np.cos(wide)).max() <= 2**-21.19
        case "pow":
            # exp2(y * log2(x)): what is wrong in the exponent, times ln 2, and exp2's own 2 ulp.
            exponent = y * np.log2(wide)
            wrong = y * _near_one(2**-22, 2)(wide, np.log2(wide)) + _ulp(exponent) / 2
            assert (np.abs(results[0] - wide**y) <= (np.log(2) * wrong + 2**-22) * wide**y).all()
        case "divide":
            assert (np.abs(results[0] - wide / y) <= 2 * _ulp(wide / y)).all()
        case "rcp64h":
            # 20 bits of the result, of an operand that is cut to as many.
            assert (np.abs(results[0] * wide - 1) <= 2**-19).all()
        case name:
            function, bound = FAST[name]
            expected = function(wide)
            assert (np.abs(results[0] - expected) <= bound(wide, expected)).all()
