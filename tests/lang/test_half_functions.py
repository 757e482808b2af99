"""hfma and hfma_relu: rounded once, against exact rationals."""

from __future__ import annotations

import re
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import kdsl
from kdsl import CompileError, Ptr, Target, bf16, f16, grid, kernel, math


@kernel
def halves(x: Ptr[f16], y: Ptr[f16], z: Ptr[f16], out: Ptr[f16], relu: Ptr[f16]):
    i = grid(1)
    out[i] = math.hfma(x[i], y[i], z[i])
    relu[i] = math.hfma_relu(x[i], y[i], z[i])


@kernel
def brains(x: Ptr[bf16], y: Ptr[bf16], z: Ptr[bf16], out: Ptr[bf16], relu: Ptr[bf16]):
    i = grid(1)
    out[i] = math.hfma(x[i], y[i], z[i])
    relu[i] = math.hfma_relu(x[i], y[i], z[i])


def once_rounded(value: Fraction, dtype: type) -> float:
    """The nearest of the numbers beside what f64 gives, half to even; they are few bits apart."""
    near = np.array([float(value)]).astype(dtype)
    bits = near.view(np.uint16)[0]
    around = [np.array([b], np.uint16).view(dtype)[0] for b in (bits - 1, bits, bits + 1) if b & 0x7FFF < 0x7C00]
    return float(min(around, key=lambda v: (abs(Fraction(float(v)) - value), np.array([v]).view(np.uint16)[0] & 1)))


@pytest.mark.parametrize(("compiled", "dtype"), [(halves, np.float16), (brains, ml_dtypes.bfloat16)])
def test_rounded_once(compiled: kdsl.Kernel, dtype: type, device: str) -> None:
    rng = np.random.default_rng(3)
    x, y, z = (rng.normal(size=512).astype(dtype) for _ in range(3))
    # Sums whose rounding to f32 would end on a tie of 16 bits.
    z[:256] = (z[:256].astype(np.float32) * 2.0**-14).astype(dtype)
    out, relu = np.zeros(512, dtype), np.zeros(512, dtype)
    compiled[4, 128](x, y, z, out, relu)
    exact = [Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c)) for a, b, c in zip(x, y, z, strict=True)]
    expected = [once_rounded(e, dtype) for e in exact]
    assert out.astype(float).tolist() == expected
    assert relu.astype(float).tolist() == [max(e, 0.0) for e in expected]


def test_relu_of_a_nan(device: str) -> None:
    one = np.ones(1, np.float16)
    out, relu = np.zeros(1, np.float16), np.zeros(1, np.float16)
    halves[1, 1](one, one, np.array([np.nan], np.float16), out, relu)
    assert np.isnan(relu[0])


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_120"])
def test_ptx(arch: str) -> None:
    for compiled, name in ((halves, "f16"), (brains, "bf16")):
        compilation = kdsl.compile(compiled, target=Target.parse(arch))
        assert compilation.cubin
        found = re.findall(r"^\t(fma\.[\w.]+)", compilation.ptx, re.MULTILINE)
        assert found == [f"fma.rn.{name}", f"fma.rn.relu.{name}"]
    with pytest.raises(CompileError, match=r"hfma\(\) needs sm_80 or newer; this is sm_75"):
        kdsl.compile(halves, target="sm_75")
