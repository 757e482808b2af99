"""Functions of Python's ``cmath`` in kernels, against those of NumPy in longer numbers."""

# mypy: ignore-errors
# No postponed annotations: those of the kernels inside of tests name variables of the tests.

import cmath
import math

import numpy as np
import pytest

from kdsl import Ptr, complex64, complex128, f32, f64, grid, i32, kernel

N = 256
WIDTHS = pytest.mark.parametrize("T", [complex64, complex128], ids=str)
FUNCTIONS = {
    # Function, NumPy's, and the largest error in units of eps times the size of the whole result (and 1 for logarithms).
    "exp": (cmath.exp, np.exp, 4),
    "log": (cmath.log, np.log, 4),
    "log10": (cmath.log10, np.log10, 4),
    "sqrt": (cmath.sqrt, np.sqrt, 4),
    "sin": (cmath.sin, np.sin, 6),
    "cos": (cmath.cos, np.cos, 6),
    "tan": (cmath.tan, np.tan, 12),
    "sinh": (cmath.sinh, np.sinh, 6),
    "cosh": (cmath.cosh, np.cosh, 6),
    "tanh": (cmath.tanh, np.tanh, 12),
}


def compiled(function, T):
    @kernel
    def k(out: Ptr[T], a: Ptr[T], n: i32):
        i = grid(1)
        if i < n:
            out[i] = function(a[i])

    return k


