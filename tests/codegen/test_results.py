"""What every operator gives on edge values: the emitted PTX, against plain Python.

Contraction is off, so that each operation rounds for itself.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import ml_dtypes
import numpy as np
import pytest

from kdsl.backend import Backend
from kdsl.ir import nodes as ir
from kdsl.lang.types import BF16, F16, F32, F64, ScalarType, boolean

from . import reference
from . import trees as t
from .compile import ptx_of
from .emulate import Array, Device
from .reference import Value
from .test_operators import BOOL_BINARY, INT_ONLY

ARCHES = ["sm_75", "sm_80", "sm_90"]
NUMPY = {s: np.dtype(ml_dtypes.bfloat16) if s is BF16 else s.numpy for s in t.NUMBERS}
OPTIONS = ir.Options(fmad=False)


def values(s: ScalarType) -> list[Value]:
    """Edge values of a type, and a few ordinary ones."""
    if s is boolean:
        return [False, True]
    if s.is_int:
        near = [-7, -3, -2, -1, 0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 100, s.bits - 1, s.bits]
        edges = [s.minimum, s.minimum + 1, s.maximum - 1, s.maximum, s.maximum // 3]
        ties = [2**24 + 1, 2**25 + 2**17 + 1, (1 << 40) + (1 << 32) + 1, 2049, 2051, 65519, 65520, -65519]
        return sorted({v for v in [*near, *edges, *ties] if s.minimum <= v <= s.maximum})
    precision, smallest, largest = reference.FORMATS[s]
    most = (2 - 2.0 ** (1 - precision)) * 2.0**largest
    least = math.ldexp(1.0, smallest - precision + 1)
    plain = [0.0, 0.5, 1.0, 1.5, 2.5, 3.0, 7.0, 0.1, 1 / 3, 100.7, 127.5, 255.9, 1e9, 2147483647.0, 9.3e18, 1.9e19]
    special = [most, least, 2.0**smallest, math.inf, 1 + 2.0 ** (1 - precision)]
    numbers = [reference.narrow(v, s) for v in [*plain, *special]]
    return [*numbers, *(-v for v in numbers), math.nan]


def array(numbers: list[Value], s: ScalarType) -> Array:
    if s.is_float:
        with np.errstate(all="ignore"):
            return np.array(numbers, np.float64).astype(NUMPY[s])
    return np.array(numbers, dtype=NUMPY[s])


Inputs = list[tuple[list[Value], ScalarType]]


def mismatches(device: Device, name: str, result: ScalarType, inputs: Inputs, expected: list[Value]) -> list[str]:
    """Where a kernel's results are not bit for bit the expected ones (any NaN for a NaN)."""
    count = len(expected)
    out = array([0] * count, result)
    wrong = []
    for first in range(0, count, 1024):
        last = min(first + 1024, count)
        part = out[first:last].copy()
        device.run(name, [part, *(array(v[first:last], s) for v, s in inputs)], last - first)
        out[first:last] = part
    for k, want in enumerate(expected):
        got = out[k].item() if not result.is_float else float(out[k])
        same = got == want and (not result.is_float or math.copysign(1, got) == math.copysign(1, want))
        if not same and not (want != want and got != got):
            wrong.append(f"{name}({', '.join(repr(v[k]) for v, _ in inputs)}) gave {got!r}, not {want!r}")
    return wrong


Case = tuple[ir.Function, ScalarType, Inputs, list[Value]]


def case(name: str, result: ScalarType, operands: list[ScalarType], make: object, expect: Callable[..., Value]) -> Case:
    lanes = list(itertools.product(*(values(s) for s in operands)))
    inputs = [([lane[i] for lane in lanes], s) for i, s in enumerate(operands)]
    return t.pointwise(name, result, operands, make, OPTIONS), result, inputs, [expect(*lane) for lane in lanes]


