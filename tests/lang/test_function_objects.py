"""Objects with a ``__call__``: called in kernels, their methods and attributes, captured and as arguments."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kdsl import Ptr, f32, kernel


class Affine:
    def __init__(self, scale: float, shift: float) -> None:
        self.scale, self.shift = scale, shift

    def scaled(self, v: f32) -> f32:
        return v * self.scale

    def __call__(self, v: f32) -> f32:
        return self.scaled(v) + self.shift


class Steeper(Affine):
    def scaled(self, v: f32) -> f32:
        return v * self.scale * 2.0


affine, steeper = Affine(3.0, 1.0), Steeper(3.0, 1.0)
of_an_attribute = lambda v: affine.shift - v  # noqa: E731


def twice(f: Callable[[f32], f32], v: f32) -> f32:
    return f(f(v))


@kernel
def captured(x: Ptr[f32]) -> None:
    x[0] = affine(x[0])
    x[1] = affine.scaled(x[1])
    x[2] = of_an_attribute(x[2])
    x[3] = twice(affine, x[3])
    x[4] = steeper(x[4])


@kernel
def applied(x: Ptr[f32], f: Callable[[f32], f32]) -> None:
    x[0] = f(x[0])
    x[1] = twice(f, x[1])


@kernel
def unannotated(x, f):  # type: ignore[no-untyped-def]
    x[0] = f(x[0])


def test_captured_objects_are_called(device: str) -> None:
    x = np.full(5, 2, np.float32)
    captured[1, 1](x)
    assert x.tolist() == [7, 6, -1, 22, 13]
    affine.shift = 5.0
    captured[1, 1](x)
    affine.shift = 1.0
    assert x.tolist() == [26, 18, 6, 218, 79]


def test_objects_are_passed_as_functions(device: str) -> None:
    for f in (affine, steeper, Affine(-1.0, 0.5), affine.__call__, steeper.scaled, lambda v: affine(v) * affine.scale):
        x = np.full(2, 2, np.float32)
        applied[1, 1](x, f)
        assert x.tolist() == [f(2), f(f(2))]
        y = np.full(1, 4, np.float32)
        unannotated[1, 1](y, f)
        assert y[0] == f(4)