def evaluate(function, T, a):
    out = np.zeros_like(a)
    compiled(function, T)[(a.size + 63) // 64, 64](out, a, a.size)
    return out


def points(T, name):
    rng = np.random.default_rng(len(name))
    a = 4 * (rng.normal(size=N) + 1j * rng.normal(size=N))
    a[:64] *= 10.0 ** rng.uniform(-6, 0, 64)
    if name in ("log", "log10", "sqrt"):
        a[64:128] *= 10.0 ** rng.uniform(-30, 30, 64)
    a[128:140] = [1, -1, 1j, -1j, 0.5, -0.5, 0.6 + 0.8j, 0.8 - 0.6j, 2, -3j, 1 + 1e-4j, -1 + 1e-4j]
    return a.astype(T.numpy)


@pytest.mark.parametrize("name", FUNCTIONS)
@WIDTHS
def test_functions(device, T, name):
    function, reference, ulps = FUNCTIONS[name]
    a = points(T, name)
    exact = reference(a.astype(np.clongdouble))
    got = evaluate(function, T, a)
    size = np.abs(exact) + (np.abs(exact) < 1) * (name.startswith("log"))
    assert np.all(np.abs(got - exact) <= ulps * np.finfo(T.numpy).eps * size)


@WIDTHS
def test_nothing_overflows_on_the_way(device, T):
    info = np.finfo(T.numpy)
    large, edge = float(info.max), math.log(info.max)
    cases = {
        cmath.sqrt: [large * (0.75 + 0.75j), -large, float(info.tiny) * (1 + 1j), float(info.smallest_subnormal) * 2j],
        cmath.log: [large * (0.75 + 0.75j), float(info.tiny) * (1 - 1j), float(info.smallest_subnormal)],
        cmath.exp: [edge + 0.5 + 1.5j, edge + 0.1 + 2j, -2 * edge + 1j],
        cmath.sinh: [edge + 1 + 1.5j, -edge - 1 + 1.5j],
        cmath.cosh: [edge + 1 + 1.5j, -edge - 1 + 1.5j],
        cmath.sin: [1.5 + 1j * (edge + 0.6), 1.5 - 1j * (edge + 0.6)],
        cmath.cos: [0.1 + 1j * (edge + 0.6), 0.1 - 1j * (edge + 0.6)],
        cmath.tanh: [edge * 2 + 1j, -edge * 2 + 1j, edge / 2 + 1j],
    }
    for function, arguments in cases.items():
        a = np.array(arguments, T.numpy)
        exact = getattr(np, function.__name__)(a.astype(np.clongdouble))
        with np.errstate(over="ignore", under="ignore"):
            expected = exact.astype(T.numpy)
            got = evaluate(function, T, a)
            wide = got.astype(np.clongdouble)
        # exp of f32 near its largest number is right within 2 ulps, its square and products within 12.
        for part, want in ((wide.real, expected.real), (wide.imag, expected.imag)):
            with np.errstate(invalid="ignore"):
                close = np.abs(part - want) <= 64 * info.eps * np.abs(want) + 2 * info.smallest_subnormal
            assert np.all(close | (part == want)), (function.__name__, a, got, expected)


@WIDTHS
def test_special_values(device, T):
    parts = [0.0, -0.0, 1.0, -1.5, math.inf, -math.inf, math.nan]
    values = [complex(x, y) for x in parts for y in parts]
    a = np.array(values, T.numpy)
    for function in (cmath.exp, cmath.sqrt, cmath.log):
        with np.errstate(all="ignore"):
            expected = getattr(np, function.__name__)(a)
        got = evaluate(function, T, a)
        for x, y, z in zip(values, got, expected, strict=True):
            for p, q in ((y.real, z.real), (y.imag, z.imag)):
                # The sign of a zero or infinity beside an infinity or a NaN is not said by Annex G.
                p, q = float(p), float(q)
                loose = not cmath.isfinite(x) and (abs(p), abs(q)) in ((0, 0), (math.inf, math.inf))
                near = p == q or abs(p - q) <= 4 * np.finfo(T.numpy).eps * abs(q)
                same = (near and math.copysign(1, p) == math.copysign(1, q)) or (math.isnan(p) and math.isnan(q))
                assert same or loose, (function.__name__, x, y, z)


@WIDTHS
def test_polar_coordinates(device, T):
    F = f32 if T is complex64 else f64

    @kernel
    def k(out: Ptr[T], angles: Ptr[F], a: Ptr[T]):
        i = grid(1)
        r, phi = cmath.polar(a[i])
        angles[i] = cmath.phase(a[i])
        out[i] = cmath.rect(r, phi)

    a = points(T, "rect")
    out, angles = np.zeros_like(a), np.zeros(N, F.numpy)
    k[4, 64](out, angles, a)
    eps = np.finfo(T.numpy).eps
    assert np.all(np.abs(angles - np.angle(a.astype(np.clongdouble))) <= 2 * eps * np.abs(angles))
    # The angle is off by 2 ulps of at most pi, which moves the point by as much times its length.
    assert np.all(np.abs(out - a) <= 10 * eps * np.abs(a))


def test_real_arguments_literals_and_tests(device):
    @kernel
    def k(out: Ptr[complex64], wide: Ptr[complex128], x: f32, y: f64, n: i32, z: complex64):
        out[0] = cmath.sqrt(x)
        out[1] = cmath.sqrt(-4)
        out[2] = cmath.exp(1j * cmath.pi)
        out[3] = cmath.rect(2, 0.5) + cmath.phase(-1) + cmath.polar(3 + 4j)[0]
        out[4] = cmath.sqrt(n)
        out[5] = i32(cmath.isnan(z)) + 2 * i32(cmath.isinf(z)) + 4 * i32(cmath.isfinite(z)) + i32(cmath.isfinite(1j))
        wide[0] = cmath.sqrt(y)
        wide[1] = cmath.rect(x, y)

    out, wide = np.zeros(6, np.complex64), np.zeros(2, np.complex128)
    k[1, 1](out, wide, -2.0, -3.0, -9, complex(math.inf, math.nan))
    expected = [cmath.sqrt(-2), 2j, -1, cmath.rect(2, 0.5) + cmath.pi + 5, 3j, 4]
    assert np.allclose(out, expected, rtol=1e-6, atol=1e-6)
    assert np.allclose(wide, [cmath.sqrt(-3), cmath.rect(-2, -3)], rtol=1e-15)