def binary_cases() -> Iterator[Case]:
    for s in t.NUMBERS:
        for op in ir.BinaryOp:
            sign = op.value
            if (
                sign in ("<<", ">>")
                or (s.is_float and (sign in INT_ONLY or sign == "**"))
                or (s.is_int and sign == "/")
            ):
                continue
            if s is boolean and sign not in BOOL_BINARY:
                continue
            make = lambda x, y, sign=sign: t.binary(sign, x, y)
            if s.is_float:
                expect: Callable[..., Value] = lambda a, b, sign=sign, s=s: reference.float_binary(sign, a, b, s)
            elif s is boolean:
                expect = lambda a, b, sign=sign, s=s: bool(reference.int_binary(sign, int(a), int(b), s))
            else:
                expect = lambda a, b, sign=sign, s=s: reference.int_binary(sign, a, b, s)
            yield case(f"{op.name}_{s}", s, [s, s], make, expect)


def shift_cases() -> Iterator[Case]:
    ints = [s for s in t.NUMBERS if s.is_int]
    for s, amount in itertools.product(ints, ints):
        for name, sign in (("shl", "<<"), ("shr", ">>")):
            make = lambda x, y, sign=sign: t.binary(sign, x, y)
            expect = lambda a, b, sign=sign, s=s: reference.int_binary(sign, a, b, s)
            yield case(f"{name}_{s}_{amount}", s, [s, amount], make, expect)


def unary_and_compare_cases() -> Iterator[Case]:
    for s in t.NUMBERS:
        for op in ir.UnaryOp:
            sign = op.value
            if sign in ("not", "~") if s is boolean else sign != "not" and not (s.is_float and sign == "~"):
                make = lambda x, sign=sign: t.unary(sign, x)
                yield case(f"{op.name}1_{s}", s, [s], make, lambda a, sign=sign, s=s: reference.unary(sign, a, s))
        for comparison in ir.CompareOp:
            sign = comparison.value
            make = lambda x, y, sign=sign: t.compare(sign, x, y)
            yield case(
                f"{comparison.name}_{s}", boolean, [s, s], make, lambda a, b, sign=sign: reference.compare(sign, a, b)
            )


def cast_cases() -> Iterator[Case]:
    for source, target in itertools.product(t.NUMBERS, t.NUMBERS):
        make = lambda x, target=target: t.cast(x, target)
        expect = lambda a, source=source, target=target: reference.cast(a, source, target)
        yield case(f"cast_{source}_{target}", target, [source], make, expect)


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("cases", [binary_cases, shift_cases, unary_and_compare_cases, cast_cases])
def test_results(cases: Callable[[], Iterator[Case]], arch: str, backend: Backend) -> None:
    made = list(cases())
    device = Device(ptx_of(*(kernel for kernel, *_ in made), arch=arch), backend)
    wrong = [line for kernel, *rest in made for line in mismatches(device, kernel.name, *rest)[:3]]
    assert not wrong, "\n".join(wrong[:40])


@pytest.mark.parametrize(("s", "ulps"), [(F16, 1), (BF16, 1), (F32, 4), (F64, 2)])
def test_powers_of_floats(s: ScalarType, ulps: int, backend: Backend) -> None:
    """libdevice's pow is not correctly rounded; the CUDA C++ programming guide says by how much."""
    kernel = t.pointwise("k", s, [s, s], lambda x, y: t.binary("**", x, y), OPTIONS)
    lanes = list(itertools.product([v for v in values(s) if math.isfinite(v)], repeat=2))
    x, y = (array([lane[i] for lane in lanes], s) for i in (0, 1))
    out = np.zeros_like(x)
    with np.errstate(all="ignore"):
        expected = np.power(x.astype(np.float64), y.astype(np.float64))
    device = Device(ptx_of(kernel), backend)
    for first in range(0, len(lanes), 1024):
        part = slice(first, min(first + 1024, len(lanes)))
        result = out[part].copy()
        device.run("k", [result, x[part].copy(), y[part].copy()], part.stop - first)
        out[part] = result
    precision = reference.FORMATS[s][0]
    for k, want in enumerate(expected):
        got = float(out[k])
        wanted = reference.narrow(float(want), s)
        near = got == wanted or (got != got and wanted != wanted)
        assert near or abs(got - wanted) <= ulps * 2.0 ** (1 - precision) * abs(wanted), (lanes[k], got, wanted)
