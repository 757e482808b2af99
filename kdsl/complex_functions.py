"""What complex numbers are divided by, and the functions of Python's ``cmath``, in the kernel language.

Each takes complex64 or complex128 and computes in f32 or f64. None overflows on the way to a result that does not, and
special values are those of C99's Annex G. `kdsl.frontend.complex_numbers` calls them.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, empty-body"

from __future__ import annotations

import math

from kdsl.lang.construct import construct

# A power of 4 between the smallest numbers of f32 and those of which sums lose bits.
_SMALL, _UP, _DOWN = 2.0**-120, 2.0**54, 2.0**-27
# cosh(x) and sinh(|x|) are exp(|x|) / 2 from here on, in f64, too; exp itself overflows f32 from 88 on.
_LARGE = 80.0
_LN_2, _LN_10 = math.log(2.0), math.log(10.0)


@construct
def joined(real, imag):
    """The complex number of two f32, or of two f64."""


def conjugate(z):
    return joined(z.real, -z.imag)


def magnitude(z):
    return math.hypot(z.real, z.imag)


def divide(a, b):
    """Smith's algorithm, in NumPy's order of operations."""
    x, y = b.real, b.imag
    is_wide = abs(x) >= abs(y)
    large, small = (x, y) if is_wide else (y, x)
    if large == 0.0 and small == 0.0:
        return joined(a.real / abs(x), a.imag / abs(x))
    ratio = small / large
    scale = 1.0 / (large + small * ratio)
    if is_wide:
        return joined((a.real + a.imag * ratio) * scale, (a.imag - a.real * ratio) * scale)
    return joined((a.real * ratio + a.imag) * scale, (a.imag * ratio - a.real) * scale)


def power(a, b):
    """``a ** b``, as a length and an angle."""
    if b.real == 0.0 and b.imag == 0.0:
        return joined(b.real * 0.0 + 1.0, b.imag * 0.0)
    if a.real == 0.0 and a.imag == 0.0:
        # Of no positive real power the result has no limit.
        nothing = 0.0 if b.real > 0.0 and b.imag == 0.0 else math.nan
        return joined(a.real * 0.0 + nothing, a.imag * 0.0 + nothing)
    length = magnitude(a)
    angle = math.atan2(a.imag, a.real)
    size, turn = length**b.real, angle * b.real
    if b.imag != 0.0:
        size *= math.exp(-angle * b.imag)
        turn += b.imag * math.log(length)
    return joined(size * math.cos(turn), size * math.sin(turn))


def exp(z):
    size = math.exp(z.real)
    if z.imag == 0.0:
        return joined(size, z.imag)
    if math.isinf(z.real) and not math.isfinite(z.imag):
        return joined(size, z.imag - z.imag if size > 0.0 else size)
    cosine, sine = math.cos(z.imag), math.sin(z.imag)
    if math.isinf(size) and math.isfinite(z.real):
        half = math.exp(0.5 * z.real)
        return joined(half * cosine * half, half * sine * half)
    return joined(size * cosine, size * sine)


def sqrt(z):
    x, y = abs(z.real), abs(z.imag)
    if x == 0.0 and y == 0.0:
        return joined(x, z.imag)
    if math.isinf(y):
        return joined(y, z.imag)
    if math.isinf(x):
        other = y - y  # 0, or NaN of one
        if z.real > 0.0:
            return joined(x, math.copysign(other, z.imag))
        return joined(other, math.copysign(x, z.imag))
    is_small = x < _SMALL and y < _SMALL
    up, down = (_UP, _DOWN) if is_small else (2.0**-4, 2.0**2)
    root = math.sqrt(0.5 * (x * up + math.hypot(x * up, y * up))) * down
    other = y / (2.0 * root)
    if z.real >= 0.0:
        return joined(root, math.copysign(other, z.imag))
    return joined(other, math.copysign(root, z.imag))


def log(z):
    x, y = abs(z.real), abs(z.imag)
    large, small = max(x, y), min(x, y)
    angle = math.atan2(z.imag, z.real)
    if x < _SMALL and y < _SMALL:  # neither of them NaN, which max() leaves out
        return joined(math.log(math.hypot(large * _UP, small * _UP)) - 54.0 * _LN_2, angle)
    length = math.hypot(0.5 * x, 0.5 * y)
    if 0.355 < length < 0.865:
        # Where the logarithm is near 0, the square of the length less 1 says more than the length.
        return joined(0.5 * math.log1p((large - 1.0) * (large + 1.0) + small * small), angle)
    return joined(math.log(length) + _LN_2, angle)


def log10(z):
    natural = log(z)
    return joined(natural.real / _LN_10, natural.imag / _LN_10)


def phase(z):
    return math.atan2(z.imag, z.real)


def polar(z):
    return magnitude(z), phase(z)


def rect(r, phi):
    return joined(r, phi) if phi == 0.0 else joined(r * math.cos(phi), r * math.sin(phi))


def sinh(z):
    sine, cosine = math.sin(z.imag), math.cos(z.imag)
    if abs(z.real) > _LARGE:
        half = math.exp(0.5 * abs(z.real))
        return joined(math.copysign(0.5 * half, z.real) * cosine * half, 0.5 * half * sine * half)
    return joined(math.sinh(z.real) * cosine, math.cosh(z.real) * sine)


def cosh(z):
    sine, cosine = math.sin(z.imag), math.cos(z.imag)
    if abs(z.real) > _LARGE:
        half = math.exp(0.5 * abs(z.real))
        return joined(0.5 * half * cosine * half, math.copysign(0.5 * half, z.real) * sine * half)
    return joined(math.cosh(z.real) * cosine, math.sinh(z.real) * sine)


def tanh(z):
    if abs(z.real) > _LARGE:
        size = 4.0 * math.exp(-2.0 * abs(z.real))
        return joined(math.copysign(1.0, z.real), size * math.sin(z.imag) * math.cos(z.imag))
    across, along = math.tanh(z.real), math.tan(z.imag)
    each = 1.0 / math.cosh(z.real)
    product = across * along
    whole = 1.0 + product * product
    return joined(across * (1.0 + along * along) / whole, along / whole * each * each)


def sin(z):
    turned = sinh(joined(-z.imag, z.real))
    return joined(turned.imag, -turned.real)


def cos(z):
    return cosh(joined(-z.imag, z.real))


def tan(z):
    turned = tanh(joined(-z.imag, z.real))
    return joined(turned.imag, -turned.real)


def isnan(z):
    return math.isnan(z.real) or math.isnan(z.imag)


def isinf(z):
    return math.isinf(z.real) or math.isinf(z.imag)


def isfinite(z):
    return math.isfinite(z.real) and math.isfinite(z.imag)
