"""Kernels without types of their own: each combination of types and constants is compiled once and then launched at once."""

# mypy: ignore-errors
# No postponed annotations: those of the kernels inside of tests name variables of the tests.

from collections.abc import Iterator
from typing import TypeVar

import numpy as np
import pytest

import kdsl
from kdsl import Constexpr, Ptr, f32, f64, grid, i32, kernel
from kdsl.compiler import Kernel
from kdsl.configured import ASKED_OFTEN
from kdsl.current import DEVICES
from kdsl.emulator import Emulator
from kdsl.runtime import known

T = TypeVar("T")
FACTOR = 2


@pytest.fixture
def specialized(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names of the kernels that looked for a specialization, one for each time."""
    kdsl.set_device("emulator")
    names: list[str] = []
    real = Kernel._specialize

    def counted(self, *arguments, **keywords):
        names.append(self.name)
        return real(self, *arguments, **keywords)

    monkeypatch.setattr(Kernel, "_specialize", counted)
    yield names
    kdsl.set_device("emulator")


def arrays(*dtypes) -> list:
    return [kdsl.to_device(np.zeros(4, dtype)) for dtype in dtypes]


def test_alternating_types(specialized) -> None:
    @kernel
    def untyped(x, n):
        if grid(1) < n:
            x[grid(1)] += 1

    @kernel
    def generic(x: Ptr[T], n: i32):
        if grid(1) < n:
            x[grid(1)] += 1

    every = arrays(np.float32, np.int32, np.float64, np.uint8)
    for k in (untyped, generic):
        for _ in range(5):
            for x in every:
                k[1, 4](x, 3)
    assert specialized == ["untyped"] * 4 + ["generic"] * 4
    assert [x.to_host().tolist() for x in every] == [[10, 10, 10, 0]] * 4


def test_alternating_constants(specialized) -> None:
    @kernel
    def k(x: Ptr[f32], c: Constexpr[float], name: Constexpr[str] = "add"):
        if name == "add":
            x[grid(1)] += c
        else:
            x[grid(1)] = c

    (x,) = arrays(np.float32)
    for _ in range(3):
        k[1, 4](x, 1.0)
        k[1, 4](x, 2.0)
        k[1, 4](x, c=0.5)
        k[1, 4](x, 2.0, "add")
    assert x.to_host().tolist() == [16.5] * 4
    k[1, 4](x, 2.0, "set")
    assert x.to_host().tolist() == [2] * 4
    assert specialized == ["k"] * 4


def test_equal_constants_of_other_types_are_not_taken_for_each_other(specialized) -> None:
    @kernel
    def k(out: Ptr[f64], c: Constexpr[float], n):
        out[0] = c
        out[1] = f64(n)

    (x,) = arrays(np.float64)
    for _ in range(2):
        for c in (0.0, -0.0):
            for n in (1, True, 2**40, 1.0):
                k[1, 1](x, c, n)
                found = x.to_host()
                assert (str(found[0]), found[1]) == (str(c), n)


def test_functions_and_tuples(specialized) -> None:
    @kernel
    def k(x, f, pair):
        x[grid(1)] = f(pair[0]) + pair[1]

    def adding(n):
        return lambda value: value + n

    (x,) = arrays(np.float32)
    seen = []
    for _ in range(3):
        for f, pair in ((adding(1), (1, 2)), (adding(1.5), (1, 2)), (lambda v: v * 2, (3, 4)), (adding(2), (1.5, 2))):
            k[1, 1](x, f, pair)
            seen.append(float(x.to_host()[0]))
    assert seen == [4, 4.5, 10, 5.5] * 3
    assert len(specialized) <= 8


def test_a_captured_name_that_is_bound_anew(specialized) -> None:
    global FACTOR

    @kernel
    def k(x):
        x[grid(1)] = FACTOR

    every = arrays(np.float32, np.int32)
    for FACTOR in (2, 3, 2):
        for _ in range(2):
            for x in every:
                k[1, 4](x)
                assert x.to_host().tolist() == [FACTOR] * 4


def test_another_device(specialized, monkeypatch) -> None:
    @kernel
    def k(x):
        x[grid(1)] += 1

    here, other = DEVICES.selected, Emulator()
    for device in (here, other, here, other):
        monkeypatch.setattr(DEVICES, "_current", device)
        every = arrays(np.float32, np.int32)
        for _ in range(3):
            for x in every:
                k[1, 4](x)
        assert [x.to_host().tolist() for x in every] == [[3] * 4] * 2
        monkeypatch.setattr(DEVICES, "_current", other if device is here else here)
        k[1, 4](every[0])
        assert every[0].to_host().tolist() == [4] * 4


def test_what_is_known_is_bounded(specialized, monkeypatch) -> None:
    monkeypatch.setattr(known, "MOST_KNOWN", 4)

    @kernel
    def k(x: Ptr[i32], c: Constexpr[int]):
        x[grid(1)] = c

    (x,) = arrays(np.int32)
    configured = k[1, 4]
    for c in range(7):
        configured(x, c)
        assert x.to_host()[0] == c
    assert len(k._configurations[1, 4]._known._launches) == 3
    del specialized[:]
    for c in range(4, 7):
        configured(x, c)
        assert x.to_host()[0] == c
    assert not specialized


def test_what_comes_often_comes_first(specialized) -> None:
    @kernel
    def k(x):
        x[grid(1)] += 1

    a, b = arrays(np.float32, np.int32)
    k[1, 4](a)
    k[1, 4](b)
    launches = k._configurations[1, 4]._known
    for _ in range(ASKED_OFTEN + 5):
        k[1, 4](a)
    assert launches.asked == ASKED_OFTEN
    assert a.to_host().tolist() == [ASKED_OFTEN + 6] * 4
